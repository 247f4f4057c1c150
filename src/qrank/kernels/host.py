"""NumPy arrays in memory: the kind that everything else is measured by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg

from ..errors import InputError, KindError
from ..tensor import Layout, laid_over, shapes_of_masks
from . import products, threads
from .advance import advance, known_entries
from .arrange import add_arranged, arranged, sampled, taken_back
from .base import Kernels
from .free import free_memory
from .marks import marked, marks_beside
from .principal import from_left, principal, short_side, under_left, under_principal
from .shrink import shrink
from .smoothing import smooth_fill, smoothness
from .spectral import spectral_norm

LOOKED_AT = 1 << 17  # entries that are looked at together


class Host(Kernels):
    """The operations on NumPy arrays; masked arrays and whatever NumPy can take are seen as such."""

    numpy = True
    xp = np

    empty = staticmethod(np.empty)
    copy = staticmethod(products.copy)
    product = staticmethod(products.product)
    fourier = staticmethod(products.fourier)
    cosine = staticmethod(products.cosine)
    matmul = staticmethod(products.matmul)
    slope = staticmethod(products.slope)
    shrink = staticmethod(shrink)
    spectral_norm = staticmethod(spectral_norm)
    advance = staticmethod(advance)
    arranged = staticmethod(arranged)
    add_arranged = staticmethod(add_arranged)
    taken_back = staticmethod(taken_back)
    sampled = staticmethod(sampled)
    smooth_fill = staticmethod(smooth_fill)
    smoothness = staticmethod(smoothness)
    known_entries = staticmethod(known_entries)
    short_side = staticmethod(short_side)
    under_left = staticmethod(under_left)
    from_left = staticmethod(from_left)
    principal = staticmethod(principal)
    under_principal = staticmethod(under_principal)

    def free_memory(self) -> int | None:
        """Return what is free of the machine's memory, within the limits of the process."""
        return free_memory()

    def eps(self, t: np.ndarray) -> float:
        """Return the precision of the floating type."""
        return float(np.finfo(t.dtype).eps)

    def single(self, t: np.ndarray) -> np.ndarray:
        """Return t in single precision, itself where it is."""
        return t.astype(np.float32, copy=False)

    def cast(self, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return t in the floating type of y."""
        return t.astype(y.dtype, copy=False)

    def spread(self, y: np.ndarray, observed: np.ndarray) -> float:
        """Return the standard deviation of what is known; its size where all is equal, 1 where all is 0."""
        known = y[observed]
        return float(known.std(dtype=float)) or float(abs(known[0])) or 1.0

    def eye(self, n: int, r: int, t: np.ndarray) -> np.ndarray:
        """Return the first r columns of the identity, in the type of t."""
        return np.eye(n, r, dtype=t.dtype)

    def cayley(self, q: np.ndarray, half: np.ndarray) -> np.ndarray:
        """Return (I + H)^{-1} (I - H) Q."""
        return scipy.linalg.solve(self.eye(len(half), len(half), half) + half, q - half @ q, check_finite=False)

    def rms(self, t: np.ndarray) -> float:
        """Return the root mean square of entries."""
        return math.sqrt(float(np.mean(np.square(t, dtype=float))))

    def flatnonzero(self, mask: np.ndarray) -> np.ndarray:
        """Return the flat positions at which a mask is True."""
        return np.flatnonzero(mask)

    def host(self, t: Any) -> np.ndarray:
        """Return an array as NumPy's."""
        return np.asarray(t)

    def put_known(self, t: np.ndarray, observed: np.ndarray, entries: list[np.ndarray]) -> np.ndarray:
        """Return a stack (which is overwritten) with other known entries."""
        t[observed] = np.concatenate(entries)
        return t

    def summed(self, work: Any, *arrays: np.ndarray) -> list[float]:
        """Return the sums of what work returns for pieces that stay in the cache, in threads."""
        return products.sums(work, *arrays)

    def norm(self, t: np.ndarray) -> float:
        """Return ||T||_F."""
        return math.sqrt(float(np.vdot(t, t)))

    def known(self, array: Any, observed: Any) -> np.ndarray:
        """Return the boolean array that is True where an entry is known."""
        marks = [] if observed is not None else marks_beside(array)
        array = _array(array)
        data = np.ma.getdata(array)
        masked = ~np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
        if observed is None:
            known = ~np.isnan(data) if data.dtype.kind == "f" else np.ones(data.shape, dtype=bool)
            if marks:
                known &= ~marked(data, marks)
            return known if masked is None else known & masked
        observed = np.asarray(observed)
        if observed.dtype != bool:
            raise KindError(f"observed must be boolean, True where the value is known, not of type {observed.dtype}")
        laid = laid_over(observed, data.shape)
        if laid is None:
            raise InputError(
                f"observed has shape {observed.shape}, which does not broadcast to that of the array, {data.shape}:"
                f" {shapes_of_masks(data.shape)} would do"
            )
        known = np.ascontiguousarray(laid)
        return known if masked is None else known & masked

    def values(self, array: Any) -> np.ndarray:
        """Return the values as float32 or float64, without a copy where they are that already."""
        values = np.ma.getdata(_array(array))
        if values.dtype.kind == "c":
            raise KindError(
                "complex arrays cannot be completed: complete the real and imaginary parts as one more axis"
            )
        single = values.dtype.kind == "f" and values.dtype.itemsize <= 4
        return values.astype(np.float32 if single else np.float64, copy=False)

    def scaled(self, values: np.ndarray, known: np.ndarray, layout: Layout) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the values, 0 where missing, over a power of two, which loses nothing, and the mask, both slices last."""
        inner, observed = layout.inner(values), np.ascontiguousarray(layout.inner(known))
        if _as_wanted(inner, observed):
            y = inner.view()
            y.flags.writeable = False
            return y, observed, 0
        y = np.zeros(layout.inner_shape, dtype=values.dtype)
        np.copyto(y, inner, where=observed)
        largest = max(float(y.max()), -float(y.min()))
        if not math.isfinite(largest):
            check_finite(values, known)
        exponent = min(math.frexp(largest)[1], 1023) if largest > 0 else 0  # 2 ** exponent is a number, too
        np.ldexp(y, -exponent, out=y)
        return y, observed, exponent

    def fibre_counts(self, observed: np.ndarray) -> list[np.ndarray]:
        """Return for each axis of a mask how many of its fibres have 0, 1, … known entries."""
        counts = (np.count_nonzero(observed, axis=axis).ravel() for axis in range(observed.ndim))
        return [np.bincount(found, minlength=n + 1) for found, n in zip(counts, observed.shape, strict=True)]

    def unscaled(self, x: np.ndarray, layout: Layout, exponent: int) -> np.ndarray:
        """Return x (which is overwritten) in the data's unit and axes."""
        type_ = np.finfo(x.dtype)
        if exponent > type_.maxexp - 24:  # the data's own type ends here
            np.clip(x, np.ldexp(type_.min, -exponent), np.ldexp(type_.max, -exponent), out=x)
        np.ldexp(x, exponent, out=x)
        return self.outer(x, layout)

    def outer(self, x: np.ndarray, layout: Layout) -> np.ndarray:
        """Return an array, slices last, in the axes of the user's."""
        return np.ascontiguousarray(layout.outer(x))

    def padded(self, x: np.ndarray, shape: tuple[int, ...], value: float | bool) -> np.ndarray:
        """Return x at the beginning of a larger array of a value."""
        return np.pad(x, [(0, wide - n) for wide, n in zip(shape, x.shape, strict=True)], constant_values=value)

    def typed(self, x: np.ndarray, array: Any) -> np.ndarray:
        """Return x with the type of the array, where that is a floating one, else in double precision."""
        dtype = np.ma.getdata(_array(array)).dtype
        if dtype.kind != "f":
            return x.astype(np.float64, copy=False)
        if dtype.itemsize < x.dtype.itemsize:
            x = np.clip(x, np.finfo(dtype).min, np.finfo(dtype).max)  # what a small type cannot hold is not infinite
        return x.astype(dtype, copy=False)

    def like(self, x: np.ndarray, array: Any) -> Any:
        """Return x as an array of the kind of the one given."""
        if isinstance(array, np.ma.MaskedArray):
            return np.ma.array(x)
        if hasattr(array, "dims") and hasattr(array, "copy") and not isinstance(array, np.ndarray):  # xarray's
            return array.copy(data=x)
        return x

    def keep(self, x: np.ndarray, array: Any, known: np.ndarray) -> np.ndarray:
        """Return x, its known entries copied from the array itself."""
        given = np.ma.getdata(_array(array))

        def work(s: slice) -> None:
            np.copyto(x[s], given[s], where=known[s])

        threads.each(work, len(x), -(-len(x) // threads.count()))
        return x


def check_finite(values: np.ndarray, known: np.ndarray) -> None:
    """Say which known entry is no number, or infinite, if there is one.

    >>> check_finite(np.array([1.0, np.inf]), np.array([True, False]))
    """
    wrong = np.argwhere(~np.isfinite(values) & known)
    if len(wrong):
        where = tuple(int(i) for i in wrong[0])
        advice = "mark it as missing" if np.isnan(values[where]) else "remove it or mark it as missing"
        raise InputError(f"the entry at {where} is observed but {values[where]}; {advice} (observed=False there)")


def _array(array: Any) -> np.ndarray:
    """Return what was given as a NumPy array or masked array of numbers."""
    array = (
        array if isinstance(array, np.ma.MaskedArray) else np.asarray(array)
    )  # no np.matrix, which has rules of its own
    if array.dtype.kind not in "fiubc":
        raise KindError(f"an array of numbers is needed, not one of type {array.dtype}")
    return array


def _as_wanted(values: np.ndarray, known: np.ndarray) -> bool:
    """Return whether the values can be worked on where they lie: in order, zero where missing, neither large nor small."""
    if not values.flags.c_contiguous or not values.flags.aligned:
        return False
    flat, seen, largest = values.reshape(-1), known.reshape(-1), 0.0
    for start in range(0, flat.size, LOOKED_AT):
        part = flat[start : start + LOOKED_AT]
        if (part[~seen[start : start + LOOKED_AT]] != 0).any():  # NaN is not 0 either
            return False
        largest = max(largest, float(part.max()), -float(part.min()))
    return 2.0**-20 < largest < 2.0**20  # false for NaN, too: the error is told where values are looked at one by one
