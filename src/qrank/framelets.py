"""Framelets: redundant tight frames of B-splines along the third mode.

An undecimated filter bank: the low-pass filter and the high-pass filters of a B-spline, with 2^l - 1 zeros between
their taps at level l = 0, 1, …, applied to the low-pass band of the level before. By the unitary extension principle
W^T W = I, though W, of shape (r, n3) with r = (high-pass filters x levels + 1) n3, is not square. The data are
continued by reflection; all filters are symmetric or antisymmetric about their middle, so that keeps W^T W = I.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse

from .errors import InputError
from .transforms import Transform

ORDERS = {
    "linear": 2,
    "cubic": 4,
}  # of the B-spline = number of high-pass filters; even: the filters have a middle


def bspline_filters(order: int) -> np.ndarray:
    """Return the low-pass filter, then the high-pass filters, of the B-spline tight frame of an order; rows of taps.

    Filter k has the symbol sqrt(binomial(order, k)) cos^(order-k)(w/2) sin^k(w/2), up to a phase: the squares of all
    of them add up to 1.

    >>> bspline_filters(2).round(4)
    array([[ 0.25  ,  0.5   ,  0.25  ],
           [ 0.3536,  0.    , -0.3536],
           [ 0.25  , -0.5   ,  0.25  ]])
    """
    rows = []
    for k in range(order + 1):
        taps = np.ones(1)
        for i in range(order):
            taps = np.convolve(taps, [0.5, -0.5] if i < k else [0.5, 0.5])
        rows.append(math.sqrt(math.comb(order, k)) * taps)
    return np.array(rows)


@dataclass(frozen=True)
class Framelet(Transform):
    """The B-spline framelet transform of a third mode of length n3: an isometry with more slices than frames.

    >>> w = Framelet(6, "linear", 2)
    >>> w.r, bool(np.allclose(w.matrix @ w.matrix.T, np.eye(6)))
    (30, True)
    """

    n3: int
    filters: str = "cubic"
    levels: int = 1

    def __post_init__(self) -> None:
        if self.filters not in ORDERS:
            raise InputError(f"filters must be one of {', '.join(ORDERS)}, not {self.filters!r}")

    @property
    def r(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Number of slices: the high-pass bands of each level, finest first, then the last low-pass band."""
        return self.levels * self._high + self.n3

    @property
    def _high(self) -> int:
        """Slices in the high-pass bands of one level."""
        return ORDERS[self.filters] * self.n3

    @cached_property
    def _steps(self) -> list[scipy.sparse.csr_array]:
        """One matrix for each level, from a low-pass band to the high-pass bands and the next low-pass band."""
        n, taps = self.n3, bspline_filters(ORDERS[self.filters])
        middle = taps.shape[1] // 2
        steps = []
        for level in range(self.levels):
            at = (np.arange(n)[:, None] + (np.arange(taps.shape[1]) - middle) * 2**level) % (2 * n)
            at = np.where(at < n, at, 2 * n - 1 - at)  # reflected
            rows = np.broadcast_to(np.arange(n)[:, None], at.shape)
            bands = [
                scipy.sparse.coo_array((np.tile(row, n), (rows.ravel(), at.ravel())), shape=(n, n))
                for row in (*taps[1:], taps[0])
            ]
            steps.append(scipy.sparse.vstack(bands, format="csr"))
        return steps

    @cached_property
    def _adjoints(self) -> list[tuple[scipy.sparse.csr_array, scipy.sparse.csr_array]]:
        """The transposes of the matrices of each level: of the rows for the high-pass bands, and of the others."""
        return [(step[: self._high].T.tocsr(), step[self._high :].T.tocsr()) for step in self._steps]

    def forward(self, t: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return W T: shape (r, n1, n2)."""
        g = np.empty((self.r, *t.shape[1:]), t.dtype) if out is None else out
        flat, low, high = g.reshape(self.r, -1), t.reshape(self.n3, -1), self._high
        for level, step in enumerate(self._steps):
            bands = step.astype(t.dtype, copy=False) @ low
            flat[level * high : (level + 1) * high] = bands[:high]
            low = bands[high:]
        flat[self.levels * high :] = low
        return g

    def backward(self, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return W^T G: shape (n3, n1, n2)."""
        flat, high = g.reshape(self.r, -1), self._high
        low = flat[self.levels * high :]
        for level in reversed(range(self.levels)):
            from_high, from_low = (a.astype(g.dtype, copy=False) for a in self._adjoints[level])
            low = from_high @ flat[level * high : (level + 1) * high] + from_low @ low
        x = low.reshape(self.n3, *g.shape[1:])
        if out is None:
            return x
        out[...] = x
        return out
