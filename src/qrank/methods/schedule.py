"""How mu grows."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..errors import ConvergenceWarning
from ..problem import Problem

FIRST = 0.9  # the first threshold, as a share of the largest singular value of the zero-filled data
LIMITS = (
    (1e60, 1e100),
    (1e8, 1e30),
)  # thresholds so far above and below the data's norm only overflow: in double, single
DIGITS = 1e-6  # a tolerance from which on single precision serves for multipliers
LATE, HASTY = 10.0, 2.0  # a first mu so many times the usual one, or such a rho, leave what is missing near 0
MOST = 1e10  # mu times the data's norm at which baselines hold it
CAREFUL = 1.1  # rho where few singular values explain much: the paper's
HALF = 0.5  # of what is known not yet explained: before that, mu grows as fast as the mask allows
FEW, MANY = 0.05, 0.2  # shares of all singular values that are few, and many
CLOSE, LIFT = 0.02, 4.0  # where less than this is left to explain, up to so many times as many are few
HELD, LOOSE = 0.5, 1.0  # slips: what is known holds X; X moves as mu lets it
SCANT, LITTLE = 0.025, 0.15  # a share so small that leaves so little to explain …
OUTRUN = 0.8  # … is outrun at a larger slip
BRAKE = 0.2  # what is then left of the growth at least
STILL = 1e-2  # a change below which mu hurries where X is loose
POWER, LAST = 0.7, 3.0  # by which power of it, and rho at most
WHOLE, EVEN = (
    0.12,
    1.08,
)  # slices that come with such a share of their singular values are whole: rho is this one to the end
AGAIN, AGAIN_RHO, AGAIN_STEPS = (
    50.0,
    1.35,
    15,
)  # from an earlier answer: mu times its largest singular value, rho, steps
BEYOND = 0.9  # and how far T then goes beyond X off Omega
STALE, LESS = 20, 0.9  # steps in none of which X moves clearly less, that is below this part of the least before
SLOWEST, FASTEST = 1.08, 1.2  # the least and the largest rho: some 160 and 80 steps


class Waits(NamedTuple):
    """How a run waits with a mu that is final: to converge, or until X moves no less any more, as Q and X go round each other.

    >>> waits = Waits()
    >>> for change in (1e-2, 1e-3, *[9.5e-4] * 20):
    ...     waits = waits.after(change)
    >>> waits
    Waits(least=0.001, since=20)
    """

    least: float = math.inf  # the smallest change so far, or little more,
    since: int = 0  # and the steps since then

    def after(self, change: float) -> Waits:
        """Return what is to be known after a step with this change."""
        return Waits(change, 0) if change < LESS * self.least else Waits(self.least, self.since + 1)

    @property
    def over(self) -> bool:
        """Whether waiting gains nothing."""
        return self.since >= STALE


def within(mu: float, problem: Problem) -> float:
    """Return mu, in the problem's unit, moved to where thresholds 1/mu are neither beyond all data nor beyond all digits.

    >>> within(1e300, Problem.of(np.array([[3.0, 4.0]])))
    2e+99
    """
    worked_on = [
        one for one in (problem.y, problem.start) if one is not None
    ]  # what a run starts from gives it its type
    above, below = LIMITS[max(kernels.of(one).eps(one) for one in worked_on) > 1e-9]
    return min(max(mu, 1 / (above * problem.size)), below / problem.size)


def most(given: float | None, problem: Problem) -> float:
    """Return where mu stops growing, in the problem's unit: as given in the data's, or MOST over the data's norm."""
    return within(MOST / problem.size if given is None else given * problem.scale, problem)


def first(problem: Problem, usual: float, given: float | None, rho: float | None, name: str = "mu0") -> float:
    """Return the first mu, in the problem's unit: as given in the data's, or the usual one.

    What is missing begins at 0 and is filled while mu grows. Where that begins far beyond the usual mu, or grows by too much in a
    step, the run is over before anything has spread, and its residuals do not show it: a warning does. With rho = 1 it can wait.

    >>> problem = Problem.of(np.eye(3), np.eye(3) < 1)
    >>> first(problem, 0.5, None, None), first(problem, 0.5, 2.0, None), first(problem, 0.5, 1e3, 1.0)
    (0.5, 2.0, 1000.0)
    """
    mu = usual if given is None else given * problem.scale
    if mu > LATE * usual and rho != 1:
        warnings.warn(
            f"{name} lets the run begin at mu = {mu / problem.scale:.2g}, where {usual / problem.scale:.2g} is usual for these data:"
            " it is over before anything has spread, and missing entries are drawn towards 0; leave it out",
            ConvergenceWarning, stacklevel=2,
        )  # fmt: skip
    elif rho is not None and rho > HASTY:
        warnings.warn(
            f"with rho = {rho:.3g} the run is over before anything has spread, and missing entries are drawn towards 0;"
            f" leave it out, or take one of 1 to {HASTY:g}",
            ConvergenceWarning, stacklevel=2,
        )  # fmt: skip
    return within(mu, problem)


def pace(problem: Problem) -> float:
    """Return rho, by which mu grows in a step: 1 + 2.2 p within bounds, p the share that is known.

    What is known spreads to what is missing step by step, the slower the less is known, and mu must not outrun it: too large
    a rho costs decibels where p is small, and takes a whole frame for lost of which only a little is known. So p is what is
    known around missing entries, not over all: `known_around`. The numbers are fitted; docs/decisions.md has the measurements.

    >>> observed = np.random.default_rng(0).random((20, 30, 40)) < 0.3
    >>> lost = observed.copy()
    >>> lost[:5] &= np.random.default_rng(1).random((5, 30, 40)) < 0.1
    >>> [round(pace(Problem.of(np.ones(lost.shape), known, (1, 2))), 2) for known in (observed, lost)]
    [1.2, 1.13]
    """
    return min(max(SLOWEST, 1 + 2.2 * known_share(problem)), FASTEST)


def growth(fastest: float, rho: float, filled: float, primal: float, dual: float, change: float) -> float:
    """Return rho for the next step, from what the last one, with ``rho``, has found; ``fastest`` is what the mask allows.

    ``filled`` is the share of all singular values that X has, ``primal`` how far X is from what is known, ``change`` how far it
    has moved, both relative, ``dual`` how far it has moved over what the shrinkage takes away. *Slip*, dual / log(rho), is that
    for a growth of mu by e. Of an array of nearly low rank, few singular values have been found when little is left to explain,
    and each says much about what is missing: mu grows carefully, as long as the slip is small (what is known holds X), and more
    slowly still where it is large. Of a natural picture most have been found, X moves as mu lets it, and waiting gains
    nothing: mu grows fast, and hurries to the end once X hardly moves. The numbers were chosen by the truth of generated arrays
    (benchmarks/kinds.py, draws 0 to 5), the small real ones being looked at as well; docs/schedule.md compares with the paper's
    settings on fresh draws, and says of the real arrays that they are not fresh.

    >>> [round(growth(1.2, 1.1, filled, 0.1, 0.1, 0.1), 3) for filled in (0.01, 0.1, 0.5)]
    [1.076, 1.133, 1.2]
    >>> [round(growth(1.2, 1.2, 0.8, 1e-3, 0.3, change), 3) for change in (1e-2, 1e-3, 1e-5)]
    [1.2, 2.002, 3.0]
    """
    if primal > HALF:
        return fastest
    slip, careful = dual / math.log(rho), min(CAREFUL, fastest)
    lift = min(max(CLOSE / max(primal, 1e-300), 1.0), LIFT)
    free = _ramp(filled / lift, FEW, MANY) * _ramp(slip, HELD, LOOSE)
    if filled < SCANT and primal < LITTLE:
        careful = 1 + (careful - 1) * min(max(OUTRUN / max(slip, 1e-300), BRAKE), 1.0)
    rho = careful + free * (fastest - careful)
    hurry = (STILL / max(change, 1e-300)) ** (POWER * free) if change < STILL else 1.0
    return min(1 + (rho - 1) * hurry, LAST)


def whole(primal: float, rank: int, slices: int, side: int) -> bool:
    """Return whether, with most of what is known still to be explained, each slice that X has comes with many singular values.

    ``rank`` singular values in ``slices`` slices of ``side`` at most. Natural arrays begin with few of each of many slices. Where a few
    slices come whole, the array is of low rank along the third mode only, as the paper's synthetic ones are: noise of what is
    missing soon fills the other slices as well, so that `growth` would take it for natural, but every step counts to its end.

    >>> whole(0.6, 180, 10, 50), whole(0.6, 20, 10, 50), whole(0.3, 180, 10, 50)
    (True, False, False)
    """
    return primal > HALF and rank > slices * (2 + WHOLE * side)  # two a slice are few, however small it is


def _ramp(value: float, low: float, high: float) -> float:
    """Return 0 up to low, 1 from high on, and the straight line between."""
    return min(max((value - low) / (high - low), 0.0), 1.0)


def known_share(problem: Problem) -> float:
    """Return how much is known around what is missing; of other measurements how many there are, over the entries."""
    if problem.measured is None:
        return known_around(problem.mask)
    return min(1.0, len(problem.measured.values) / math.prod(problem.y.shape))


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
