"""How answers are combined by what they make of hidden entries, and how far the result may be off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize

LEAST = 0.05  # weights below are dropped
PAYS = 0.998  # a sum is taken over the best single answer if its error is below this part of that one's
COVERED, NORMAL = 0.9, 1.6448536269514722  # the share of errors that lie within so many standard errors
CLIPPED = 4.0  # errors beyond so many times the root mean square count as this


def weights(answers: np.ndarray, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the weights, at least 0 and of sum 1, of answers (n, k) of which the sum is nearest to the truth (n,).

    A sum is taken only where it pays on entries that have not chosen the weights: each half of them chooses for the other.

    >>> truth = np.random.default_rng(0).standard_normal(300)
    >>> noise = np.random.default_rng(1).standard_normal((300, 3)) * [0.1, 0.1, 3.0]
    >>> weights(truth[:, None] + noise, truth, np.random.default_rng(2)).round(1)
    array([0.5, 0.5, 0. ])
    """
    answers, truth = answers.astype(float), truth.astype(float)
    errors = np.sqrt(np.square(answers - truth[:, None]).mean(axis=0))
    best = np.eye(answers.shape[1])[int(np.argmin(errors))]
    if len(truth) < 20 or answers.shape[1] == 1:
        return best
    half = rng.permutation(len(truth)) % 2 == 0
    miss = [answers[~part] @ _nearest(answers[part], truth[part]) - truth[~part] for part in (half, ~half)]
    if np.sqrt(np.square(np.concatenate(miss)).mean()) > PAYS * errors.min():
        return best
    return _nearest(answers, truth)


def _nearest(answers: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return weights of sum 1; those below LEAST are 0."""
    chosen = np.arange(answers.shape[1])
    while True:
        some = answers[:, chosen]
        first = some[:, :1]  # w_1 = 1 - the others: what is fitted are differences, so that the sum is 1
        scale = float(np.abs(answers).max()) or 1.0
        left = np.vstack([(some - first) / scale, np.full((1, len(chosen)), 1e3 * np.sqrt(len(truth)))])
        right = np.append((truth - first[:, 0]) / scale, 1e3 * np.sqrt(len(truth)))
        found = scipy.optimize.nnls(left, right)[0]
        keep = found >= LEAST * found.sum()
        if keep.all():
            w = np.zeros(answers.shape[1])
            w[chosen] = found / found.sum()
            return w
        chosen = chosen[keep]


@dataclass(frozen=True)
class Spread:
    """The standard error of a filled entry, from signs of how sure it is: sqrt(sum_k c_k signs_k^2)."""

    factors: np.ndarray  # c_k >= 0

    @classmethod
    def learned(cls, signs: np.ndarray, errors: np.ndarray) -> Spread:
        """Return factors for signs (n, k) so that squared errors (n,) are met, and 90 % lie within 1.645 of them.

        >>> rng = np.random.default_rng(0)
        >>> size = rng.uniform(0.1, 2, 4000)
        >>> found = Spread.learned(np.stack([np.ones(4000), size], 1), size * rng.standard_normal(4000))
        >>> bool(np.abs(np.sqrt(found.factors) - [0, 1]).max() < 0.2)
        True
        """
        signs, errors = np.square(signs.astype(float)), np.square(errors.astype(float))
        mean = float(errors.mean())
        if mean == 0:
            return cls(np.zeros(signs.shape[1]))
        errors = np.minimum(errors, CLIPPED**2 * mean)  # a few large ones would set all factors
        # Weighed by the expected size: relative misfits of small errors count like those of large ones
        factors = np.zeros(signs.shape[1])
        level = np.full(len(errors), mean)
        for _ in range(5):
            factors = scipy.optimize.nnls(signs / level[:, None], errors / level)[0]
            level = np.maximum(signs @ factors, 1e-3 * mean)
        ratio = np.sqrt(errors / level)
        rank = min(
            len(ratio) - 1, int(np.ceil(COVERED * (len(ratio) + 1))) - 1
        )  # of exchangeable entries as many lie below
        return cls(factors * float((np.sort(ratio)[rank] / NORMAL) ** 2))

    def __call__(self, signs: list[np.ndarray]) -> np.ndarray:
        """Return the standard error of every entry from its signs, arrays of one shape."""
        total = np.zeros(np.broadcast_shapes(*(np.shape(s) for s in signs)))
        for factor, sign in zip(self.factors, signs, strict=True):
            total += factor * np.square(sign, dtype=float)
        return np.sqrt(np.maximum(total, 1e-3 * float(total.mean())))
