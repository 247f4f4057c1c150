"""Straight lines between the known entries of a fibre."""

from __future__ import annotations

import numpy as np

PIECE = 1 << 18  # entries at a time: positions and weights are needed for these only


def interpolated(y: np.ndarray, observed: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Return y with straight lines between the known entries along an axis, and where there is such a line.

    With a < i < b the nearest known places of a fibre, x_i = ((b - i) y_a + (i - a) y_b) / (b - a); beyond the last known
    entry its value is kept. Fibres without a known entry are left as they are, and False in the second array.

    >>> y = np.array([[0.0, 1.0, 9.0, 9.0, 4.0, 9.0], [9.0, 9.0, 9.0, 9.0, 9.0, 9.0]])
    >>> x, there = interpolated(y, np.isin(y, (1, 4)), axis=1)
    >>> x[0], there[:, 0]
    (array([1., 1., 2., 3., 4., 4.]), array([ True, False]))
    """
    moved = np.moveaxis(y, axis, -1)
    shape, length = moved.shape, y.shape[axis]
    x = moved.reshape(-1, length).copy()
    known = np.moveaxis(observed, axis, -1).reshape(-1, length)
    there = np.logical_or.reduce(known, axis=1)
    rows = max(1, PIECE // length)
    for first in range(0, len(x), rows):
        piece = slice(first, first + rows)
        some = there[piece]
        x[piece][some] = _lines(x[piece][some], known[piece][some])
    reached = np.broadcast_to(there[:, None], x.shape).reshape(shape)
    return np.moveaxis(x.reshape(shape), -1, axis), np.moveaxis(reached, -1, axis)


def _lines(y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the rows of y, each with a known entry, interpolated."""
    place = np.arange(y.shape[1], dtype=np.int32)
    before = np.maximum.accumulate(np.where(known, place, -1), axis=1)
    after = np.minimum.accumulate(np.where(known, place, y.shape[1])[:, ::-1], axis=1)[:, ::-1]
    before, after = np.where(before < 0, after, before), np.where(after >= y.shape[1], before, after)
    share = (place - before) / np.maximum(after - before, 1).astype(y.dtype)
    left = np.take_along_axis(y, before, axis=1)
    return left + share.astype(y.dtype) * (np.take_along_axis(y, after, axis=1) - left)
