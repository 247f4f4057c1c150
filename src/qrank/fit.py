"""Fits: how the answer agrees with what is known. T, the argument of the prox, is turned from one step's into the next one's.

The ADMM splits min g(X) + f(W) s.t. X = W, with f the fit and U the multiplier over mu = 1/lam:

    X = prior(T, lam),   W = prox of f at X + U,   U = U + X - W,   T = W - U mu/mu'

**Exact**, f = 0 where W = Y on Omega, is (28)-(30) of the paper, on a state that is smaller than its notation. In its
letters, T = Y - E + Z/mu, and

* off Omega:  E = -X and Z = 0 exactly after every step, so the next T is X itself;
* on Omega:   E = 0 and Z_k = Z_{k-1} + mu (Y - X) = mu (T - X), so the next T is Y + (mu / mu') (T - X).

So T and Y are the whole state: E, Z and the previous X need no arrays of their own.

**Noisy**, f(W) = ||P_Omega(W - Y)||_F^2 / (2 tau), takes on Omega W = (tau X' + lam Y) / (tau + lam), X' = X + U. With all known
and mu fixed its answer is prior(Y, tau), so tau = sigma (sqrt(n1) + sqrt(n2)), the size of noise in a slice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from . import kernels
from .kernels.memory import Workspace
from .problem import Problem

DROWNED = 1e6  # noise so many times the data's norm leaves nothing of it; more would overflow


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


@dataclass(frozen=True)
class Exact(Fit):
    """X = Y on Omega. ``absolute``: the residuals of the paper's rule, largest entries in the data's unit.

    ``relax``: off Omega the next T is X + relax (X - T), so that what is known spreads in fewer steps.
    """

    exact: ClassVar[bool] = True
    absolute: bool = False
    relax: float = 0.0

    def start(self, problem: Problem, t: Any) -> Any:
        """Start from Z = 0. The state is X on Omega, at first 0, for the paper's rule only."""
        return kernels.of(t).known_entries(0 * t, problem.mask) if self.absolute else None

    def __call__(
        self, problem: Problem, t: Any, x: Any, lam: float, lam_next: float, state: Any, work: Workspace
    ) -> Agreed:
        """Make of X the next T; the memory of the last T is then the spare one."""
        r = kernels.of(t).advance(t, x, problem.stack, problem.mask, lam_next / lam, state, self.relax)
        work.lend("spare", t)
        dual = r.change / max(r.dual, 1e-300)
        if self.absolute:
            return Agreed(r.t, state, r.primal_max * problem.scale, dual, r.change_max * problem.scale)
        return Agreed(r.t, state, r.primal / problem.size, dual, r.change / problem.size)

    def answer(self, problem: Problem, t: Any, state: Any, work: Workspace) -> Any:
        """Return T off Omega; on Omega Y, where X itself is not kept."""
        x = kernels.of(t).copy(t, out=work.array("spare", t.shape, t.dtype))
        if state is None:
            return kernels.of(t).keep(x, problem.stack, problem.mask)
        x[problem.mask] = np.concatenate(state)
        return x

    def restore(self, x: Any, given: Any, known: Any) -> Any:
        """Return x with every known entry exactly as it was given."""
        return kernels.of(given).keep(x, given, known)


@dataclass(frozen=True)
class Noisy(Fit):
    """X near Y on Omega, up to noise of the standard deviation ``sigma``, in the data's unit."""

    sigma: float

    def tau(self, problem: Problem) -> float:
        """Return the size of the noise in a slice, in the problem's unit."""
        n1, n2 = problem.layout.slice_shape
        return min(self.sigma / problem.scale * (math.sqrt(n1) + math.sqrt(n2)), DROWNED * problem.size)

    def finest(self, problem: Problem) -> float:
        """Return about tau: the weight of the fit is final, and the ADMM converges fastest near it."""
        return self.tau(problem) / 2

    def start(self, problem: Problem, t: Any) -> Any:
        """Start from U = 0 and W = T: the state is both."""
        return 0 * t, kernels.of(t).copy(t)

    def __call__(
        self, problem: Problem, t: Any, x: Any, lam: float, lam_next: float, state: Any, work: Workspace
    ) -> Agreed:
        """Take W between X + U and Y on Omega, and X off it."""
        (u, w_old), on, tau = state, problem.mask, self.tau(problem)
        norm, size = kernels.of(t).norm, problem.size
        moved = x + u
        w = x + on * ((tau * moved + float(lam) * problem.stack) / float(tau + lam) - x)  # X off Omega, to the digit
        u = on * (moved - w)
        change, gap = norm(w - w_old), norm(w - x)
        u_next = float(lam_next / lam) * u
        return Agreed(w - u_next, (u_next, w), gap / size, change / max(norm(u), 1e-300), change / size)

    def answer(self, problem: Problem, t: Any, state: Any, work: Workspace) -> Any:
        """Return W: the estimate everywhere, also where a noisy value was known."""
        return kernels.of(t).copy(state[1], out=work.array("spare", t.shape, t.dtype))
