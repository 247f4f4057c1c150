"""The way of the user's Dask array in and out, and what both kinds share."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from ...errors import InputError, KindError, need
from ...tensor import Layout
from ..base import Kernels
from .blocks import METHODS, NOT_HERE
from .ingest import from_dask

GLIMPSE = 1 << 21  # entries that are looked at to guess which axes are a picture's


class Chunked(Kernels):
    """What both kinds share: what they cannot do, they say in one sentence that names what can be done."""

    assignable = True
    reuses = False  # nothing is made in the memory of what is not needed any more

    def __getattr__(self, operation: str) -> Any:
        if operation.startswith("_"):
            raise AttributeError(operation)
        raise KindError(NOT_HERE)

    methods = METHODS
    among = ("vmtqn", "tnn-c", "tnn", "slicewise", "views")
    only: ClassVar[dict[str, dict[str, Any]]] = {"views": {"ordered": False}}

    def host(self, t: Any) -> np.ndarray:
        """Return what is small, and NumPy's already."""
        return np.asarray(t)

    def eye(self, n: int, r: int, t: Any) -> np.ndarray:
        """Return the first r columns of the identity, in the type of t."""
        return np.eye(n, r, dtype=t.dtype)

    def outer(self, x: Any, layout: Layout) -> Any:
        """Return what is in the axes of a stack in those of the user's array."""
        return layout.outer(x)


class DaskKernels(Chunked):
    """The way of the user's Dask array in and out."""

    def known(self, array: Any, observed: Any) -> Any:
        """Return the boolean Dask array that is True where an entry is known."""
        da = need("dask.array", "dask", "working on Dask arrays")
        if array.dtype.kind not in "fiubc":
            raise KindError(f"an array of numbers is needed, not one of type {array.dtype}")
        if any(math.isnan(n) for n in array.shape):
            raise InputError("a Dask array of unknown shape cannot be completed: call its compute_chunk_sizes() first")
        masked = isinstance(array._meta, np.ma.MaskedArray)
        if observed is None:
            known = ~da.isnan(da.ma.getdata(array) if masked else array) if array.dtype.kind == "f" else None
            known = da.ones(array.shape, dtype=bool, chunks=array.chunks) if known is None else known
        else:
            observed = da.asarray(observed)
            if observed.dtype != bool:
                raise KindError(
                    f"observed must be boolean, True where the value is known, not of type {observed.dtype}"
                )
            try:
                known = da.broadcast_to(observed, array.shape)
            except ValueError:
                raise InputError(
                    f"observed has shape {observed.shape}, which does not broadcast to that of the array, {array.shape}"
                ) from None
        return known & ~da.ma.getmaskarray(array) if masked else known

    def values(self, array: Any) -> Any:
        """Return the values in single precision, but doubles as such."""
        if array.dtype.kind == "c":
            raise KindError(
                "complex arrays cannot be completed: complete the real and imaginary parts as one more axis"
            )
        double = array.dtype.kind == "f" and array.dtype.itemsize > 4
        return array.astype(np.float64 if double else np.float32)

    def scaled(self, values: Any, known: Any, layout: Layout) -> tuple[Any, Any, int]:
        """Return the values as blocks, 0 where missing, over a power of two, and the mask."""
        return from_dask(values, known, layout)

    def glimpse(self, array: Any, known: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return a box from the middle of an array, in memory, and of what is known of it."""
        pairs = zip(array.shape, sides(array.shape), strict=True)
        box = tuple(slice((n - s) // 2, (n - s) // 2 + s) for n, s in pairs)
        return need("dask", "dask", "").compute(array[box], known[box])

    def typed(self, x: Any, array: Any) -> Any:
        """Return x with the type of the array, where that is a floating one, else with one that holds its values."""
        da, dtype = need("dask.array", "dask", ""), array.dtype
        if dtype.kind != "f":
            return x.astype(np.result_type(dtype, x.dtype))
        if dtype.itemsize < x.dtype.itemsize:
            x = da.clip(x, np.finfo(dtype).min, np.finfo(dtype).max)
        return x.astype(dtype)

    def keep(self, x: Any, array: Any, known: Any) -> Any:
        """Return x, its known entries those of the array."""
        return need("dask.array", "dask", "").where(known, array, x)

    def like(self, x: Any, array: Any) -> Any:
        """Return x: it is a Dask array."""
        return x

    def count(self, mask: Any) -> int:
        """Return how many entries of a mask are True."""
        return int(mask.sum().compute())


def sides(shape: tuple[int, ...], most: int = GLIMPSE) -> list[int]:
    """Return the sides of a box of an array that is small enough to be looked at.

    >>> sides((4000, 30, 4000))
    [250, 30, 250]
    """
    found = list(shape)
    while math.prod(found) > most:
        longest = int(np.argmax(found))
        found[longest] = -(-found[longest] // 2)
    return found
