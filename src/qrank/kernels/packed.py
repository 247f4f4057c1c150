"""Stacks in three bytes a number: whole numbers of 24 bits times a unit for each slice.

What is lost is at most 2^-24 of the largest entry of the slice: no more than single precision loses of that one. The upper 16 bits and
the lower 8 are arrays of their own, which NumPy can work on; a stack is read and written a few slices or columns at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import threads

LARGEST = 2**23 - 256  # of the whole numbers: rounding beyond it still fits
PIECE = 1 << 16  # numbers that a thread packs at once


class Packed(NamedTuple):
    """A stack (r, n1, n2): (256 high + low) unit.

    >>> p = zeros((2, 3, 1))
    >>> write(p, slice(1, 2), np.array([[[0.5], [-0.25], [0]]], np.float32))
    >>> unpacked(p)[:, :, 0].round(6)
    array([[ 0.  ,  0.  ,  0.  ],
           [ 0.5 , -0.25,  0.  ]], dtype=float32)
    """

    high: np.ndarray  # (r, n1, n2) int16
    low: np.ndarray  # (r, n1, n2) uint8
    unit: np.ndarray  # (r,) float32


def zeros(shape: tuple[int, int, int]) -> Packed:
    """Return a stack of zeros."""
    return Packed(np.zeros(shape, np.int16), np.zeros(shape, np.uint8), np.zeros(shape[0], np.float32))


def unpacked(p: Packed, rows: slice = slice(None), out: np.ndarray | None = None) -> np.ndarray:
    """Return the numbers of some slices in single precision."""
    high, low, unit = (a[rows] for a in p)
    found = np.empty(high.shape, np.float32) if out is None else out[: len(high)]
    threads.each(lambda s: _put(high[s], low[s], unit[s], found[s]), len(high), _slices(high))
    return found


def columns(p: Packed, some: slice) -> np.ndarray:
    """Return some entries of every slice, (r, 1, entries), in single precision.

    >>> columns(zeros((5, 2, 3)), slice(1, 3)).shape
    (5, 1, 2)
    """
    high, low = (a.reshape(len(a), 1, -1)[:, :, some] for a in (p.high, p.low))
    found = np.empty(high.shape, np.float32)
    _put(high, low, p.unit, found)
    return found


def write(p: Packed, rows: slice, values: np.ndarray) -> None:
    """Put numbers in single precision, which are overwritten, in the place of some slices."""
    high, low, unit = (a[rows] for a in p)

    def work(s: slice) -> None:
        v = values[s]
        top = np.maximum(v.max(axis=(1, 2)), -v.min(axis=(1, 2)))
        unit[s] = np.maximum(top / np.float32(LARGEST), np.finfo(np.float32).tiny)
        v /= unit[s, None, None]
        with np.errstate(invalid="ignore"):  # what is not finite the residuals will tell
            whole = np.rint(v, out=v).astype(np.int32)
        low[s] = whole & 255
        whole >>= 8
        high[s] = whole

    threads.each(work, len(values), _slices(values))


def _put(high: np.ndarray, low: np.ndarray, unit: np.ndarray, out: np.ndarray) -> None:
    np.multiply(high, np.float32(256), out=out)
    out += low
    out *= unit[:, None, None]


def _slices(a: np.ndarray) -> int:
    return max(1, PIECE // max(1, a[0].size)) if len(a) else 1
