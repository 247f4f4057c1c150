"""What is known is only near the truth.

**Noisy**, f(W) = ||P_Omega(W - Y)||_F^2 / (2 tau), takes on Omega W = (tau X' + lam Y) / (tau + lam), X' = X + U. With all known
and mu fixed its answer is prior(Y, tau), so tau = c sigma (sqrt(n1) + sqrt(n2)), c times the size of noise in a slice; where a share p
is known, that of P_Omega(noise), sqrt(p) times as much. With c = 1 nothing is left of the noise. A penalty that shortens large singular
values as much as small ones loses more by that than it gains: c = MILD for these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import kernels
from ..kernels.memory import Workspace
from ..problem import DROWNED, Problem
from .base import Agreed, Fit

MILD = (
    0.7  # chosen on a generated clip, generated spectra and tensors of low Q-rank, of which 30, 60 and 100 % were known
)


@dataclass(frozen=True)
class Noisy(Fit):
    """X near Y on Omega, up to noise of the standard deviation ``sigma``, in the data's unit.

    ``c`` is that of tau. ``relax``: off Omega the next T is X + relax (X - T), as that of `Exact`.
    """

    sigma: float
    c: float = 1.0
    relax: float = 0.0

    def tau(self, problem: Problem) -> float:
        """Return c times the size of the noise of what is known in a slice, in the problem's unit."""
        n1, n2 = problem.layout.slice_shape
        share = problem.count / math.prod(problem.y.shape)
        size = self.c * math.sqrt(share) * (math.sqrt(n1) + math.sqrt(n2))
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
        share = float(lam / (lam + self.tau(problem)))

        def rest(x: Any, u: Any, y: Any, known: Any) -> tuple[Any, float]:
            r = left(x, u, y, known)
            r *= share
            return r, 0.0

        def beyond(t: Any, moved: Any, y: Any, known: Any) -> None:
            moved *= ~known
            moved *= self.relax
            t += moved

        others, ratio = (problem.stack, problem.mask), float(lam_next / lam)
        agreed = advanced(t, x, state, rest, others, problem.size, ratio, beyond if self.relax else None)
        work.lend("spare", t)
        return agreed

    def answer(self, problem: Problem, t: Any, state: Any, work: Workspace) -> Any:
        """Return W = T + U: the estimate everywhere, also where a noisy value was known."""
        x = kernels.of(t).copy(t, out=work.array("spare", t.shape, t.dtype))
        x += state
        return x


def left(x: Any, u: Any, y: Any, known: Any) -> Any:
    """Return Y - X - U on Omega, 0 off it: there nothing is asked for.

    >>> import numpy as np
    >>> left(np.ones(2), np.full(2, 0.5), np.array([4.0, 0.0]), np.array([True, False])).tolist()
    [2.5, -0.0]
    """
    r = y - x
    r -= u
    r *= known
    return r


def advanced(
    t: Any,
    x: Any,
    u: Any,
    rest: Callable[..., tuple[Any, float]],
    others: tuple[Any, ...],
    size: float,
    ratio: float,
    beyond: Callable[..., None] | None = None,
) -> Agreed:
    """Return the step to W = X + U + R, whose U is -R: X becomes the next T and U the next U, in place; T is free.

    ``rest`` makes R of pieces of X, U and others, which stay in the cache, and the square of how far anything else moves; ``beyond``
    changes pieces of the next T by how far W has moved, and others. All in one pass: it takes as long as small steps do.

    >>> import numpy as np
    >>> t, x, u, r = (np.full((1, 1, 1), value) for value in (1.0, 2.0, 0.5, 0.25))
    >>> step = advanced(t, x, u, lambda x, u, r: (r, 0.0), (r,), 1.0, 0.5)
    >>> step.t.item(), step.state.item(), step.primal, step.change
    (2.875, -0.125, 0.75, 1.25)
    """
    kind = kernels.of(t)

    def piece(t: Any, x: Any, u: Any, *others: Any) -> tuple[float, ...]:
        r, moved = rest(x, u, *others)
        t += u  # the last W
        u += r
        x += u  # W
        t -= x
        t *= -1  # how far W has moved
        found = kind.norm(t) ** 2 + moved, kind.norm(u) ** 2, kind.norm(r) ** 2
        u[...] = r
        u *= -ratio
        x -= u
        if beyond is not None:
            beyond(x, t, *others)
        return found

    change, gap, dual = (math.sqrt(square) for square in kind.summed(piece, t, x, u, *others))
    return Agreed(x, u, gap / size, change / max(dual, 1e-300), change / size)
