"""From a Dask array to blocks and back: each of its chunks is computed once, and is never together with the others in memory.

Its chunks are written as *pieces*, cut along the chunks of the run, which are then put together from them, scaled; what is
known is counted.
"""

from __future__ import annotations

import math
import uuid
from functools import partial
from typing import Any

import numpy as np

from ...errors import InputError, need
from ...tensor import Layout
from .blocks import Blocks
from .pieces import Box, Grid, Pieces, Returned, flat, indices, plain, returned_of, volume
from .space import Owned, Part, Space, alone, gently

SCATTERED = 2  # times its entries that a chunk of the user's may span to be read from the run's chunks as they are


class Counts:
    """How many entries are known: of each pixel, and of each row and each column of each slice."""

    def __init__(self, shape: tuple[int, int, int]) -> None:
        n3, n1, n2 = shape
        self.pixels, self.rows = np.zeros(n1 * n2, np.int32), np.zeros((n3, n1), np.int32)
        self.columns = np.zeros((n3, n2), np.int32)

    def __iadd__(self, other: Counts) -> Counts:
        self.pixels += other.pixels
        self.rows += other.rows
        self.columns += other.columns
        return self

    def take(self, known: np.ndarray, rows: Part, columns: Part) -> None:
        """Count a part of the mask."""
        n1, n2 = self.rows.shape[1], self.columns.shape[1]
        self.pixels[slice(*columns)] += known.sum(axis=0, dtype=np.int32)
        first, last = columns[0] // n2, -(-columns[1] // n2)
        if (first * n2, last * n2) != columns:  # parts of images' rows
            whole = np.zeros((len(known), (last - first) * n2), bool)
            whole[:, columns[0] - first * n2 : columns[1] - first * n2] = known
            known = whole
        images = known.reshape(len(known), last - first, n2)
        self.rows[slice(*rows), first : min(last, n1)] += images.sum(axis=2, dtype=np.int32)
        self.columns[slice(*rows)] += images.sum(axis=1, dtype=np.int32)


class Mask(Blocks):
    """A mask in chunks, with its counts."""

    counts: Counts

    def sum(self) -> int:
        """Return how many entries are known."""
        return int(self.counts.rows.sum(dtype=np.int64))

    def any(self) -> bool:
        """Return whether any entry is known."""
        return self.sum() > 0

    def all(self) -> bool:
        """Return whether all entries are known."""
        return self.sum() == self.size


def from_dask(values: Any, known: Any, layout: Layout) -> tuple[Blocks, Mask, int]:
    """Return a Dask array as blocks: scaled, 0 where missing, and the mask, and the exponent of the scale."""
    dask = need("dask", "dask", "working on Dask arrays")
    inner = values.transpose(layout.rest + layout.slice_axes)
    shape = (layout.n3, *layout.slice_shape)
    space = Space(shape, np.dtype(values.dtype), values.chunks)
    space.takes(values)
    axis = 0 if space.wide else 1
    parts = space.parts(axis, space.pixels if space.wide else layout.n3)
    grid = Grid(layout.inner_shape, inner.chunks)
    pieces = Pieces(space.store, Owned(space, f"pieces-{uuid.uuid4().hex}"), grid, axis, parts)
    mask = known.transpose(layout.rest + layout.slice_axes).rechunk(inner.chunks)
    lazy = (
        a.to_delayed(optimize_graph=False).ravel() for a in (inner, mask)
    )  # so that both take a chunk from one reading
    blocks = zip(*lazy, strict=True)
    take = dask.delayed(partial(alone, piece_of, pieces), pure=False)
    found = dask.compute(*(take(i, block, seen) for i, (block, seen) in enumerate(blocks)), **gently(inner))
    for box, (_, bad) in zip(grid.boxes(), found, strict=True):
        if bad is not None:
            _refuse(box, bad, values, layout)
    largest = max(size for size, _ in found)
    exponent = min(math.frexp(largest)[1], 1023) if largest > 0 else 0
    y = Blocks.new(space, shape, values.dtype, axis, parts)
    own = Owned(space, f"mask-{uuid.uuid4().hex}")
    omega = Mask(space, space.store, own, shape, y.stored, np.dtype(bool), axis, parts)
    omega.counts = space.run(assembled_of, space.groups(parts), pieces, y, omega, exponent, added=True)
    return y.reshape(layout.inner_shape), omega.reshape(layout.inner_shape), exponent  # type: ignore[return-value]


def piece_of(pieces: Pieces, i: int, block: Any, known: Any) -> tuple[float, Any]:
    """Write a chunk of the user's array as a piece; return its largest size, and the place of what is not finite."""
    height = math.prod(block.shape[:-2])
    known = np.ascontiguousarray(known)
    block = np.where(known, np.ma.getdata(block), block.dtype.type(0))
    largest = max(float(block.max()), -float(block.min()))
    if not math.isfinite(largest):
        where = np.argwhere(~np.isfinite(block))[0]
        return largest, (tuple(map(int, where)), float(block[tuple(where)]))
    pieces.put("y", i, block.reshape(height, -1))
    pieces.put("m", i, known.reshape(height, -1))
    return largest, None


def assembled_of(parts: list[Part], pieces: Pieces, y: Blocks, omega: Blocks, exponent: int) -> Counts:
    """Write chunks of y and of the mask, and count what is known."""
    counts = Counts((y.shape[0], y.shape[1], y.shape[2]))
    for part in parts:
        rows, columns = (part, (0, y.stored[1])) if y.axis == 0 else ((0, y.stored[0]), part)
        numbers = pieces.get("y", part, y.dtype)
        y.put(part, np.ldexp(numbers, -exponent, out=numbers))
        known = pieces.get("m", part, bool)
        omega.put(part, known)
        counts.take(known, rows, columns)
    return counts


def _refuse(box: Box, bad: Any, values: Any, layout: Layout) -> None:
    place, value = bad
    order = layout.rest + layout.slice_axes
    where = [0] * values.ndim
    for axis, (begin, _), i in zip(order, box, place, strict=True):
        where[axis] = begin + i
    advice = "mark it as missing" if math.isnan(value) else "remove it or mark it as missing"
    raise InputError(f"the entry at {tuple(where)} is observed but {value}; {advice} (observed=False there)")


def to_dask(x: Blocks, layout: Layout, exponent: int = 0) -> Any:
    """Return blocks as a Dask array with the axes, the unit and the chunks of the user's, read when it is computed."""
    da = need("dask.array", "dask", "working on Dask arrays")
    order, space = layout.rest + layout.slice_axes, x.space
    grid = Grid(layout.inner_shape, [space.chunks[axis] for axis in order])
    read: Any = partial(read_of, x, grid)
    if any(spanned(box, grid) > SCATTERED * volume(box) for box in grid.boxes()):
        owner = Owned(space, f"answer-{uuid.uuid4().hex}")
        back = Returned(x.store, owner, grid, x.axis, x.parts, x.stored)
        space.run(returned_of, space.groups(x.parts), x, back)
        read = partial(back.get, dtype=x.dtype)
    return da.map_blocks(
        partial(chunk_of, read, layout, exponent),
        chunks=space.chunks,
        dtype=x.dtype,
        meta=np.empty((0,) * len(layout.shape), x.dtype),
        name=f"qrank-{uuid.uuid4().hex}",
    )


def spanned(box: Box, grid: Grid) -> int:
    """Return how many entries of the matrix lie between the first and the last row, and column, of a box."""
    ends = (
        [flat(corner, sides) for corner in zip(*((a, b - 1) for a, b in some), strict=True)]
        for some, sides in grid.sides(box)
    )
    return math.prod(last - first + 1 for first, last in ends)


def read_of(x: Blocks, grid: Grid, box: Box) -> np.ndarray:
    """Return what is in a box of the user's, (height, width), from the chunks as they are."""
    rows, columns = (indices(*side) for side in grid.sides(box))
    found = x.region(slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1))
    return found[plain(rows - rows[0])][:, plain(columns - columns[0])]


def chunk_of(read: Any, layout: Layout, exponent: int, block_info: Any = None) -> np.ndarray:
    """Return one chunk of the answer."""
    ranges = [(int(a), int(b)) for a, b in block_info[None]["array-location"]]
    order = layout.rest + layout.slice_axes
    box = [ranges[axis] for axis in order]
    found = read(box).reshape([b - a for a, b in box])
    if exponent:
        kind = np.finfo(found.dtype)
        if exponent > kind.maxexp - 24:  # the data's own type ends here
            found = np.clip(found, np.ldexp(kind.min, -exponent), np.ldexp(kind.max, -exponent))
        found = np.ldexp(found, exponent)
    return np.ascontiguousarray(np.transpose(found, np.argsort(order)))
