"""Views of an array, and what lies near its entries, on a device. `kernels/arrange.py` and `smoothing.py` say what is computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrange import View
from ..base import Kernels
from ..smoothing import ENOUGH, PAIRS, ROUGH, SLIGHT, WIDTHS, doubled


class SeenOnDevice(Kernels):
    """Arrangements of an array, and its smooth fill."""

    xp: Any

    def arranged(self, x: Any, view: View, offsets: tuple[int, ...], work: Any) -> Any:
        """Return an array as a stack (tube, rows, columns), mirrored where blocks stick out."""
        xp, padded, shape = self.xp, view.padded(tuple(x.shape)), view.stack_shape(tuple(x.shape))
        for axis, (o, n) in enumerate(zip(offsets, x.shape, strict=True)):
            if padded[axis] > n:
                at = xp.arange(padded[axis]) - o
                x = xp.take(x, xp.where((at // n) % 2 == 0, at % n, n - 1 - at % n), axis=axis)
        cut = xp.transpose(x.reshape(view.parted(padded)), view.order)
        return xp.copy(cut).reshape(shape)

    def add_arranged(self, total: Any, stack: Any, view: View, offsets: tuple[int, ...], weight: float) -> Any:
        """Add a weighted stack of a view to an array; what was mirrored is left out."""

        def add(s: slice, piece: Any) -> None:
            total[s] += weight * piece

        self.taken_back(add, stack, view, offsets, tuple(total.shape))
        return total

    def taken_back(
        self,
        work: Callable[[slice, Any], None],
        stack: Any,
        view: View,
        offsets: tuple[int, ...],
        shape: tuple[int, ...],
    ) -> None:
        """Call work with planes of an array's first axis, here all, and what the stack of a view says of them."""
        xp, padded = self.xp, view.padded(shape)
        parted = view.parted(padded)
        back = xp.transpose(
            stack.reshape([parted[axis] for axis in view.order]), tuple(np.argsort(view.order).tolist())
        ).reshape(padded)
        work(slice(0, shape[0]), back[tuple(slice(o, o + n) for o, n in zip(offsets, shape, strict=True))])

    def sampled(self, stack: Any, view: View, offsets: tuple[int, ...], shape: tuple[int, ...], at: Any) -> np.ndarray:
        """Return the entries of an array of a shape at flat positions, from the stack that a view makes of it."""
        parted, places = view.parted(view.padded(tuple(shape))), []
        for where, offset, block in zip(np.unravel_index(at, shape), offsets, view.blocks, strict=True):
            places += [(where + offset) // block, (where + offset) % block]
        order = view.order
        flat = np.ravel_multi_index([places[axis] for axis in order], [parted[axis] for axis in order])
        return self.xp.host(stack.reshape(-1)[self.xp.asarray(flat)])

    def spread(self, y: Any, observed: Any) -> float:
        """Return the standard deviation of what is known; its size where all is equal, 1 where all is 0."""
        known = self.xp.astype(y[observed], self.xp.float64)
        deviation = math.sqrt(float(((known - known.mean()) ** 2).mean()))
        return deviation or abs(float(known[0])) or 1.0

    def smoothness(self, y: Any, observed: Any) -> np.ndarray:
        """Return for each axis the rms difference of known neighbours over sqrt(2) times the standard deviation, shape (d,)."""
        known = self.xp.astype(y[observed], self.xp.float64)
        spread = math.sqrt(float(((known - known.mean()) ** 2).mean())) if len(known) else 0.0
        found = np.ones(y.ndim)
        for axis, n in enumerate(y.shape):
            lag, at, there = 1, y.swapaxes(0, axis), observed.swapaxes(0, axis)
            while lag < n:
                both = there[lag:] & there[:-lag]
                pairs = int(both.sum())
                if pairs >= PAIRS or (pairs and 2 * lag >= n):
                    steps = self.xp.astype((at[lag:] - at[:-lag])[both], self.xp.float64)
                    found[axis] = math.sqrt(float((steps * steps).mean()) / (2 * lag)) / spread if spread else 0.0
                    break
                lag *= 2
        return found

    def smooth_fill(self, y: Any, observed: Any) -> Any:
        """Return y with its missing entries filled from the known ones nearby; the known ones as they are."""
        xp = self.xp
        rough = self.smoothness(y, observed)
        finest = max(SLIGHT, float(rough.min()))
        scale = np.where(rough < ROUGH, np.minimum(1.0, finest / np.maximum(rough, SLIGHT)), 0.0)
        weighted, weight = xp.where(observed, y, 0), xp.astype(observed, y.dtype)
        mean = float(xp.astype(weighted, xp.float64).sum()) / int(observed.sum())
        far = self._far(weighted, weight, scale, mean)
        filled = self._coarser(
            weighted, weight, far, scale, list(WIDTHS) if scale.any() else [], 0.0, np.ones(len(scale))
        )
        return xp.where(observed, y, filled)

    def _far(self, weighted: Any, weight: Any, scale: np.ndarray, mean: float) -> Any:
        """Return what is farthest away: the mean along all smooth axes, drawn to the mean of all where nothing is known."""
        axes = tuple(int(a) for a in np.flatnonzero(scale))
        if not axes:
            return mean
        total, count = (self.xp.astype(a, self.xp.float64).sum(axis=axes, keepdims=True) for a in (weighted, weight))
        return self.xp.astype((total + ENOUGH * mean) / (count + ENOUGH), weighted.dtype)

    def _coarser(
        self, n: Any, d: Any, far: Any, scale: np.ndarray, widths: list[float], done: float, grid: np.ndarray
    ) -> Any:
        """Return x of the first width, from means n, d of width ``done`` on a grid of this spacing."""
        x, room = 0 * n, 0 * n + 1
        while widths:
            wide, *widths = widths
            for axis in np.flatnonzero(scale).tolist():
                more = math.sqrt(max(0.0, wide * wide - done * done)) * scale[axis] / grid[axis]
                if more > 0.15 and n.shape[axis] > 1:
                    n, d = self._blurred(n, more, axis), self._blurred(d, more, axis)
            done = wide
            share = ENOUGH / math.prod(max(1.0, 2 * math.sqrt(math.pi) * wide * s) for s in scale)
            room = room / (d + share)  # x_w = (n + share x_w') / (d + share)
            x = x + room * n
            room = room * share
            halved = [wide * s >= 1.5 * h and size > 2 for s, h, size in zip(scale, grid, n.shape, strict=True)]
            if any(halved) and widths:
                every = tuple(slice(None, None, 2 if half else 1) for half in halved)
                coarse = self._coarser(n[every], d[every], far, scale, widths, done, grid * np.where(halved, 2, 1))
                for axis in np.flatnonzero(halved).tolist():
                    coarse = doubled(coarse, axis, n.shape[axis], self.xp.empty)
                return x + room * coarse
        return x + room * far

    def _blurred(self, a: Any, width: float, axis: int) -> Any:
        """Return Gaussian means along an axis, 0 beyond its ends: a sum of shifted copies, for the widths are a few entries."""
        reach = int(3.0 * width + 0.5)
        weights = np.exp(-0.5 / (width * width) * np.arange(-reach, reach + 1) ** 2)
        weights /= weights.sum()
        a = a.swapaxes(0, axis)
        out = float(weights[reach]) * a
        for lag in range(1, min(reach, len(a) - 1) + 1):
            w = float(weights[reach + lag])
            out[lag:] += w * a[:-lag]
            out[:-lag] += w * a[lag:]
        return out.swapaxes(0, axis)
