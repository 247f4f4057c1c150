"""Where a run on measurements starts if neighbours tell of each other: a smooth array that agrees with what was measured.

Known entries have a smooth fill (`kernels/smoothing.py`). Of other measurements it is found by turns, from wide Gaussian means to
narrow ones:

    X = X + Psi^T z,  (Psi Psi^T) z = b - Psi X;     X = the Gaussian mean of X, of width w, along the axes that are smooth

An axis is smooth if its order helps: with the mean along it alone, in three turns, measurements that were hidden are predicted clearly
better than with the entries along it in random orders. That takes about as many products with Psi as half a run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernels.smoothing import blurred
from .measured import least_norm, solved
from .operators import Operator

WIDTHS = np.geomspace(25, 0.5, 22).repeat(2)  # in entries
TESTED, ROUGHLY = (8.0, 2.8, 1.0), 0.1  # enough to see whether an axis is smooth
SHUFFLED = 2  # random orders that it is compared with
NEARLY, AT_LAST = 0.03, 1e-3  # up to these shares of b X agrees with it on the way, and at the end
HELPS = 0.95  # an order helps if it takes the error on hidden measurements below this part of what a random one leaves
SURE = 2.0  # … and its gain is so many times its own standard error
HIDDEN, MANY, FEWEST = 0.05, 200, 20  # share of the measurements that are hidden, how many do, and the least that tell
COLOURS = 4  # axes up to this length are left alone


def smooth_axes(psi: Operator, b: np.ndarray) -> tuple[int, ...]:
    """Return the axes along which neighbours are alike, as far as measurements can tell.

    >>> from .operators import operator_of
    >>> rng = np.random.default_rng(0)
    >>> x = np.sin(np.arange(40) / 6)[:, None] * rng.standard_normal(30)
    >>> psi = operator_of(rng.standard_normal((800, x.size)), x.shape)
    >>> smooth_axes(psi, psi.forward(x))
    (0,)
    """
    rng, few = np.random.default_rng(0), min(max(MANY, round(HIDDEN * psi.count)), psi.count // 5)
    if few < FEWEST:
        return ()
    hidden = np.sort(rng.choice(psi.count, few, replace=False))
    kept = np.setdiff1d(np.arange(psi.count), hidden)
    part = psi.rows(kept)

    def missed(axis: int, order: np.ndarray) -> np.ndarray:
        x, back = np.zeros(psi.shape, b.dtype), np.argsort(order)
        for width in TESTED:
            x = agreeing(part, b[kept], x, ROUGHLY)
            x = blurred(x.take(order, axis), width, (axis,)).take(back, axis)
        return np.square(psi.forward(x)[hidden] - b[hidden])

    def helps(axis: int) -> bool:
        n = psi.shape[axis]
        ours = missed(axis, np.arange(n))
        other = np.mean([missed(axis, rng.permutation(n)) for _ in range(SHUFFLED)], axis=0)
        gain = other - ours
        clear = gain.mean() > SURE * gain.std() / np.sqrt(few)
        return bool(clear and ours.sum() < HELPS**2 * other.sum())

    return tuple(axis for axis, n in enumerate(psi.shape) if n > COLOURS and helps(axis))


def agreeing(psi: Operator, b: np.ndarray, x: np.ndarray, nearly: float) -> np.ndarray:
    """Return the array nearest to x that agrees with b up to a share of it.

    >>> from .operators import operator_of
    >>> agreeing(operator_of(np.array([[1.0, 1.0]]), (1, 2)), np.array([3.0]), np.array([[2.0, 0.0]]), 0.0)
    array([[2.5, 0.5]])
    """
    z = solved(psi, b - psi.forward(x), 0.0, nearly * float(np.linalg.norm(b)))
    return (x + psi.adjoint(z)).astype(b.dtype, copy=False)


def smoothed(psi: Operator, b: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """Return a smooth array that nearly agrees with b = Psi X.

    >>> from .operators import operator_of
    >>> x = np.add.outer(np.arange(12.0), np.arange(15.0))
    >>> pairs = operator_of(np.kron(np.eye(x.size // 3), np.ones(3)), x.shape)  # sums of three neighbours
    >>> bool(np.abs(smoothed(pairs, pairs.forward(x), (0, 1)) - x).max() < 1.5)
    True
    """
    x = np.zeros(psi.shape, b.dtype)
    for width in WIDTHS:
        x = blurred(agreeing(psi, b, x, NEARLY), float(width), axes)
    return agreeing(psi, b, x, AT_LAST)


def first(psi: Operator, b: np.ndarray, axes: Sequence[int], exact: bool = True) -> np.ndarray:
    """Return the array that a run starts from: the smallest that agrees with b, or a smooth one; see `least_norm` for ``exact``."""
    least = least_norm(psi, b, exact)
    return smoothed(psi, b, axes) if axes else least
