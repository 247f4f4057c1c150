"""TMac: completion by factorising all unfoldings in parallel.

Y. Xu, R. Hao, W. Yin, Z. Su. Parallel Matrix Factorization for Low-Rank Tensor Completion. Inverse Problems and
Imaging, 2015.

    min  sum_n alpha_n / 2 ||X_n Y_n - Z_(n)||_F^2    s.t.  P_Omega(Z) = P_Omega(M),    X_n: n_n x r_n, Y_n: r_n x rest

by alternating least squares (Algorithm 1 of the paper), n = 1, …, d:

    X_n = Z_(n) Y_n^T                                                                                          (X)
    Y_n = (X_n^T X_n)^+ X_n^T Z_(n)                                                                            (Y)
    Z   = sum_n alpha_n fold_n(X_n Y_n)  off Omega,  M on Omega                                                (Z)
    alpha_n ~ 1 / fit_n,  with sum 1                                                                           (alpha)

(X) leaves out a factor (Y_n Y_n^T)^+, which changes X_n Y_n by nothing. There are products with r_n columns and the
decomposition of an r_n x r_n matrix, no SVD of an unfolding.

| symbol | here | |
|---|---|---|
| M, Omega | ``problem.y``, ``problem.observed`` | the known values and where they are |
| Z | ``z`` | the completed array |
| X_n | ``xn`` | (n_n, r_n) |
| Y_n | ``yn``, ``factors[n]`` | (r_n, product of the other sizes), laid out like Z itself: `Unfolding.folded` |
| r_n | ``ranks[n]`` | rank of unfolding n; ``rank`` at first, then chosen by ``strategy`` |
| alpha_n | ``alpha`` | weights, sum 1 |
| fit_n | ``fits[n]`` | ||P_Omega(fold(X_n Y_n) - M)||_F |

**Ranks** change when fit_n stalls. ``"increase"`` adds ``rank_step`` random directions to Y_n when fit_n has fallen by
less than the share ``stall`` in a step, up to ``rank_max``. ``"decrease"`` starts high and cuts once, as soon as fit_n
falls by less than five times that share (before, the zeros of the start leave false gaps): at the widest gap between
the eigenvalues of X_n^T X_n, if it is ``gap`` times the mean of the others. ``"fixed"`` keeps ``rank``. Weights that
follow the fits suit ranks that grow; with ranks that are too high they would give all to the unfolding that overfits
most.

No rank can be too large for the data: r (m + n - r) numbers describe an m x n matrix of rank r, and where they come
near the number of observed entries the factorisation fits them whatever the missing ones are. Left out, ``rank_max`` is
the largest rank for which they are at most the share ``freedom`` of the observed entries; but as the ranks of an array
satisfy r_n <= product of the others, ranks too low for the largest of them are raised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import InputError
from ..kernels import threads
from ..kernels.memory import Workspace, scratch
from ..kernels.products import keep_known, sums
from ..kernels.unfoldings import Piece, Unfolding, accumulate, square
from ..problem import Problem
from ..result import Step
from ..tensor import Layout
from . import needs
from .base import Method, check_number
from .needs import Needs, Size
from .weights import check_weights, mode_weights

STRATEGIES = ("increase", "decrease", "fixed")


class State(NamedTuple):
    """What a step hands to the next."""

    z: np.ndarray
    factors: list[np.ndarray]  # Y_n
    alpha: np.ndarray
    fits: np.ndarray  # of the last step; infinite before the first
    cut: np.ndarray  # True where the rank has been cut: it is cut once


@dataclass(frozen=True, kw_only=True, eq=False)
class TMac(Method):
    """Parallel factorisation of all unfoldings."""

    name: ClassVar[str] = "tmac"
    shares_out: ClassVar[bool] = True
    about: ClassVar[str] = "parallel matrix factorisation of all unfoldings with adaptive ranks (Xu et al. 2015)"

    tol: float = 5e-3  # stopping early is part of how it keeps from overfitting
    strategy: str = "increase"  # or "decrease", "fixed"
    rank: int | Sequence[int] | None = None  # first ranks; None: rank_min to increase, else rank_max
    rank_min: int | Sequence[int] = 1  # where increasing ranks begin
    rank_max: int | Sequence[int] | None = None  # None: from the number of observed entries
    rank_step: int | Sequence[int] | None = None  # None: a twentieth of rank_max, at least 1
    freedom: float = 0.65  # share of the known entries that the degrees of freedom may take
    alpha: Sequence[float] | None = None  # first weights of the unfoldings, one for each axis; None: equal
    adaptive: bool | None = None  # weights follow the fits; None: unless ranks decrease
    stall: float = 2e-2  # a misfit that falls by less in a step asks for another rank
    gap: float = 10.0  # between two singular values at which decreasing ranks are cut

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.strategy not in STRATEGIES:
            raise InputError(f"strategy must be one of {', '.join(STRATEGIES)}, not {self.strategy!r}")
        for name in ("rank", "rank_min", "rank_max", "rank_step"):
            given = getattr(self, name)
            for number in given if isinstance(given, Sequence | np.ndarray) else () if given is None else (given,):
                check_number(name, number, at_least=1, whole=True)
        check_weights("alpha", self.alpha)
        self.check("freedom", "stall", "gap", above=0)

    def _limits(self, problem: Problem) -> tuple[list[int], list[int], list[int]]:
        """Return for each unfolding the least rank, the largest, and how many it grows by."""
        y, axes = problem.y, problem.layout.rest + problem.layout.slice_axes
        if self.rank_max is None:
            free = _compatible([_rank_within(n, y.size // n, self.freedom * problem.count) for n in y.shape])
        else:
            free = _each("rank_max", self.rank_max, axes)
        high = [min(a, b) for a, b in zip(free, _most(y), strict=True)]
        low = [min(a, b) for a, b in zip(_each("rank_min", self.rank_min, axes), high, strict=True)]
        more = [max(1, r // 20) for r in high] if self.rank_step is None else _each("rank_step", self.rank_step, axes)
        return low, high, more

    def needs(self, layout: Layout, dtype: np.dtype, p: float) -> Needs:
        """Return what Z, the spare array and the factors take at the end: Y_n of the ranks that they may have, one twice while it
        grows, and what X_n is made with.
        """
        size, shape = Size.of(layout, dtype), layout.inner_shape
        n = size.entries
        free = _compatible([_rank_within(m, n // m, self.freedom * p * n) for m in shape])
        ranks = [min(r, m, n // m) for r, m in zip(free, shape, strict=True)]
        if self.rank_max is not None:
            ranks = [
                min(r, m)
                for r, m in zip(_each("rank_max", self.rank_max, layout.rest + layout.slice_axes), shape, strict=True)
            ]
        factors = [r * (n // m) * size.item for r, m in zip(ranks, shape, strict=True)]
        flops = sum(8 * r * n for r in ranks)
        small = max(r * m for r, m in zip(ranks, shape, strict=True)) * size.item
        memory = 2 * size.bytes + sum(factors) + max(*factors, (3 + threads.count()) * small)
        steps = min(60, self.max_steps)
        return Needs(memory, flops, steps) + needs.pieces(8, size, 1200)

    def init(self, problem: Problem, work: Workspace) -> State:
        """Start from Z = M, zero where missing, and random Y_n."""
        y, axes = problem.y, problem.layout.rest + problem.layout.slice_axes
        low, high, _ = self._limits(problem)
        if self.rank is None:
            ranks = low if self.strategy == "increase" else high
        else:
            ranks = [min(a, b) for a, b in zip(_each("rank", self.rank, axes), _most(y), strict=True)]
        factors = [
            Unfolding(y.shape, n, short=False).folded(_unit_rows(r, y.size // y.shape[n], y.dtype, work.rng))
            for n, r in enumerate(ranks)
        ]
        alpha = mode_weights("alpha", self.alpha, problem)
        return State(y.copy(), factors, alpha, np.full(y.ndim, np.inf), np.zeros(y.ndim, bool))

    def step(self, problem: Problem, state: State, work: Workspace) -> tuple[State, Step]:
        """Run one round of alternating least squares (Algorithm 1 of the paper)."""
        z, factors, alpha, fits_old, cut = state
        (low, high, more), z_new = self._limits(problem), work.array("spare", z.shape, z.dtype)
        fits, ranks = np.zeros(z.ndim), {}
        modes = [n for n in range(z.ndim) if alpha[n] > 0]
        for n in modes:
            unfolding, yn = Unfolding(z.shape, n, short=False), factors[n]
            xn = unfolding.product(z, yn)  # (X)
            w, u = np.linalg.eigh(xn.T @ xn)
            kept = w > len(w) * np.finfo(w.dtype).eps * w[-1]
            inverse = (u[:, kept] / w[kept]) @ (xn @ u[:, kept]).T  # (X_n^T X_n)^+ X_n^T

            def fitted(
                piece: Piece, n: int = n, xn: np.ndarray = xn, yn: np.ndarray = yn, inverse: np.ndarray = inverse
            ) -> float:
                zn, at = piece(z), piece.unfolding
                y = at.multiply(inverse, zn, out=piece.cut(yn))  # (Y)
                product = at.multiply(xn, y, out=scratch("product", zn.shape, zn.dtype))
                miss = np.subtract(product, piece(problem.y), out=scratch("miss", zn.shape, zn.dtype))
                miss *= piece(problem.observed)
                product *= alpha[n]
                accumulate(piece(z_new), product, first=n == modes[0])
                return square(miss)

            fits[n] = math.sqrt(math.fsum(unfolding.each(fitted)))
            rank = xn.shape[1]
            left = fits[n] / fits_old[n] if fits_old[n] > 0 else 1.0
            if self.strategy == "increase" and rank < high[n] and left >= 1 - self.stall:
                new = _unit_rows(min(more[n], high[n] - rank), z.size // z.shape[n], z.dtype, work.rng)
                yn = np.concatenate([yn, unfolding.folded(new)], axis=unfolding.axis)
            settled = self.strategy == "decrease" and not cut[n] and left >= 1 - 5 * self.stall
            if settled and (r := self._decreased(w[::-1], low[n])):
                yn, cut[n] = unfolding.multiply(u[:, -r:].T, yn), True
            factors[n] = yn
            ranks[n] = yn.shape[unfolding.axis]

        def complete(z_new: np.ndarray, z: np.ndarray, m: np.ndarray, on: np.ndarray) -> tuple[float]:
            keep_known(z_new, m, on)  # (Z)
            z -= z_new
            return (float(z @ z),)

        moved = math.sqrt(sums(complete, z_new, z, problem.y, problem.observed)[0])
        if self.adaptive or (self.adaptive is None and self.strategy != "decrease"):
            alpha = _adapted(alpha, fits, problem.norm)  # (alpha)
        growing = self.strategy == "increase" and any(ranks[n] < high[n] for n in modes)
        miss, change = float(alpha @ fits) / problem.size, moved / problem.size
        primal = miss if growing else 0.0  # Z = M on Omega always, but while ranks grow only a perfect fit is the end
        step = Step(float(alpha @ fits**2) / 2, primal, miss, change, 1.0, sum(ranks.values()), len(ranks))
        work.lend("spare", z)
        return State(z_new, factors, alpha, fits, cut), step

    def _decreased(self, w: np.ndarray, low: int) -> int | None:
        """Return the rank at the widest gap between the eigenvalues w of X_n^T X_n, if that gap stands out."""
        least = np.finfo(w.dtype).eps * w[0]
        if not least >= np.finfo(w.dtype).tiny:  # X_n = 0: there is nothing to cut
            return None
        w = np.maximum(w, least)
        ratios = w[low - 1 : -1] / w[low:]
        if len(ratios) < 2:
            return None
        widest = int(np.argmax(ratios))
        others = (ratios.sum() - ratios[widest]) / len(ratios)
        return low + widest if ratios[widest] > self.gap * others else None

    def answer(self, problem: Problem, state: State, work: Workspace) -> np.ndarray:
        """Return Z."""
        return state.z


def _most(y: np.ndarray) -> list[int]:
    """Return the largest rank that each unfolding can have."""
    return [min(n, y.size // n) for n in y.shape]


def _rank_within(m: int, n: int, numbers: float) -> int:
    """Return the largest r, at least 1, with r (m + n - r) <= numbers."""
    r = np.arange(1, min(m, n) + 1)
    return max(1, int(np.count_nonzero(r * (m + n - r) <= numbers)))


def _compatible(ranks: list[int]) -> list[int]:
    """Return the ranks, the smaller ones raised evenly if the largest is above the product of the others.

    >>> _compatible([50, 2, 2]), _compatible([4, 2, 2])
    ([50, 8, 8], [4, 2, 2])
    """
    largest = max(ranks)
    n = ranks.index(largest)
    short = largest / math.prod(r for i, r in enumerate(ranks) if i != n)
    factor = max(1.0, short ** (1 / (len(ranks) - 1)))
    return [r if i == n else math.ceil(r * factor) for i, r in enumerate(ranks)]


def _each(name: str, given: Any, axes: Sequence[int]) -> list[int]:
    """Return one number for each axis, in the order of ``axes``."""
    if not isinstance(given, Sequence | np.ndarray):
        return [int(given)] * len(axes)
    if len(given) != len(axes):
        raise InputError(f"{name} has {len(given)} numbers, but the array has {len(axes)} axes")
    return [int(given[axis]) for axis in axes]


def _unit_rows(rows: int, length: int, dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    return (rng.standard_normal((rows, length)) / math.sqrt(length)).astype(dtype)


def _adapted(alpha: np.ndarray, fits: np.ndarray, scale: float) -> np.ndarray:
    """Return weights inversely proportional to the fits."""
    tiny = np.finfo(fits.dtype).eps * (scale or 1.0)
    weights = np.where(alpha > 0, 1 / np.maximum(fits, tiny), 0.0)
    return weights / weights.sum()
