"""Framelets: redundant tight frames of B-splines along the third mode.

An undecimated filter bank: the low-pass filter and the high-pass filters of a B-spline, with 2^l - 1 zeros between
their taps at level l = 0, 1, …, applied to the low-pass band of the level before. By the unitary extension principle
W^T W = I, though W, of shape (r, n3) with r = (high-pass filters x levels + 1) n3, is not square. The data are
continued by reflection; all filters are symmetric or antisymmetric about their middle, so that keeps W^T W = I.

The filters are not of one norm, and the deeper a band, the more filters it has been through: noise of size 1 has about the
size w_b in band b, w_b = n0^l ||filter_b|| at level l, with n0 the norm of the low-pass filter, and n0^levels in the last low-pass
band. These are the bands' ``weights``.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import scipy.sparse

from ..errors import InputError
from ..kernels import threads
from .base import Transform

BANDS = 1 << 14  # numbers in a piece of the frames
ORDERS = {
    "linear": 2,
    "cubic": 4,
}  # of the B-spline = number of high-pass filters; even: the filters have a middle
DEEPEST = 16  # levels, at most: beyond 2^16 zeros between the taps there is nothing to see


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


def usual_levels(n3: int, filters: str = "cubic") -> int:
    """Return 3, or as many levels, one at least, as have no filter that is longer than a third mode of length n3.

    >>> [usual_levels(n3) for n3 in (3, 12, 31, 1000)]
    [1, 2, 3, 3]
    """
    order = ORDERS.get(filters, 1)  # what is wrong with the filters, Framelet says
    return max([1, *(level for level in (2, 3) if order * 2 ** (level - 1) <= n3)])


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
        if not 1 <= self.levels <= DEEPEST:
            raise InputError(f"levels must be at least 1 and at most {DEEPEST}, not {self.levels!r}")

    @property
    def r(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Number of slices: the high-pass bands of each level, finest first, then the last low-pass band."""
        return self.levels * self._high + self.n3

    @cached_property
    def weights(self) -> np.ndarray:
        """The weight of each slice, (r,): that of its band.

        >>> Framelet(1, "linear", 2).weights.round(4)
        array([0.5   , 0.6124, 0.3062, 0.375 , 0.375 ])
        """
        low, *high = np.linalg.norm(bspline_filters(ORDERS[self.filters]), axis=1)
        bands = [low**level * norm for level in range(self.levels) for norm in high] + [low**self.levels]
        return np.repeat(np.array(bands), self.n3)

    @property
    def _high(self) -> int:
        """Slices in the high-pass bands of one level."""
        return ORDERS[self.filters] * self.n3

    def _steps(self, dtype: np.dtype) -> list[scipy.sparse.csr_array]:
        """One matrix for each level, from a low-pass band to the high-pass bands and the next low-pass band."""
        n, taps = self.n3, bspline_filters(ORDERS[self.filters])
        middle = taps.shape[1] // 2
        steps = []
        for level in range(self.levels):
            at = (np.arange(n)[:, None] + (np.arange(taps.shape[1]) - middle) * 2**level) % (2 * n)
            at = np.where(at < n, at, 2 * n - 1 - at)  # reflected
            filters = np.concatenate([taps[1:], taps[:1]]).astype(dtype)
            data = np.repeat(filters[:, None], n, axis=1).ravel()
            columns = np.tile(at.astype(np.int32).ravel(), len(filters))
            begin = np.arange(0, data.size + 1, taps.shape[1], dtype=np.int32)  # every row has as many taps
            steps.append(scipy.sparse.csr_array((data, columns, begin), shape=(len(filters) * n, n)))
        return steps

    def _length(self, columns: int, most: int | None = None) -> int:
        """Frames in a piece: so few, of so many entries, that their bands fit the second-level cache, and so many at most."""
        return max(1, min(BANDS // max(1, columns), self.n3 // 2, most or self.n3))

    def forward(self, t: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return W T: shape (r, n1, n2)."""
        g = np.empty((self.r, *t.shape[1:]), t.dtype) if out is None else out
        for rows, band in self.bands(t, np.empty_like(t), (np.empty_like(t), np.empty_like(t))):
            g[rows] = band
        return g

    def bands(
        self, t: np.ndarray, out: np.ndarray, low: tuple[np.ndarray, np.ndarray]
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield W T, a few slices of a band at a time: which ones, and they, (some, n1, n2), in out, as many as that has room for.

        low, two arrays like T, is overwritten; one of them may be T.
        """
        n, high, room = self.n3, ORDERS[self.filters], len(out)
        into, above = out.reshape(room, -1), t.reshape(n, -1)
        pieces = _forward(self, self._length(above.shape[1], room), t.dtype)

        def filtered(level: int, band: int, some: list[Rows], into: np.ndarray) -> slice:
            first = some[0].frames.start

            def work(i: slice) -> None:
                s, steps = some[i.start]
                into[s.start - first : s.stop - first] = steps[level][band] @ above

            threads.each(work, len(some), 1)
            return slice(first, some[-1].frames.stop)

        some = max(1, room // (pieces[0].frames.stop - pieces[0].frames.start))  # pieces that there is room for
        for level in range(self.levels):
            for band in range(high):
                for i in range(0, len(pieces), some):
                    s, first = filtered(level, band, pieces[i : i + some], into), (level * high + band) * n
                    yield slice(first + s.start, first + s.stop), out[: s.stop - s.start]
            below = low[level % 2].reshape(above.shape)
            filtered(level, high, pieces, below)
            above = below
        for first in range(0, n, room):
            found = low[(self.levels - 1) % 2][first : first + room]
            yield slice(self.r - n + first, self.r - n + first + len(found)), found

    def backward(self, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return W^T G: shape (n3, n1, n2)."""
        flat, high = g.reshape(self.r, math.prod(g.shape[1:])), self._high
        low = flat[self.levels * high :]
        with _MADE_ONCE:
            pieces = _backward(self, self._length(flat.shape[1]), g.dtype)
        x = np.empty((self.n3, *g.shape[1:]), g.dtype) if out is None else out
        places = x.reshape(low.shape), np.empty_like(low) if self.levels > 1 else x  # in turn, so that the last is x
        for level in reversed(range(self.levels)):
            above = places[level % 2]
            bands = flat[level * high : (level + 1) * high]

            def work(
                i: slice,
                level: int = level,
                low: np.ndarray = low,
                bands: np.ndarray = bands,
                above: np.ndarray = above,
            ) -> None:
                s, adjoints = pieces[i.start]
                from_high, from_low = adjoints[level]
                np.add(from_high @ bands, from_low @ low, out=above[s])

            threads.each(work, len(pieces), 1)
            low = above
        return x


class Rows(NamedTuple):
    """A few frames, and for each level what makes them: rows of its matrix, or of its transpose, in parts."""

    frames: slice
    steps: list[list[scipy.sparse.csr_array]]


def _cut(n: int, length: int) -> list[slice]:
    return [slice(start, min(start + length, n)) for start in range(0, n, length)]


_MADE_ONCE = threading.Lock()  # by the first of the threads that ask for the same matrices


@lru_cache(maxsize=2)
def _forward(w: Framelet, length: int, dtype: np.dtype) -> list[Rows]:
    """Rows of every band."""
    steps, n, bands = w._steps(dtype), w.n3, ORDERS[w.filters] + 1
    return [
        Rows(s, [[step[band * n + s.start : band * n + s.stop] for band in range(bands)] for step in steps])
        for s in _cut(n, length)
    ]


@lru_cache(maxsize=2)
def _backward(w: Framelet, length: int, dtype: np.dtype) -> list[Rows]:
    """Rows of the transpose: of the part that comes from the high-pass bands, and of that from the other."""
    adjoints = [(step[: w._high].T.tocsr(), step[w._high :].T.tocsr()) for step in w._steps(dtype)]
    return [Rows(s, [[high[s], low[s]] for high, low in adjoints]) for s in _cut(w.n3, length)]
