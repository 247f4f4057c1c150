"""What is seen of a data set: masks that anybody can draw again from a name, a rate and a seed.

| pattern | recipe, for an array of shape (n3, n1, n2) with slices last |
|---|---|
| ``random`` | ``np.random.default_rng(seed).random(shape) < p`` |
| ``poor-frames`` | a share 1 - p of the frames, ``np.random.default_rng(seed).permutation(n3)[:k]``, is known to 5 %: there ``random(shape) < 0.05`` of the same generator |
| ``random``, traffic | ``np.round(np.random.RandomState(1000 + seed).rand(stations, times, days) + 0.5 - (1 - p))`` |
| ``station-days``, traffic | ``np.round(np.random.RandomState(1000 + seed).rand(stations, days) + 0.5 - (1 - p))`` |
| all others | ``qrank.data.observed(shape, p, pattern, slice_axes, rng=seed)``, colours together |

Those of traffic are the masks of the published figures, drawn for (stations, times, days), for Hangzhou (80, 108, 25), with
seed 1000 in draw 0; they are 1 where an entry is known.
"""

from __future__ import annotations

import numpy as np

from ...data import observed
from .scenes import Scene

POOR = 0.05  # what is known of a poor frame
FIRST_SEED = 1000  # of the published figures for traffic


def mask(scene: Scene, shape: tuple[int, ...], pattern: str, p: float, seed: int) -> np.ndarray:
    """Return what is seen, True where known.

    >>> from .scenes import scene
    >>> known = mask(scene("generated-clip"), (4, 5, 6), "random", 0.5, 0)
    >>> bool((known == (np.random.default_rng(0).random((4, 5, 6)) < 0.5)).all())
    True
    """
    if scene.counts and pattern in ("random", "station-days"):
        return _traffic(shape, pattern, 1 - p, FIRST_SEED + seed)
    if pattern == "random":
        return np.random.default_rng(seed).random(shape) < p
    if pattern == "poor-frames":
        rng = np.random.default_rng(seed)
        known, poor = np.ones(shape, dtype=bool), rng.permutation(shape[0])[: round((1 - p) * shape[0])]
        known[poor] = (rng.random(shape) < POOR)[poor]
        return known
    seen = observed(shape[:-1] if scene.colours else shape, p, pattern, scene.slice_axes, rng=seed)
    return np.ascontiguousarray(np.broadcast_to(seen[..., None], shape)) if scene.colours else seen


def _traffic(shape: tuple[int, ...], pattern: str, missing: float, seed: int) -> np.ndarray:
    """Return the masks of the literature on traffic data, for an array (days, stations, times)."""
    days, stations, times = shape
    drawn = np.random.RandomState(seed)
    if pattern == "random":
        return np.moveaxis(np.round(drawn.rand(stations, times, days) + 0.5 - missing) > 0, 2, 0).copy()
    known = np.round(drawn.rand(stations, days) + 0.5 - missing) > 0
    return np.repeat(known.T[:, :, None], times, axis=2)
