"""Blocks: a stack that lies in chunks, in a store; never changed, and gone when nobody refers to it.

A stack (n3, n1, n2) is the matrix T_(3)^T, (n3, n1 n2). Its chunks are parts of the columns (axis 1: the whole third mode of
some pixels) or of the rows (axis 0: whole slices). A task reads whatever part it needs, from all chunks that have some of
it: so the change from pixels to slices is nothing but the way in which the next pass reads. What a task can make of each
chunk by itself (a product by Q, a cosine transform, a factor) is not written: it is a *step* that is done when it is read.
"""

from __future__ import annotations

import math
import uuid
from typing import Any

import numpy as np

from ...errors import KindError
from .space import Owned, Part, Space
from .steps import Scale
from .store import Store


class Blocks:
    """A matrix in chunks, seen as an array of some shape."""

    __array_ufunc__ = None  # NumPy must not take it for a number
    carried: tuple[str, ...] = ()  # what of it tasks get besides

    def __init__(
        self,
        space: Space | None,
        store: Store,
        owner: Any,
        shape: tuple[int, ...],
        stored: tuple[int, int],
        dtype: np.dtype,
        axis: int,
        parts: list[Part],
        steps: tuple[Any, ...] = (),
    ) -> None:
        self._space, self.store, self.owner = space, store, owner
        self.shape, self.stored, self.dtype = shape, stored, np.dtype(dtype)
        self.axis, self.parts, self.steps = axis, parts, steps

    @classmethod
    def new(cls, space: Space, shape: tuple[int, ...], dtype: Any, axis: int, parts: list[Part]) -> Blocks:
        """Return an array whose chunks are still to be written."""
        owner = Owned(space, f"stack-{uuid.uuid4().hex}")
        return cls(space, space.store, owner, shape, (shape[0], math.prod(shape[1:])), dtype, axis, parts)

    def _but(self, **changes: Any) -> Blocks:
        given: dict[str, Any] = dict(
            shape=self.shape, stored=self.stored, dtype=self.dtype, axis=self.axis, parts=self.parts
        )
        given |= {"steps": self.steps, **changes}
        made = type(self)(self._space, self.store, self.owner, **given)
        made.__dict__.update({k: v for k, v in self.__dict__.items() if k not in made.__dict__})
        return made

    def __reduce__(self) -> Any:
        about = (None, self.store, self.owner, self.shape, self.stored, self.dtype, self.axis, self.parts, self.steps)
        carried = {name: getattr(self, name) for name in self.carried}
        return (type(self) if carried else Blocks), about, carried or None

    @property
    def space(self) -> Space:
        """The room of the run; tasks have none."""
        assert self._space is not None
        return self._space

    @property
    def size(self) -> int:
        """The number of entries."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def whole(self) -> int | None:
        """Which part of the matrix its steps must be given, see `steps`."""
        return next((step.whole for step in self.steps if step.whole is not None), None)

    def __len__(self) -> int:
        return self.shape[0]

    def reshape(self, *shape: Any) -> Blocks:
        """Return the same chunks under another shape, whose last axes together are the pixels."""
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        if -1 in shape:
            rest = -math.prod(shape)
            shape = tuple(self.size // rest if n == -1 else n for n in shape)
        assert math.prod(shape) == self.size
        return self._but(shape=tuple(map(int, shape)))

    def then(self, step: Any, height: int | None = None, dtype: Any = None) -> Blocks:
        """Return what a step makes of it, of so many rows."""
        if None not in (step.whole, self.whole) and step.whole != self.whole:
            raise KindError("arrays in chunks cannot be worked on along both sides in one pass")
        shape = self.shape if height is None else (height, *self.shape[1:])
        return self._but(shape=shape, steps=(*self.steps, step), dtype=np.dtype(dtype or self.dtype))

    def region(self, rows: slice, columns: slice) -> np.ndarray:
        """Return a part of the matrix, not to be written to."""
        if not self.steps:
            return self._read(rows, columns)
        whole = self.whole
        seen = (slice(None) if whole == 0 else rows, slice(None) if whole == 1 else columns)
        part = self._read(*seen)
        for step in self.steps:
            part = step(part, *seen)
        return part[rows] if whole == 0 else part[:, columns] if whole == 1 else part

    def part(self, axis: int, part: Part) -> np.ndarray:
        """Return a part of the rows (axis 0) or columns (axis 1)."""
        some = slice(*part)
        return self.region(some, slice(None)) if axis == 0 else self.region(slice(None), some)

    def put(self, part: Part, numbers: np.ndarray) -> None:
        """Write a chunk."""
        self.store.write(f"{self.owner.name}/{self.parts.index(part)}", numbers)

    def _read(self, rows: slice, columns: slice) -> np.ndarray:
        ranges = [slice(*s.indices(n)[:2]) for s, n in zip((rows, columns), self.stored, strict=True)]
        first, last = ranges[self.axis].start, ranges[self.axis].stop
        found = []
        for i, (begin, end) in enumerate(self.parts):
            if begin < last and end > first:
                at = list(ranges)
                at[self.axis] = slice(max(first, begin) - begin, min(last, end) - begin)
                found.append((max(first, begin) - first, f"{self.owner.name}/{i}", at))
        if len(found) == 1:
            return self.store.read(found[0][1], *found[0][2])
        out: np.ndarray | None = None
        for start, name, at in found:
            part = self.store.read(name, *at)
            if out is None:
                out = np.empty([s.stop - s.start for s in ranges], part.dtype)
            out[(slice(None),) * self.axis + (slice(start, start + part.shape[self.axis]),)] = part
        assert out is not None
        return out

    def __mul__(self, number: Any) -> Blocks:
        if not isinstance(number, int | float):
            raise KindError(NOT_HERE)
        return self.then(Scale(float(number)))

    __rmul__ = __imul__ = __mul__

    def _not_here(self, *_: Any) -> Any:
        raise KindError(NOT_HERE)

    __add__ = __radd__ = __sub__ = __rsub__ = __truediv__ = __matmul__ = __getitem__ = __setitem__ = __array__ = (
        _not_here
    )


METHODS = (
    "vmtqn",
    "motqn",
    "tnn",
    "tnn-c",
    "ttnn",
    "tqn",
    "tqn-random",
    "slicewise",
    "views",
)  # that Dask arrays can be completed by
NOT_HERE = (
    f"this is not there for Dask arrays: name one of {', '.join(METHODS)}, with exact values (no noise), without patch"
)
