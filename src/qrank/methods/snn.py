"""SiLRTC and HaLRTC: completion by the sum of the nuclear norms of all unfoldings.

J. Liu, P. Musialski, P. Wonka, J. Ye. Tensor Completion for Estimating Missing Values in Visual Data. PAMI, 2013.

    min  sum_i alpha_i ||X_(i)||_*    s.t.  P_Omega(X) = P_Omega(T)                                            (SNN)

With D_lam(A) = U max(S - lam, 0) V^T for an SVD A = U S V^T, **HaLRTC** (Algorithm 4) is the ADMM on M_i = X:

    M_i = fold_i( D_{alpha_i / mu}( (X + Y_i / mu)_(i) ) )                                                     (H-M)
    X   = mean_i (M_i - Y_i / mu)  off Omega,  T on Omega                                                      (H-X)
    Y_i = Y_i - mu (M_i - X)                                                                                   (H-Y)

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
| M_i | ``m`` | the copy of X whose i-th unfolding is shrunk; SiLRTC has it in pieces only |
| Y_i | ``u[i]`` = Y_i / mu | multiplier of M_i = X, divided by mu |
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
from .base import Method
from .schedule import FIRST, most, within
from .weights import check_weights, mode_weights


def first_coupling(problem: Problem, alpha: np.ndarray) -> float:
    """Return the least beta for which a threshold alpha_i / beta is the share FIRST of a largest singular value."""
    ratios = [unfolding_norm(problem.y, i) / a for i, a in enumerate(alpha) if a > 0]
    return 1 / (FIRST * (max(ratios) or 1.0))


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

    def init(self, problem: Problem, work: Workspace) -> SiLRTCState:
        """Start from X = T, zero where missing."""
        alpha = mode_weights("alpha", self.alpha, problem)
        beta = first_coupling(problem, alpha) if self.beta0 is None else self.beta0 * problem.scale
        return SiLRTCState(problem.y.copy(), problem.y.copy(), 1.0, min(within(beta, problem), most(self.beta_max, problem)))

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
            value += alpha[i] * shrunk.value
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

    x: np.ndarray
    u: list[np.ndarray]  # Y_i / mu, for the unfoldings with alpha_i > 0
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

    def init(self, problem: Problem, work: Workspace) -> HaLRTCState:
        """Start from X = T, zero where missing, and Y_i = 0."""
        alpha = mode_weights("alpha", self.alpha, problem)
        mu = within(first_coupling(problem, alpha) if self.mu0 is None else self.mu0 * problem.scale, problem)
        return HaLRTCState(problem.y.copy(), [np.zeros_like(problem.y) for a in alpha if a > 0], min(mu, most(self.mu_max, problem)))

    def step(self, problem: Problem, state: HaLRTCState, work: Workspace) -> tuple[HaLRTCState, Step]:
        """Run one iteration of the ADMM (Algorithm 4 of the paper)."""
        x, u, mu = state
        alpha, total = mode_weights("alpha", self.alpha, problem), work.array("spare", x.shape, x.dtype)
        m = [work.array(f"M {i}", x.shape, x.dtype) for i in range(len(u))]
        mu_next = min(self.rho * mu, most(self.mu_max, problem))
        value, ranks = 0.0, []
        modes = [i for i, a in enumerate(alpha) if a > 0]
        for i, ui, held in zip(modes, u, m, strict=True):

            def argument(piece: Piece, ui: np.ndarray = ui) -> np.ndarray:
                a, b = piece(x), piece(ui)
                return np.add(a, b, out=scratch("argument", a.shape, a.dtype))

            def add(piece: Piece, m: np.ndarray, _: np.ndarray, ui: np.ndarray = ui, held: np.ndarray = held) -> float:
                piece(held)[...] = m
                m -= piece(ui)
                accumulate(piece(total), m, first=piece.unfolding.mode == modes[0])
                return 0.0

            shrunk = Unfolding(x.shape, i).shrink(alpha[i] / mu, x.dtype, argument, add)  # (H-M)
            value += alpha[i] * shrunk.value
            ranks.append(shrunk.rank)

        def mean(total: np.ndarray, x: np.ndarray, y: np.ndarray, on: np.ndarray) -> tuple[float]:
            total /= len(ranks)  # (H-X)
            keep_known(total, y, on)
            x -= total
            return (float(x @ x),)

        def multiplier(m: np.ndarray, ui: np.ndarray, x: np.ndarray) -> tuple[float, float]:
            m -= x
            ui -= m  # (H-Y)
            size = float(ui @ ui)
            ui *= mu / mu_next
            return float(m @ m), size

        moved = math.sqrt(sums(mean, total, x, problem.y, problem.observed)[0])
        sizes = [sums(multiplier, mi, ui, total) for mi, ui in zip(m, u, strict=True)]
        gap, dual = (math.sqrt(max(s)) for s in zip(*sizes, strict=True))
        dual = moved / max(dual, float(np.finfo(x.dtype).tiny))
        step = Step(value, gap / problem.size, dual, moved / problem.size, mu, sum(ranks), sum(map(bool, ranks)))
        work.lend("spare", x)
        return HaLRTCState(total, u, mu_next), step

    def answer(self, problem: Problem, state: HaLRTCState, work: Workspace) -> np.ndarray:
        """Return X."""
        return state.x
