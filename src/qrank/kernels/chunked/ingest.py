"""From a Dask array to blocks and back: each of its chunks is computed once, and is never together with the others in memory.

Its chunks are written as they are, as *pieces*; then every chunk of the run is put together from the pieces that have some
of it, scaled, and what is known is counted.
"""

from __future__ import annotations

import itertools
import math
import uuid
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...errors import InputError, need
from ...tensor import Layout
from .blocks import Blocks
from .space import Owned, Part, Space, alone, gently
from .store import Store

Range = tuple[int, int]


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


class Pieces:
    """The chunks of an array with its slices last, in a store: each a matrix of its rows and pixels."""

    def __init__(self, store: Store, owner: Any, shape: tuple[int, ...], chunks: Sequence[Sequence[int]]) -> None:
        self.store, self.owner, self.shape = store, owner, shape
        self.ranges = [list(itertools.pairwise(itertools.accumulate(sizes, initial=0))) for sizes in chunks]

    def boxes(self) -> list[tuple[Range, ...]]:
        """Return what each piece covers."""
        return list(itertools.product(*self.ranges))

    def region(self, kind: str, rows: Part, columns: Part, dtype: Any) -> np.ndarray:
        """Put a part of the matrix together."""
        out = np.empty((rows[1] - rows[0], columns[1] - columns[0]), dtype)
        for i, box in enumerate(self.boxes()):
            at = []
            for ranges, sides, (first, last) in (
                (box[:-2], self.shape[:-2], rows),
                (box[-2:], self.shape[-2:], columns),
            ):
                if _flat([a for a, _ in ranges], sides) >= last or _flat([b - 1 for _, b in ranges], sides) < first:
                    break
                flat = indices(ranges, sides)
                begin, end = np.searchsorted(flat, (first, last))
                if begin == end:
                    break
                at.append((slice(int(begin), int(end)), flat[begin:end] - first))
            else:
                (own, to), (cut, into) = at
                part = self.store.read(f"{self.owner.name}/{kind}{i}", own, cut)
                out[plain(to) if _run(to) or _run(into) else to[:, None], plain(into)] = part
        return out


def _flat(at: Sequence[int], sides: Sequence[int]) -> int:
    place = 0
    for i, n in zip(at, sides, strict=True):
        place = place * n + i
    return place


def indices(ranges: Sequence[Range], sides: Sequence[int]) -> np.ndarray:
    """Return the flat positions of a box, ascending.

    >>> indices([(0, 2), (1, 3)], (2, 4))
    array([1, 2, 5, 6])
    """
    flat = np.zeros(1, np.int64)
    for (begin, end), n in zip(ranges, sides, strict=True):
        flat = (flat[:, None] * n + np.arange(begin, end)).reshape(-1)
    return flat


def _run(at: np.ndarray) -> bool:
    return len(at) == at[-1] - at[0] + 1


def plain(at: np.ndarray) -> Any:
    """Return positions as a slice, where they follow each other."""
    return slice(int(at[0]), int(at[-1]) + 1) if _run(at) else at


def from_dask(values: Any, known: Any, layout: Layout) -> tuple[Blocks, Mask, int]:
    """Return a Dask array as blocks: scaled, 0 where missing, and the mask, and the exponent of the scale."""
    dask = need("dask", "dask", "working on Dask arrays")
    inner = values.transpose(layout.rest + layout.slice_axes)
    shape = (layout.n3, *layout.slice_shape)
    space = Space(shape, np.dtype(values.dtype), values.chunks)
    space.takes(values)
    pieces = Pieces(space.store, Owned(space, f"pieces-{uuid.uuid4().hex}"), layout.inner_shape, inner.chunks)
    mask = known.transpose(layout.rest + layout.slice_axes).rechunk(inner.chunks)
    lazy = (
        a.to_delayed(optimize_graph=False).ravel() for a in (inner, mask)
    )  # so that both take a chunk from one reading
    blocks = zip(*lazy, strict=True)
    take = dask.delayed(partial(alone, piece_of, pieces), pure=False)
    found = dask.compute(*(take(i, block, seen) for i, (block, seen) in enumerate(blocks)), **gently(inner))
    for box, (_, bad) in zip(pieces.boxes(), found, strict=True):
        if bad is not None:
            _refuse(box, bad, values, layout)
    largest = max(size for size, _ in found)
    exponent = min(math.frexp(largest)[1], 1023) if largest > 0 else 0
    axis = 0 if space.wide else 1
    parts = space.parts(axis, space.pixels if space.wide else layout.n3)
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
    pieces.store.write(f"{pieces.owner.name}/y{i}", block.reshape(height, -1))
    pieces.store.write(f"{pieces.owner.name}/m{i}", known.reshape(height, -1))
    return largest, None


def assembled_of(parts: list[Part], pieces: Pieces, y: Blocks, omega: Blocks, exponent: int) -> Counts:
    """Write chunks of y and of the mask, and count what is known."""
    counts = Counts((y.shape[0], y.shape[1], y.shape[2]))
    for part in parts:
        rows, columns = (part, (0, y.stored[1])) if y.axis == 0 else ((0, y.stored[0]), part)
        numbers = pieces.region("y", rows, columns, y.dtype)
        y.put(part, np.ldexp(numbers, -exponent, out=numbers))
        known = pieces.region("m", rows, columns, bool)
        omega.put(part, known)
        counts.take(known, rows, columns)
    return counts


def _refuse(box: tuple[Range, ...], bad: Any, values: Any, layout: Layout) -> None:
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
    made = da.map_blocks(
        partial(read_of, x, layout, exponent),
        chunks=x.space.chunks,
        dtype=x.dtype,
        meta=np.empty((0,) * len(layout.shape), x.dtype),
        name=f"qrank-{uuid.uuid4().hex}",
    )
    return made


def read_of(x: Blocks, layout: Layout, exponent: int, block_info: Any = None) -> np.ndarray:
    """Return one chunk of the answer."""
    ranges = [(int(a), int(b)) for a, b in block_info[None]["array-location"]]
    order = layout.rest + layout.slice_axes
    box, sides = [ranges[axis] for axis in order], layout.inner_shape
    rows, columns = indices(box[:-2], sides[:-2]), indices(box[-2:], sides[-2:])
    found = x.region(slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1))
    found = found[plain(rows - rows[0])][:, plain(columns - columns[0])].reshape([b - a for a, b in box])
    if exponent:
        kind = np.finfo(x.dtype)
        if exponent > kind.maxexp - 24:  # the data's own type ends here
            found = np.clip(found, np.ldexp(kind.min, -exponent), np.ldexp(kind.max, -exponent))
        found = np.ldexp(found, exponent)
    return np.ascontiguousarray(np.transpose(found, np.argsort(order)))
