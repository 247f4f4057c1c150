"""How mu grows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import kernels
from ..problem import Problem

FIRST = 0.9  # the first threshold, as a share of the largest singular value of the zero-filled data
LIMITS = (
    (1e60, 1e100),
    (1e8, 1e30),
)  # thresholds so far above and below the data's norm only overflow: in double, single
MOST = 1e10  # mu times the data's norm at which baselines hold it
CAREFUL = 1.1  # rho where few singular values explain much: the paper's
HALF = 0.5  # of what is known not yet explained: from here on the rank tells what kind of array it is
FEW, MANY = 0.4, 0.6  # shares of all singular values that are few, and many
SLOWEST, FASTEST = 1.08, 1.2  # the least and the largest rho: some 160 and 80 steps


def within(mu: float, problem: Problem) -> float:
    """Return mu, in the problem's unit, moved to where thresholds 1/mu are neither beyond all data nor beyond all digits.

    >>> within(1e300, Problem.of(np.array([[3.0, 4.0]])))
    2e+99
    """
    above, below = LIMITS[kernels.of(problem.y).eps(problem.y) > 1e-9]
    return min(max(mu, 1 / (above * problem.size)), below / problem.size)


def most(given: float | None, problem: Problem) -> float:
    """Return where mu stops growing, in the problem's unit: as given in the data's, or MOST over the data's norm."""
    return within(MOST / problem.size if given is None else given * problem.scale, problem)


def pace(observed: Any) -> float:
    """Return rho, by which mu grows in a step, for a mask (n3, n1, n2): 1 + 2.2 p within bounds, p the share that is known.

    What is known spreads to what is missing step by step, the slower the less is known, and mu must not outrun it: too large
    a rho costs decibels where p is small, and takes a whole frame for lost of which only a little is known. So p is what is
    known around missing entries, not over all: `known_around`. The numbers are fitted; docs/theory.md has the measurements.

    >>> observed = np.random.default_rng(0).random((20, 30, 40)) < 0.3
    >>> lost = observed.copy()
    >>> lost[:5] &= np.random.default_rng(1).random((5, 30, 40)) < 0.1
    >>> round(pace(observed), 2), round(pace(lost), 2)
    (1.2, 1.13)
    """
    return min(max(SLOWEST, 1 + 2.2 * known_around(observed)), FASTEST)


def careful(fastest: float, primal: float, filled: float) -> float:
    """Return rho for the next step: less than ``fastest`` where few singular values explain what is known.

    ``primal`` is how far X is from what is known, relative, and ``filled`` the share of all singular values that X has. Of an
    array of nearly low rank few have been found when little is left to explain; then each says much about what is missing,
    and finds it slowly. Of a natural picture most have, and nothing is gained by waiting. The numbers were chosen on generated
    arrays (benchmarks/kinds.py); docs/schedule.md compares them with the paper's on these and on real ones.

    >>> careful(1.2, 0.01, 0.6), careful(1.2, 0.01, 0.05), careful(1.2, 0.8, 0.01)
    (1.2, 1.1, 1.2)
    """
    if primal > HALF:
        return fastest
    share = min(max((filled - FEW) / (MANY - FEW), 0.0), 1.0)
    return min(fastest, CAREFUL + share * (fastest - CAREFUL))


def known_around(observed: Any) -> float:
    """Return the share that is known in the fibres of nine in ten missing entries, of the mode where it is least.

    Where entries are missing at random that is the share p that is known over all, so the shares of the fibres, which
    scatter by p (1 - p) / n for this reason alone, are drawn towards p by that part of their variance.
    """
    counts = kernels.of(observed).fibre_counts(observed)
    p = least = float(counts[0] @ np.arange(len(counts[0])) / math.prod(observed.shape))
    for fibres in counts:
        n = len(fibres) - 1
        share = np.arange(n + 1) / n
        spread = float(fibres @ (share - p) ** 2 / fibres.sum())
        if spread > p * (1 - p) / n:
            missing = np.cumsum(fibres * (1 - share))
            level = float(share[np.searchsorted(missing, 0.1 * missing[-1])])
            least = min(least, p + (level - p) * (1 - p * (1 - p) / n / spread))
    return max(0.0, least)
