"""A cover: the places of overlapping blocks of one shape that together cover an array of any order, read and added to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

PLACES = 1 << 16  # entries that are read together


@dataclass(frozen=True, eq=False)
class Cover:
    """Where the blocks are: entry j of block i is entry ``corners[i] + inside[j]`` of the flattened array.

    >>> cover = Cover.of((4, 5), (2, 2), (1, 2), (0, 1))
    >>> len(cover.corners), cover.inside.tolist()
    (9, [0, 1, 5, 6])
    >>> cover.read(np.arange(20).reshape(4, 5), np.array([0, 8]))
    array([[ 0,  1,  5,  6],
           [13, 14, 18, 19]])
    >>> cover.times_counts(np.ones((4, 5), int))[0].tolist()
    [1, 2, 1, 1, 1]
    """

    corners: np.ndarray  # (P,)
    inside: np.ndarray  # (n,)
    times: tuple[np.ndarray, ...]  # for each axis, how often its places are covered

    @classmethod
    def of(cls, shape: Sequence[int], block: Sequence[int], stride: Sequence[int], offset: Sequence[int]) -> Cover:
        """Return the blocks on a grid of a stride, moved back by an offset; blocks that stick out are moved inwards."""
        corners, times = [], []
        for n, b, s, o, step in zip(shape, block, stride, offset, _steps(shape), strict=True):
            first = np.unique(np.clip(np.arange(-o, n - b + s, s), 0, n - b))
            corners.append(first * step)
            times.append(np.bincount((first[:, None] + np.arange(b)).reshape(-1), minlength=n))
        return cls(_sums(corners), _inside(shape, block), tuple(times))

    @classmethod
    def anywhere(cls, shape: Sequence[int], block: Sequence[int], most: int, rng: np.random.Generator) -> Cover:
        """Return all blocks that there are, or as many as are wanted, drawn at random; these need not cover all.

        >>> [len(Cover.anywhere((4, 5), (2, 2), most, np.random.default_rng(0)).corners) for most in (7, 99)]
        [7, 12]
        """
        places = [n - b + 1 for n, b in zip(shape, block, strict=True)]
        if math.prod(places) <= most:
            return cls.of(shape, block, (1,) * len(places), (0,) * len(places))
        drawn = np.unravel_index(np.sort(rng.integers(math.prod(places), size=most)), places)
        corners = sum(first * step for first, step in zip(drawn, _steps(shape), strict=True))
        return cls(np.asarray(corners), _inside(shape, block), ())

    def read(self, x: np.ndarray, blocks: np.ndarray | slice) -> np.ndarray:
        """Return some blocks of a C-contiguous array as rows, (number of blocks, n)."""
        flat, corners = x.reshape(-1), self.corners[blocks]
        rows = np.empty((len(corners), len(self.inside)), x.dtype)
        some = max(1, PLACES // len(self.inside))  # places take more memory than what is there
        for s in (slice(k, k + some) for k in range(0, len(corners), some)):
            flat.take(corners[s, None] + self.inside, out=rows[s], mode="clip")
        return rows

    def add(self, x: np.ndarray, blocks: np.ndarray, rows: np.ndarray) -> None:
        """Add rows to a C-contiguous array where the blocks are; where these overlap, all are added."""
        places = self.corners[blocks][:, None] + self.inside
        np.add.at(
            x.reshape(-1), places.reshape(-1), rows.reshape(-1)
        )  # flat: nine times as fast as with rows of places

    def times_counts(self, x: np.ndarray) -> np.ndarray:
        """Multiply each entry of an array, in place, by how many blocks cover it; return the array."""
        for axis, along in enumerate(self.times):
            x *= along.astype(x.dtype).reshape(-1, *(1,) * (x.ndim - 1 - axis))
        return x


def _steps(shape: Sequence[int]) -> list[int]:
    """Return for each axis how far apart neighbours along it are in the flattened array."""
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def _inside(shape: Sequence[int], block: Sequence[int]) -> np.ndarray:
    return _sums([np.arange(b) * step for b, step in zip(block, _steps(shape), strict=True)])


def _sums(parts: list[np.ndarray]) -> np.ndarray:
    """Return all sums of one number of each part, the last part's running fastest."""
    return reduce(np.add.outer, parts).reshape(-1)
