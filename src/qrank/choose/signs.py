"""Signs of how far a filled entry may be off, whose mixture is calibrated on hidden entries."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import ndimage

from .. import kernels
from ..kernels import threads
from ..kernels.smoothing import ROUGH
from ..problem import Problem
from .mixture import Mixture

Sign = Callable[[], np.ndarray]
FAR = 16.0  # distances beyond are alike
SLAB = 1 << 19  # entries whose distances are found together


def signs_of(problem: Problem, x: np.ndarray, mixture: Mixture, exact: bool = True) -> list[Sign]:
    """Return what makes arrays that broadcast to x's shape, each when it is called: large ones are not held together.

    They are 1, how much changes nearby, that times the distance to what is known, how far the answer is from a smooth fill, how
    far the answers that were mixed are apart, and what they say of themselves. Where known values are not exact, the signs of a known
    entry are those that it would have if it were missing: it is one entry off what is known, and a smooth fill, which is the
    noisy value itself there, is no sign.
    """

    def far() -> np.ndarray:
        found = distance(problem.observed, problem.smoothness)
        if not exact:
            np.maximum(found, 1 / FAR, out=found)
        found *= texture(x, problem.smoothness)
        return found

    def detail() -> np.ndarray:
        if not exact:
            return 0 * ones
        filled = kernels.of(x).smooth_fill(kernels.of(x).single(problem.y), problem.observed)
        return np.abs(np.subtract(filled, x, out=filled, casting="same_kind"), out=filled)

    ones = np.ones((1,) * x.ndim, np.float32)
    return [lambda: ones, lambda: texture(x, problem.smoothness), far, detail, mixture.apart, mixture.own]


def texture(x: np.ndarray, smoothness: np.ndarray) -> np.ndarray:
    """Return the standard deviation in the 3 x ... x 3 neighbours of each entry, along the axes that are smooth.

    >>> texture(np.eye(4), np.array([0.1, 0.1])).round(2)[0]
    array([0.43, 0.37, 0.29, 0.1 ], dtype=float32)
    """
    size: Any = [3 if s < ROUGH and n > 2 else 1 for s, n in zip(smoothness, x.shape, strict=True)]
    x = x.astype(np.float32)
    mean = ndimage.uniform_filter(x, size, mode="nearest")
    square = np.square(np.subtract(x, mean, out=x), out=x)
    ndimage.uniform_filter(square, size, output=mean, mode="nearest")
    return np.sqrt(np.maximum(mean, 0, out=mean), out=mean)


def distance(observed: np.ndarray, smoothness: np.ndarray) -> np.ndarray:
    """Return how far the nearest known entry is, from 0 to 1; along an axis that is not smooth everything is far.

    >>> distance(np.array([[True, False, False]]), np.array([0.1, 0.1])).round(3)
    array([[0.   , 0.062, 0.125]], dtype=float32)
    """
    step = np.where(smoothness < ROUGH, 1.0, FAR)
    axis = int(np.argmax(observed.shape))
    missing, n = np.moveaxis(~observed, axis, 0), observed.shape[axis]
    step = np.concatenate([step[[axis]], np.delete(step, axis)])
    reach, far = math.ceil(FAR / step[0]), np.ones(missing.shape, np.float32)
    some = max(reach, SLAB * n // observed.size)

    def work(s: slice) -> None:
        first = max(0, s.start - reach)
        slab = missing[first : s.stop + reach]
        if slab.all():  # nothing is near
            return
        inner = slice(s.start - first, s.stop - first)
        # SciPy's own distances take six times the room of the places that it finds
        nearest = np.asarray(ndimage.distance_transform_edt(slab, step, return_distances=False, return_indices=True))
        square = np.zeros(far[s].shape, np.float32)
        for places, here, h in zip(nearest, np.indices(slab.shape, np.float32, sparse=True), step, strict=True):
            away = np.subtract(places[inner], here[inner] if len(here) > 1 else here, dtype=np.float32)
            away *= h / FAR
            square += np.square(away, out=away)
        np.minimum(np.sqrt(square, out=square), 1, out=far[s])

    threads.each(work, n, some)  # the map of all of it takes ten times its memory; what is beyond FAR is not looked at
    return np.moveaxis(far, 0, axis)
