"""Average: the mean of several priors of one array, each of its own view of it.

    X = sum_k w_k prior_k(T, c_k lam)

A tensor is low-rank in many arrangements, and their mean is nearer to it than each of them: what one of them takes for noise
the others know. It needs no copy of the state for each, unlike splitting. Shrinking singular values by lam takes away noise
of level sigma where lam = sigma (sqrt(rows) + sqrt(columns)), the size of such noise in a slice; c_k puts all priors on the
scale of the first. Views that cut into blocks do so on a grid that begins at another place in every step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from .. import kernels
from ..kernels.arrange import View
from ..kernels.memory import Workspace
from .base import Prior, Proxed

OPEN = 0.5  # how much the weights are drawn towards equal ones, in units of how far the priors are apart


@dataclass(frozen=True, eq=False)
class Seen:
    """A prior of the stack that a view makes of an array."""

    prior: Prior
    view: View

    def noise(self, shape: Sequence[int]) -> float:
        """Return the size of noise of level 1 in a slice.

        >>> Seen(None, View((1, 1, 1), (0,), (2,), (4,))).noise((5, 9, 16))
        7.0
        """
        _, rows, columns = self.view.stack_shape(tuple(shape))
        return math.sqrt(rows) + math.sqrt(columns)


class Averaged(NamedTuple):
    """What a step hands to the next."""

    each: tuple  # the states of all priors
    trail: tuple[tuple[float, ...], ...] = ()  # of every step so far: lam, rank, error on the judge's entries, weights


@dataclass(frozen=True, eq=False)
class Average(Prior):
    """The mean of priors; ``shape`` is that of the array whose last two axes are the slices of T.

    ``weights`` are (k,), or a table (steps, 1 + k) of lam and the weights from there on down; None: equal. Where there is a
    ``judge``, flat positions of entries and their values, the weights follow what the priors make of these entries.
    """

    priors: tuple[Seen, ...]
    shape: tuple[int, ...]
    weights: Any = None
    judge: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def full(self) -> int:
        """The largest rank that all views together can have."""
        return sum(
            tube * min(rows, columns) for tube, rows, columns in (s.view.stack_shape(self.shape) for s in self.priors)
        )

    def _stacks(self, t: Any, work: Workspace) -> Iterator[tuple[Seen, Any, float, tuple[int, ...]]]:
        """Yield every prior with T as it sees it, in scratch, its share of lam, and where its grid begins."""
        first, x = self.priors[0].noise(self.shape), t.reshape(self.shape)
        for seen in self.priors:
            offsets = seen.view.offsets(work.rng)
            stack = kernels.of(t).arranged(x, seen.view, offsets, work)
            yield seen, stack, seen.noise(self.shape) / first, offsets

    def start(self, t: Any, work: Workspace) -> Averaged:
        """Return the states of all priors."""
        return Averaged(tuple(seen.prior.start(stack, work) for seen, stack, *_ in self._stacks(t, work.part("seen"))))

    def size(self, t: Any, state: Averaged, work: Workspace) -> float:
        """Return the largest of the priors' sizes, on the scale of the first."""
        inner = work.part("seen")
        stacks = zip(self._stacks(t, inner), state.each, strict=True)
        return max(seen.prior.size(stack, one, inner) / scale for (seen, stack, scale, _), one in stacks)

    def __call__(self, t: Any, lam: float, state: Averaged, work: Workspace) -> Proxed:
        """Return the mean of what the priors make of T."""
        weights = np.array(state.trail[-1][3:]) if self.judge and state.trail else self._weights(lam)
        kind = kernels.of(t)
        x, found, seen_at = kind.zeros(t, self.shape, work), [], []
        inner = work.part("seen")  # what a prior keeps in its spare array must last until it is added
        stacks = zip(self._stacks(t, inner), state.each, weights, strict=True)
        for (seen, stack, scale, offsets), one, weight in stacks:
            if weight == 0 and self.judge is None:  # its state may lie in memory that others take
                found.append(Proxed(None, seen.prior.start(stack, inner), 0.0, 0, 0))
                continue
            proxed = seen.prior(stack, scale * lam, one, inner)
            if self.judge is not None:
                seen_at.append(kind.sampled(proxed.x, seen.view, offsets, self.shape, self.judge[0]))
            x = kind.add_arranged(x, proxed.x, seen.view, offsets, float(weight))
            found.append(proxed._replace(x=None))
        rank, slices, error = sum(one.rank for one in found), sum(one.slices for one in found), 0.0
        if self.judge is not None:
            # What is judged now serves the next step, whose lam is nearly the same: no X of a prior has to be kept.
            answers = np.stack(seen_at, axis=1)
            error = math.sqrt(float(np.square(answers @ weights - self.judge[1]).mean()))
            weights = (weights + balanced(answers, self.judge[1])) / 2
        each, step = tuple(one.state for one in found), (lam, float(rank), error, *map(float, weights))
        value = float(sum(weight * one.value for weight, one in zip(weights, found, strict=True)))
        return Proxed(x.reshape(t.shape), Averaged(each, (*state.trail, step)), value, rank, slices)

    def apart(self, t: Any, lam: float, state: Averaged, work: Workspace) -> Any:
        """Return for each entry the weighted standard deviation of what the priors make of T, of the array's shape."""
        weights, kind, inner = np.array(state.trail[-1][3:]), kernels.of(t), work.part("seen")
        at, mean, square = t.reshape(self.shape), kind.zeros(t, self.shape, work), 0 * t.reshape(self.shape)
        for (seen, stack, scale, offsets), one, weight in zip(self._stacks(t, inner), state.each, weights, strict=True):

            def add(s: slice, x: Any, weight: float = float(weight)) -> None:
                moved = x - at[s]  # beside T: small numbers, which are squared
                mean[s] += weight * moved
                moved *= moved
                square[s] += weight * moved

            if weight > 0:
                x = seen.prior(stack, scale * lam, one, inner).x
                kind.taken_back(add, x, seen.view, offsets, self.shape)
        inner.clear()
        mean *= mean
        square -= mean
        square = square.clip(0)
        square **= 0.5
        return square

    def _weights(self, lam: float) -> np.ndarray:
        if self.weights is None:
            return np.full(len(self.priors), 1 / len(self.priors))
        weights = np.asarray(self.weights, dtype=float)
        return weights if weights.ndim == 1 else weights[np.argmin(np.abs(np.log(weights[:, 0] / lam))), 1:]


def balanced(answers: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the weights, at least 0 and of sum 1, whose mean of answers (n, k) is nearest to the truth (n,).

    They are drawn towards equal weights by as much as the answers leave open.

    >>> balanced(np.array([[1.0, 3.0], [2.0, 2.0], [5.0, 3.0]]), np.array([2.0, 2.0, 4.0])).round(2)
    array([0.5, 0.5])
    """
    n, k = answers.shape
    answers, truth = answers.astype(float), np.asarray(truth, dtype=float)
    mean = answers.mean(axis=1)
    apart = answers - mean[:, None]
    # With weights of sum 1, the error is that of the mean minus what the weights add to it: no large number is needed.
    pull = OPEN * math.sqrt(float(np.square(apart).mean())) * math.sqrt(n)
    if not pull > 0:
        return np.full(k, 1 / k)
    sure = 1e3 * pull
    left = np.vstack([apart, pull * np.eye(k), np.full((1, k), sure)])
    right = np.concatenate([truth - mean, np.full(k, pull / k), [sure]])
    weights, _ = scipy.optimize.nnls(left, right)
    return weights / weights.sum()
