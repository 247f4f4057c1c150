"""What is known is only near the truth.

**Noisy**, f(W) = ||P_Omega(W - Y)||_F^2 / (2 tau), takes on Omega W = (tau X' + lam Y) / (tau + lam), X' = X + U. With all known
and mu fixed its answer is prior(Y, tau), so tau = sigma (sqrt(n1) + sqrt(n2)), the size of noise in a slice; where a share p is
known, that of P_Omega(noise), sqrt(p) times as much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .. import kernels
from ..kernels.memory import Workspace
from ..problem import Problem
from .base import Agreed, Fit

DROWNED = 1e6  # noise so many times the data's norm leaves nothing of it; more would overflow


@dataclass(frozen=True)
class Noisy(Fit):
    """X near Y on Omega, up to noise of the standard deviation ``sigma``, in the data's unit."""

    sigma: float

    def tau(self, problem: Problem) -> float:
        """Return the size of the noise of what is known in a slice, in the problem's unit."""
        n1, n2 = problem.layout.slice_shape
        share = problem.count / math.prod(problem.y.shape)
        size = math.sqrt(share) * (math.sqrt(n1) + math.sqrt(n2))
        return min(self.sigma / problem.scale * size, DROWNED * problem.size)

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
