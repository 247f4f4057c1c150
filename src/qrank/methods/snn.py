"""SiLRTC and HaLRTC: completion by the sum of the nuclear norms of all unfoldings.

J. Liu, P. Musialski, P. Wonka, J. Ye. Tensor Completion for Estimating Missing Values in Visual Data. PAMI, 2013.

    min  sum_i alpha_i ||X_(i)||_*    s.t.  P_Omega(X) = P_Omega(T)                                            (SNN)

With D_lam(A) = U max(S - lam, 0) V^T for an SVD A = U S V^T, **HaLRTC** (Algorithm 4) is the ADMM on M_i = X:

    M_i = fold_i( D_{alpha_i / mu}( (X + Y_i / mu)_(i) ) )                                                     (H-M)
    X   = mean_i (M_i - Y_i / mu)  off Omega,  T on Omega                                                      (H-X)
    Y_i = Y_i - mu (M_i - X)                                                                                   (H-Y)

Of these, d + 1 arrays are enough. With R_i = X + Y_i / mu - M_i, what the shrinking takes away, (H-X) and (H-Y) are

    X' = X - mean_i R_i  off Omega,     Y_i' / mu = R_i + X' - X                                               (H-R)

so that R_i takes the place of Y_i and M_i needs none. Off Omega sum_i Y_i' = 0, so the last Y_i follows from the others and
from their sum on Omega, which lies where X is not needed, as X = T there.

**SiLRTC** (Algorithm 1) relaxes M_i = X to

    min  sum_i alpha_i ||M_i(i)||_* + beta/2 ||X - M_i||_F^2    s.t.  P_Omega(X) = P_Omega(T)                  (relaxed)

and descends by blocks M_1, …, M_d, X:

    M_i = fold_i( D_{alpha_i / beta}( X_(i) ) )                                                                (S-M)
    X   = mean_i M_i  off Omega,  T on Omega                                                                   (S-X)

Its answer depends on beta: small ones blur, and (SNN) is the limit of large
ones, which block descent from a cold start takes for ever to reach. So beta starts at the data's own scale and grows by
``rho`` a step; ``beta0=…, rho=1`` is the original with a fixed beta. A round of block descent is a gradient step in X
on (relaxed) with the M_i minimised out, a smooth function; ``accelerate`` extrapolates X between rounds as Nesterov
does, and as the authors do for the same norm in FaLRTC.

| symbol | here | |
|---|---|---|
| T, Omega | ``problem.y``, ``problem.observed`` | the known values and where they are |
| alpha_i | ``alpha`` | weights of the unfoldings, sum 1; one for each axis of the array |
| beta (SiLRTC), rho (HaLRTC's paper) | ``beta``, ``mu`` | weight of the coupling; thresholds are alpha_i / beta |
| X, extrapolated | ``w`` | |
| M_i | ``m`` | the copy of X whose i-th unfolding is shrunk; in pieces only |
| Y_i | ``u[i]`` = Y_i / mu | multiplier of M_i = X, divided by mu, but for the last |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..kernels.memory import Workspace, scratch
from ..kernels.products import keep_known, sums
from ..kernels.unfoldings import Piece, Unfolding, accumulate, square, unfolding_norm
from ..problem import Problem
from ..result import Step
from ..tensor import Layout
from . import needs
from .base import Method
from .needs import Needs, Size
from .schedule import DIGITS, FIRST, first, most
from .weights import check_weights, mode_weights


def first_coupling(problem: Problem, alpha: np.ndarray) -> float:
    """Return the least beta for which a threshold alpha_i / beta is the share FIRST of a largest singular value."""
    ratios = [unfolding_norm(problem.y, i) / a for i, a in enumerate(alpha) if a > 0]
    return 1 / (FIRST * (max(ratios) or 1.0))


def _needs(
    arrays: float, layout: Layout, dtype: np.dtype, alpha: Sequence[float] | None, steps: float, work: float
) -> Needs:
    """Return what so many arrays take, and the unfoldings that have weight, one at a time."""
    size, axes = Size.of(layout, dtype), layout.rest + layout.slice_axes
    modes = [i for i, axis in enumerate(axes) if alpha is None or len(alpha) != len(axes) or alpha[axis] > 0]
    each = [needs.unfolding(layout.inner_shape, i, size.item) for i in modes]
    memory = arrays * size.bytes + max(one.memory for one in each)
    return Needs(memory, sum(one.flops for one in each), steps) + needs.pieces(4, size, work)


class SiLRTCState(NamedTuple):
    """What a step hands to the next."""

    x: np.ndarray
    w: np.ndarray  # X, extrapolated: where the next M_i are taken
    t: float  # of Nesterov's sequence
    beta: float


@dataclass(frozen=True, kw_only=True, eq=False)
class SiLRTC(Method):
    """Sum of nuclear norms by block coordinate descent."""

    name: ClassVar[str] = "silrtc"
    shares_out: ClassVar[bool] = True
    about: ClassVar[str] = "sum of nuclear norms of all unfoldings, by block coordinate descent (Liu et al. 2013)"

    tol: float = 1e-4
    alpha: Sequence[float] | None = None  # weights of the unfoldings, one for each axis; None: equal
    beta0: float | None = None  # None: from the data
    rho: float = 1.1  # growth of beta a step; 1: fixed
    beta_max: float | None = None  # None: from the data, far beyond where a run ends
    accelerate: bool = True  # extrapolate X between steps

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights("alpha", self.alpha)
        self.check("rho", at_least=1)
        self.check("beta0", "beta_max", above=0)

    def needs(self, layout: Layout, dtype: np.dtype, p: float) -> Needs:
        """Return what X, W and the spare array take, and one unfolding at a time."""
        return _needs(3, layout, dtype, self.alpha, needs.growing(self.rho, self.max_steps, 11), 2400)

    def init(self, problem: Problem, work: Workspace) -> SiLRTCState:
        """Start from X = T, zero where missing."""
        alpha = mode_weights("alpha", self.alpha, problem)
        beta = first(problem, first_coupling(problem, alpha), self.beta0, self.rho, "beta0")
        return SiLRTCState(problem.y.copy(), problem.y.copy(), 1.0, min(beta, most(self.beta_max, problem)))

    def step(self, problem: Problem, state: SiLRTCState, work: Workspace) -> tuple[SiLRTCState, Step]:
        """Run one round of block coordinate descent (Algorithm 1 of the paper)."""
        x_old, w, t, beta = state
        alpha, x = mode_weights("alpha", self.alpha, problem), work.array("spare", w.shape, w.dtype)
        gaps, value, ranks = [], 0.0, []
        modes = [i for i, a in enumerate(alpha) if a > 0]

        def add(piece: Piece, m: np.ndarray, w: np.ndarray) -> float:
            accumulate(piece(x), m, first=piece.unfolding.mode == modes[0])
            m -= w
            return square(m)

        for i in modes:  # (S-M), piece by piece, and added up at once
            shrunk = Unfolding(w.shape, i).shrink(alpha[i] / beta, w.dtype, lambda piece: piece(w), add)
            value += float(alpha[i]) * shrunk.value
            ranks.append(shrunk.rank)
            gaps.append(math.sqrt(shrunk.total))  # ||M_i - X||_F

        def mean(x: np.ndarray, w: np.ndarray, x_old: np.ndarray, y: np.ndarray, on: np.ndarray) -> tuple[float, float]:
            x /= len(modes)  # (S-X)
            keep_known(x, y, on)
            w -= x
            x_old -= x
            return float(w @ x_old), float(x_old @ x_old)

        along, moved = sums(mean, x, w, x_old, problem.y, problem.observed)
        # If the extrapolation went against the descent, it starts anew.
        t_next = (1 + math.sqrt(1 + 4 * t * t)) / 2 if self.accelerate and along >= 0 else 1.0
        ahead = (1 - t) / t_next if t_next > 1 else 0.0

        def extrapolate(w: np.ndarray, x_old: np.ndarray, x: np.ndarray) -> tuple[()]:
            np.multiply(x_old, ahead, out=w)  # next W = X + (t - 1)/t' (X - X_old)
            w += x
            return ()

        sums(extrapolate, w, x_old, x)
        beta_next = min(self.rho * beta, most(self.beta_max, problem))
        objective = value + beta / 2 * math.fsum(gap * gap for gap in gaps)
        primal = 0.0 if self.rho == 1 else max(gaps) / problem.size  # a fixed beta asks for no M_i = X
        change = math.sqrt(moved) / problem.size
        step = Step(objective, primal, change, change, beta, sum(ranks), sum(map(bool, ranks)))
        work.lend("spare", x_old)
        return SiLRTCState(x, w, t_next, beta_next), step

    def answer(self, problem: Problem, state: SiLRTCState, work: Workspace) -> np.ndarray:
        """Return X."""
        return state.x


class HaLRTCState(NamedTuple):
    """What a step hands to the next."""

    w: np.ndarray  # X off Omega; on Omega the sum of all Y_i / mu
    u: list[np.ndarray]  # Y_i / mu, for the unfoldings with alpha_i > 0 but the last
    mu: float


@dataclass(frozen=True, kw_only=True, eq=False)
class HaLRTC(Method):
    """Sum of nuclear norms by the ADMM, exact constraint."""

    name: ClassVar[str] = "halrtc"
    shares_out: ClassVar[bool] = True
    about: ClassVar[str] = "sum of nuclear norms of all unfoldings, by the ADMM (Liu et al. 2013)"

    tol: float = 1e-4
    alpha: Sequence[float] | None = None  # weights of the unfoldings, one for each axis; None: equal
    mu0: float | None = None  # None: from the data
    rho: float = 1.05  # growth of mu a step
    mu_max: float | None = None  # None: from the data, far beyond where a run ends

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights("alpha", self.alpha)
        self.check("rho", at_least=1)
        self.check("mu0", "mu_max", above=0)

    def needs(self, layout: Layout, dtype: np.dtype, p: float) -> Needs:
        """Return what W, the spare array and the multipliers take, these in single precision unless tol is small."""
        size = Size.of(layout, dtype)
        modes = len(layout.shape) if self.alpha is None else int(np.count_nonzero(self.alpha))
        single = min(1.0, 4 / size.item) if self.tol >= DIGITS else 1.0
        return _needs(
            2 + (modes - 1) * single, layout, dtype, self.alpha, needs.growing(self.rho, self.max_steps, 3.5), 4800
        )

    def init(self, problem: Problem, work: Workspace) -> HaLRTCState:
        """Start from X = T, zero where missing, and Y_i = 0."""
        alpha = mode_weights("alpha", self.alpha, problem)
        mu = first(problem, first_coupling(problem, alpha), self.mu0, self.rho)
        # The multipliers are most of the memory, and single precision serves unless tol is small.
        dtype = np.dtype(np.float32) if self.tol >= DIGITS else problem.y.dtype
        u = [np.zeros(problem.y.shape, dtype) for _ in range(np.count_nonzero(alpha) - 1)]
        return HaLRTCState(np.zeros_like(problem.y), u, min(mu, most(self.mu_max, problem)))

    def step(self, problem: Problem, state: HaLRTCState, work: Workspace) -> tuple[HaLRTCState, Step]:
        """Run one iteration of the ADMM (Algorithm 4 of the paper)."""
        w, u, mu = state
        alpha, total = mode_weights("alpha", self.alpha, problem), work.array("spare", w.shape, w.dtype)
        mu_next = min(self.rho * mu, most(self.mu_max, problem))
        y, on, value, ranks, gaps = problem.y, problem.observed, 0.0, [], []
        *others, last = np.flatnonzero(alpha)

        def x(piece: Piece) -> np.ndarray:
            """Return a piece of X."""
            found = scratch("X", piece(w).shape, w.dtype)
            found[...] = piece(w)
            np.copyto(found, piece(y), where=piece(on))
            return found

        for i, ui in [(last, None), *zip(others, u, strict=True)]:  # the last one is made of the others: it comes first

            def argument(piece: Piece, ui: np.ndarray | None = ui) -> np.ndarray:
                if ui is not None:
                    a = x(piece)
                    return np.add(a, piece(ui), out=a)
                a = np.add(piece(w), piece(y), out=scratch("argument", piece(w).shape, w.dtype))  # y is 0 off Omega
                for one in u:
                    a -= piece(one)
                return a

            def take(piece: Piece, m: np.ndarray, t: np.ndarray, ui: np.ndarray | None = ui) -> float:
                t -= m  # R_i
                accumulate(piece(total), t, first=ui is None)
                m -= x(piece) if ui is None else t + m - piece(ui)  # M_i - X
                if ui is not None:
                    piece(ui)[...] = t
                return square(m)

            shrunk = Unfolding(w.shape, int(i)).shrink(float(alpha[i]) / mu, w.dtype, argument, take)  # (H-M)
            value += float(alpha[i]) * shrunk.value
            ranks.append(shrunk.rank)
            gaps.append(math.sqrt(shrunk.total))
        c, d = mu / mu_next, len(ranks)

        def multipliers(total: np.ndarray, w: np.ndarray, on: np.ndarray, *u: np.ndarray) -> tuple[float, ...]:
            known = np.multiply(total, on, out=scratch("known", w.shape, w.dtype))
            change = np.subtract(known, total, out=total)
            change /= d  # X' - X
            w *= ~on
            w += change
            last, sizes = scratch("last", w.shape, w.dtype), []
            last[...] = known
            for ui in u:
                ui += change  # (H-R)
                last -= ui
                sizes.append(float(ui @ ui))
                ui *= c
            known *= c
            w += known
            return float(change @ change), float(last @ last), *sizes

        moved, *sizes = map(math.sqrt, sums(multipliers, total, w, on, *u))
        dual = moved / max(*sizes, float(np.finfo(w.dtype).tiny))
        step = Step(value, max(gaps) / problem.size, dual, moved / problem.size, mu, sum(ranks), sum(map(bool, ranks)))
        return HaLRTCState(w, u, mu_next), step

    def answer(self, problem: Problem, state: HaLRTCState, work: Workspace) -> np.ndarray:
        """Return X."""
        x = work.array("spare", state.w.shape, state.w.dtype)
        np.copyto(x, state.w)
        np.copyto(x, problem.y, where=problem.observed)
        return x
