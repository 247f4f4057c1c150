"""Signs of how far a filled entry may be off, whose mixture is calibrated on hidden entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from scipy import ndimage

from .. import kernels
from ..kernels.smoothing import ROUGH
from ..problem import Problem

Sign = Callable[[], np.ndarray]
FAR = 16.0  # distances beyond are alike


def signs_of(problem: Problem, x: np.ndarray, parts: Mapping[str, tuple[float, Any]]) -> list[Sign]:
    """Return what makes arrays that broadcast to x's shape, each when it is called: large ones are not held together.

    They are 1, how much changes nearby, that times the distance to what is known, how far the answer is from a smooth fill, how
    far the answers are apart, and what the models say of themselves. ``parts`` are the answers that were summed up: weights,
    and what has ``x`` and ``doubt``.
    """
    total = sum(weight for weight, _ in parts.values())

    def far() -> np.ndarray:
        return texture(x, problem.smoothness) * distance(problem.observed, problem.smoothness)

    def detail() -> np.ndarray:
        return np.abs(kernels.of(x).smooth_fill(problem.y, problem.observed) - x)

    def apart() -> np.ndarray:
        return _root_of_sum((weight / total, one.x - x) for weight, one in parts.values())

    def own() -> np.ndarray:
        told = [(weight / total, one.doubt) for weight, one in parts.values() if one.doubt is not None]
        return _root_of_sum(told) if told else np.zeros((1,) * x.ndim)

    return [lambda: np.ones((1,) * x.ndim), lambda: texture(x, problem.smoothness), far, detail, apart, own]


def _root_of_sum(terms: Iterable[tuple[float, np.ndarray]]) -> np.ndarray:
    """Return the square root of the weighted sum of squares, in single precision."""
    total = None
    for weight, term in terms:
        square = np.square(term, dtype=np.float32)
        square *= weight
        total = square if total is None else np.add(total, square, out=total)
    assert total is not None
    return np.sqrt(total, out=total)


def texture(x: np.ndarray, smoothness: np.ndarray) -> np.ndarray:
    """Return the standard deviation in the 3 x ... x 3 neighbours of each entry, along the axes that are smooth.

    >>> texture(np.eye(4), np.array([0.1, 0.1])).round(2)[0]
    array([0.43, 0.37, 0.29, 0.1 ], dtype=float32)
    """
    size: Any = [3 if s < ROUGH and n > 2 else 1 for s, n in zip(smoothness, x.shape, strict=True)]
    x = x.astype(np.float32)
    mean = ndimage.uniform_filter(x, size, mode="nearest")
    square = ndimage.uniform_filter(np.square(x - mean), size, mode="nearest")
    return np.sqrt(np.maximum(square, 0))


def distance(observed: np.ndarray, smoothness: np.ndarray) -> np.ndarray:
    """Return how far the nearest known entry is, from 0 to 1; along an axis that is not smooth everything is far.

    >>> distance(np.array([[True, False, False]]), np.array([0.1, 0.1])).round(3)
    array([[0.   , 0.062, 0.125]], dtype=float32)
    """
    step = np.where(smoothness < ROUGH, 1.0, FAR)
    away = ndimage.distance_transform_edt(~observed, sampling=step)
    return (np.minimum(np.asarray(away), FAR) / FAR).astype(np.float32)
