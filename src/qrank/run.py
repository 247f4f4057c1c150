"""The one loop: every method's step is run here, watched, recorded and stopped."""

from __future__ import annotations

import math
import time
import warnings
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from .errors import ConvergenceWarning
from .kernels import threads
from .problem import Problem
from .result import OnStep, Record, Status
from .transforms.base import Transform

if TYPE_CHECKING:
    from .methods.base import Method


SMALL = 1 << 18  # entries below which handing work to a second thread costs more than it saves


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
