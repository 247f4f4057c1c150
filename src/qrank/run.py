"""The one loop over steps: whoever wants to watch a run iterates over it, nobody copies it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from . import kernels
from .kernels import threads
from .kernels.memory import Workspace
from .problem import Problem
from .result import Record, Status, Step

ONE_THREAD = 1 << 18  # entries below which handing work to a second thread costs more than it saves
SINGLE = 2.0**-23  # what single precision tells apart, relative
DIGITS = 64 * SINGLE  # a tolerance below this asks for more digits than single precision has
CLOSE = 1e-4  # a primal residual from which on X may be found to more digits than single precision has …
HELD = 0.15  # … which it is where the dual residual is below this: what is known holds X


class Run:
    """A run as an iterable of (state, record): one step after the other, until the stopping rule is met or nobody asks.

    The state is arrays, numbers and None in tuples and lists. With the state of the random generator it is all that a run
    needs to go on: ``Run(problem, method, rng, state, k)`` goes on after step k. A step may use the memory of the state that
    it is given: copy what is to be kept. The clock stands while the caller has the word. ``status`` is at any time what is
    true if no further step is asked for.

    >>> from qrank.methods import METHODS
    >>> run = Run(Problem.of(np.ones((4, 4)), np.eye(4) < 1), METHODS["tnn"].configured(max_steps=3))
    >>> [record.step for _, record in run], run.status.name
    ([1, 2, 3], 'STEP_LIMIT')
    """

    def __init__(self, problem: Problem, method: Any, rng: Any = None, state: Any = None, k: int = 0) -> None:
        self.problem, self.method = problem, method
        kind = kernels.of(problem.y)
        self.work = Workspace(rng, kind.empty, kind.reuses)
        self.state, self.k, self.seconds, self.status = state, k, 0.0, Status.INTERRUPTED
        begins = in_single(kind.eps(problem.y), math.prod(problem.layout.shape), method)
        single = begins and (state is None or is_single(state))
        self._problem = problem.single if single else problem  # in the precision that the run is in

    def begin(self) -> None:
        """Make the first state, if there is none."""
        start = time.perf_counter()
        if self.state is None:
            with self._threads():
                self.state = self.method.init(self._problem, self.work)
        if self.problem.start is not None:
            # The state is what a run goes on from: another array less to hold.
            single, self.problem = self._problem is not self.problem, self.problem.starting(None)
            self._problem = replace(self._problem, start=None, finer=self.problem) if single else self.problem
        self.seconds += time.perf_counter() - start

    def __iter__(self) -> Iterator[tuple[Any, Record]]:
        self.begin()
        problem, method = self.problem, self.method
        while self.k < method.max_steps:
            start = time.perf_counter()
            try:
                with self._threads():
                    self.state, step = method.step(self._problem, self.state, self.work)
            except np.linalg.LinAlgError:  # LAPACK refuses what is not finite
                self.status = Status.DIVERGED
                return
            self.k += 1
            self.status = self._status(step)
            if self._problem is not problem and self.status is Status.INTERRUPTED and gains_digits(step, problem.size):
                self._problem, self.state = problem, like_type(self.state, problem.y)
                self.work.clear()
            held = None if problem.held_out is None else problem.held_out_error(self.answer())
            self.seconds += time.perf_counter() - start
            yield self.state, self._record(step, held)
            if self.status is not Status.INTERRUPTED:
                return

    def _threads(self) -> AbstractContextManager[None]:
        small = math.prod(self.problem.layout.shape) < ONE_THREAD
        return threads.own_threads(1 if small else None) if small or self.method.shares_out else nullcontext()

    def _status(self, step: Step) -> Status:
        """Return how the run would end after this step."""
        if not (math.isfinite(step.objective) and math.isfinite(step.primal) and math.isfinite(step.change)):
            return Status.DIVERGED
        tol = self.method.tolerance(kernels.of(self.problem.y).eps(self.problem.y))
        if max(step.primal, step.change) <= tol:
            # Where mu has grown so far that X cannot move any more, the dual residual says so.
            return Status.CONVERGED if step.dual <= self.method.dual_tolerance(tol) else Status.SETTLED
        if step.settled:
            return Status.SETTLED
        return Status.STEP_LIMIT if self.k >= self.method.max_steps else Status.INTERRUPTED

    def _record(self, step: Step, held: float | None) -> Record:
        scale = self.problem.scale
        step = step._replace(objective=float(step.objective) * scale, mu=float(step.mu) / scale)
        return Record(self.k, self.seconds, *step[:-1], held)  # all but whether it is settled

    def finished(self) -> Any:
        """Run to the end, and return the answer."""
        for _ in self:
            pass
        return self.answer()

    def answer(self) -> Any:
        """Return X after the last step, scaled, slices last; the next step overwrites it."""
        return self.method.answer(self._problem, self.state, self.work)

    def learned(self) -> Any:
        """Return the transform that the run ended with, if there is one; no step comes after it."""
        if self.status is Status.DIVERGED:
            return None
        with self._threads():
            return self.method.learned(self._problem, self.state, self.work)

    def deviation(self) -> Any:
        """Return the standard deviation that the method's own model gives to each entry, scaled, or None."""
        if self.status is Status.DIVERGED:
            return None
        with self._threads():
            return self.method.deviation(self._problem, self.state, self.work)

    def doubt(self) -> Any:
        """Return the method's sign of how far each entry may be off, or None."""
        if self.status is Status.DIVERGED:
            return None
        with self._threads():
            return self.method.doubt(self._problem, self.state, self.work)


def in_single(eps: float, entries: int, method: Any) -> bool:
    """Return whether a run begins in single precision, which takes half the time and memory, though its data are finer.

    Not where ``tol`` asks for more digits than that, nor where the method says that so small an array has nothing to save.

    >>> from qrank.methods import METHODS
    >>> [in_single(eps, 1 << 20, METHODS["tnn"].configured(tol=tol)) for eps, tol in ((2e-16, 1e-5), (2e-16, 1e-8), (1e-7, 1e-5))]
    [True, False, False]
    """
    return eps < SINGLE / 2 and entries >= method.single and method.tolerance(eps) >= DIGITS


def gains_digits(step: Step, size: float) -> bool:
    """Return whether the next steps are to be in double precision: where X has more digits to be found by them.

    As long as X is far from what is known, rounding is far below what a step changes. Close to it there are two ways to
    end. What is known may determine X, as that of an array of exactly low rank: X stands still while mu grows (the dual residual,
    how far it moves over what the shrinkage takes away, is small), and each step finds more of its digits. Or X follows mu
    until that has grown so far that nothing moves, as that of any natural array does: its answer is that of a path, whose end no
    further digit changes. In either case single precision ends where the threshold 1/mu does not count in it any more; ``size`` is
    the norm of the data.

    >>> [gains_digits(Step(1.0, *residuals, 1.0, 1, 1), 1.0) for residuals in ((0.1, 0.01, 0.1), (5e-5, 0.01, 0.1), (5e-5, 0.4, 0.1))]
    [False, True, False]
    """
    return 0 < step.primal < CLOSE and (step.dual < HELD or step.mu * size > 8 / SINGLE)


def is_single(state: Any) -> bool:
    """Return whether any array of a state is in single precision.

    >>> is_single((1.0, [np.zeros((2, 2), np.float32)]))
    True
    """
    if isinstance(state, tuple | list):
        return any(map(is_single, state))
    return hasattr(state, "dtype") and "float32" in str(state.dtype)


def like_type(state: Any, y: Any) -> Any:
    """Return a state with its arrays of floats in the floating type of y.

    >>> like_type((2, np.ones(2, np.float32)), np.zeros(3))[1].dtype
    dtype('float64')
    """
    if isinstance(state, tuple | list):
        parts = [like_type(one, y) for one in state]
        return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)
    return kernels.of(state).cast(state, y) if "float" in str(getattr(state, "dtype", "")) else state
