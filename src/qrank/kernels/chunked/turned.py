"""Other arrangements of a stack in chunks, and their weighted sum: nothing is written, both are made when they are read.

A stack whose chunks are at hand is read as one of other slice axes, box by box: a range of pixels of the new one is a box of the
old one, whose rows and columns are read in runs. With slices along the frames, as in most arrangements, that is some frames of
all pixels: one run. So a sum of several arrangements is read by frames, too (`Sum.whole`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..arrange import View
from .blocks import Blocks
from .pieces import Box, volume
from .space import Part


class Turned(Blocks):
    """An array of some axes, kept as a matrix, as a matrix of them in another order."""

    carried = ("source", "sides", "split", "order")
    source: Blocks
    sides: tuple[int, ...]  # lengths of the axes of the source
    split: tuple[int, int]  # how many of the axes are rows: of the source, and here
    order: tuple[int, ...]  # of the axes here

    @classmethod
    def of(cls, source: Blocks, sides: Sequence[int], split: tuple[int, int], order: Sequence[int]) -> Turned:
        """Return the source with its axes in another order, the first of which are rows; its shape is that of a stack."""
        lengths, rows = [sides[axis] for axis in order], split[1]
        stored = math.prod(lengths[:rows]), math.prod(lengths[rows:])
        pixels = lengths[rows:] if len(lengths) - rows == 2 else [math.prod(lengths[rows:-1]), lengths[-1]]
        space = source.space.turned((stored[0], pixels[0], pixels[1]))
        made = cls(space, source.store, source.owner, space.shape, stored, source.dtype, 1, [(0, stored[1])])
        made.source, made.sides, made.split, made.order = source, tuple(sides), split, tuple(order)
        return made

    def _read(self, rows: slice, columns: slice) -> np.ndarray:
        wanted = [slice(*s.indices(n)[:2]) for s, n in zip((rows, columns), self.stored, strict=True)]
        lengths, split = [self.sides[axis] for axis in self.order], self.split[1]
        out = np.empty([s.stop - s.start for s in wanted], self.source.dtype)
        for top, some in boxes((wanted[0].start, wanted[0].stop), lengths[:split]):
            for left, others in boxes((wanted[1].start, wanted[1].stop), lengths[split:]):
                box = [(0, 0)] * len(self.order)
                for axis, one in zip(self.order, (*some, *others), strict=True):
                    box[axis] = one
                height, width = volume(some), volume(others)
                found = np.transpose(self._box(box), self.order).reshape(height, width)
                out[top : top + height, left : left + width] = found
        return out

    def _box(self, box: Box) -> np.ndarray:
        """Return a box of the source's axes."""
        cut = self.split[0]
        tops, lefts = list(runs(box[:cut], self.sides[:cut])), list(runs(box[cut:], self.sides[cut:]))
        parts = [[self.source.region(slice(*top), slice(*left)) for left in lefts] for top in tops]
        found = parts[0][0] if len(tops) == len(lefts) == 1 else np.block(parts)
        return found.reshape([end - begin for begin, end in box])


class Sum(Blocks):
    """A weighted sum of arrays."""

    carried = ("terms",)
    terms: tuple[tuple[Blocks, float], ...]
    whole = 1  # type: ignore[assignment]  # by rows, which is how other arrangements are read in few runs

    @classmethod
    def zeros(cls, t: Blocks, shape: tuple[int, ...]) -> Sum:
        """Return a sum of nothing, in the type and with the matrix of t."""
        made = cls(t.space, t.store, t.owner, shape, t.stored, t.dtype, 0, t.space.parts(0, t.stored[1]))
        made.terms = ()
        return made

    def plus(self, term: Blocks, weight: float) -> Sum:
        """Return the sum with another array."""
        made = Sum.zeros(self, self.shape)
        made.terms = (*self.terms, (term, weight))
        return made

    def _read(self, rows: slice, columns: slice) -> np.ndarray:
        total: np.ndarray | None = None
        for term, weight in self.terms:
            part = term.region(rows, columns)
            part = part * part.dtype.type(weight)
            total = part if total is None else np.add(total, part, out=total)
        return (
            np.zeros([len(range(*s.indices(n))) for s, n in zip((rows, columns), self.stored, strict=True)], self.dtype)
            if total is None
            else total
        )


def axes_of(view: View) -> tuple[tuple[int, ...], int]:
    """Return the axes of the array in the order of a view that cuts none of them, and how many are its tube."""
    return tuple(axis // 2 for axis in (*view.tube, *view.rows, *view.columns)), len(view.tube)


def boxes(part: Part, sides: Sequence[int]) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Yield the boxes of which a range of flat positions consists, each with where in the range it begins.

    >>> list(boxes((2, 12), (4, 5)))
    [(0, [(0, 1), (2, 5)]), (3, [(1, 2), (0, 5)]), (8, [(2, 3), (0, 2)])]
    """
    first, last = part
    if len(sides) <= 1:
        yield 0, [part] if sides else []
        return
    inner, at = math.prod(sides[1:]), first
    while at < last:
        place, begin = divmod(at, inner)
        if begin == 0 and last - at >= inner:  # whole ones
            end = last // inner
            yield at - first, [(place, end), *((0, n) for n in sides[1:])]
            at = end * inner
            continue
        stop = min(inner, begin + last - at)
        for offset, box in boxes((begin, stop), sides[1:]):
            yield at - first + offset, [(place, place + 1), *box]
        at += stop - begin


def runs(box: Box, sides: Sequence[int]) -> Iterator[Part]:
    """Yield the runs of flat positions of which a box consists, ascending.

    >>> list(runs([(0, 2), (1, 3)], (2, 4))), list(runs([(1, 2), (0, 4)], (2, 4)))
    ([(1, 3), (5, 7)], [(4, 8)])
    """
    if not box:
        yield 0, 1
        return
    (begin, end), inner = box[0], math.prod(sides[1:])
    if volume(box[1:]) == inner:
        yield begin * inner, end * inner
        return
    for place in range(begin, end):
        for first, last in runs(box[1:], sides[1:]):
            yield place * inner + first, place * inner + last
