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
from ..problem import DROWNED, Problem
from .base import Agreed, Fit


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
        """Start from U = 0 and W = T: the state is U, which is 0 off Omega at all times."""
        return 0 * t

    def __call__(
        self, problem: Problem, t: Any, x: Any, lam: float, lam_next: float, state: Any, work: Workspace
    ) -> Agreed:
        """Take W between X + U and Y on Omega, and X off it."""
        r = left(problem, x, state, work)
        r *= float(lam / (lam + self.tau(problem)))
        agreed = advanced(t, x, state, r, problem.size, float(lam_next / lam))
        work.lend("spare", t)
        return agreed

    def answer(self, problem: Problem, t: Any, state: Any, work: Workspace) -> Any:
        """Return W = T + U: the estimate everywhere, also where a noisy value was known."""
        x = kernels.of(t).copy(t, out=work.array("spare", t.shape, t.dtype))
        x += state
        return x


def left(problem: Problem, x: Any, u: Any, work: Workspace) -> Any:
    """Return Y - X - U on Omega, 0 off it: there nothing is asked for; in scratch.

    >>> import numpy as np
    >>> problem, one = Problem.of(np.array([[5.0, np.nan]])), np.ones((1, 1, 2))
    >>> np.abs(left(problem, one / 8, one / 4, Workspace()) * problem.scale).tolist()
    [[[2.0, 0.0]]]
    """

    def piece(r: Any, x: Any, u: Any, known: Any) -> tuple[float, ...]:
        r -= x
        r -= u
        r *= known
        return ()

    r = kernels.of(x).copy(problem.stack, out=work.array("left", x.shape, x.dtype))
    kernels.of(x).summed(piece, r, x, u, problem.mask)
    return r


def advanced(t: Any, x: Any, u: Any, r: Any, size: float, ratio: float) -> Agreed:
    """Return the step to W = X + U + R, whose U is -R: X becomes the next T and U the next U, T is free; R is left as it is.

    These passes cost as much as small steps do.

    >>> import numpy as np
    >>> t, x, u, r = (np.full((1, 1, 1), value) for value in (1.0, 2.0, 0.5, 0.25))
    >>> step = advanced(t, x, u, r, 1.0, 0.5)
    >>> step.t.item(), step.state.item(), step.primal, step.change
    (2.875, -0.125, 0.75, 1.25)
    """
    kind = kernels.of(t)

    def piece(t: Any, x: Any, u: Any, r: Any) -> tuple[float, ...]:
        t += u  # the last W
        u += r
        x += u  # W
        t -= x
        found = tuple(kind.norm(a) ** 2 for a in (t, u, r))
        u[...] = r
        u *= -ratio
        x -= u
        return found

    change, gap, dual = (math.sqrt(square) for square in kind.summed(piece, t, x, u, r))
    return Agreed(x, u, gap / size, change / max(dual, 1e-300), change / size)
