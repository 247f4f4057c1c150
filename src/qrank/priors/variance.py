"""VMTQN: Q = PCA(T, 3, r), the right singular vectors of T_(3), which maximise the variance; (26).

They come from the Gram matrix of the shorter side of T_(3). The singular values s_i of T_(3) are the Frobenius norms of the
slices of T x_3 Q, and a slice with s_i <= lam is shrunk to zero, so only columns with s_i > lam are made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import kernels
from ..kernels.memory import Workspace
from ..penalties import Penalty
from ..transforms import Matrix, Transform
from .base import Proxed
from .qnorm import Learner, QState, prox_under


@dataclass(frozen=True)
class MaximalVariance(Learner):
    """Q = PCA(T, 3, r). Of a wide T_(3), Q itself is made only where it is kept for later steps (``lasting``)."""

    r: int
    lasting: bool = False
    onto: bool = False  # X is made in the memory of T, which the caller does not need any more

    def prox(self, t: np.ndarray, lam: float, penalty: Penalty, state: QState, work: Workspace) -> Proxed:
        """Return X under the principal directions of T that survive lam."""
        if len(t) < t.shape[1] * t.shape[2]:
            return self._tall(t, lam, penalty, state, work)
        if not self.lasting:
            return self._wide(t, lam, penalty, state, work)
        q = kernels.of(t).principal(t, self.r)[0]
        return prox_under(Matrix(q), t, lam, penalty, state._replace(q=q), work)

    def _tall(self, t: np.ndarray, lam: float, penalty: Penalty, state: QState, work: Workspace) -> Proxed:
        """T_(3)^T T_(3) = Q diag(s^2) Q^T gives Q."""
        kind = kernels.of(t)
        rows, s, sure = kind.short_side(t, lam, self.r, work)
        onto = self.onto and kind.reuses
        g_room = t[: len(rows)] if onto else work.array("spare", (len(rows), *t.shape[1:]), t.dtype)
        g = kind.product(rows, t, out=g_room)
        shrunk = kind.shrink(g, lam, penalty, energies=s * s if sure else None)
        x = kind.product(rows.T, shrunk.g, out=t if onto else work.array("spare", t.shape, t.dtype))
        state = state._replace(q=kind.copy(rows.T)) if self.lasting else state
        return Proxed(x, state, shrunk.value, shrunk.rank, shrunk.slices)

    def _wide(self, t: np.ndarray, lam: float, penalty: Penalty, state: QState, work: Workspace) -> Proxed:
        """T_(3) T_(3)^T = U diag(s^2) U^T gives U, and T x_3 Q = U diag(s) needs no product."""
        kind = kernels.of(t)
        rows, s, _ = kind.short_side(t, lam, self.r, work)
        g = kind.under_left(rows, s, t, work)
        shrunk = kind.shrink(g, lam, penalty, energies=s * s)
        x = kind.from_left(shrunk.g, rows, s, t, work, t if self.onto and kind.reuses else None)
        return Proxed(x, state, shrunk.value, shrunk.rank, shrunk.slices)

    def transform(self, x: np.ndarray, spare: np.ndarray, state: QState, work: Workspace) -> Transform | None:
        """Return PCA(X, 3, r) of the last X: during the run only the columns that survive the threshold are made."""
        q = kernels.of(x).learned(x, self.r, spare, work)
        return None if q is None else Matrix(q)
