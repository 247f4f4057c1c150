"""The one loop over steps: whoever wants to watch a run iterates over it, nobody copies it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Protocol

import numpy as np

from . import kernels
from .kernels import threads
from .kernels.memory import Workspace
from .problem import Problem
from .result import Record, Status, Step

SMALL = 1 << 18  # entries below which handing work to a second thread costs more than it saves


class Solver(Protocol):
    """What the loop asks of a method: see `qrank.methods.Method`."""

    shares_out: ClassVar[bool]

    @property
    def max_steps(self) -> int:
        """How many steps at the most."""
        ...

    def init(self, problem: Problem, work: Workspace, rng: np.random.Generator) -> Any:
        """Return the state before the first step."""
        ...

    def step(self, problem: Problem, state: Any, work: Workspace, rng: np.random.Generator) -> tuple[Any, Step]:
        """Return the next state, and what is to be told of the step."""
        ...

    def answer(self, problem: Problem, state: Any, work: Workspace) -> Any:
        """Return X."""
        ...

    def learned(self, problem: Problem, state: Any, work: Workspace) -> Any:
        """Return the transform that the run ended with."""
        ...

    def tolerance(self, dtype: np.dtype) -> float:
        """Return what the residuals must come down to."""
        ...


class Run:
    """A run as an iterable of (state, record): one step after the other, until the stopping rule is met or nobody asks.

    The state is arrays, numbers and None in tuples and lists. With the state of the random generator it is all that a run
    needs to go on: ``Run(problem, method, rng, state, k)`` goes on after step k. A step may use the memory of the state that
    it is given: copy what is to be kept. The clock stands while the caller has the word. ``status`` is at any time what is
    true if no further step is asked for.

    >>> from qrank.methods import METHODS
    >>> run = Run(Problem.of(np.diag([1.0, 2.0]), np.eye(2) > 0), METHODS["tnn"].configured(max_steps=3))
    >>> [record.step for _, record in run], run.status.name
    ([1, 2, 3], 'STEP_LIMIT')
    """

    def __init__(
        self,
        problem: Problem,
        method: Solver,
        rng: np.random.Generator | int | None = None,
        state: Any = None,
        k: int = 0,
    ) -> None:
        self.problem, self.method, self.rng = problem, method, np.random.default_rng(rng)
        self.state, self.k, self.seconds = state, k, 0.0
        self.work = Workspace(kernels.of(problem.y).empty)
        self.status = Status.INTERRUPTED

    def begin(self) -> None:
        """Make the first state, if there is none."""
        start = time.perf_counter()
        if self.state is None:
            with self._threads():
                self.state = self.method.init(self.problem, self.work, self.rng)
        self.seconds += time.perf_counter() - start

    def __iter__(self) -> Iterator[tuple[Any, Record]]:
        problem, method = self.problem, self.method
        self.begin()
        while self.k < method.max_steps:
            start = time.perf_counter()
            try:
                with self._threads():
                    self.state, step = method.step(problem, self.state, self.work, self.rng)
            except np.linalg.LinAlgError:  # LAPACK refuses what is not finite
                self.status = Status.DIVERGED
                return
            self.k += 1
            self.status = self._status(step)
            held = None if problem.held_out is None else problem.held_out_error(self.answer())
            self.seconds += time.perf_counter() - start
            yield self.state, self._record(step, held)
            if self.status is not Status.INTERRUPTED:
                return

    def _threads(self) -> AbstractContextManager[None]:
        small = self.problem.y.size < SMALL
        return threads.own_threads(1 if small else None) if small or self.method.shares_out else nullcontext()

    def _status(self, step: Step) -> Status:
        """Return how the run would end after this step."""
        if not (math.isfinite(step.objective) and math.isfinite(step.primal) and math.isfinite(step.change)):
            return Status.DIVERGED
        if max(step.primal, step.change) <= self.method.tolerance(self.problem.y.dtype):
            return Status.CONVERGED
        return Status.STEP_LIMIT if self.k >= self.method.max_steps else Status.INTERRUPTED

    def _record(self, step: Step, held: float | None) -> Record:
        scale = self.problem.scale
        return Record(
            step=self.k,
            seconds=self.seconds,
            objective=step.objective * scale,
            primal=step.primal,
            dual=step.dual,
            change=step.change,
            mu=step.mu / scale,
            rank=step.rank,
            slices=step.slices,
            learning=step.learning,
            holdout=held,
        )

    def answer(self) -> Any:
        """Return X after the last step, scaled, slices last; the next step overwrites it."""
        return self.method.answer(self.problem, self.state, self.work)

    def learned(self) -> Any:
        """Return the transform that the run ended with, if there is one; no step comes after it."""
        if self.status is Status.DIVERGED:
            return None
        with self._threads():
            return self.method.learned(self.problem, self.state, self.work)
