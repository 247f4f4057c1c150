"""The E, Z and mu updates of the ADMM, (28)-(30), on a state that is smaller than the paper's notation.

With T = Y - E + Z/mu the argument of the prox and X its result,

* off Omega:  E = -X and Z = 0 exactly after every step, so the next T is X itself;
* on Omega:   E = 0 and Z_k = Z_{k-1} + mu (Y - X) = mu (T - X), so the next T is Y + (mu / mu') (T - X).

So T and Y are the whole state: E, Z and the previous X need no arrays of their own. One pass in pieces sums up the residuals
and makes of X the next T, in place: off Omega there is nothing to do but to compare, and what is on Omega is picked out of
the piece, so that the arithmetic there costs only its share.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from . import threads

PIECE = 1 << 16  # entries in a piece: their positions fit two bytes
SLOWEST, FASTEST = 1.08, 1.2  # the least and the largest rho: some 160 and 80 steps


class Omega:
    """The positions of the known entries of an array, piece by piece.

    >>> omega = Omega(np.array([[True, False], [False, True]]))
    >>> omega.size, omega.at(0)
    (2, array([0, 3]))
    """

    def __init__(self, observed: np.ndarray) -> None:
        flat = threads.flat(observed)
        found = [np.flatnonzero(flat[k : k + PIECE]).astype(np.uint16) for k in range(0, flat.size, PIECE)]
        self.pieces = len(found)
        self._starts = np.cumsum([0, *map(len, found)])
        self._positions = np.concatenate(found)

    @property
    def size(self) -> int:
        """The number of known entries."""
        return len(self._positions)

    def span(self, k: int) -> slice:
        """Return where the known entries of piece k stand among all known ones."""
        return slice(int(self._starts[k]), int(self._starts[k + 1]))

    def at(self, k: int) -> np.ndarray:
        """Return the positions of the known entries in piece k; the thread's next call overwrites them."""
        few = self._positions[self.span(k)]
        at = threads.scratch("positions", few.shape, np.dtype(np.intp))
        at[...] = few
        return at

    def put(self, x: np.ndarray, values: np.ndarray) -> None:
        """Set the known entries of an array to ``values``: those of an array of its shape, or (size,) only these.

        >>> x = np.zeros((2, 2))
        >>> Omega(np.eye(2, dtype=bool)).put(x, np.array([3.0, 4.0]))
        >>> x
        array([[3., 0.],
               [0., 4.]])
        """
        flat, whole = threads.flat(x), values.shape == x.shape
        for k in range(self.pieces):
            at, s = self.at(k), slice(k * PIECE, (k + 1) * PIECE)
            flat[s][at] = threads.flat(values)[s][at] if whole else values[self.span(k)]


class Residuals(NamedTuple):
    """How far a step is from feasible and from still; Frobenius norms, and largest entries for the paper's rule."""

    primal: float  # ||Y - X - E||_F, which is that of Y - X on Omega
    change: float  # ||X_k - X_{k-1}||_F off Omega = ||E_k - E_{k-1}||_F
    dual: float  # ||Z||_F / mu
    # The paper's rule: largest entries, of X_k - X_{k-1} on Omega too; 0 unless ``x_known`` is given.
    primal_max: float
    change_max: float


def advance(
    t: np.ndarray, x: np.ndarray, y: np.ndarray, omega: Omega, ratio: float, x_known: np.ndarray | None = None
) -> Residuals:
    """Turn X into the next T, in place; ``ratio`` is mu_{k-1} / mu_k. All arrays C-contiguous and of one shape.

    ``x_known`` (omega.size,) holds X_{k-1} on Omega, where it is wanted, and is overwritten by X_k.

    >>> t, x, y = np.array([3.0, 1.0]), np.array([2.0, 0.5]), np.array([4.0, 0.0])
    >>> advance(t, x, y, Omega(np.array([True, False])), 0.5).primal, x
    (2.0, array([4.5, 0.5]))
    """
    t1, x1, y1 = (threads.flat(a) for a in (t, x, y))

    def piece(k: int) -> tuple[float, float, float, float, float]:
        s, at = slice(k * PIECE, (k + 1) * PIECE), omega.at(k)
        t, x = t1[s], x1[s]
        moved = np.subtract(t, x, out=threads.scratch("moved", t.shape, t.dtype))  # off Omega: X_{k-1} - X_k
        z, new, known = (_pick(a, at, name) for a, name in ((moved, "z"), (x, "new"), (y1[s], "known")))
        gap = np.subtract(known, new, out=threads.scratch("gap", new.shape, new.dtype))
        primal, dual = float(gap @ gap), float(z @ z)
        change = max(0.0, float(moved @ moved) - dual)
        primal_max = change_max = 0.0
        if x_known is not None:
            last = x_known[omega.span(k)]
            moved[at] = last - new
            primal_max, change_max = _max_abs(gap), _max_abs(moved)
            last[...] = new
        z *= ratio
        z += known
        x[at] = z
        return primal, change, dual, primal_max, change_max

    def work(s: slice) -> list[tuple[float, float, float, float, float]]:
        # One call for all pieces of a thread: handing them out one by one would take as long as the work.
        return [piece(k) for k in range(s.start, s.stop)]

    sums = threads.each(work, omega.pieces, -(-omega.pieces // threads.count()))
    primal, change, dual, primal_max, change_max = zip(*(one for found in sums for one in found), strict=True)
    return Residuals(_root(primal), _root(change), _root(dual), max(primal_max), max(change_max))


def _pick(a: np.ndarray, at: np.ndarray, name: str) -> np.ndarray:
    """Return a[at] in scratch."""
    return a.take(at, out=threads.scratch(name, at.shape, a.dtype), mode="clip")


def _root(squares: tuple[float, ...]) -> float:
    return math.sqrt(math.fsum(squares))


def _max_abs(a: np.ndarray) -> float:
    return float(max(a.max(initial=0), -a.min(initial=0)))


def pace(observed: np.ndarray) -> float:
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


def known_around(observed: np.ndarray) -> float:
    """Return the share that is known in the fibres of nine in ten missing entries, of the mode where it is least.

    Where entries are missing at random that is the share p that is known over all, so the shares of the fibres, which
    scatter by p (1 - p) / n for this reason alone, are drawn towards p by that part of their variance.
    """
    p = float(observed.mean())
    least = p
    for axis, n in enumerate(observed.shape):
        share = observed.mean(axis=axis).ravel()
        missing = 1 - share
        spread = float(np.mean((share - p) ** 2))
        if spread <= p * (1 - p) / n:
            continue
        share = p + (share - p) * (1 - p * (1 - p) / n / spread)
        order = np.argsort(share)
        below = np.cumsum(missing[order])
        least = min(least, float(share[order[np.searchsorted(below, 0.1 * below[-1])]]))
    return max(0.0, least)
