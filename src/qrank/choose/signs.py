"""Signs of how far a filled entry may be off, whose mixture is calibrated on hidden entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import ndimage

from .. import kernels
from ..kernels.smoothing import ROUGH
from ..problem import Problem

FAR = 16.0  # distances beyond are alike


def signs_of(problem: Problem, x: np.ndarray, parts: Mapping[str, tuple[float, Any]]) -> list[np.ndarray]:
    """Return arrays that broadcast to x's shape: 1, how much changes nearby, that times the distance to what is
    known, how far the answer is from a smooth fill, how far the answers are apart, and what the models say of themselves.

    ``parts`` are the answers that were summed up: weights, and what has ``x`` and ``doubt``.
    """
    rough = texture(x, problem.smoothness)
    away = distance(problem.observed, problem.smoothness)
    total = sum(weight for weight, _ in parts.values())
    apart, own = np.zeros(x.shape, np.float32), np.zeros(x.shape, np.float32)
    for weight, one in parts.values():
        apart += (weight / total) * np.square(one.x - x, dtype=np.float32)
        if one.doubt is not None:
            own += (weight / total) * np.square(one.doubt, dtype=np.float32)
    detail = np.abs(x - kernels.of(x).smooth_fill(problem.y, problem.observed))
    return [np.ones((1,) * x.ndim), rough, rough * away, detail, np.sqrt(apart), np.sqrt(own)]


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
