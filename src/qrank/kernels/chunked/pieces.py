"""Between the user's chunks and those of a run: what one has of the other lies together, so that it is read in one piece.

The user's chunks are boxes, the run's are parts of the rows or columns of the matrix. A box of pixels is scattered over
the columns: were the chunks of one side read by the other as they are, a few numbers would have to be read here and there from
all of them. So whoever writes sorts: a chunk of the user's is written part by part (`Pieces`), a part of the answer box by
box (`Returned`), and where each piece begins is counted, not kept.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .blocks import Blocks
from .space import Part
from .store import Store

Box = Sequence[tuple[int, int]]  # a range of each axis


class Grid:
    """The user's chunks with the slice axes last: boxes, each of some rows and some columns of the matrix."""

    def __init__(self, shape: tuple[int, ...], chunks: Sequence[Sequence[int]]) -> None:
        self.shape = shape
        self.ranges = [list(itertools.pairwise(itertools.accumulate(sizes, initial=0))) for sizes in chunks]

    def boxes(self) -> list[tuple[tuple[int, int], ...]]:
        """Return what each chunk covers."""
        return list(itertools.product(*self.ranges))

    def sides(self, box: Box) -> list[tuple[Box, tuple[int, ...]]]:
        """Return the axes of a box that are rows, and those that are columns, with the lengths of the whole array."""
        return [(box[:-2], self.shape[:-2]), (box[-2:], self.shape[-2:])]


class Pieces:
    """The chunks of an array, each cut along the parts of a run."""

    def __init__(self, store: Store, owner: Any, grid: Grid, axis: int, parts: list[Part]) -> None:
        self.store, self.owner, self.grid, self.axis, self.parts = store, owner, grid, axis, parts

    def put(self, kind: str, i: int, block: np.ndarray) -> None:
        """Write chunk i, (height, width)."""
        box, sides = self.grid.sides(self.grid.boxes()[i])[self.axis]
        at = [before(end, box, sides) for _, end in self.parts[:-1]]
        cut = (one.reshape(-1) for one in np.split(block, at, axis=self.axis))
        self.store.write(f"{self.owner.name}/{kind}{i}", np.concatenate(list(cut))[None])

    def get(self, kind: str, part: Part, dtype: Any) -> np.ndarray:
        """Put a part of the matrix together."""
        shape = [math.prod(self.grid.shape[:-2]), math.prod(self.grid.shape[-2:])]
        shape[self.axis] = part[1] - part[0]
        ranges = [(0, shape[0]), (0, shape[1])]
        ranges[self.axis] = part
        out = np.empty(shape, dtype)
        for i, box in enumerate(self.grid.boxes()):
            pair = self.grid.sides(box)
            first, last = (before(end, *pair[self.axis]) for end in part)
            if first == last:
                continue
            other = volume(pair[1 - self.axis][0])
            found = self.store.read(f"{self.owner.name}/{kind}{i}", slice(0, 1), slice(first * other, last * other))
            put_at(out, ranges, pair, found)
        return out


class Returned:
    """An answer, each of its parts cut along the chunks of the user's array."""

    def __init__(self, store: Store, owner: Any, grid: Grid, axis: int, parts: list[Part], stored: tuple[int, int]):
        self.store, self.owner, self.grid, self.axis, self.parts, self.stored = store, owner, grid, axis, parts, stored

    def put(self, part: Part, a: np.ndarray) -> None:
        """Write a part of the matrix."""
        out, at, ranges = np.empty(a.size, a.dtype), 0, self._ranges(part)
        for box in self.grid.boxes():
            rows, columns = (found_at(side, *pair) for side, pair in zip(ranges, self.grid.sides(box), strict=True))
            if len(rows) and len(columns):
                piece = a[plain(rows)][:, plain(columns)]
                out[at : at + piece.size] = piece.reshape(-1)
                at += piece.size
        self.store.write(f"{self.owner.name}/{self.parts.index(part)}", out[None])

    def get(self, box: Box, dtype: Any) -> np.ndarray:
        """Return one of the user's chunks, (height, width)."""
        pair = self.grid.sides(box)
        begin = [(flat([a for a, _ in some], sides), flat([b - 1 for _, b in some], sides) + 1) for some, sides in pair]
        out = np.empty([volume(some) for some, _ in pair], dtype)
        places = [indices(*one) for one in pair]
        for j, part in enumerate(self.parts):
            if part[0] >= begin[self.axis][1] or part[1] <= begin[self.axis][0]:
                continue
            ranges = self._ranges(part)
            height, width = (within(side, *one) for side, one in zip(ranges, pair, strict=True))
            if height * width:
                row_start = ahead(ranges[0], *pair[0]) * (ranges[1][1] - ranges[1][0])
                start = row_start + height * ahead(ranges[1], *pair[1])
                found = self.store.read(f"{self.owner.name}/{j}", slice(0, 1), slice(start, start + height * width))
                where = [slice(*np.searchsorted(at, side)) for at, side in zip(places, ranges, strict=True)]
                out[where[0], where[1]] = found.reshape(height, width)
        return out

    def _ranges(self, part: Part) -> list[Part]:
        ranges = [(0, self.stored[0]), (0, self.stored[1])]
        ranges[self.axis] = part
        return ranges


def returned_of(parts: list[Part], x: Blocks, out: Returned) -> None:
    """Write parts of an answer for the user's chunks."""
    for part in parts:
        out.put(part, x.part(out.axis, part))


def put_at(out: np.ndarray, ranges: Sequence[Part], pair: Any, numbers: np.ndarray) -> None:
    """Put what a box has of a part of the matrix to its place there."""
    to, into = (found_at(side, *one) for side, one in zip(ranges, pair, strict=True))
    rows = plain(to) if _run(to) or _run(into) else to[:, None]
    out[rows, plain(into)] = numbers.reshape(len(to), len(into))


def found_at(part: Part, box: Box, sides: Sequence[int]) -> np.ndarray:
    """Return where in a part of flat positions those of a box are.

    >>> found_at((2, 6), [(0, 2), (1, 3)], (2, 4))
    array([0, 3])
    """
    at = indices(box, sides)
    first, last = np.searchsorted(at, part)
    return at[first:last] - part[0]


def indices(box: Box, sides: Sequence[int]) -> np.ndarray:
    """Return the flat positions of a box, ascending.

    >>> indices([(0, 2), (1, 3)], (2, 4))
    array([1, 2, 5, 6])
    """
    found = np.zeros(1, np.int64)
    for (begin, end), n in zip(box, sides, strict=True):
        found = (found[:, None] * n + np.arange(begin, end)).reshape(-1)
    return found


def before(position: int, box: Box, sides: Sequence[int]) -> int:
    """Return how many flat positions of a box are less than one.

    >>> [before(k, [(0, 2), (1, 3)], (2, 4)) for k in range(8)]
    [0, 0, 1, 2, 2, 2, 3, 4]
    """
    count, inner = 0, math.prod(sides)
    for k, ((begin, end), n) in enumerate(zip(box, sides, strict=True)):
        inner //= n
        place, position = divmod(position, inner)
        count += (min(max(place, begin), end) - begin) * volume(box[k + 1 :])
        if not begin <= place < end:
            return count
    return count


def within(part: Part, box: Box, sides: Sequence[int]) -> int:
    """Return how many flat positions of a box are in a part."""
    return before(part[1], box, sides) - before(part[0], box, sides)


def ahead(part: Part, box: Box, sides: Sequence[int]) -> int:
    """Return how many of the positions in a part belong to boxes that come before this one, of a grid of which it is one.

    >>> ahead((2, 8), [(0, 2), (2, 4)], (2, 4))  # before it comes [(0, 2), (0, 2)]
    2
    """
    whole = [(0, n) for n in sides]
    return sum(within(part, [*box[:k], (0, box[k][0]), *whole[k + 1 :]], sides) for k in range(len(box)))


def volume(box: Box) -> int:
    """Return the number of entries of a box."""
    return math.prod(end - begin for begin, end in box)


def flat(at: Sequence[int], sides: Sequence[int]) -> int:
    """Return the flat position of an entry.

    >>> flat((1, 2), (2, 4))
    6
    """
    place = 0
    for i, n in zip(at, sides, strict=True):
        place = place * n + i
    return place


def _run(at: np.ndarray) -> bool:
    return len(at) == at[-1] - at[0] + 1


def plain(at: np.ndarray) -> Any:
    """Return positions as a slice, where they follow each other."""
    return slice(int(at[0]), int(at[-1]) + 1) if _run(at) else at
