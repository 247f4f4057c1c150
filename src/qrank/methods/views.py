"""views: the Q-norm seen from several sides at once.

    X = mean over the pairs of slice axes of the prox of the Q-norm of T, each with its own learned Q

in the loop of the TQN family, with its fit and its schedule: see `priors/average.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

from ..priors import Average, MaximalVariance, Prior, QNorm, Seen
from ..problem import Problem
from .tqn import Recipe


@dataclass(frozen=True, kw_only=True, eq=False)
class Views(Recipe):
    """The mean over all pairs of slice axes; the slice axes that are given set the scale of mu only."""

    name: ClassVar[str] = "views"
    about: ClassVar[str] = "the mean of the learned Q-norm's proxes over every pair of slice axes"

    penalty: Any = "log-sum:2"

    def prior(self, problem: Problem) -> Prior:
        """Return the average over the pairs of axes, the given one first; axes of length 1 make no slices."""
        shape = problem.y.shape
        d, entries = len(shape), math.prod(shape)
        long = [axis for axis in range(d) if shape[axis] > 1 or axis >= d - 2]
        pairs = sorted(combinations(long, 2), key=lambda pair: pair != (d - 2, d - 1))
        priors = []
        for i, j in pairs:
            n = shape[i] * shape[j]
            order = (*(axis for axis in range(d) if axis not in (i, j)), i, j)
            priors.append(Seen(QNorm(MaximalVariance(min(n, entries // n)), self.penalty), order))
        return Average(tuple(priors), shape)
