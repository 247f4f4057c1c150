"""Average: the mean of several priors of one array, each seen along its own pair of slice axes.

    X = sum_k w_k prior_k(T, c_k lam)

A tensor is low-rank in many arrangements, and their mean is nearer to it than each of them: what one of them takes for noise
the others know. It needs no copy of the state for each, unlike splitting. Shrinking singular values by lam takes away noise
of level sigma where lam = sigma (sqrt(rows) + sqrt(columns)), the size of such noise in a slice; c_k puts all priors on the
scale of the first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import kernels
from ..kernels.memory import Workspace
from .base import Prior, Proxed


@dataclass(frozen=True, eq=False)
class Seen:
    """A prior of an array seen with another pair of slice axes: ``axes`` is the order of axes, the slice's last."""

    prior: Prior
    axes: tuple[int, ...]

    def of(self, x: Any) -> Any:
        """Return a view of an array in this order of axes."""
        return kernels.of(x).permuted(x, self.axes)

    def back(self, stack: Any, shape: Sequence[int]) -> Any:
        """Return a stack as a view in the order of axes of an array of a shape."""
        inner = stack.reshape(tuple(shape[axis] for axis in self.axes))
        return kernels.of(inner).permuted(inner, tuple(self.axes.index(axis) for axis in range(len(shape))))

    def noise(self, shape: Sequence[int]) -> float:
        """Return the size of noise of level 1 in a slice.

        >>> Seen(None, (0, 1, 2)).noise((5, 9, 16))
        7.0
        """
        return math.sqrt(shape[self.axes[-2]]) + math.sqrt(shape[self.axes[-1]])


@dataclass(frozen=True, eq=False)
class Average(Prior):
    """The mean of priors; ``shape`` is that of the array whose last two axes are the slices of T."""

    priors: tuple[Seen, ...]
    shape: tuple[int, ...]
    weights: tuple[float, ...] | None = None  # sum 1; None: equal

    def _stacks(self, t: Any, work: Workspace) -> Any:
        """Yield every prior with T as a stack of its slices, in scratch, and its share of lam."""
        first = self.priors[0].noise(self.shape)
        for seen in self.priors:
            view = seen.of(t.reshape(self.shape))
            arranged = kernels.of(t).copy(view, out=work.array("arranged", view.shape, t.dtype))
            yield seen, arranged.reshape(-1, *view.shape[-2:]), seen.noise(self.shape) / first

    def start(self, t: Any, work: Workspace) -> tuple:
        """Return the states of all priors."""
        return tuple(seen.prior.start(stack, work) for seen, stack, _ in self._stacks(t, work))

    def size(self, t: Any, state: tuple, work: Workspace) -> float:
        """Return the largest of the priors' sizes, on the scale of the first."""
        stacks = self._stacks(t, work)
        return max(
            s.prior.size(stack, one, work.part("seen")) / c for (s, stack, c), one in zip(stacks, state, strict=True)
        )

    def __call__(self, t: Any, lam: float, state: tuple, work: Workspace) -> Proxed:
        """Return the mean of what the priors make of T."""
        weights = self.weights or (1 / len(self.priors),) * len(self.priors)
        total = work.array("spare", t.shape, t.dtype)
        total[...] = 0
        x, found = total.reshape(self.shape), []
        inner = work.part("seen")  # what a prior keeps in its spare array must last until it is added
        for (seen, stack, scale), one, weight in zip(self._stacks(t, work), state, weights, strict=True):
            proxed = seen.prior(stack, scale * lam, one, inner)
            proxed.x[...] *= weight
            x += seen.back(proxed.x, self.shape)
            found.append(proxed._replace(x=None))
        value = sum(weight * one.value for weight, one in zip(weights, found, strict=True))
        rank, slices = sum(one.rank for one in found), sum(one.slices for one in found)
        return Proxed(total, tuple(one.state for one in found), value, rank, slices)
