"""Latent trace norm: completion by a sum of arrays, each of low rank in one mode.

R. Tomioka, T. Suzuki. Convex Tensor Decomposition via Structured Schatten Norm Regularization. NIPS, 2013.

    min  sum_k gamma_k ||X_k(k)||_*    s.t.  P_Omega(sum_k X_k) = P_Omega(Y),        the answer is X = sum_k X_k

by the ADMM on the dual problem: A the multiplier of the constraint, V_k its copies, and X_k in turn their multipliers

    max  <A, Y>    s.t.  A = 0 off Omega,   A = V_k,   ||V_k(k)||_op <= gamma_k,   k = 1, …, d

    X_k = fold_k( D_{gamma_k eta}( (X_k + eta A)_(k) ) )      D_lam shrinks singular values by lam             (X)
    V_k = (X_k_old + eta A - X_k) / eta                                                                        (V)
    A   = (Y - sum_k X_k + eta sum_k V_k) / (d eta)  on Omega,  0 off Omega                                    (A)

By (V), eta sum_k V_k = X_old + d eta A - X: no V_k needs an array, and (A) adds (Y - X + X_old - X) / (d eta) to A.

| symbol | here | |
|---|---|---|
| Y, Omega | ``problem.y``, ``problem.observed`` | the known values and where they are |
| gamma_k | ``gamma`` | weights of the unfoldings; one for each axis of the array |
| X_k | ``parts[k]`` | the part of low rank in mode k (Z_k in the authors' code) |
| A | ``a`` | dual variable, zero off Omega; *times eta*, so that it has the data's unit |
| V_k | | dual copy |
| eta | ``eta`` | step of the ADMM, in the data's unit; thresholds are gamma_k eta |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..errors import InputError
from ..kernels.memory import Workspace, scratch
from ..kernels.products import sums
from ..kernels.unfoldings import Piece, Unfolding, accumulate, unfolding_norm
from ..problem import Problem
from ..result import Step
from ..tensor import Layout
from . import needs
from .base import Method
from .needs import Needs, Size
from .schedule import FIRST, first, most
from .weights import check_weights, mode_weights


class State(NamedTuple):
    """What a step hands to the next."""

    parts: list[np.ndarray]  # X_k
    x: np.ndarray  # their sum
    a: np.ndarray
    eta: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Latent(Method):
    """Latent trace norm by the ADMM on the dual."""

    name: ClassVar[str] = "latent"
    shares_out: ClassVar[bool] = True
    about: ClassVar[str] = "latent trace norm: a sum of arrays, each of low rank in one mode (Tomioka, Suzuki 2013)"

    tol: float = 1e-4
    gamma: Sequence[float] | None = None  # weights of the unfoldings, one for each axis; None: equal
    eta0: float | None = None  # None: from the data
    rho: float = 1.05  # eta shrinks by it a step; 1: fixed
    eta_min: float | None = None  # None: from the data, far below where a run ends

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights("gamma", self.gamma)
        if self.gamma is not None and not np.all(np.asarray(self.gamma) > 0):
            raise InputError(f"gamma must be above 0 for every axis, not {self.gamma!r}: a part of weight 0 takes all")
        self.check("rho", at_least=1)
        self.check("eta0", "eta_min", above=0)

    def _weights(self, problem: Problem) -> np.ndarray:
        return mode_weights("gamma", self.gamma, problem) * problem.y.ndim  # 1 each if equal

    def _least(self, problem: Problem) -> float:
        return 1 / most(None if self.eta_min is None else 1 / self.eta_min, problem)

    def needs(self, layout: Layout, dtype: np.dtype, p: float) -> Needs:
        """Return what the parts, their sum, A and the spare array take, and one unfolding at a time."""
        size, shape = Size.of(layout, dtype), layout.inner_shape
        each = [needs.unfolding(shape, i, size.item) for i in range(len(shape))]
        memory = (len(shape) + 3) * size.bytes + max(one.memory for one in each)
        steps = needs.growing(self.rho, self.max_steps, 4.2)
        return Needs(memory, sum(one.flops for one in each), steps) + needs.pieces(5, size, 1200)

    def init(self, problem: Problem, work: Workspace) -> State:
        """Start from X_k = 0 and A = Y."""
        y, gamma = problem.y, self._weights(problem)
        usual = 1 / (FIRST * (max(unfolding_norm(y, k) / g for k, g in enumerate(gamma)) or 1.0))
        given = None if self.eta0 is None else 1 / max(self.eta0, 1e-300)
        mu = first(problem, usual, given, self.rho, "eta0")
        return State(
            [np.zeros_like(y) for _ in y.shape],
            np.zeros_like(y),
            y.copy(),
            max(1 / mu, self._least(problem)),
        )

    def step(self, problem: Problem, state: State, work: Workspace) -> tuple[State, Step]:
        """Run one iteration of the ADMM."""
        parts, x_old, a, eta = state
        gamma, x = self._weights(problem), work.array("spare", a.shape, a.dtype)
        value, ranks = 0.0, []
        for k, part in enumerate(parts):

            def argument(piece: Piece, part: np.ndarray = part) -> np.ndarray:
                t, s = piece(part), piece(a)
                return np.add(t, s, out=scratch("argument", t.shape, t.dtype))

            def add(piece: Piece, m: np.ndarray, _: np.ndarray, part: np.ndarray = part) -> float:
                piece(part)[...] = m
                accumulate(piece(x), m, first=piece.unfolding.mode == 0)
                return 0.0

            shrunk = Unfolding(x.shape, k).shrink(gamma[k] * eta, x.dtype, argument, add)  # (X), in place
            value += gamma[k] * shrunk.value
            ranks.append(shrunk.rank)
        d = len(parts)
        eta_next = max(eta / self.rho, self._least(problem))

        def multiplier(
            a: np.ndarray, x: np.ndarray, x_old: np.ndarray, y: np.ndarray, on: np.ndarray
        ) -> tuple[float, ...]:
            x_old -= x
            miss = np.subtract(y, x, out=scratch("miss", y.shape, y.dtype))
            miss *= on
            step = np.multiply(x_old, on, out=scratch("step", y.shape, y.dtype))
            step += miss
            step /= d
            a += step  # (A), times eta
            size = float(a @ a)
            a *= eta_next / eta
            return float(miss @ miss), float(x_old @ x_old), float(step @ step), size

        found = sums(multiplier, a, x, x_old, problem.y, problem.observed)
        miss, moved, turned, size = (math.sqrt(v) for v in found)
        dual = turned / max(size, float(np.finfo(x.dtype).tiny))
        step = Step(value, miss / problem.size, dual, moved / problem.size, 1 / eta, sum(ranks), sum(map(bool, ranks)))
        work.lend("spare", x_old)
        return State(parts, x, a, eta_next), step

    def answer(self, problem: Problem, state: State, work: Workspace) -> np.ndarray:
        """Return X."""
        return state.x
