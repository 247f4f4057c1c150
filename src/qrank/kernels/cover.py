"""A cover: the places of overlapping blocks of one shape that together cover an array of any order, read and added to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np


@dataclass(frozen=True, eq=False)
class Cover:
    """Where the blocks are: entry j of block i is ``corners[i] + inside[j]`` of the flattened array.

    >>> cover = Cover.of((4, 5), (2, 2), (1, 2), (0, 1))
    >>> len(cover.corners), cover.inside.tolist()
    (12, [0, 1, 5, 6])
    >>> cover.read(np.arange(20).reshape(4, 5), np.array([0]))
    array([[0, 1, 5, 6]])
    """

    corners: np.ndarray  # (P,)
    inside: np.ndarray  # (n,)
    times: tuple[np.ndarray, ...]  # an array for each axis: how often its places are covered

    @classmethod
    def of(cls, shape: Sequence[int], block: Sequence[int], stride: Sequence[int], offset: Sequence[int]) -> Cover:
        """Return the blocks on a grid of a stride that is moved back by an offset; those that stick out are moved inwards."""
        steps = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        corners, inside, times = [], [], []
        for n, b, s, o, step in zip(shape, block, stride, offset, steps, strict=True):
            first = np.unique(np.clip(np.arange(-o, n - b + s, s), 0, n - b))
            corners.append(first * step)
            inside.append(np.arange(b) * step)
            times.append(np.bincount((first[:, None] + np.arange(b)).reshape(-1), minlength=n))
        return cls(_sums(corners), _sums(inside), tuple(times))

    def sample(self, most: int, rng: np.random.Generator) -> Cover:
        """Return some of the blocks, at most so many, drawn at random in their order; they need not cover all."""
        if len(self.corners) <= most:
            return self
        chosen = np.sort(rng.choice(len(self.corners), most, replace=False))
        return Cover(self.corners[chosen], self.inside, self.times)

    def read(self, x: np.ndarray, blocks: np.ndarray) -> np.ndarray:
        """Return some blocks of an array as rows, (len(blocks), n)."""
        return x.reshape(-1).take(self.corners[blocks][:, None] + self.inside)

    def add(self, x: np.ndarray, blocks: np.ndarray, rows: np.ndarray) -> None:
        """Add rows to an array where the blocks are; where these overlap, all are added."""
        np.add.at(x.reshape(-1), self.corners[blocks][:, None] + self.inside, rows)

    def counts(self, dtype: np.dtype) -> np.ndarray:
        """Return how many blocks cover an entry, an array that broadcasts to the covered one's shape."""
        return reduce(np.multiply.outer, [along.astype(dtype) for along in self.times])


def _sums(parts: list[np.ndarray]) -> np.ndarray:
    """Return all sums of one number of each part, the last part's running fastest."""
    return reduce(np.add.outer, parts).reshape(-1)
