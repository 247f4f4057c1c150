"""The weighted mean of answers, taken as they come in, so that no more than one of them is held."""

from __future__ import annotations

from typing import cast

import numpy as np

from ..problem import Problem
from .runner import Outcome


class Mixture:
    """The mean of answers by their weights, how far they are apart, and what they say of themselves.

    A new answer a of weight w moves the mean m of those before, of weight W, by w / (W + w) (a - m), and the weighted sum of
    squares around the mean grows by w W / (W + w) (a - m)^2. Where it is known by which factors the two signs of errors, how far
    answers are apart and what they say, will count (`Spread`), they are added up in one array: that of the first, so weighed that
    it stands for both.

    >>> mixture = Mixture()
    >>> mixture.add(3.0, np.array([1.0]), None)
    >>> mixture.add(1.0, np.array([5.0]), np.array([2.0]))
    >>> mixture.mean, mixture.apart().round(3), mixture.own()
    (array([2.]), array([1.732], dtype=float32), array([1.], dtype=float32))
    """

    def __init__(self, factors: tuple[float, float] | None = None) -> None:
        self.mean: np.ndarray | None = None
        self.weight = 0.0  # of all answers
        self._one = True  # there is but one answer
        # Of how far they are apart, and of what they say of themselves: what a square counts, and the sum of the squares
        self._shares, self._sums = [1.0, 1.0], cast(list[np.ndarray | None], [None, None])
        self._together = False
        if factors is not None:
            self._together = min(factors) > 0
            self._shares = (
                [1.0, factors[1] / factors[0]] if self._together else [float(factor > 0) for factor in factors]
            )

    @classmethod
    def of(cls, weights: dict[str, float], done: dict[str, Outcome]) -> Mixture:
        """Return the mixture of what is done and has weight."""
        mixture = cls()
        for name, weight in weights.items():
            if weight > 0 and name in done:
                mixture.add(weight, done[name].x, done[name].doubt)
        return mixture

    def add(self, weight: float, answer: np.ndarray, doubt: np.ndarray | None) -> None:
        """Take an answer in, which is left as it is, and what it says of its own errors."""
        if doubt is not None:
            self._count(1, weight, doubt)
        before, self.weight = self.weight, self.weight + weight
        if self.mean is None:
            self.mean = answer
            return
        away = answer - self.mean
        self._count(0, weight * before / self.weight, away)
        self._one = False
        away *= weight / self.weight
        self.mean = np.add(self.mean, away, out=away)  # in the finer type of the two

    def filled(self, problem: Problem, within: tuple[float, float] | None, exact: bool = True) -> np.ndarray:
        """Return the mean, cut to a range, known entries as they are if they are exact; nothing is to be added afterwards."""
        assert self.mean is not None
        if self._one:  # it is the one answer itself
            self.mean = self.mean.copy()
        if within is not None:
            np.clip(self.mean, *within, out=self.mean)
        if exact:
            np.copyto(self.mean, problem.y, where=problem.observed, casting="same_kind")
        return self.mean

    def apart(self) -> np.ndarray:
        """Return the standard deviation of the answers around their mean, entry by entry; it is handed over, not kept."""
        return self._root(0)

    def own(self) -> np.ndarray:
        """Return the root mean square of what the answers say of their errors; of one that says nothing, 0. Not kept, either."""
        return self._root(1)

    def _count(self, which: int, weight: float, term: np.ndarray) -> None:
        """Add a weighted square to a sum, in single precision."""
        if (weight := weight * self._shares[which]) == 0:
            return
        which = 0 if self._together else which
        square = np.square(term, dtype=np.float32)
        square *= weight
        total = self._sums[which]
        self._sums[which] = square if total is None else np.add(total, square, out=total)

    def _root(self, which: int) -> np.ndarray:
        """Return the root of a mean square, made of its sum, which is not kept."""
        total, self._sums[which] = self._sums[which], None
        assert self.mean is not None
        if total is None:
            return np.zeros((1,) * self.mean.ndim, np.float32)
        total /= np.float32(self.weight)
        return np.sqrt(total, out=total)
