"""Weights of the unfoldings of an array, one for each axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError, KindError
from ..problem import Problem


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


def mode_weights(name: str, given: Any, problem: Problem) -> np.ndarray:
    """Return the weights, given in the order of the array's axes, in that of the problem's, with sum 1; equal for None.

    >>> mode_weights("alpha", [1, 1, 2], Problem.of(np.ones((2, 3, 4))))
    array([0.5 , 0.25, 0.25])
    """
    axes = problem.layout.rest + problem.layout.slice_axes
    if given is None:
        return np.full(len(axes), 1 / len(axes))
    weights = np.asarray(given, dtype=float)
    if len(weights) != len(axes):
        raise InputError(f"{name} has {len(weights)} weights, but the array has {len(axes)} axes")
    return weights[list(axes)] / weights.sum()
