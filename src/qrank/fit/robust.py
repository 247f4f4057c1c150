"""Some of what is known is wrong, and nobody knows which.

**Robust**: Y = X + S on Omega, S sparse, entry by entry or fibre by fibre, f(W) = min_S w ||S|| + ||P_Omega(W + S - Y)||^2 / (2 tau), with
R = Y - V, V = X + U, on Omega:

    S = soft(R, w (lam + tau)),   W = V + lam/(lam + tau) (R - S)                                    V off Omega

Without noise (tau = 0) this is the ADMM of robust tensor PCA: C. Lu, J. Feng, Y. Chen, W. Liu, Z. Lin, S. Yan. Tensor Robust
Principal Component Analysis with a New Tensor Nuclear Norm. TPAMI, 2020. Their weight, 1/sqrt(n3 max(n1, n2)) beside a norm that is
1/sqrt(n3) of ours, is w = 1/sqrt(max(n1, n2)) here; where a share p is known, 1/sqrt(p max(n1, n2)). ||S|| of ``fibres`` is the sum of the
norms of the fibres along the third mode. Random signs in as many places as are known make slices of spectral norm about 1/w; fibres of
unit length, whose entries are 1/sqrt(n3), make 1/sqrt(n3) of that, so that their w is sqrt(n3) times as large.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import kernels
from ..kernels.memory import Workspace
from ..problem import DROWNED, Problem
from .base import Agreed, Fit
from .noisy import Noisy, advanced, left

KINDS = ("entries", "fibres")


class RobustState(NamedTuple):
    """What a step hands to the next; stacks."""

    u: Any  # the multiplier over mu
    s: Any  # the outliers


@dataclass(frozen=True)
class Robust(Fit):
    """X + S = Y on Omega, S sparse; ``sigma``: up to noise of this standard deviation; ``weight``: w, None: the default.

    ``c`` is that of `Noisy`.
    """

    kind: str = "entries"
    sigma: float | None = None
    weight: float | None = None
    c: float = 1.0

    def tau(self, problem: Problem) -> float:
        """Return the weight of the misfit, in the problem's unit."""
        return 0.0 if self.sigma is None else Noisy(self.sigma, self.c).tau(problem)

    def finest(self, problem: Problem) -> float:
        """Return where lam stops falling: about at the size of the noise."""
        return self.tau(problem) / 2

    def w(self, problem: Problem) -> float:
        """Return the weight of the outliers.

        >>> import numpy as np
        >>> y = np.ones((4, 25, 6))
        >>> Robust().w(Problem.of(y)), Robust("fibres").w(Problem.of(y, slice_axes=(0, 1)))
        (0.2, 0.4898979485566356)
        """
        if self.weight is not None:
            return self.weight
        share = problem.count / math.prod(problem.y.shape)
        usual = 1 / math.sqrt(share * max(problem.layout.slice_shape))
        return usual * math.sqrt(problem.layout.n3) if self.kind == "fibres" else usual

    def start(self, problem: Problem, t: Any) -> RobustState:
        """Start from U = 0 and S = 0."""
        return RobustState(0 * t, 0 * t)

    def __call__(
        self, problem: Problem, t: Any, x: Any, lam: float, lam_next: float, state: RobustState, work: Workspace
    ) -> Agreed:
        """Share what X lacks of Y out between noise, outliers and the multiplier."""
        (u, s), tau = state, self.tau(problem)
        level = min(self.w(problem) * (lam + tau), DROWNED * problem.size)  # beyond all of Y it is beyond a type, too
        share = float(lam / (lam + tau))
        if self.kind == "entries":
            rest, others = by_entries(level, share), (problem.stack, problem.mask, s)
        else:
            r = left(x, u, problem.stack, problem.mask)  # off Omega nothing is asked for: W = X, U = 0
            rest, others = by_fibres(share), (r, shortened(r, level), s)
        agreed = advanced(t, x, u, rest, others, problem.size, float(lam_next / lam))
        work.lend("spare", t)
        return agreed._replace(state=RobustState(agreed.state, s))

    def answer(self, problem: Problem, t: Any, state: RobustState, work: Workspace) -> Any:
        """Return W: Y without its outliers on Omega."""
        x = kernels.of(t).copy(t, out=work.array("spare", t.shape, t.dtype))
        x += state.u
        return x


def by_entries(level: float, share: float) -> Callable[..., tuple[Any, float]]:
    """Return what makes share (R - S), writes the next S over the last one, and tells the square of how far it moves.

    >>> import numpy as np
    >>> x, known, s = np.zeros(3), np.array([True, True, False]), np.zeros(3)
    >>> by_entries(1.0, 0.5)(x, x, np.array([3.0, -0.5, 0.0]), known, s), s.tolist()
    ((array([ 0.5 , -0.25,  0.  ]), 4.0), [2.0, 0.0, 0.0])
    """

    def rest(x: Any, u: Any, y: Any, known: Any, s: Any) -> tuple[Any, float]:
        r = left(x, u, y, known)
        kept = r.clip(-level, level)
        r -= kept  # the next S
        s -= r
        moved = kernels.of(s).norm(s) ** 2
        s[...] = r
        kept *= share
        return kept, moved

    return rest


def by_fibres(share: float) -> Callable[..., tuple[Any, float]]:
    """Return the same for pieces of an R and a next S that are there already."""

    def rest(x: Any, u: Any, r: Any, s_next: Any, s: Any) -> tuple[Any, float]:
        s -= s_next
        moved = kernels.of(s).norm(s) ** 2
        s[...] = s_next
        r -= s_next
        r *= share
        return r, moved

    return rest


def shortened(r: Any, level: float) -> Any:
    """Return the prox of the level times the sum of the norms of the fibres along the first axis.

    >>> import numpy as np
    >>> shortened(np.array([[[3.0]], [[-4.0]]]), 1.0).ravel()
    array([ 2.4, -3.2])
    """
    length = ((r * r).sum(0)) ** 0.5
    return r * (1 - level / length.clip(level, None))
