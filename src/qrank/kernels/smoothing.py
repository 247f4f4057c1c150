"""What the known entries nearby say about a missing one, with no model but smoothness.

Normalised convolution from fine to coarse. With Gaussian means G_w of growing widths w and the mask m,

    N_w = G_w (m y),   D_w = V_w G_w m     (V_w = prod_a 2 sqrt(pi) w_a: how many entries a Gaussian of this width sees)
    x_w = (V_w N_w + c x_w') / (D_w + c)   (w' the next larger width, c = ENOUGH)

so an entry takes the smallest width at which there are enough known entries, and gives way to the next as there are fewer. Past
the largest width comes the mean along all smooth axes, then the mean of all. Along axis a the width is w s_min / s_a, s_a being
how the known values differ from one entry to the next (`smoothness`); axes with s_a of ROUGH or more are left alone, for along
them order means nothing. Where the means are wide every second entry of them is kept, so the large widths cost next to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import ndimage

from . import threads

WIDTHS = (0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.7, 8.0, 11.0, 16.0, 25.0)  # along the smoothest axis, in entries
ROUGH = 0.8  # 1 is what independent values have
ENOUGH = 0.8  # known entries that count as much as all that is known farther away; 0.1 to 1.2 differ by 2 to 10 %
SLIGHT = 0.02  # axes smoother than this are treated alike
PAIRS = 16  # neighbours that tell how smooth an axis is; fewer are asked for at a larger distance first


def smoothness(y: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return for each axis the rms difference of known neighbours over sqrt(2) times the standard deviation, shape (d,).

    0 is constant, 1 is what values in random order have; an axis without known neighbours counts as 1. Where hardly any direct
    neighbours are known, those two (four, …) entries apart are taken, whose squared difference is taken to grow with distance.

    >>> x = np.add.outer(np.sin(np.arange(50) / 8), np.random.default_rng(0).normal(size=40))
    >>> smoothness(x, x < 9).round(1)
    array([0.1, 0.6])
    """
    known = y[observed]
    spread = float(known.std(dtype=float)) if known.size else 0.0
    found = np.ones(y.ndim)
    for axis, n in enumerate(y.shape):
        lag, at = 1, y.swapaxes(0, axis)
        there = observed.swapaxes(0, axis)
        while lag < n:
            both = there[lag:] & there[:-lag]
            pairs = int(np.count_nonzero(both))
            if pairs >= PAIRS or (pairs and 2 * lag >= n):
                steps = np.subtract(at[lag:], at[:-lag])
                power = float(np.square(steps, out=steps).mean(dtype=float, where=both))
                found[axis] = math.sqrt(power / (2 * lag)) / spread if spread else 0.0
                break
            lag *= 2
    return found


def smooth_fill(y: np.ndarray, observed: np.ndarray, widths: Sequence[float] | None = None) -> np.ndarray:
    """Return y with its missing entries filled from the known ones nearby; the known ones as they are.

    ``y`` and ``observed`` have the same shape, of any number of axes; y may hold anything finite where it is not observed.
    Memory: three arrays of y's size beside the answer.

    >>> rows, columns = np.mgrid[:40, :50] / 10
    >>> x = np.sin(rows) + columns
    >>> known = np.random.default_rng(0).random(x.shape) < 0.2
    >>> bool(np.abs(smooth_fill(x, known) - x).max() < 0.5)
    True
    """
    if not observed.any():
        return np.zeros_like(y)
    rough = smoothness(y, observed)
    finest = max(SLIGHT, float(rough.min()))
    scale = np.where(rough < ROUGH, np.minimum(1.0, finest / np.maximum(rough, SLIGHT)), 0.0)
    means = [np.where(observed, y, 0), observed.astype(y.dtype)]
    mean = float(means[0].sum(dtype=float) / np.count_nonzero(observed))
    far = _far(means[0], means[1], scale, mean)
    levels = [float(w) for w in (WIDTHS if widths is None else widths)] if scale.any() else []
    filled = _coarser(means, far, scale, levels, 0.0, np.ones(y.ndim))
    np.copyto(filled, y, where=observed)
    return filled


def _far(weighted: np.ndarray, weight: np.ndarray, scale: np.ndarray, mean: float) -> np.ndarray:
    """Return what is farthest away: the mean along all smooth axes, drawn to the mean of all where nothing is known."""
    axes = tuple(int(a) for a in np.flatnonzero(scale))
    if not axes:
        return np.full((1,) * weighted.ndim, mean, weighted.dtype)
    total = weighted.sum(axis=axes, keepdims=True, dtype=float)
    count = weight.sum(axis=axes, keepdims=True, dtype=float)
    return ((total + ENOUGH * mean) / (count + ENOUGH)).astype(weighted.dtype)


def _coarser(
    means: list[np.ndarray], far: np.ndarray, scale: np.ndarray, widths: list[float], done: float, grid: np.ndarray
) -> np.ndarray:
    """Return x of the first width, from means n, d of width ``done`` on a grid of this spacing.

    The list is emptied: n and d are overwritten, and let go of where only coarser ones are needed.
    """
    n, d = means
    means.clear()
    x, room = np.zeros_like(n), np.ones_like(n)
    while widths:
        wide, *widths = widths
        for axis in np.flatnonzero(scale).tolist():
            more = math.sqrt(max(0.0, wide * wide - done * done)) * scale[axis] / grid[axis]
            if more > 0.15 and n.shape[axis] > 1:
                threads.each(partial(_blurred, (n, d), more, axis), 2, 1)
        done = wide
        sees = math.prod(max(1.0, 2 * math.sqrt(math.pi) * wide * s) for s in scale)
        share = ENOUGH / sees
        for k in range(len(n)):  # slab by slab: x_w = (n + share x_w') / (d + share)
            room[k] /= d[k] + share
            x[k] += room[k] * n[k]
        room *= share
        halved = [wide * s >= 1.5 * h and size > 2 for s, h, size in zip(scale, grid, n.shape, strict=True)]
        if any(halved) and widths:
            every = tuple(slice(None, None, 2 if half else 1) for half in halved)
            spacing = grid * np.where(halved, 2, 1)
            shape = n.shape
            means = [n[every].copy(), d[every].copy()]
            del n, d
            coarse = _coarser(means, far, scale, widths, done, spacing)
            for axis in np.flatnonzero(halved).tolist():
                coarse = doubled(coarse, axis, shape[axis])
            x += np.multiply(room, coarse, out=room)
            return x
    x += np.multiply(room, far, out=room)
    return x


def _blurred(parts: tuple[np.ndarray, np.ndarray], width: float, axis: int, s: slice) -> None:
    """Take the Gaussian mean of one of two arrays along an axis, in place; beyond the border is nothing."""
    part = parts[s.start]
    ndimage.gaussian_filter1d(part, width, axis=axis, output=part, mode="constant", truncate=3.0)


def blurred(x: np.ndarray, width: float, axes: Sequence[int]) -> np.ndarray:
    """Return the Gaussian mean of an array along some axes; beyond the border it goes on as at the border.

    >>> blurred(np.array([[0.0, 0.0, 1.0, 0.0, 0.0]]), 0.5, (1,)).round(2)
    array([[0.  , 0.11, 0.79, 0.11, 0.  ]])
    """
    for axis in axes:
        x = ndimage.gaussian_filter1d(x, width, axis=axis, mode="nearest", truncate=3.0)
    return x


def doubled(x: Any, axis: int, size: int, empty: Callable[..., Any] = np.empty) -> Any:
    """Return x with the mean of each two neighbours between them along an axis, cut or continued to a length.

    >>> doubled(np.array([1.0, 3.0]), 0, 4)
    array([1., 2., 3., 3.])
    """
    x = x.swapaxes(0, axis)
    out = empty((size, *x.shape[1:]), x.dtype)
    out[::2] = x
    out[1::2] = x[: size // 2]
    between = out[1::2][: len(x) - 1]
    between += x[1:]
    between /= 2
    return out.swapaxes(0, axis)
