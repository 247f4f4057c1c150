"""TMac: completion by factorising all unfoldings in parallel.

Y. Xu, R. Hao, W. Yin, Z. Su. Parallel Matrix Factorization for Low-Rank Tensor Completion. Inverse Problems and
Imaging, 2015.

    min  sum_n alpha_n / 2 ||X_n Y_n - Z_(n)||_F^2    s.t.  P_Omega(Z) = P_Omega(M),    X_n: n_n x r_n, Y_n: r_n x rest

by alternating least squares in X_1, Y_1, …, X_d, Y_d, Z. Only the product X_n Y_n matters, and it depends on the span
of X_n alone: here X_n has orthonormal columns, so that (X_n^T X_n)^+ is not needed.

| symbol | here | |
|---|---|---|
| M, Omega | ``problem.y``, ``problem.observed`` | the known values and where they are |
| Z | ``z`` | the completed array |
| X_n | ``basis`` | (n_n, r_n), orthonormal columns |
| Y_n | ``factors[n]`` | (r_n, product of the other sizes) |
| r_n | ``len(factors[n])`` | rank of unfolding n; ``rank`` at first, then chosen by ``strategy`` |
| alpha_n | ``alpha`` | weights, sum 1 |
| fit_n | ``fits[n]`` | ||P_Omega(fold(X_n Y_n) - M)||_F |

**Ranks.** ``"increase"`` adds ``rank_step`` random directions to Y_n when fit_n has stalled (changed by less than
``stall``), up to ``rank_max``. ``"decrease"`` starts high and cuts once, at the widest gap between the eigenvalues of
X_n^T X_n, if that gap is ``gap`` times the mean of the others. ``"fixed"`` keeps ``rank``.

No rank can be too large for the data: r (m + n - r) numbers describe an m x n matrix of rank r, and where they come
near the number of observed entries the factorisation fits them whatever the missing ones are. Left out, ``rank_max`` is
the largest rank for which they are at most the share ``freedom`` of the observed entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import InputError
from ..problem import Problem
from ..solve import Step
from ..unfoldings import array, check_weights, matrix, weights_of
from .base import Method, check_number
from .snn import norm

STRATEGIES = ("increase", "decrease", "fixed")


class State(NamedTuple):
    """What a step hands to the next."""

    z: np.ndarray
    factors: list[np.ndarray]  # Y_n
    alpha: np.ndarray
    fits: np.ndarray  # of the last step; infinite before the first
    cut: np.ndarray  # True where the rank has been cut: it is cut once
    rng: np.random.Generator
    # never changes in a run
    low: list[int]
    high: list[int]


@dataclass(frozen=True, kw_only=True, eq=False)
class TMac(Method):
    """Parallel factorisation of all unfoldings."""

    name: ClassVar[str] = "tmac"
    about: ClassVar[str] = "parallel matrix factorisation of all unfoldings with adaptive ranks (Xu et al. 2015)"

    tol: float = 1e-4
    strategy: str = "increase"  # or "decrease", "fixed"
    rank: int | Sequence[int] | None = None  # first ranks; None: rank_min to increase, else rank_max
    rank_min: int | Sequence[int] = 1
    rank_max: int | Sequence[int] | None = None  # None: from the number of observed entries
    rank_step: int | Sequence[int] | None = None  # None: a twentieth of rank_max, at least 1
    freedom: float = 0.7
    alpha: Sequence[float] | None = None  # first weights of the unfoldings, one for each axis; None: equal
    adaptive: bool | None = (
        None  # weights follow the fits; None: unless ranks decrease, where the worst overfit would win
    )
    stall: float = 1e-2
    gap: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.strategy not in STRATEGIES:
            raise InputError(f"strategy must be one of {', '.join(STRATEGIES)}, not {self.strategy!r}")
        for name in ("rank", "rank_min", "rank_max", "rank_step"):
            given = getattr(self, name)
            for number in given if isinstance(given, Sequence | np.ndarray) else () if given is None else (given,):
                check_number(name, number, at_least=1, whole=True)
        check_weights("alpha", self.alpha)
        for name in ("freedom", "stall", "gap"):
            check_number(name, getattr(self, name), above=0)

    def init(self, problem: Problem, rng: np.random.Generator) -> State:
        """Start from Z = M, zero where missing, and random Y_n."""
        y, axes = problem.y, problem.layout.rest + problem.layout.slice_axes
        most = [min(n, y.size // n) for n in y.shape]
        if self.rank_max is None:
            free = [_rank_within(n, y.size // n, self.freedom * problem.known) for n in y.shape]
        else:
            free = _each("rank_max", self.rank_max, axes)
        high = [min(a, b) for a, b in zip(free, most, strict=True)]
        low = [min(a, b) for a, b in zip(_each("rank_min", self.rank_min, axes), high, strict=True)]
        if self.rank is None:
            ranks = low if self.strategy == "increase" else high
        else:
            ranks = [min(a, b) for a, b in zip(_each("rank", self.rank, axes), most, strict=True)]
        factors = [rng.standard_normal((r, y.size // n)).astype(y.dtype) for r, n in zip(ranks, y.shape, strict=True)]
        d = y.ndim
        alpha = weights_of("alpha", self.alpha, axes)
        return State(y.copy(), factors, alpha, np.full(d, np.inf), np.zeros(d, bool), rng, low, high)

    def step(self, problem: Problem, state: State) -> tuple[State, Step]:
        """Run one round of alternating least squares (Algorithm 1 of the paper)."""
        z, factors, alpha, fits_old, cut, rng, low, high = state
        z_new, fits, d = np.zeros_like(z), np.zeros(z.ndim), z.ndim
        modes = [n for n in range(d) if alpha[n] > 0]
        for n in modes:
            zn = matrix(z, n)
            zn = zn.T if n == d - 1 else zn
            basis, _ = np.linalg.qr(zn @ factors[n].T)  # (5a) X_n = Z_(n) Y_n^T, orthonormalised
            yn = basis.T @ zn  # (5b) Y_n = (X_n^T X_n)^+ X_n^T Z_(n)
            if self.strategy == "decrease" and not cut[n]:
                basis, yn, cut[n] = self._decreased(basis, yn, low[n])
            product = basis @ yn
            product = array(product.T if n == d - 1 else product, n, z.shape)
            fits[n] = norm((product - problem.y)[problem.observed])
            z_new += alpha[n] * product
            factors[n] = yn
        np.copyto(z_new, problem.y, where=problem.observed)  # (5c) Z-update
        if self.strategy == "increase":
            steps = _each("rank_step", self.rank_step or 1, problem.layout.rest + problem.layout.slice_axes)
            for n in modes:
                if len(factors[n]) < high[n] and abs(fits_old[n] - fits[n]) <= self.stall * fits_old[n]:
                    more = min(
                        (max(1, high[n] // 20) if self.rank_step is None else steps[n]), high[n] - len(factors[n])
                    )
                    factors[n] = _increased(factors[n], more, rng)
        if self.adaptive or (self.adaptive is None and self.strategy != "decrease"):
            alpha = _adapted(alpha, fits, problem.norm)  # (3.1) weights follow the fits
        z -= z_new
        ranks = [len(factors[n]) for n in modes]
        step = Step(
            objective=float(alpha @ fits**2) / 2,
            primal=0.0,  # Z = M on Omega by construction
            dual=float(alpha @ fits) / (problem.norm or 1.0),
            change=norm(z) / (problem.norm or 1.0),
            mu=1.0,
            rank=sum(ranks),
            slices=len(ranks),
        )
        return State(z_new, factors, alpha, fits, cut, rng, low, high), step

    def _decreased(self, basis: np.ndarray, yn: np.ndarray, low: int) -> tuple[np.ndarray, np.ndarray, bool]:
        """Cut the rank at the widest gap between the eigenvalues of Y_n Y_n^T, if it stands out; say whether it did."""
        w, u = np.linalg.eigh(yn @ yn.T)
        w = np.maximum(w[::-1], np.finfo(w.dtype).tiny)
        ratios = w[low - 1 : -1] / w[low:]
        if len(ratios) < 2:
            return basis, yn, False
        widest = int(np.argmax(ratios))
        others = (ratios.sum() - ratios[widest]) / (len(ratios) - 1)
        if ratios[widest] <= self.gap * others:
            return basis, yn, False
        u = u[:, ::-1][:, : low + widest]
        return basis @ u, u.T @ yn, True

    def answer(self, state: State) -> np.ndarray:
        """Return Z."""
        return state.z


def _rank_within(m: int, n: int, numbers: float) -> int:
    """Return the largest r, at least 1, with r (m + n - r) <= numbers."""
    r = np.arange(1, min(m, n) + 1)
    return max(1, int(np.count_nonzero(r * (m + n - r) <= numbers)))


def _each(name: str, given: Any, axes: Sequence[int]) -> list[int]:
    """Return one number for each axis, in the order of ``axes``."""
    if not isinstance(given, Sequence | np.ndarray):
        return [int(given)] * len(axes)
    if len(given) != len(axes):
        raise InputError(f"{name} has {len(given)} numbers, but the array has {len(axes)} axes")
    return [int(given[axis]) for axis in axes]


def _increased(yn: np.ndarray, more: int, rng: np.random.Generator) -> np.ndarray:
    """Return an orthonormal basis of the rows of Y_n and as many random ones more."""
    q, _ = np.linalg.qr(np.concatenate([yn, rng.standard_normal((more, yn.shape[1])).astype(yn.dtype)]).T)
    return np.ascontiguousarray(q.T)


def _adapted(alpha: np.ndarray, fits: np.ndarray, scale: float) -> np.ndarray:
    """Return weights inversely proportional to the squared fits."""
    tiny = np.finfo(fits.dtype).eps * (scale or 1.0)
    weights = np.where(alpha > 0, 1 / np.maximum(fits, tiny) ** 2, 0.0)
    return weights / weights.sum()
