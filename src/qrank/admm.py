"""The E, Z and mu updates of the ADMM, (28)-(30), on a state that is smaller than the paper's notation.

With T = Y - E + Z/mu the argument of the prox and X its result,

* off Omega:  E = -X and Z = 0 exactly after every step, so the next T is X itself;
* on Omega:   E = 0 and Z_k = Z_{k-1} + mu (Y - X) = mu (T - X), so the next T is Y + (mu / mu') (T - X).

So T and Y are the whole state: E, Z and the previous X need no arrays of their own. One pass in pieces
makes the next T in place and sums up the residuals.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from . import threads

PIECE = 1 << 19  # bytes of an array in a piece: in smaller ones threads wait for the interpreter more than for memory


class Residuals(NamedTuple):
    """How far a step is from feasible and from still; Frobenius norms, and largest entries for the paper's rule."""

    primal: float  # ||Y - X - E||_F, which is that of Y - X on Omega
    change: float  # ||X_k - X_{k-1}||_F off Omega = ||E_k - E_{k-1}||_F
    dual: float  # ||Z||_F / mu
    # The paper's rule: largest entries, of X_k - X_{k-1} on Omega too; only where x_old is given, else 0.
    primal_max: float
    change_max: float


def advance(
    t: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    observed: np.ndarray,
    ratio: float,
    x_old: np.ndarray | None = None,
) -> Residuals:
    """Turn T into the next T, in place; ``ratio`` is mu_{k-1} / mu_k. All arrays C-contiguous and of one shape.

    >>> t, x, y = np.array([3.0, 1.0]), np.array([2.0, 0.5]), np.array([4.0, 0.0])
    >>> advance(t, x, y, np.array([True, False]), 0.5).primal, t
    (2.0, array([4.5, 0.5]))
    """
    t1, x1, y1, m1 = (threads.flat(a) for a in (t, x, y, observed))
    o1 = None if x_old is None else threads.flat(x_old)

    length = max(1, PIECE // t.itemsize)
    weights = np.array([1, ratio], t.dtype)

    def piece(s: slice) -> tuple[float, float, float, float, float]:
        t, x, y = t1[s], x1[s], y1[s]
        four = threads.scratch("advance", (4, len(t)), t.dtype)
        on = threads.scratch("on Omega", t.shape, t.dtype)
        on[...] = m1[s]
        np.subtract(y, x, out=four[0])
        np.subtract(t, x, out=four[1])
        np.multiply(four[:2], on, out=four[2:])  # Y - X on Omega, and Z_k / mu
        np.subtract(four[1], four[3], out=four[1])  # off Omega: X_{k-1} - X_k
        change, primal, dual = (float(row @ row) for row in four[1:])
        np.add(x, np.matmul(weights, four[2:], out=on), out=t)
        if o1 is None:
            return primal, change, dual, 0.0, 0.0
        return primal, change, dual, _max_abs(four[2]), _max_abs(np.subtract(x, o1[s], out=on))

    def work(s: slice) -> list[tuple[float, float, float, float, float]]:
        # One call for all pieces of a thread: handing them out one by one would take as long as the work.
        return [piece(slice(k * length, min((k + 1) * length, t1.size))) for k in range(s.start, s.stop)]

    pieces = -(-t1.size // length)
    sums = [one for found in threads.each(work, pieces, -(-pieces // threads.count())) for one in found]
    primal, change, dual, primal_max, change_max = zip(*sums, strict=True)
    return Residuals(_root(primal), _root(change), _root(dual), max(primal_max), max(change_max))


def _root(squares: tuple[float, ...]) -> float:
    return math.sqrt(math.fsum(squares))


def _max_abs(a: np.ndarray) -> float:
    return float(max(a.max(), -a.min()))
