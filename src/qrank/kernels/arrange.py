"""Arrangements of an array in memory: any of its axes as slices, whole or cut into blocks.

Every axis of length n is seen as two: which block, and which place in the block. Blocks of 1 leave an axis whole. A *view* is
an order of these axes with what is tube, row and column. The grid of blocks begins at an offset, and what sticks out is filled by
mirroring, so that with another offset in every step no entry lies always at a border.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from . import threads
from .memory import Workspace

Axes = tuple[int, ...]


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
    if padded != x.shape:
        x = _padded(x, padded, offsets, work)
    cut = np.transpose(x.reshape(view.parted(padded)), view.order)
    out = work.array("arranged", cut.shape, x.dtype)
    axis = next((i for i, n in enumerate(cut.shape) if n > 1), 0)  # those before it have length 1
    lead = (0,) * axis

    def work_on(s: slice) -> None:
        out[(*lead, s)] = cut[(*lead, s)]

    threads.each(work_on, cut.shape[axis], -(-cut.shape[axis] // (2 * threads.count())))
    r, n1, n2 = (math.prod(view.parted(padded)[axis] for axis in axes) for axes in (view.tube, view.rows, view.columns))
    return out.reshape(r, n1, n2)


def add_arranged(
    total: np.ndarray, stack: np.ndarray, view: View, offsets: tuple[int, ...], weight: float
) -> np.ndarray:
    """Add a weighted stack of a view to an array, in place; what was mirrored is left out."""
    padded = view.padded(total.shape)
    parted = view.parted(padded)
    stack *= stack.dtype.type(weight)
    back = np.transpose(stack.reshape([parted[axis] for axis in view.order]), np.argsort(view.order))

    def work_on(s: slice) -> None:
        # Along the first axis block by block: all other axes of a block's piece can be joined only in a copy.
        b = view.blocks[0]
        for which in range(s.start, s.stop):
            begin, end = max(which * b, offsets[0]), min((which + 1) * b, offsets[0] + total.shape[0])
            if begin < end:
                piece = back[which, begin - which * b : end - which * b].reshape(end - begin, *padded[1:])
                inside = tuple(slice(o, o + n) for o, n in zip(offsets[1:], total.shape[1:], strict=True))
                total[begin - offsets[0] : end - offsets[0]] += piece[(slice(None), *inside)]

    threads.each(work_on, parted[0], -(-parted[0] // (2 * threads.count())))
    return total


def _padded(x: np.ndarray, padded: tuple[int, ...], offsets: tuple[int, ...], work: Workspace) -> np.ndarray:
    """Return x in the middle of a larger array, mirrored at its borders; in the spare array, which is idle until G is made."""
    out = work.array("spare", padded, x.dtype)
    inside = tuple(slice(o, o + n) for o, n in zip(offsets, x.shape, strict=True))

    def work_on(s: slice) -> None:
        out[(slice(offsets[0] + s.start, offsets[0] + s.stop), *inside[1:])] = x[s]

    threads.each(work_on, len(x), -(-len(x) // (2 * threads.count())))
    for axis, (o, n) in enumerate(zip(offsets, x.shape, strict=True)):
        if padded[axis] > n:
            at = np.arange(padded[axis]) - o
            mirror = np.where((at // n) % 2 == 0, at % n, n - 1 - at % n) + o
            outside = np.flatnonzero((at < 0) | (at >= n))
            # Axes before this one have their borders already, those after it not yet
            lead = (slice(None),) * axis
            rest = inside[axis + 1 :]
            out[(*lead, outside, *rest)] = out[(*lead, mirror[outside], *rest)]
    return out


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
