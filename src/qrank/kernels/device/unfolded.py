"""Principal directions of the third mode of a stack on a device. `kernels/principal.py` says what is computed, and why so."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base import Kernels
from ..spectral import gram_safe, tells

TINY = 1e-37  # what lengths are divided by at least


class Unfolded(Kernels):
    """The operations on the mode-3 unfolding."""

    xp: Any

    def _eigenpairs(self, square: Any, above: float = -math.inf) -> tuple[Any, Any]:
        """Return the square roots of the eigenvalues greater than ``above``, descending, one at least; vectors as rows."""
        xp = self.xp
        if not math.isfinite(float(xp.trace(square))):  # |a_ij|^2 <= a_ii a_jj
            raise np.linalg.LinAlgError("the matrix is not finite")
        w, v = xp.each(lambda _: xp.eigh(square), 1, 1)[0]
        k = len(w) if above == -math.inf else max(1, int((w > above).sum()))
        return xp.sqrt(xp.maximum(xp.flip(w[len(w) - k :]), 0)), xp.flip(v[:, len(w) - k :].T)

    def _precision(self, t: Any) -> np.dtype:
        return np.dtype(np.float32 if t.dtype.itemsize < 8 else np.float64)

    def _gram(self, a: Any) -> Any:
        """Return A A^T, the sum over A's columns shared out where threads are."""
        pieces = self.xp.each(lambda s: a[:, s] @ a[:, s].T, a.shape[1], -(-a.shape[1] // self.xp.threads()))
        return sum(pieces[1:], pieces[0])

    def _double_gram(self, a: Any) -> Any:
        """Return A A^T in double precision, some columns at a time."""
        xp, total = self.xp, 0
        for i in range(0, a.shape[1], 1 << 14):
            part = xp.astype(a[:, i : i + (1 << 14)], xp.float64)
            total = total + part @ part.T
        return total

    def short_side(self, t: Any, lam: float, r: int, work: Any) -> tuple[Any, Any, bool]:
        """Return the singular vectors of the shorter side of T_(3) above lam, as rows, r at most, and the singular values."""
        xp, (n3, n1, n2) = self.xp, t.shape
        flat, wide = t.reshape(n3, n1 * n2), n1 * n2 <= n3
        a, dtype = flat.T if wide else flat, self._precision(t)
        square = self._gram(a)
        sure = tells(float(xp.trace(square)), lam, dtype)
        s, rows = self._eigenpairs(square, lam * lam if sure else -math.inf)
        s, rows = s[:r], rows[:r]
        if wide and not sure:  # what has drowned in the Gram matrix is taken from T
            length = xp.sqrt(((flat @ rows.T) ** 2).sum(0))
            s = xp.where(s < gram_safe(dtype) * s[0], xp.maximum(length, TINY), s)
        return rows, s, sure

    def under_left(self, rows: Any, s: Any, t: Any, work: Any) -> Any:
        """Return T x_3 Q = U diag(s), (k, n1, n2), for Q = PCA(T, 3, k) known by rows = U^T: no product is needed."""
        return (rows * s[:, None]).reshape(-1, *t.shape[1:])

    def from_left(self, g: Any, rows: Any, s: Any, t: Any, work: Any, out: Any = None) -> Any:
        """Return G x_3 Q^T for Q = PCA(T, 3, k) of a wide T_(3) = U diag(s) Q^T, known by rows = U^T."""
        flat = t.reshape(len(t), -1)
        right = (g / self.xp.maximum(s, TINY)[:, None, None]).reshape(len(rows), -1)
        if 2 * len(rows) <= flat.shape[1]:
            return ((flat @ rows.T) @ right).reshape(t.shape)
        return (flat @ (rows.T @ right)).reshape(t.shape)

    def principal(self, t: Any, r: int, out: Any = None, work: Any = None) -> tuple[Any, Any]:
        """Return V = PCA(T, 3, r), (n3, r), for a stack T, and the r largest singular values of T_(3)."""
        xp, (n3, n1, n2) = self.xp, t.shape
        flat = t.reshape(n3, n1 * n2)
        if n3 <= n1 * n2:
            s, rows = self._eigenpairs(self._gram(flat))
            return rows[:r].T, s[:r]
        square = self._double_gram(flat.T) if t.dtype.itemsize < 8 else self._gram(flat.T)
        q = flat @ xp.astype(self._eigenpairs(square)[1][:r].T, t.dtype)
        s = xp.maximum(xp.sqrt((q * q).sum(0)), TINY)
        # The columns are at right angles but for rounding where T has any size in their direction; QR makes all of them so.
        q, upper = xp.linalg.qr(q / s)
        return q * xp.where(xp.diagonal(upper) < 0, -1, 1), s

    def under_principal(self, t: Any, r: int) -> Any:
        """Return T x_3 V, V = PCA(T, 3, r)."""
        n3, n1, n2 = t.shape
        flat = t.reshape(n3, n1 * n2)
        if n3 <= n1 * n2:
            return (self.principal(t, r)[0].T @ flat).reshape(-1, n1, n2)
        s, rows = self._eigenpairs(self._gram(flat.T))
        return (rows[:r] * s[:r, None]).reshape(-1, n1, n2)
