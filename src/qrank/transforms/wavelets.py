"""Orthonormal Daubechies wavelets along the third mode, for any length."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse

from .base import Matrix

SMALL = 256  # a dense product of so many rows is faster than a sparse one


def daubechies(moments: int) -> np.ndarray:
    """Return the 2 * moments taps of the orthonormal Daubechies low-pass filter, by spectral factorisation.

    >>> daubechies(2).round(4)
    array([ 0.483 ,  0.8365,  0.2241, -0.1294])
    """
    # |h(w)|^2 = 2 (1 - y)^N P(y), y = sin^2(w/2): keep the roots z inside the unit circle, y = (2 - z - 1/z) / 4.
    p = np.polynomial.Polynomial([math.comb(moments - 1 + k, k) for k in range(moments)])
    h = np.ones(1)
    for y in p.roots() if moments > 1 else ():
        z = np.roots([1, 4 * y - 2, 1])
        h = np.convolve(h, [1, -z[np.abs(z) < 1][0]])
    for _ in range(moments):
        h = np.convolve(h, [1, 1])
    h = h.real
    return h * (math.sqrt(2) / h.sum())


@lru_cache(maxsize=8)
def wavelet(n3: int, moments: int = 4, levels: int | None = None) -> Matrix:
    """Return the periodic orthonormal Daubechies wavelet transform of any length n3.

    A band of odd length hands its last sample, untransformed, to the coarse band: still orthonormal. By default there
    are as many levels as leave the coarse band at least as long as the filter.

    >>> q = wavelet(11).matrix
    >>> bool(np.allclose(q.T @ q, np.eye(11)))
    True
    """
    low = daubechies(moments)
    high = low[::-1] * (-1.0) ** np.arange(len(low))
    if levels is None:
        levels = max(0, int(math.log2(n3 / len(low)))) if n3 >= len(low) else 0
    q: Any = scipy.sparse.eye_array(n3, format="csr")
    band = n3
    for _ in range(levels):
        if band < 2:
            break
        half, odd = divmod(band, 2)
        rows, columns, values = [], [], []
        for i in range(half):
            where = (2 * i + np.arange(len(low))) % (2 * half)
            for row, taps in ((i, low), (half + odd + i, high)):
                rows += [row] * len(low)
                columns += where.tolist()
                values += taps.tolist()
        if odd:
            rows, columns, values = [*rows, half], [*columns, band - 1], [*values, 1.0]
        level: Any = scipy.sparse.coo_array((values, (rows, columns)), shape=(band, band)).tocsr()
        q = scipy.sparse.block_diag([level, scipy.sparse.eye_array(n3 - band)], format="csr") @ q
        band = half + odd
    q = q.T.tocsr()
    return Matrix(q if n3 > SMALL else q.toarray())
