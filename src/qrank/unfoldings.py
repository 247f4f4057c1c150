"""All unfoldings of a d-way array: views, weights, and the shrinking of one unfolding by the shared spectral kernel.

X_(i) has the fibres of mode i as columns: n_i rows, one column for each position in the other modes. For nuclear norms
and factorisations neither the order of those columns nor a transposition matters, so an unfolding is taken here in the
order and orientation that needs the least copying:

first mode: rows n_1, a view; last mode: *columns* n_d, a view; a mode between them: rows n_i, one transposing copy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import InputError, KindError
from .penalties import Nuclear
from .spectral import Shrunk, shrink

NUCLEAR = Nuclear()


def matrix(x: np.ndarray, mode: int) -> np.ndarray:
    """Return X_(mode), transposed for the last mode; a view of a C-contiguous x for the first and last modes.

    >>> x = np.zeros((2, 3, 5))
    >>> matrix(x, 0).shape, matrix(x, 1).shape, matrix(x, 2).shape
    ((2, 15), (3, 10), (6, 5))
    """
    if mode == x.ndim - 1:
        return x.reshape(-1, x.shape[-1])
    return np.moveaxis(x, mode, 0).reshape(x.shape[mode], -1)


def array(unfolded: np.ndarray, mode: int, shape: tuple[int, ...]) -> np.ndarray:
    """Undo :func:`matrix`: a view of the given shape.

    >>> x = np.arange(30).reshape(2, 3, 5)
    >>> all(bool((array(matrix(x, i), i, x.shape) == x).all()) for i in range(3))
    True
    """
    if mode == len(shape) - 1:
        return unfolded.reshape(shape)
    others = (n for axis, n in enumerate(shape) if axis != mode)
    return np.moveaxis(unfolded.reshape(shape[mode], *others), 0, mode)


def shrink_unfolding(x: np.ndarray, mode: int, lam: float) -> tuple[np.ndarray, Shrunk]:
    """Return argmin_M  lam ||M_(mode)||_* + ||M - X||_F^2 / 2, and what shrinking tells; x may be overwritten.

    >>> m, shrunk = shrink_unfolding(np.diag([3.0, 1.0]), 0, 2.0)
    >>> shrunk.value, float(m[0, 0].round(12))
    (1.0, 1.0)
    """
    a = np.ascontiguousarray(matrix(x, mode))
    shrunk = shrink(a[None], lam, NUCLEAR)
    return array(a, mode, x.shape), shrunk


def spectral_norm(x: np.ndarray, mode: int) -> float:
    """Return the largest singular value of X_(mode), from the Gram matrix of its short side.

    >>> spectral_norm(np.diag([3.0, -4.0]), 0)
    4.0
    """
    a = matrix(x, mode)
    gram = a @ a.T if a.shape[0] <= a.shape[1] else a.T @ a
    return math.sqrt(max(float(np.linalg.eigvalsh(gram)[-1]), 0.0))


def check_weights(name: str, given: Any) -> None:
    """Raise one clear sentence if given is neither None nor weights, at least 0 and not all 0."""
    if given is None:
        return
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str):
        raise KindError(f"{name} must be a list of one weight for each axis, not {given!r}")
    weights = np.asarray(given)
    if weights.dtype.kind not in "fiu" or weights.ndim != 1:
        raise KindError(f"{name} must be a list of one weight for each axis, not {given!r}")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise InputError(f"{name} must be weights of at least 0 that are not all 0, not {given!r}")


def weights_of(name: str, given: Any, axes: Sequence[int]) -> np.ndarray:
    """Return the weights, one for each axis in the order of ``axes``, with sum 1; equal ones for None.

    >>> weights_of("alpha", [1, 1, 2], (2, 0, 1))
    array([0.5 , 0.25, 0.25])
    """
    if given is None:
        return np.full(len(axes), 1 / len(axes))
    weights = np.asarray(given, dtype=float)
    if len(weights) != len(axes):
        raise InputError(f"{name} has {len(weights)} weights, but the array has {len(axes)} axes")
    return weights[list(axes)] / weights.sum()
