"""Arrays on a device, torch's or CuPy's: nothing of their size leaves the device, and NumPy never sees them.

Every operation is a few calls on large arrays. What is drawn at random is drawn by NumPy, so that an answer does not depend on the
device, and sent there; scalars and the ranks of the slices come back in every step.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ...errors import InputError, KindError
from ...tensor import Layout
from ..advance import PASSED, Residuals
from .seen import SeenOnDevice
from .slices import Slices
from .spaces import cupy_space, torch_space
from .transformed import Transformed
from .unfolded import Unfolded

CACHED = 1 << 18  # numbers of a stack that a thread multiplies at once
COLUMNS = 1 << 22  # numbers that are laid aside where a product takes the place of its argument


class Device(Slices, Unfolded, Transformed, SeenOnDevice):
    """The operations on the arrays of one library on one device."""

    assignable = True

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.empty = xp.empty

    # From the user's array to the problem, and back

    def known(self, array: Any, observed: Any) -> Any:
        """Return the boolean array that is True where an entry is known."""
        xp, array = self.xp, self.xp.given(array)
        if observed is None:
            return array == array  # False where NaN
        observed = observed if hasattr(observed, "dtype") else np.asarray(observed)
        if "bool" not in str(observed.dtype):
            raise KindError(f"observed must be boolean, True where the value is known, not of type {observed.dtype}")
        try:
            return xp.ascontiguousarray(xp.broadcast_to(xp.asarray(observed), tuple(array.shape)))
        except (RuntimeError, ValueError):
            given, wanted = tuple(observed.shape), tuple(array.shape)
            raise InputError(
                f"observed has shape {given}, which does not broadcast to that of the array, {wanted}"
            ) from None

    def values(self, array: Any) -> Any:
        """Return the values as float32 or float64."""
        xp, array = self.xp, self.xp.given(array)
        if xp.kind(array) == "c":
            raise KindError(
                "complex arrays cannot be completed: complete the real and imaginary parts as one more axis"
            )
        single = xp.kind(array) == "f" and array.dtype.itemsize <= 4
        return xp.astype(array, xp.float32 if single else xp.float64)

    def scaled(self, values: Any, known: Any, layout: Layout) -> tuple[Any, Any, int]:
        """Return the values, 0 where missing, over a power of two, which loses nothing, and the mask, both slices last."""
        xp, order = self.xp, layout.rest + layout.slice_axes
        observed = xp.ascontiguousarray(xp.transpose(known, order))
        y = xp.where(observed, xp.transpose(values, order), 0)
        largest = float(abs(y).max())
        if not math.isfinite(largest):
            where = tuple(int(i) for i in xp.host((~xp.isfinite(values) & known).reshape(-1)).nonzero()[0][:1])
            at = tuple(int(i) for i in np.unravel_index(where[0], tuple(values.shape)))
            raise InputError(
                f"the entry at {at} is observed but {float(values[at])}; mark it as missing (observed=False there)"
            )
        exponent = min(math.frexp(largest)[1], 1023) if largest > 0 else 0
        return xp.ascontiguousarray(_times_power(y, -exponent)), observed, exponent

    def fibre_counts(self, observed: Any) -> list[np.ndarray]:
        """Return for each axis of a mask how many of its fibres have 0, 1, … known entries."""
        counts = (observed.sum(axis).reshape(-1) for axis in range(observed.ndim))
        return [
            self.xp.host(self.xp.bincount(found, minlength=n + 1))
            for found, n in zip(counts, observed.shape, strict=True)
        ]

    def unscaled(self, x: Any, layout: Layout, exponent: int) -> Any:
        """Return x in the data's unit and axes."""
        top = self.xp.finfo(x.dtype).max
        if exponent > math.frexp(top)[1] - 24:  # the data's own type ends here
            x = x.clip(math.ldexp(-top, -exponent), math.ldexp(top, -exponent))
        return self.outer(_times_power(x, exponent), layout)

    def outer(self, x: Any, layout: Layout) -> Any:
        """Return an array, slices last, in the axes of the user's."""
        order = np.argsort(layout.rest + layout.slice_axes).tolist()
        return self.xp.ascontiguousarray(self.xp.transpose(x.reshape(layout.inner_shape), tuple(order)))

    def padded(self, x: Any, shape: tuple[int, ...], value: Any) -> Any:
        """Return x at the beginning of a larger array of a value."""
        out = self.xp.empty(shape, x.dtype)
        out[:] = value
        out[tuple(slice(n) for n in x.shape)] = x
        return out

    def typed(self, x: Any, array: Any) -> Any:
        """Return x with the type of the array, where that is a floating one, else in double precision."""
        xp = self.xp
        if xp.kind(array) != "f":
            return xp.astype(x, xp.float64)
        if array.dtype.itemsize < x.dtype.itemsize:
            limits = xp.finfo(array.dtype)
            x = x.clip(float(limits.min), float(limits.max))  # what a small type cannot hold is not infinite
        return xp.astype(x, array.dtype)

    def like(self, x: Any, array: Any) -> Any:
        """Return x."""
        return x

    def keep(self, x: Any, array: Any, known: Any) -> Any:
        """Return x, its known entries copied from the array itself."""
        return self.xp.where(known, self.xp.astype(self.xp.given(array), x.dtype), x)

    # Small things

    def brought(self, m: Any) -> Any:
        """Return a NumPy array on the device."""
        return self.xp.asarray(m)

    def host(self, t: Any) -> np.ndarray:
        """Return an array as NumPy's."""
        return self.xp.host(t)

    def eye(self, n: int, r: int, t: Any) -> Any:
        """Return the first r columns of the identity, in the type of t."""
        return self.xp.eye(n, r, dtype=t.dtype)

    def flatnonzero(self, mask: Any) -> np.ndarray:
        """Return the flat positions at which a mask is True."""
        return np.flatnonzero(self.xp.host(mask))

    def rms(self, t: Any) -> float:
        """Return the root mean square of entries."""
        return math.sqrt(float((self.xp.astype(t, self.xp.float64) ** 2).mean()))

    def eps(self, t: Any) -> float:
        """Return the precision of the floating type."""
        return float(self.xp.finfo(t.dtype).eps)

    def single(self, t: Any) -> Any:
        """Return t in single precision."""
        return self.xp.astype(t, self.xp.float32)

    def cast(self, t: Any, y: Any) -> Any:
        """Return t in the floating type of y."""
        return self.xp.astype(t, y.dtype)

    def norm(self, t: Any) -> float:
        """Return ||T||_F."""
        return math.sqrt(float(self.xp.vdot(t, t)))

    # Passes over a stack

    def copy(self, t: Any, out: Any = None) -> Any:
        """Return a copy of T, in ``out`` if given."""
        if out is None:
            return self.xp.copy(t)
        if not self.xp.same_memory(t, out):
            out[:] = t
        return out

    def matmul(self, a: Any, b: Any, out: Any = None) -> Any:
        """Return the product of two matrices."""
        return self.xp.matmul(a, b, out=out)

    def product(self, m: Any, t: Any, out: Any = None) -> Any:
        """Return T x_3 M^T, (k, n1, n2), for a matrix M (k, n3); ``out`` may be T's own memory."""
        m, columns = self.xp.astype(self.xp.asarray(m), t.dtype), t.reshape(len(t), -1)
        out = self.xp.empty((m.shape[0], *t.shape[1:]), t.dtype) if out is None else out
        made = out.reshape(m.shape[0], -1)
        if not (self.xp.on_cpu or self.xp.same_memory(t, out)):
            self.xp.matmul(m, columns, out=made)
            return out

        def work(s: slice) -> None:  # a column of the result needs that column of T only
            made[:, s] = m @ columns[:, s]

        self.xp.each(work, columns.shape[1], max(1, (CACHED if self.xp.on_cpu else COLUMNS) // len(t)))
        return out

    def slope(self, turn: Any, b: Any, prox: Any, v: Any = None) -> Any:
        """Return B (turn^T B - P)^T for matrices (n, N), B = b or v^T b."""
        b = b if v is None else v.T @ b
        return b @ (turn.T @ b - prox).T

    def cayley(self, q: Any, half: Any) -> Any:
        """Return (I + H)^{-1} (I - H) Q."""
        return self.xp.linalg.solve(self.eye(len(half), len(half), half) + half, q - half @ q)

    def known_entries(self, t: Any, observed: Any) -> list[Any]:
        """Return the known entries of a stack, as a list of one array."""
        return [t[observed]]

    def put_known(self, t: Any, observed: Any, entries: list[Any]) -> Any:
        """Return a stack with other known entries."""
        t[observed] = entries[0]
        return t

    def advance(
        self,
        t: Any,
        x: Any,
        y: Any,
        observed: Any,
        ratio: float,
        last: list[Any] | None = None,
        relax: float = 0.0,
        more: float = 0.0,
    ) -> Residuals:
        """Turn X into the next T, in place; see `kernels/advance.py`. What is summed up comes to the host once."""
        xp, zero = self.xp, 0.0 * y.reshape(-1)[0]
        largest = [0.0, 0.0]
        if last is not None:
            on = x[observed]
            largest = [float(abs(y[observed] - on).max()), float(abs(last[0] - on).max())]
            largest[1] = max(largest[1], float(xp.where(observed, zero, abs(t - x)).max()))
            last[0] = on
        arrays = [a.reshape(-1) for a in (t, x, y, observed)]

        def work(s: slice) -> Any:
            t1, x1, y1, on = (a[s] for a in arrays)
            on = xp.astype(on, t.dtype)
            gap, z = y1 - x1, t1 - x1  # off Omega z is X_{k-1} - X_k
            gap *= on
            both = xp.vdot(z, z)
            if relax:
                x1 -= relax * z  # on Omega taken back below
            z *= on
            dual = xp.vdot(z, z)
            primal = xp.vdot(gap, gap)
            gap *= 1 + ratio * more
            x1 += gap  # on Omega X becomes Y,
            z *= ratio + relax
            x1 += z  # and that the next T
            return xp.stack([primal, both - dual, dual])

        many = len(arrays[0])
        sums = xp.each(work, many, PASSED if xp.on_cpu else many)  # a piece stays in the cache; a device wants all
        squares = xp.host(xp.astype(xp.stack(sums), xp.float64).sum(0))
        primal, change, dual = (math.sqrt(max(0.0, one)) for one in squares.tolist())
        return Residuals(primal, change, dual, largest[0], largest[1], x)


@cache
def _on(space: Any) -> Device:
    return Device(space)


def kernels_of(array: Any, package: str) -> Device:
    """Return the kernels for an array of torch's or CuPy's, on the device that it is on."""
    return _on((torch_space if package == "torch" else cupy_space)(array.device))


def _times_power(x: Any, exponent: int) -> Any:
    """Return x times a power of two, in two factors: one alone may be beyond all numbers."""
    half = exponent // 2
    return x if exponent == 0 else x * 2.0**half * 2.0 ** (exponent - half)
