"""What a prior is: X = prior(T, lam), with a state of arrays and numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..kernels.memory import Workspace


class Proxed(NamedTuple):
    """What a prior makes of T, and what is to be told of it."""

    x: Any  # of T's shape, in memory that is the caller's from now on
    state: Any
    value: float  # of what is minimised, at X
    rank: int
    slices: int  # slices that are not zero
    learning: tuple[float, ...] = ()  # the learner's objective at its start and after every accepted step


class Prior:
    """X = argmin_X lam g(X) + 1/2 ||X - T||_F^2, or what stands for it."""

    def start(self, t: Any, work: Workspace) -> Any:
        """Return the state before the first step: arrays and numbers, in tuples."""
        return ()

    def size(self, t: Any, state: Any, work: Workspace) -> float:
        """Return the least lam for which X is zero, or about: a run starts a little below it."""
        raise AssertionError(f"{type(self).__name__} defines no size")

    def __call__(self, t: Any, lam: float, state: Any, work: Workspace) -> Proxed:
        """Return X; T is left as it is."""
        raise AssertionError(f"{type(self).__name__} defines no prox")

    def transform(self, x: Any, spare: Any, state: Any, work: Workspace) -> Any:
        """Return the transform that was learned, where there is one, for the answer X; ``spare`` may be overwritten."""
        return None
