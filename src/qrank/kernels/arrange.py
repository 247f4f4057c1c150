"""Arrangements of an array in memory: any of its axes as slices, whole or cut into blocks.

Every axis of length n is seen as two: which block, and which place in the block. Blocks of 1 leave an axis whole. A *view* is
an order of these axes with what is tube, row and column. The grid of blocks begins at an offset, and what sticks out is filled by
mirroring, so that with another offset in every step no entry lies always at a border.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import threads
from .memory import Workspace, scratch

Axes = tuple[int, ...]
PIECE = 1 << 17  # entries that are padded, or taken back, together


@dataclass(frozen=True)
class View:
    """How an array is seen as a stack: axis a is cut into axes 2a (which block) and 2a + 1 (the place in it).

    >>> view = View((1, 8, 8), (3, 5), (0, 1), (2, 4))  # blocks of 8 x 8: places, frames, blocks
    >>> view.stack_shape((30, 64, 40))
    (64, 30, 54)
    """

    blocks: tuple[int, ...]  # sides, one for each axis
    tube: Axes
    rows: Axes
    columns: Axes

    @property
    def order(self) -> Axes:
        """The order of the axes of the array that is cut."""
        rest = {*range(2 * len(self.blocks))} - {*self.tube, *self.rows, *self.columns}  # of length 1: blocks of 1
        return (*sorted(rest), *self.tube, *self.rows, *self.columns)

    def parted(self, padded: tuple[int, ...]) -> tuple[int, ...]:
        """Return the lengths of all blocks and places."""
        return tuple(m for n, b in zip(padded, self.blocks, strict=True) for m in (n // b, b))

    def padded(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape with room for blocks at any offset."""
        return tuple(n if b == 1 else -(-(n + b - 1) // b) * b for n, b in zip(shape, self.blocks, strict=True))

    def stack_shape(self, shape: tuple[int, ...]) -> tuple[int, int, int]:
        """Return (tube, rows, columns) of an array of a shape."""
        parted = self.parted(self.padded(shape))
        r, n1, n2 = (math.prod(parted[axis] for axis in axes) for axes in (self.tube, self.rows, self.columns))
        return r, n1, n2

    def offsets(self, rng: np.random.Generator) -> tuple[int, ...]:
        """Return where the array begins in the padded one: at random, but at 0 where an axis is not cut."""
        return tuple(0 if b == 1 else int(rng.integers(b)) for b in self.blocks)


def arranged(x: np.ndarray, view: View, offsets: tuple[int, ...], work: Workspace) -> np.ndarray:
    """Return an array as a stack (tube, rows, columns), in scratch memory."""
    padded = view.padded(x.shape)
    parted = view.parted(padded)
    out = work.array("arranged", tuple(parted[axis] for axis in view.order), x.dtype)
    if padded == x.shape:
        cut = np.transpose(x.reshape(parted), view.order)
        axis = next((i for i, n in enumerate(cut.shape) if n > 1), 0)  # those before it have length 1
        lead = (0,) * axis

        def work_on(s: slice) -> None:
            out[(*lead, s)] = cut[(*lead, s)]

        threads.each(work_on, cut.shape[axis], -(-cut.shape[axis] // (2 * threads.count())))
    else:
        back = np.transpose(out, np.argsort(view.order))

        def pad(s: slice) -> None:
            back[s] = _padded(x, s, view.blocks[0], padded, offsets).reshape(-1, *parted[1:])

        threads.each(pad, parted[0], _together(padded, view.blocks[0]))
    return out.reshape(view.stack_shape(x.shape))


def add_arranged(
    total: np.ndarray, stack: np.ndarray, view: View, offsets: tuple[int, ...], weight: float
) -> np.ndarray:
    """Add a weighted stack of a view, which is overwritten, to an array, in place; what was mirrored is left out."""

    def add(s: slice, piece: np.ndarray) -> None:
        piece *= piece.dtype.type(weight)
        total[s] += piece

    taken_back(add, stack, view, offsets, total.shape)
    return total


def taken_back(
    work: Callable[[slice, np.ndarray], None],
    stack: np.ndarray,
    view: View,
    offsets: tuple[int, ...],
    shape: tuple[int, ...],
) -> None:
    """Call work with planes of an array's first axis, and what the stack of a view says of them, which it may overwrite.

    >>> view, x, second = View((1, 2), (3,), (0,), (2,)), np.arange(12).reshape(3, 4), np.zeros(3, int)
    >>> stack = arranged(x, view, (0, 1), Workspace())
    >>> taken_back(lambda s, piece: second.__setitem__(s, piece[:, 1]), stack, view, (0, 1), x.shape)
    >>> second
    array([1, 5, 9])
    """
    padded, b, o = view.padded(shape), view.blocks[0], offsets[0]
    parted = view.parted(padded)
    back = np.transpose(stack.reshape([parted[axis] for axis in view.order]), np.argsort(view.order))
    inside = tuple(slice(o, o + n) for o, n in zip(offsets[1:], shape[1:], strict=True))

    def work_on(s: slice) -> None:
        # A few blocks at a time: all other axes of a piece can be joined only in a copy
        begin, end = max(s.start * b, o), min(s.stop * b, o + shape[0])
        if begin < end:
            piece = back[s].reshape(-1, *padded[1:])[begin - s.start * b : end - s.start * b]
            work(slice(begin - o, end - o), piece[(slice(None), *inside)])

    threads.each(work_on, parted[0], _together(padded, b))


def _together(padded: tuple[int, ...], b: int) -> int:
    """Return how many blocks of the first axis to take at a time: as many as a cache holds, for every thread some."""
    blocks = padded[0] // b
    return max(1, min(-(-blocks // (2 * threads.count())), PIECE // (b * math.prod(padded[1:]))))


def _padded(x: np.ndarray, s: slice, b: int, padded: tuple[int, ...], offsets: tuple[int, ...]) -> np.ndarray:
    """Return some blocks of the first axis of x in the middle of a larger array, mirrored at its borders; in scratch."""
    planes = _mirror(np.arange(s.start * b, s.stop * b) - offsets[0], len(x))
    inside = tuple(slice(o, o + n) for o, n in zip(offsets[1:], x.shape[1:], strict=True))
    out = scratch("padded", (len(planes), *padded[1:]), x.dtype)
    whole = planes[-1] - planes[0] == len(planes) - 1  # nothing is mirrored along the first axis
    out[(slice(None), *inside)] = x[planes[0] : planes[-1] + 1] if whole else x[planes]
    for axis, (o, n) in enumerate(zip(offsets[1:], x.shape[1:], strict=True), 1):
        at = np.arange(padded[axis]) - o
        outside = np.flatnonzero((at < 0) | (at >= n))
        # Axes before this one have their borders already, those after it not yet
        lead, rest = (slice(None),) * axis, inside[axis:]
        for first in outside.tolist():
            out[(*lead, first, *rest)] = out[(*lead, _mirror(at[first], n) + o, *rest)]
    return out


def _mirror(at: Any, n: int) -> Any:
    """Return where positions, which may lie outside of 0 … n - 1, are in a mirror at either end."""
    return np.where((at // n) % 2 == 0, at % n, n - 1 - at % n)


def sampled(
    stack: np.ndarray, view: View, offsets: tuple[int, ...], shape: tuple[int, ...], at: np.ndarray
) -> np.ndarray:
    """Return the entries of an array of a shape at flat positions, from the stack that a view makes of it.

    >>> view, x = View((1, 2), (3,), (0,), (2,)), np.arange(12).reshape(3, 4)
    >>> sampled(arranged(x, view, (0, 1), Workspace()), view, (0, 1), x.shape, np.array([0, 5, 11]))
    array([ 0,  5, 11])
    """
    parted = view.parted(view.padded(shape))
    places = []
    for where, offset, block in zip(np.unravel_index(at, shape), offsets, view.blocks, strict=True):
        places += [(where + offset) // block, (where + offset) % block]
    return stack.reshape([parted[axis] for axis in view.order])[tuple(places[axis] for axis in view.order)]
