"""The level of the noise in what is known: ``noise="auto"``.

*Nothing missing.* Small blocks of the array are vectors whose covariance is that of the signal plus sigma^2 I. Blocks that vary least
along the larger half of its eigenvectors (a flat wall, a dark sky) have hardly any signal along the smaller half, and what they have
there is noise; noise along one half says nothing of that along the other, so that choosing by the one does not bias the other. After
X. Liu, M. Tanaka, M. Okutomi. Single-Image Noise Level Estimation for Blind Denoising. 2013. Where neighbours are not alike, the tail
of the singular values of the unfoldings tells: their median over that of noise of level 1 (M. Gavish, D. Donoho. The Optimal Hard
Threshold for Singular Values is 4/sqrt(3). 2014). Each is too large where there is signal in it, so that the least is taken.

*With holes.* A few known entries are hidden from `views` and from `patches` after it, run with the level found so far. Of a hidden entry the
local Gaussian model tells an expectation and its variance v, and the entry is off by r, E r^2 = sigma^2 + v: so sigma^2 is the mean of r^2 - v
over the entries that can be told best, those of least v, and at least half of that of r^2. The model has not seen their noise, so that
choosing by v does not bias r. Where it was sure and wrong, r is many times what noise makes of it, and is left out.

What errs by as much as the noise cannot be told from it: the level is then too large, as it is of data that bring noise of their own.
For nothing missing, shares and sizes were chosen on the balloons cube and two clips; with holes, on generated clips, spectra and tensors of
low rank, but NOISY and BEYOND after the estimate had failed on the still clip. docs/noise.md has all of them, and others that chose nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import InputError
from ..methods import METHODS
from ..problem import Problem
from ..run import Run
from .part import part

MOST = 150_000  # entries that are looked at
BLOCK = 64  # entries of a block, about
BLOCKS = 40_000  # blocks that are looked at, at most
FLAT = 0.1  # share of the blocks that are flattest
HIDDEN = 0.15  # of the known entries,
SUREST = 0.05  # of these,
TELLING = 250  # and so many at least: their root mean square is known to 5 %
NOISY = 0.5  # of the mean square of r that is noise, at least: where the model is surest, it is not off by more
BEYOND = 3.0  # standard deviations, by the median, from which on r is no noise: the model was sure, and wrong
FEWEST = 50  # known entries that tell anything
MEDIAN = 0.6745  # of the size of a standard normal number
LONG = 8  # singular values of an unfolding that have a tail
ROUNDS = 2  # of views, each with the level that the one before has found,
AGAIN = 2  # and so many rounds of patches after each


def level(problem: Problem, rng: np.random.Generator) -> float:
    """Return the standard deviation of the noise in the known values, in the data's unit.

    >>> rng = np.random.default_rng(0)
    >>> y = np.add.outer(np.arange(40.0), np.arange(50.0))[:, :, None] / 10 + 0.3 * rng.standard_normal((40, 50, 6))
    >>> round(level(Problem.of(y), rng), 1)
    0.3
    """
    if not isinstance(problem.y, np.ndarray):
        raise InputError(
            f"noise='auto' is for NumPy arrays only, not {type(problem.y).__name__}: give its standard deviation"
        )
    if problem.count < FEWEST:
        raise InputError(
            f"{problem.count} known entries do not tell how noisy they are: give noise as a standard deviation"
        )
    box = part(problem.observed, MOST, rng) if not problem.observed.all() else _middle(problem.y.shape)
    seen = problem if box is None else problem.part(box)
    found = _of_blocks(seen.y, rng) if seen.observed.all() else _of_hidden(seen, rng)
    return max(found, float(np.finfo(problem.y.dtype).eps)) * problem.scale


def _middle(shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return the middle of an array, of so many entries that can be looked at."""
    sides = list(shape)
    while math.prod(sides) > 8 * MOST:
        longest = int(np.argmax(sides))
        sides[longest] = -(-sides[longest] // 2)
    return tuple(slice((n - side) // 2, (n - side) // 2 + side) for n, side in zip(shape, sides, strict=True))


def _of_blocks(y: np.ndarray, rng: np.random.Generator) -> float:
    """Return the least of what the flat blocks and the unfoldings tell."""
    found = [_tail(np.moveaxis(y, axis, 0).reshape(n, -1)) for axis, n in enumerate(y.shape) if n >= LONG]
    sides = block_sides(y.shape)
    windows = np.lib.stride_tricks.sliding_window_view(y, sides)
    places, size = math.prod(windows.shape[: y.ndim]), math.prod(sides)
    if FLAT * places >= 2 * size:
        at = np.unravel_index(rng.choice(places, min(places, BLOCKS), replace=False), windows.shape[: y.ndim])
        found.append(_flat(windows[at].reshape(-1, size).astype(float)))
    return min(found) if found else float(y.std(dtype=float))


def block_sides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sides of a block, as equal as the axes allow.

    >>> block_sides((31, 128, 128)), block_sides((128, 128, 3)), block_sides((90, 90))
    ((4, 4, 4), (5, 5, 3), (8, 8))
    """
    sides = [1] * len(shape)
    while math.prod(sides) < BLOCK:
        room = [axis for axis, n in enumerate(shape) if sides[axis] < min(n, max(3, n // 4))]
        if not room:
            break
        sides[min(room, key=sides.__getitem__)] += 1
    return tuple(sides)


def _flat(blocks: np.ndarray) -> float:
    """Return the noise of blocks (n, size): of the flattest, along the directions in which blocks vary least."""
    blocks = blocks - blocks.mean(axis=0)
    directions = np.linalg.eigh(blocks.T @ blocks)[1]
    half = directions.shape[1] // 2
    rough = np.square(blocks @ directions[:, half:-1]).sum(axis=1)  # the last is the mean of a block, which may be any
    flat = blocks[rough <= np.quantile(rough, FLAT)] @ directions[:, :half]
    return float((flat - flat.mean(axis=0)).std())


def _tail(matrix: np.ndarray) -> float:
    """Return the noise of a matrix of low rank: its median singular value over that of noise of level 1."""
    if len(matrix) > matrix.shape[1]:
        matrix = matrix.T
    n, m = matrix.shape
    values = np.linalg.eigvalsh(matrix.astype(float) @ matrix.T.astype(float))
    return math.sqrt(max(float(np.median(values)), 0.0) / (m * noise_median(n / m)))


def noise_median(beta: float) -> float:
    """Return the median of the law of Marchenko and Pastur: of the eigenvalues of N N^T / m, N of noise, n / m = beta.

    >>> round(noise_median(1.0), 2), round(noise_median(0.01), 2)
    (0.65, 1.0)
    """
    low, high = (1 - math.sqrt(beta)) ** 2, (1 + math.sqrt(beta)) ** 2
    angle = (np.arange(4000) + 0.5) * np.pi / 4000  # x runs between both as a cosine, so that its ends weigh little
    x = low + (high - low) * (1 - np.cos(angle)) / 2
    mass = np.cumsum(np.sqrt((high - x) * (x - low)) / x * np.sin(angle))
    return float(x[np.searchsorted(mass, mass[-1] / 2)])


def _of_hidden(problem: Problem, rng: np.random.Generator) -> float:
    """Return how far hidden entries are from what is expected of them, beyond what the model says that they may be."""
    seen = problem.hold_out(HIDDEN, rng)
    at, truth, shape = seen.held_out, seen.held_out_values, problem.y.shape
    assert at is not None
    assert truth is not None
    least = float(np.finfo(problem.y.dtype).eps)

    def answer(name: str, start: Any, **options: Any) -> tuple[np.ndarray, Run]:
        run = Run(seen.starting(start), METHODS[name].configured(**options), rng)
        return np.array(run.finished()).reshape(shape), run

    x, _ = answer("smooth", None)
    found = max(float(np.median(np.abs(x.reshape(-1)[at] - truth))) / MEDIAN, least)
    for _ in range(ROUNDS):
        x, _ = answer("views", None, noise=found * problem.scale)
        for _ in range(AGAIN):
            x, run = answer("patches", x, noise=found * problem.scale, rounds=1)
            v = np.square(run.deviation().reshape(-1)[at], dtype=float)
            surest = np.argsort(v)[: max(TELLING, round(SUREST * len(at)))]
            r = np.abs(x.reshape(-1)[at][surest].astype(float) - truth[surest])
            r2 = float(np.square(r[r <= BEYOND / MEDIAN * np.median(r)]).mean())
            found = max(math.sqrt(max(r2 - float(v[surest].mean()), NOISY * r2)), least)
    return found
