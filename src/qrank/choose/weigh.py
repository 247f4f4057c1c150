"""How answers are combined by what they make of hidden entries, and how far the result may be off."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.optimize

LEAST = 0.05  # weights below are dropped
PAYS = 0.998  # answers are cut to the known range if that takes the squared error below this part
SURE = 0.5  # standard errors that a sum is to gain over the best single answer
UNSURE = (
    1.0  # where the truth is noisy: standard errors that it may lose, and that an answer may err more and count alike
)
NEAR = 1.06  # answers that err less than so many times the best are expected to count alike,
OPEN = 0.2  # give or take this
SPLITS = 4  # into halves, each of which chooses for the other
OWN = 1e-3  # of the squared error on noisy entries that is the answer's own, at least
COVERED, NORMAL = 0.9, 1.6448536269514722  # the share of errors that lie within so many standard errors
FOLDS = 8  # of groups, each of which is told of by the others
APART = 3  # groups that tell of each other, at least
MOST = 50_000  # entries that factors are learned on
CLIPPED = 4.0  # errors beyond so many times the root mean square count as this


def weights(answers: np.ndarray, truth: np.ndarray, rng: np.random.Generator, s2: float = 0.0) -> np.ndarray:
    """Return the weights, at least 0 and of sum 1, of answers (n, k) of which the sum is nearest to the truth (n,).

    Before anything is seen, those that are about as good as the best are expected to count alike; entries hidden tell how
    far they do not. A sum is taken only where it pays on entries that have not chosen the weights, each half of them choosing
    for the other, by more than half the standard error of that gain: where a few entries make most of the error, little is learned
    from the others. NEAR and OPEN were compared on the truth of the two clips, balloons, COIL-20, CIFAR-10 and the metro;
    SURE on that of the metro of which a tenth is known, the balloons of which a twentieth is, and the still clip.
    ``s2`` is the variance of the noise in the truth, which no answer is blamed for. With it the few hidden entries hardly tell
    answers apart that differ by less than the noise. The mean of such answers is at least as good as they are on average, and is
    taken unless it is clearly worse than the best. (UNSURE was chosen on a generated clip and generated spectra.)

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
    gain = SPLITS * np.square(answers @ best - truth)  # of squared error, summed up over the splits
    for _ in range(SPLITS):
        half = rng.permutation(len(truth)) % 2 == 0
        for chosen, others in ((half, ~half), (~half, half)):
            gain[others] -= np.square(answers[others] @ _nearest(answers[chosen], truth[chosen], s2) - truth[others])
    asked = -UNSURE if s2 > 0 else SURE
    return _nearest(answers, truth, s2) if gain.mean() > asked * gain.std() / np.sqrt(len(gain)) else best


def clearly_better(answers: np.ndarray, truth: np.ndarray, plain: int, groups: np.ndarray) -> np.ndarray:
    """Return which of the answers (n, k) are clearly better than one of them, group by group of the entries (n,).

    Entries that are lost together err together: ten thousand pixels of three frames are three observations. An answer is
    clearly better if the mean over the groups of what it gains is above 1.645 of its standard errors, which happens by luck once
    in twenty times, over four groups at least.

    >>> truth, groups = np.zeros(8), np.repeat(np.arange(4), 2)
    >>> clearly_better(np.array([[1.0, 0.5, 0.1]] * 4 + [[1.0, 1.5, 0.1]] * 4), truth, 0, groups)
    array([ True, False,  True])
    """
    miss = np.square(answers - truth[:, None])
    some = [miss[groups == group].mean(axis=0) for group in np.unique(groups)]
    gain = np.stack(some)[:, [plain]] - np.stack(some)
    keep = np.zeros(answers.shape[1], dtype=bool)
    if len(gain) >= 4:
        keep = gain.mean(axis=0) > NORMAL * gain.std(axis=0, ddof=1) / np.sqrt(len(gain))
    keep[plain] = True
    return keep


def _nearest(answers: np.ndarray, truth: np.ndarray, s2: float) -> np.ndarray:
    """Return weights of sum 1, least squares drawn towards equal ones of those that are near the best; below LEAST 0."""
    squares = np.square(answers - truth[:, None])
    errors = np.sqrt(squares.mean(axis=0))
    least, k = float(errors.min()), answers.shape[1]
    if least == 0:
        return np.eye(k)[int(np.argmin(errors))]
    near = np.square(errors) - s2 <= NEAR**2 * max(least**2 - s2, OWN * least**2)
    near |= errors == least
    if s2 > 0:
        more = squares - squares[:, [int(np.argmin(errors))]]
        near |= more.mean(axis=0) <= UNSURE * more.std(axis=0) / np.sqrt(len(more))
    expected = near / np.count_nonzero(near)
    mean, sure = answers @ expected, 1e3 * np.sqrt(len(truth))
    # In units of the best one's error: misfits, how far weights are from what is expected of them, and that their sum is 1
    left = np.vstack([(answers - mean[:, None]) / least, np.eye(k) / OPEN, np.full((1, k), sure)])
    found = scipy.optimize.nnls(left, np.concatenate([(truth - mean) / least, expected / OPEN, [sure]]))[0]
    found[found < LEAST * found.sum()] = 0
    return found / found.sum()


def widened(errors: np.ndarray, told: np.ndarray, s2: float = 0.0) -> float:
    """Return what standard errors (n,) are to be multiplied by so that 90 % of the errors (n,) lie within 1.645 of them.

    Errors of entries that are noisy themselves, of variance s2, lie within 1.645 of both together.

    >>> round(widened(np.linspace(-1, 1, 1001), np.ones(1001)), 2)
    0.55
    >>> round(widened(np.linspace(-1, 1, 1001), np.ones(1001), 0.04), 2)  # sqrt(0.55^2 - 0.04)
    0.51
    """
    ratio = np.sort(np.abs(errors) / told)
    if s2 > 0:
        own = np.square(errors / NORMAL) - s2
        ratio = np.sort(np.sqrt(np.maximum(own, 1e-6 * s2)) / told) * NORMAL
    rank = min(
        len(ratio) - 1, int(np.ceil(COVERED * (len(ratio) + 1))) - 1
    )  # of exchangeable entries as many lie below
    return float(ratio[rank] / NORMAL)


def calibrated(spread: np.ndarray, at: np.ndarray, errors: np.ndarray, s2: float = 0.0) -> np.ndarray:
    """Return standard errors so multiplied that 90 % of the errors (n,) of the entries ``at`` lie within 1.645 of them.

    ``s2``: the variance of the noise of these entries.

    >>> calibrated(np.ones(20), np.arange(20), np.linspace(-1, 1, 20)).round(2)[:3]
    array([0.61, 0.61, 0.61])
    """
    if not spread.reshape(-1)[at].all():  # certain of what may be wrong: no factor mends that
        spread = np.full_like(spread, np.sqrt(np.mean(np.square(errors))))
    told = spread.reshape(-1)[at]
    return spread * widened(errors, told, s2) if told.all() else spread


@dataclass(frozen=True)
class Spread:
    """The standard error of a filled entry, from signs of how sure it is: sqrt(sum_k c_k signs_k^2)."""

    factors: np.ndarray  # c_k >= 0
    mean: float = 0.0  # squared error of the hidden entries: that of every entry where the signs vanish

    @classmethod
    def learned(
        cls, signs: np.ndarray, errors: np.ndarray, groups: np.ndarray | None = None, s2: float = 0.0
    ) -> Spread:
        """Return factors for signs (n, k) so that squared errors (n,) are met, and 90 % lie within 1.645 of them.

        Entries of one of the groups (n,) err together, and those asked about are of other groups: then 90 % of the entries of
        some groups are to lie within what the other groups tell. ``s2``: the variance of the noise in the hidden entries, which is
        no error of the answer.

        >>> rng = np.random.default_rng(0)
        >>> size = rng.uniform(0.1, 2, 4000)
        >>> found = Spread.learned(np.stack([np.ones(4000), size], 1), size * rng.standard_normal(4000))
        >>> bool(np.abs(np.sqrt(found.factors) - [0, 1]).max() < 0.2)
        True
        """
        signs, errors = np.square(signs.astype(float)), np.square(errors.astype(float))
        if not errors.any():
            return cls(np.zeros(signs.shape[1]))
        factors, told = _factors(signs, errors, s2), np.empty(len(errors))
        places = None if groups is None else np.unique(groups)
        if groups is None or places is None or len(places) < APART:
            told = _level(signs, factors, errors)
        else:
            fold = np.searchsorted(places, groups) % min(len(places), FOLDS)
            for k in range(fold.max() + 1):
                others = fold != k
                told[~others] = _level(signs[~others], _factors(signs[others], errors[others], s2), errors[others])
        mean = max(float(errors.mean()) - s2, OWN * float(errors.mean()))
        return cls(factors * widened(np.sqrt(errors), np.sqrt(told), s2) ** 2, mean)

    def __call__(self, signs: Sequence[Callable[[], np.ndarray]], shape: tuple[int, ...]) -> np.ndarray:
        """Return the standard error of every entry of an array of a shape, in single precision, from what makes its signs."""
        total = np.zeros(shape, np.float32)
        made = reversed(list(zip(self.factors, signs, strict=True)))  # the last signs are let go of once made
        for factor, sign in made:
            if factor > 0:
                found = sign() * math.sqrt(factor)
                total += np.square(found, out=found)
                del found
        if not total.any():  # where one answer is left of several, say, they do not differ: that makes nothing certain
            total.fill(self.mean)
        np.maximum(total, 1e-3 * float(total.mean(dtype=float)), out=total)
        return np.sqrt(total, out=total)


def _factors(signs: np.ndarray, errors: np.ndarray, s2: float) -> np.ndarray:
    """Return factors (k,) of squared signs (n, k) that meet squared errors (n,) but for s2, of up to MOST entries."""
    every = max(1, len(errors) // MOST)
    signs, errors = signs[::every], errors[::every]
    mean = float(errors.mean())
    errors = np.minimum(errors, CLIPPED**2 * mean)  # a few large ones would set all factors
    # Weighed by the expected size: relative misfits of small errors count like those of large ones
    factors, level = np.zeros(signs.shape[1]), np.full(len(errors), mean)
    for _ in range(5 if mean > 0 else 0):
        factors = scipy.optimize.nnls(signs / level[:, None], (errors - s2) / level)[0]
        level = _level(signs, factors, errors) + s2
    return factors


def _level(signs: np.ndarray, factors: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return the squared errors that are expected where signs (n, k) are seen, not far below those (m,) that were met."""
    return np.maximum(signs @ factors, max(1e-3 * float(errors.mean()), 1e-300))
