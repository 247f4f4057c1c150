"""The blocks that a run makes of Dask arrays: the same operations as NumPy's, chunk by chunk."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import need
from ...tensor import Layout
from ..arrange import View
from . import passes, steps, sums
from .blocks import Blocks
from .given import GLIMPSE, Chunked, sides
from .ingest import to_dask
from .turned import Sum, Turned, axes_of


class BlocksKernels(Chunked):
    """The operations on blocks, each a pass of tasks or a step of the next pass."""

    def glimpse(self, y: Blocks, mask: Blocks) -> tuple[np.ndarray, np.ndarray]:
        """Return a box from the middle of a stack and its mask, in memory."""
        n2 = y.shape[2]
        rows, height, width = (
            slice((n - s) // 2, (n - s) // 2 + s) for n, s in zip(y.shape, sides(y.shape), strict=True)
        )
        columns = slice(height.start * n2, height.stop * n2)
        found = (a.region(rows, columns).reshape(-1, height.stop - height.start, n2) for a in (y, mask))
        y_part, mask_part = (np.ascontiguousarray(a[:, :, width]) for a in found)
        return y_part, mask_part

    def empty(self, shape: Any, dtype: Any) -> Any:
        """Return what stands for memory that nobody uses."""
        return Nothing(shape, dtype)

    def eps(self, t: Blocks) -> float:
        """Return the precision of the floating type."""
        return float(np.finfo(t.dtype).eps)

    def copy(self, t: Any, out: Any = None) -> Any:
        """Return the array itself, which is never changed."""
        return t.copy() if isinstance(t, np.ndarray) else t

    def norm(self, t: Blocks) -> float:
        """Return ||T||_F."""
        return sums.norm(t)

    def cast(self, t: Blocks, y: Blocks) -> Blocks:
        """Return t in the floating type of y."""
        return t if t.dtype == y.dtype else t.then(steps.Cast(y.dtype), dtype=y.dtype)

    def product(self, m: Any, t: Blocks, out: Any = None) -> Blocks:
        """Return T x_3 M^T."""
        return passes.product(m, t)

    def matmul(self, a: np.ndarray, b: Blocks, out: Any = None) -> Blocks:
        """Return the product of a matrix with the unfolding."""
        return passes.product(a, b)

    def fourier(self, t: Blocks, out: Any = None, inverse: bool = False) -> Blocks:
        """Return the Fourier transform along the third mode."""
        return t.then(steps.Fourier(inverse))

    def cosine(self, t: Blocks, out: Any = None, inverse: bool = False) -> Blocks:
        """Return the cosine transform along the third mode."""
        return t.then(steps.Cosine(inverse))

    def shrink(self, g: Any, lam: float, penalty: Any, multiplicity: Any = None, energies: Any = None) -> Any:
        """Shrink every slice; those of a wide unfolding are few, and in memory."""
        if isinstance(g, np.ndarray):
            from ..shrink import shrink

            return shrink(g, lam, penalty, multiplicity, energies)
        return passes.shrink(g, lam, penalty, multiplicity, energies)

    def spectral_norm(self, g: Any, multiplicity: Any = None) -> float:
        """Return the largest singular value of all slices."""
        if isinstance(g, np.ndarray):
            from ..spectral import spectral_norm

            return spectral_norm(g, multiplicity)
        return passes.spectral_norm(g, multiplicity, getattr(g, "sizes", None))

    def advance(
        self,
        t: Any,
        x: Any,
        y: Any,
        observed: Any,
        ratio: float,
        last: Any = None,
        relax: float = 0.0,
        more: float = 0.0,
    ) -> Any:
        """Return the residuals, with the next T."""
        return passes.advance(t, x, y, observed, ratio, last, relax, more)

    def zeros(self, t: Blocks, shape: tuple[int, ...], work: Any) -> Sum:
        """Return an array of zeros to add to."""
        return Sum.zeros(t, shape)

    def arranged(self, x: Blocks, view: View, offsets: Any, work: Any) -> Blocks:
        """Return the stack that a view makes of an array: itself, or made when it is read."""
        order, tube = axes_of(view)
        if order == tuple(range(x.ndim)):
            return x.reshape(view.stack_shape(x.shape))
        return Turned.of(x, x.shape, (x.ndim - 2, tube), order)

    def add_arranged(self, total: Sum, stack: Blocks, view: View, offsets: Any, weight: float) -> Sum:
        """Return a sum with the stack of a view, which is written first unless frames can be made of it one by one."""
        (order, tube), d = axes_of(view), total.ndim
        same = order == tuple(range(d))
        if stack.whole == (0 if same else 1) or (not same and any(axis < d - 2 for axis in order[:tube])):
            stack = passes.forced(stack)
        if not same:
            back = np.argsort(order)
            stack = Turned.of(stack, [total.shape[axis] for axis in order], (tube, d - 2), back.tolist())
        return total.plus(stack, weight)

    def single(self, t: Blocks) -> Blocks:
        """Return t in single precision."""
        return t if t.dtype == np.float32 else t.then(steps.Cast(np.dtype(np.float32)), dtype=np.float32)

    def spread(self, y: Blocks, known: Blocks) -> float:
        """Return the standard deviation of what is known; its size where all is equal, 1 where all is 0."""
        return sums.spread(y, known)

    def smoothness(self, y: Blocks, known: Blocks) -> np.ndarray:
        """Return 1 for each axis: nothing is made of the order along the axes of an array in chunks."""
        return np.ones(y.ndim)

    def keep(self, x: Blocks, y: Blocks, known: Blocks) -> Blocks:
        """Return x, its known entries those of y."""
        return x.then(steps.Keep(y, known))

    def known_entries(self, t: Blocks, mask: Blocks) -> list[Blocks]:
        """Return what the paper's rule follows: X as a whole."""
        return [passes.forced(t)]

    def put_known(self, x: Blocks, mask: Blocks, entries: list[Blocks]) -> Blocks:
        """Return x with the entries that `known_entries` follows where the mask is True."""
        return x.then(steps.Keep(entries[0], mask))

    def fibre_counts(self, mask: Any) -> list[np.ndarray]:
        """Return for each axis of the stack how many fibres have 0, 1, … known entries."""
        n3, (n1, n2), counts = len(mask.counts.rows), mask.shape[-2:], mask.counts
        found = ((counts.pixels, n3), (counts.columns, n1), (counts.rows, n2))
        return [np.bincount(numbers.ravel(), minlength=n + 1) for numbers, n in found]

    def blind(self, mask: Any, fibres: Any) -> Any:
        """Return a Dask array that is True where nothing is known along one of the given axes of the stack."""
        da, (n1, n2) = need("dask.array", "dask", ""), mask.shape[-2:]
        n3, counts = len(mask.counts.rows), mask.counts
        images = counts.pixels.reshape(n1, n2)
        sums: dict[tuple[int, ...], np.ndarray] = {
            (2,): counts.rows[:, :, None],
            (1,): counts.columns[:, None, :],
            (0,): images[None],
        }
        sums |= {(1, 2): counts.rows.sum(axis=1)[:, None, None], (0, 2): images.sum(axis=1)[None, :, None]}
        sums[(0, 1)] = images.sum(axis=0)[None, None]
        found = da.zeros((n3, n1, n2), dtype=bool, chunks=(1, n1, n2) if n1 * n2 > GLIMPSE else "auto")
        for axes in fibres:
            if not sums[tuple(axes)].all():
                found = found | da.from_array(sums[tuple(axes)] == 0)
        return found.reshape(mask.shape)

    def unscaled(self, x: Blocks, layout: Layout, exponent: int) -> Any:
        """Return x as a Dask array in the data's unit and axes."""
        return to_dask(x if x.whole is None else passes.forced(x), layout, exponent)

    def short_side(self, t: Blocks, lam: float, r: int, work: Any) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return the singular vectors above lam of the shorter side of T_(3)."""
        return passes.short_side(t, lam, r)

    def under_left(self, rows: np.ndarray, s: np.ndarray, t: Blocks, work: Any) -> np.ndarray:
        """Return T x_3 Q = U diag(s), which is no larger than the Gram matrix: in memory."""
        return (rows * s[:, None]).reshape(-1, *t.shape[1:])

    def from_left(self, g: np.ndarray, rows: np.ndarray, s: np.ndarray, t: Blocks, work: Any) -> Blocks:
        """Return G x_3 Q^T for Q = T_(3)^T U / s."""
        right = g.reshape(len(g), -1) / np.maximum(s, np.finfo(s.dtype).tiny)[:, None]
        if 2 * len(rows) <= rows.shape[1]:
            return t.then(steps.Right(t.space.small(np.ascontiguousarray(rows.T)), t.space.small(right)))
        return t.then(steps.Right(t.space.small(rows.T @ right), None))

    def principal(self, t: Blocks, r: int, out: Any = None, work: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return PCA(T, 3, r) and the singular values."""
        return passes.principal_of(t, r)

    def learned(self, t: Blocks, r: int, spare: Any, work: Any) -> np.ndarray | None:
        """Return PCA(T, 3, r); None where it is as large as the data."""
        return passes.principal_of(t, r)[0] if len(t) <= t.stored[1] else None

    def under_principal(self, t: Blocks, r: int) -> Any:
        """Return T x_3 V, which knows the norms of its slices: the singular values."""
        if len(t) > t.stored[1]:
            rows, s, _ = passes.short_side(t, 0.0, r)
            return self.under_left(rows, s, t, None)
        v, s = passes.principal_of(t, r)
        found = passes.product(v.T, t)
        found.sizes = s  # type: ignore[attr-defined]
        return found

    def slope(self, turn: np.ndarray, b: Blocks, prox: Blocks, v: np.ndarray | None = None) -> np.ndarray:
        """Return B (turn^T B - P)^T, B = b or v^T b."""
        return passes.slope(turn, b, prox, v)

    def kept(self, a: Blocks, folder: Path) -> dict[str, Any]:
        """Give the chunks of an array a second name in a folder."""
        a, name = passes.forced(a), f"stack-{uuid.uuid4().hex}"
        a.store.keep(a.owner.name, folder / name)
        return {"name": name, "shape": list(a.shape), "dtype": a.dtype.str, "axis": a.axis, "parts": list(a.parts)}

    def revived(self, said: dict[str, Any], folder: Path, y: Blocks) -> Blocks:
        """Take up the chunks of an array that was kept, for a run whose data are y."""
        parts = [tuple(part) for part in said["parts"]]
        a = Blocks.new(y.space, tuple(said["shape"]), np.dtype(said["dtype"]), said["axis"], parts)
        y.space.store.take(a.owner.name, folder / said["name"])
        return a

    def digest(self, a: Blocks) -> Any:
        """Return what tells this array from all others, however it is cut."""
        return sums.digest(a)


class Nothing:
    """What stands for scratch memory: it has a shape, and nobody writes to it."""

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
        self.dtype = np.dtype(dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: slice) -> Nothing:
        return Nothing((len(range(*part.indices(len(self)))), *self.shape[1:]), self.dtype)

    def reshape(self, *shape: Any) -> Nothing:
        """Return the same nothing of another shape."""
        return Nothing(shape[0] if len(shape) == 1 else shape, self.dtype)
