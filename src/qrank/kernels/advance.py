"""From X to the next T where known values are exact: `fit.Exact`'s E- and Z-update, (28) and (29), in one pass.

    off Omega the next T is X + relax (X - T);  on Omega it is Y + (mu / mu') Z / mu,  Z / mu = T - X + more (Y - X)

With relax = more = 0 that is the paper's; with both equal it is the over-relaxed ADMM, and they need not be.

A pass in pieces sums up the residuals and makes of X the next T, in place. Omega is there as a factor, 1 on it and 0 off it:
picking out what is known would take longer than to compute on all.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from . import threads
from .lapack import axpy
from .memory import flat, scratch

PASSED = 1 << 17  # entries in a piece: a few arrays fit the third-level cache, and calls of NumPy are few


class Residuals(NamedTuple):
    """How far a step is from feasible and from still; Frobenius norms, and largest entries for the paper's rule."""

    primal: float  # ||Y - X - E||_F, which is that of Y - X on Omega
    change: float  # ||X_k - X_{k-1}||_F off Omega = ||E_k - E_{k-1}||_F
    dual: float  # ||Z||_F / mu
    # The paper's rule: largest entries, of X_k - X_{k-1} on Omega too; 0 unless ``last`` is given.
    primal_max: float
    change_max: float
    t: Any = None  # the next T


def advance(
    t: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    observed: np.ndarray,
    ratio: float,
    last: Known | None = None,
    relax: float = 0.0,
    more: float = 0.0,
) -> Residuals:
    """Turn X into the next T, in place; ``ratio`` is mu_{k-1} / mu_k. All arrays C-contiguous and of one shape.

    ``last`` holds X_{k-1} on Omega, where it is wanted, and is overwritten by X_k. ``relax``: off Omega, where T is X_{k-1}, the
    next T goes on by so much of the way from there to X_k. ``more``: by how much more of mu (Y - X) the multiplier Z grows.

    >>> t, x, y = np.array([3.0, 1.0]), np.array([2.0, 0.5]), np.array([4.0, 0.0])
    >>> advance(t, x, y, np.array([True, False]), 0.5).primal, x
    (2.0, array([4.5, 0.5]))
    """
    t1, x1, y1, observed1 = (flat(a) for a in (t, x, y, observed))

    def piece(k: int) -> tuple[float, float, float, float, float]:
        s = slice(k * PASSED, (k + 1) * PASSED)
        t, x, known = t1[s], x1[s], observed1[s]
        omega = scratch("omega", t.shape, t.dtype)
        omega[...] = known
        gap = np.subtract(y1[s], x, out=scratch("gap", t.shape, t.dtype))
        gap *= omega
        z = np.subtract(t, x, out=scratch("z", t.shape, t.dtype))  # off Omega: X_{k-1} - X_k
        both = _square(z)
        primal_max = change_max = 0.0
        if last is not None:
            primal_max = _max_abs(gap)
            change_max = max(_max_abs(z[~known]), _max_abs(last[k] - x[known]))
            last[k] = x[known]
        if relax:
            axpy(-relax, z, x)  # on Omega taken back below
        z *= omega
        dual = _square(z)
        axpy(1 + ratio * more, gap, x)  # on Omega X becomes Y,
        axpy(ratio + relax, z, x)  # and that the next T
        return _square(gap), max(0.0, both - dual), dual, primal_max, change_max

    def work(s: slice) -> list[tuple[float, float, float, float, float]]:
        # One call for all pieces of a thread: handing them out one by one would take as long as the work.
        return [piece(k) for k in range(s.start, s.stop)]

    pieces = -(-t1.size // PASSED)
    sums = threads.each(work, pieces, -(-pieces // threads.count()))
    primal, change, dual, primal_max, change_max = zip(*(one for found in sums for one in found), strict=True)
    return Residuals(_root(primal), _root(change), _root(dual), max(primal_max), max(change_max), x)


Known = list[np.ndarray]  # the known entries of an array, piece by piece


def known_entries(x: np.ndarray, observed: np.ndarray) -> Known:
    """Return the known entries of an array.

    >>> known_entries(np.array([1.0, 2.0]), np.array([False, True]))
    [array([2.])]
    """
    pieces = (slice(start, start + PASSED) for start in range(0, x.size, PASSED))
    return [flat(x)[s][flat(observed)[s]] for s in pieces]


def _root(squares: tuple[float, ...]) -> float:
    return math.sqrt(math.fsum(squares))


def _square(a: np.ndarray) -> float:
    return float(np.vdot(a, a))  # lets the other threads run meanwhile; `@` and `np.dot` of vectors do not


def _max_abs(a: np.ndarray) -> float:
    return float(max(a.max(initial=0), -a.min(initial=0)))
