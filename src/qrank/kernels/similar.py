"""Patches that look like the one around a hole, and what they say about it.

Every patch that holds something missing (side b, a few slices deep; the grid has a random offset) looks for the k patches nearby
that are most like it, entries that are only filled counting FILLED as much as known ones. These k patches are taken for samples
of a Gaussian: m their mean, B (k, D) their differences from it over sqrt(k - 1), o the known entries of the patch,

    e = ridge tr(B_o B_o') / k,   A = B_o B_o' + e I
    xhat = m + B' A^-1 B_o (y_o - m_o),   var = e diag(B' A^-1 B) + e

so what is known of the patch decides how the similar ones are mixed. X is the mean of all xhat that cover an entry, weighted by
1/var. M. Lebrun, A. Buades, J.-M. Morel. A Nonlocal Bayesian Image Denoising Algorithm. 2013 (there for noise).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from . import threads

FILLED = 0.1  # weight of an entry that is filled where patches are compared
TILE = 16  # patches whose corners lie in one square of this side look at the same ones nearby


class Model(NamedTuple):
    """How patches are compared: their side and distance, how far is nearby, how many are taken, and the ridge."""

    side: int
    stride: int
    reach: int
    count: int
    ridge: float


class Guess(NamedTuple):
    """What the patches of a tile say: where their corners are, and xhat and 1/var of each, (n, c, b, b)."""

    top: np.ndarray
    left: np.ndarray
    mean: np.ndarray
    weight: np.ndarray


def from_similar(
    x: np.ndarray, observed: np.ndarray, model: Model, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return a filled group of slices (c, n1, n2) with its missing entries improved, and the variance of each.

    >>> x = np.tile(np.sin(np.arange(40)), (1, 40, 1))
    >>> known = np.ones(x.shape, bool)
    >>> known[:, 10:20, 15:18] = False
    >>> start = np.where(known, x, 0)
    >>> better, var = from_similar(start, known, Model(6, 2, 12, 40, 0.3), np.random.default_rng(0))
    >>> bool(np.abs(better - x).max() < 0.5 * np.abs(start - x).max()), bool((var[known] == 0).all())
    (True, True)
    """
    side = min(model.side, *x.shape[1:])
    missing = np.logical_or.reduce(sliding_window_view(~observed, (side, side), axis=(1, 2)), axis=(0, 3, 4))  # type: ignore[call-overload]
    rows, columns = (_grid(n, model.stride, rng) for n in missing.shape)
    chosen = missing[np.ix_(rows, columns)]
    top, left = (a.reshape(-1)[chosen.reshape(-1)] for a in np.meshgrid(rows, columns, indexing="ij"))
    total, weight, covers = np.zeros_like(x), np.zeros_like(x), np.zeros(x.shape, np.int32)
    for band in range(0, x.shape[1], TILE):
        here = np.flatnonzero((top >= band) & (top < band + TILE))
        tiles = [here[left[here] // TILE == tile] for tile in np.unique(left[here] // TILE)]
        guesses = threads.each(
            lambda part, tiles=tiles: [_guess(x, observed, top[t], left[t], side, model) for t in tiles[part]],
            len(tiles),
            1,
        )
        for guess in (one for some in guesses for one in some):
            for i, j in np.ndindex(side, side):  # corners differ, so no entry is met twice
                at = (slice(None), guess.top + i, guess.left + j)
                total[at] += (guess.mean * guess.weight)[:, :, i, j].T
                weight[at] += guess.weight[:, :, i, j].T
                covers[at] += 1
    better = ~observed & (weight > 0)
    np.divide(total, weight, out=total, where=better)
    variance = np.zeros_like(x)
    np.divide(covers, weight, out=variance, where=better)
    return np.where(better, total, x), variance


def _grid(n: int, stride: int, rng: np.random.Generator) -> np.ndarray:
    """Return corners at a distance from a random one on, with the first and the last."""
    return np.unique(np.concatenate([[0, n - 1], np.arange(rng.integers(stride), n, stride)]))


def _guess(x: np.ndarray, observed: np.ndarray, top: np.ndarray, left: np.ndarray, side: int, model: Model) -> Guess:
    """Return what the patches nearby say about those with these corners, all of one tile."""
    c, n1, n2 = x.shape
    low = [max(0, int(a.min()) - model.reach) for a in (top, left)]
    high = [min(n, int(a.max()) + side + model.reach) for a, n in ((top, n1), (left, n2))]
    area = (slice(None), slice(low[0], high[0]), slice(low[1], high[1]))
    patches, known = _patches(x[area], side), _patches(observed[area], side)
    own = (top - low[0]) * (high[1] - low[1] - side + 1) + left - low[1]
    near = _nearest(
        patches, np.where(known, x.dtype.type(1), x.dtype.type(FILLED)), own, min(model.count, len(patches))
    )
    b = patches[near]  # (n, k, D)
    m = b.mean(axis=1)
    b -= m[:, None]
    k = b.shape[1]
    b /= np.sqrt(x.dtype.type(max(1, k - 1)))
    b_o = b * known[own][:, None]
    a = b_o @ b_o.swapaxes(1, 2)
    e = (model.ridge / k) * np.einsum("nkk->n", a) + 1e-6 * float(np.abs(x).max() or 1) ** 2
    a[:, np.arange(k), np.arange(k)] += e[:, None]
    solved = np.linalg.solve(a, b)  # A^-1 B
    miss = np.where(known[own], patches[own] - m, 0)
    mean = m + (miss[:, None] @ b_o.swapaxes(1, 2) @ solved)[:, 0]
    variance = e[:, None] * (1 + np.einsum("nkd,nkd->nd", b, solved))
    shape = (len(top), c, side, side)
    return Guess(top, left, mean.astype(x.dtype).reshape(shape), (1 / variance).astype(x.dtype).reshape(shape))


def _patches(x: np.ndarray, side: int) -> np.ndarray:
    """Return all patches of a group of slices (c, h, w) as rows, (number, c side side)."""
    windows = sliding_window_view(x, (side, side), axis=(1, 2)).transpose(1, 2, 0, 3, 4)  # type: ignore[call-overload]
    return windows.reshape(windows.shape[0] * windows.shape[1], -1)


def _nearest(patches: np.ndarray, w: np.ndarray, own: np.ndarray, count: int) -> np.ndarray:
    """Return for each patch of ``own`` the numbers of those most like it, (len(own), count).

    Distance: sum_i w_i w'_i (p_i - p'_i)^2 / sum_i w_i w'_i, multiplied out so that it is matrix products.
    """
    middle = patches.mean()
    p, weighted = patches - middle, w.copy()
    apart = (w[own] * p[own] ** 2) @ weighted.T
    weighted *= p
    apart -= 2 * (w[own] * p[own]) @ weighted.T
    weighted *= p
    apart += w[own] @ weighted.T
    apart /= w[own] @ w.T
    if count >= len(patches):
        return np.broadcast_to(np.arange(len(patches)), apart.shape)
    return np.argpartition(apart, count - 1, axis=1)[:, :count]
