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
