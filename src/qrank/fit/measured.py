"""What is known was measured through a linear operator.

**Measured**, Psi W = b, and with noise f(W) = ||Psi W - b||^2 / (2 tau), takes with V = X + U

    W = V + Psi^T z,   (Psi Psi^T + (tau/lam) I) z = b - Psi V,   U = V - W = -Psi^T z

without noise the projection of V onto what agrees with b (tau = 0). U is -Psi^T z' of the last z', so that z = z' + d with

    (Psi Psi^T + (tau/lam) I) d = b - Psi X - (tau/lam) z'

and V is not needed. Where Psi Psi^T = c I, that is a division by c + tau/lam; else d comes from conjugate gradients, to an accuracy that
follows how far X and W are apart. Noise of level sigma in b has the size sigma / gain in the array, in as many directions as are
measured, so tau = c gain sigma sqrt(p) (sqrt(n1) + sqrt(n2)), p being the number of measurements over that of the entries, at most 1,
and c that of `noisy.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..errors import InputError
from ..kernels.memory import Workspace
from ..problem import DROWNED, Problem
from .base import Agreed, Fit
from .noisy import advanced
from .operators import Operator

CAREFUL = 0.1  # conjugate gradients leave so much of how far X was from W in the step before,
COARSEST, FINEST = 1e-2, 1e-12  # between these shares of b
AGREES = 1e-2  # what no array comes nearer to than by this share contradicts itself
NOTHING = 1e-8  # the square of what Psi^T makes of a direction, over that of others, below which it makes nothing of it
UNSEEN, CERTAIN = 1e-6, 1e-5  # below these shares of its size, times Psi's, Psi^T r is zero: r cannot be made smaller
MOST = 200  # of their steps at once: what is left is done in the next step of the loop


class Measurement(NamedTuple):
    """What was measured, scaled like the problem, and by what, on arrays with the slice axes last."""

    operator: Operator
    values: np.ndarray  # (m,)
    smooth: tuple[int, ...] = ()  # axes along which neighbours are alike


class MeasuredState(NamedTuple):
    """What a step hands to the next."""

    u: Any  # the multiplier over mu, a stack
    z: np.ndarray  # (m,): U = -Psi^T z
    gap: float  # how far X was from W, relative


@dataclass(frozen=True, eq=False)
class Measured(Fit):
    """Psi X = b, or near it up to noise of the standard deviation ``sigma``, in the data's unit; ``c`` is that of `Noisy`."""

    sigma: float | None = None
    c: float = 1.0

    def tau(self, problem: Problem) -> float:
        """Return the weight of the misfit, in the problem's unit."""
        if self.sigma is None:
            return 0.0
        n1, n2 = problem.layout.slice_shape
        share = min(1.0, problem.measured.operator.count / math.prod(problem.y.shape))
        size = self.c * self.sigma / problem.scale * math.sqrt(share) * (math.sqrt(n1) + math.sqrt(n2))
        return min(problem.measured.operator.gain * size, DROWNED * problem.size)

    def finest(self, problem: Problem) -> float:
        """Return about the size of the noise in a slice; without noise 0."""
        return self.tau(problem) / problem.measured.operator.gain / 2

    def start(self, problem: Problem, t: Any) -> MeasuredState:
        """Start from U = 0 and W = T."""
        return MeasuredState(0 * t, np.zeros(problem.measured.operator.count, t.dtype), 1.0)

    def __call__(
        self, problem: Problem, t: Any, x: Any, lam: float, lam_next: float, state: MeasuredState, work: Workspace
    ) -> Agreed:
        """Take W where it agrees with what was measured, as near to X + U as can be."""
        (psi, b, _), shift = problem.measured, self.tau(problem) / lam
        left = b - psi.forward(x.reshape(problem.y.shape)) - shift * state.z
        accuracy = min(max(CAREFUL * state.gap, FINEST), COARSEST) * float(np.linalg.norm(b))
        z = state.z + solved(psi, left.astype(t.dtype, copy=False), shift, accuracy)
        r, ratio = psi.adjoint(z).reshape(t.shape), float(lam_next / lam)
        agreed = advanced(t, x, state.u, lambda x, u, r: (r, 0.0), (r,), problem.size, ratio)
        work.lend("spare", t)
        return agreed._replace(state=MeasuredState(agreed.state, z * ratio, agreed.primal))

    def answer(self, problem: Problem, t: Any, state: MeasuredState, work: Workspace) -> Any:
        """Return W, which agrees with what was measured."""
        x = kernels.of(t).copy(t, out=work.array("spare", t.shape, t.dtype))
        x += state.u
        return x


def solved(psi: Operator, left: np.ndarray, shift: float, accuracy: float) -> np.ndarray:
    """Return z with (Psi Psi^T + shift I) z = left, up to a residual of this norm.

    >>> from qrank.fit.operators import operator_of
    >>> psi = operator_of(np.array([[2.0, 0.0], [1.0, 1.0]]), (1, 2))
    >>> solved(psi, np.array([6.0, 4.0]), 0.0, 1e-12).round(6)
    array([1., 1.])
    """
    if psi.tight is not None:
        return left / left.dtype.type(psi.tight + shift)
    z = _by_gradients(psi, left, shift, accuracy)
    return _by_least_squares(psi, left, shift, accuracy) if z is None else z


def _by_gradients(psi: Operator, left: np.ndarray, shift: float, accuracy: float) -> np.ndarray | None:
    """Return z by conjugate gradients on the equation itself, which find small parts of Psi early; None where it has no solution.

    Where rows of Psi depend on each other, rounded measurements contradict each other a little. Directions of which Psi^T makes
    nothing are all that is left then, and the steps along them have no end.
    """
    z, r, p, rr = np.zeros_like(left), left, left, float(left @ left)
    for _ in range(MOST):
        if math.sqrt(rr) <= accuracy:
            break
        q = psi.forward(psi.adjoint(p)) + shift * p
        pq = float(p @ q)
        if not pq > NOTHING * psi.gain**2 * float(p @ p):
            return None
        step = r.dtype.type(rr / pq)
        z, r = z + step * p, r - step * q
        rr, before = float(r @ r), rr
        p = r + r.dtype.type(rr / before) * p
    return z


def _by_least_squares(psi: Operator, left: np.ndarray, shift: float, accuracy: float) -> np.ndarray:
    """Return z for which the residual is as small as can be, by conjugate gradients on ||Psi d - left||^2 + shift ||d||^2, d = Psi^T z.

    >>> from qrank.fit.operators import operator_of
    >>> psi = operator_of(np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 1.0]]), (1, 2))
    >>> psi.adjoint(_by_least_squares(psi, np.array([1.0, 3.0, 1.0]), 0.0, 0.0)).round(6)
    array([[1., 1.]])
    """
    z, r, p, w, gg = np.zeros_like(left), left, 0.0, 0.0, math.inf
    for _ in range(MOST):
        rest = r - shift * z
        off, g, before = float(np.linalg.norm(rest)), psi.adjoint(rest), gg
        gg = float(np.vdot(g, g))
        if off <= accuracy or math.sqrt(gg) <= UNSEEN * psi.gain * off:
            break
        ratio = r.dtype.type(gg / before)
        p, w = g + ratio * p, rest + ratio * w
        q = psi.forward(p)
        step = r.dtype.type(gg / (float(q @ q) + shift * float(np.vdot(p, p))))
        z, r = z + step * w, r - step * q
    return z


def least_norm(psi: Operator, b: np.ndarray, exact: bool = True) -> np.ndarray:
    """Return the smallest array that agrees with what was measured, or nearly: the start of a run.

    ``exact``: measurements that no array agrees with are refused. Then the nearest one, in least squares, leaves a residual r that
    is not small but has Psi^T r = 0.

    >>> from qrank.fit.operators import operator_of
    >>> least_norm(operator_of(np.array([[1.0, 1.0]]), (1, 2)), np.array([3.0]))
    array([[1.5, 1.5]])
    """
    if not np.isfinite(b).all():
        raise InputError("measurements must be finite: leave out, with their rows of the operator, those that are not")
    size = float(np.linalg.norm(b))
    x = psi.adjoint(solved(psi, b, 0.0, 1e-3 * size))
    left = b - psi.forward(x)
    off = float(np.linalg.norm(left))
    if exact and off > AGREES * size and np.linalg.norm(psi.adjoint(left)) <= CERTAIN * psi.gain * off:
        raise InputError(
            f"no array agrees with what was measured: the nearest is {off / size:.1%} off; give the standard deviation of the"
            " errors as noise"
        )
    return x
