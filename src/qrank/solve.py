"""The one loop: every method's step is run here, watched, recorded and stopped."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import threads
from .errors import ConvergenceWarning
from .problem import Problem
from .transforms import Transform

if TYPE_CHECKING:
    from .methods.base import Method


SMALL = 1 << 18  # entries below which handing work to a second thread costs more than it saves


class Status(Enum):
    """How a run ended; the value is a sentence for the user."""

    CONVERGED = "The run converged: its stopping rule is met."
    STEP_LIMIT = "The run reached its limit of steps before the stopping rule was met; raise max_steps or tol."
    DIVERGED = "The run diverged: the iterate is not finite; start with a larger mu0 or a smaller rho."
    INTERRUPTED = "The run was stopped early; the answer is that of the last finished step."
    COMPLETE = "Nothing was missing: the array is returned as it was."

    def __str__(self) -> str:
        return self.value


class Step(NamedTuple):
    """What a method tells of one step; all in the scaled unit of the problem."""

    objective: float  # the value of what is minimised, at X
    primal: float  # how far X is from the known entries; relative, or absolute under the paper's rule
    dual: float  # the dual residual of the ADMM, relative; or how far X has moved for methods without a dual
    change: float  # how far X has moved; relative, or absolute under the paper's rule
    mu: float
    rank: int  # Q-rank of X, or the sum of the ranks of its unfoldings
    slices: int  # slices, or unfoldings, that are not zero
    learning: tuple[float, ...] = ()  # the learner's objective at its start and after every accepted step


@dataclass(frozen=True)
class Record:
    """One step of a run, in the data's unit.

    >>> Record(1, 0.5, 12.0, 0.1, 0.2, 0.1, 1e-3, 7, 3).rank
    7
    """

    step: int
    seconds: float  # since the start of the run
    objective: float
    primal: float
    dual: float
    change: float
    mu: float
    rank: int
    slices: int
    learning: tuple[float, ...] = ()
    holdout: float | None = None  # RMSE on the held-out known entries, where there are such


@dataclass(frozen=True, eq=False)
class Completion:
    """The answer: the completed array, how the run went, and the transform it learned."""

    x: Any
    status: Status
    history: list[Record] = field(repr=False)
    method: Method
    transform: Transform | None
    observed: np.ndarray = field(repr=False)  # True where the value was known, of x's shape
    slice_axes: tuple[int, int] = (0, 1)

    @property
    def seconds(self) -> float:
        """How long the run took."""
        return self.history[-1].seconds if self.history else 0.0

    def to_dict(self) -> dict[str, list]:
        """Return the history as columns, ready for a data frame."""
        rows = [asdict(record) for record in self.history]
        return {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}

    def report(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write the run as one HTML page with pictures, charts and numbers: see :func:`qrank.report.write_report`."""
        from .report import write_report

        write_report(self, path, **options)

    def _repr_html_(self) -> str | None:
        from .report import fragment

        return fragment(self)


OnStep = Callable[[Record], Any]


def solve(
    problem: Problem,
    method: Method,
    on_step: OnStep | None = None,
    rng: np.random.Generator | None = None,
) -> tuple[np.ndarray, Status, list[Record], Transform | None]:
    """Run a method on a problem; return the filled array, the status, the history and the transform.

    ``on_step`` sees every record; a true answer ends the run.
    """
    small = problem.y.size < SMALL
    with threads.own_threads(1 if small else None) if small or method.shares_out else nullcontext():
        return _run(problem, method, on_step, rng)


def _run(
    problem: Problem, method: Method, on_step: OnStep | None, rng: np.random.Generator | None
) -> tuple[np.ndarray, Status, list[Record], Transform | None]:
    history: list[Record] = []
    start = time.perf_counter()
    state = method.init(problem, np.random.default_rng(rng))
    status = Status.STEP_LIMIT
    for k in range(1, method.max_steps + 1):
        try:
            state, step = method.step(problem, state)
        except np.linalg.LinAlgError:  # LAPACK refuses what is not finite
            status = Status.DIVERGED
            break
        record = Record(
            step=k,
            seconds=time.perf_counter() - start,
            objective=step.objective * problem.scale,
            primal=step.primal,
            dual=step.dual,
            change=step.change,
            mu=step.mu / problem.scale,
            rank=step.rank,
            slices=step.slices,
            learning=step.learning,
            holdout=None if problem.held_out is None else problem.held_out_error(method.answer(state)),
        )
        history.append(record)
        asked_to_stop = on_step is not None and on_step(record)
        if not (math.isfinite(step.objective) and math.isfinite(step.primal) and math.isfinite(step.change)):
            status = Status.DIVERGED
            break
        if max(step.primal, step.change) <= method.tolerance(problem.y.dtype):
            status = Status.CONVERGED
            break
        if asked_to_stop:
            status = Status.INTERRUPTED
            break
    if status in (Status.STEP_LIMIT, Status.DIVERGED):
        warnings.warn(str(status), ConvergenceWarning, stacklevel=4)
    x = method.answer(state)
    transform = None if status is Status.DIVERGED else method.learned(problem, state)
    del state  # its other arrays are not needed while the answer may have to be copied into other axes
    return problem.fill(x), status, history, transform
