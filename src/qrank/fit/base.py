"""Fits: how the answer agrees with what is known. T, the argument of the prox, is turned from one step's into the next one's.

The ADMM splits min g(X) + f(W) s.t. X = W, with f the fit and U the multiplier over mu = 1/lam:

    X = prior(T, lam),   W = prox of f at X + U,   U = U + X - W,   T = W - U mu/mu'
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from ..kernels.memory import Workspace
from ..problem import Problem


class Agreed(NamedTuple):
    """The next T, the fit's state, and how far the step is from feasible and from still."""

    t: Any
    state: Any
    primal: float  # how far X is from the known entries; relative, or absolute under the paper's rule
    dual: float  # the dual residual of the ADMM, relative
    change: float  # how far X has moved; relative, or absolute under the paper's rule


class Fit:
    """T = fit(T, X, lam, lam_next), with a state of arrays and numbers."""

    exact: ClassVar[bool] = False  # what is known stays as it is: where nothing is missing, nothing is to be done

    def finest(self, problem: Problem) -> float:
        """Return the lam that is final: 0 where it goes on down, as the fit asks for ever more."""
        return 0.0

    def beyond(self, relax: float, more: float) -> Fit:
        """Return the fit over-relaxed by so much, where it can be and is not already: itself."""
        return self

    def start(self, problem: Problem, t: Any) -> Any:
        """Return the state before the first step, with T as it starts: nothing."""
        return None

    def __call__(
        self, problem: Problem, t: Any, x: Any, lam: float, lam_next: float, state: Any, work: Workspace
    ) -> Agreed:
        """Return the next T, which may be made in the memory of X."""
        raise AssertionError(f"{type(self).__name__} defines no update")

    def answer(self, problem: Problem, t: Any, state: Any, work: Workspace) -> Any:
        """Return X as a stack, in memory that the next step overwrites."""
        raise AssertionError(f"{type(self).__name__} defines no answer")

    def restore(self, x: Any, given: Any, known: Any) -> Any:
        """Return the answer, of the given array's shape, with what is known of it as the fit wants it: as it is."""
        return x
