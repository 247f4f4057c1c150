"""Fibres: the numbers along one axis, packed into the page for its line plot."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from ..choose.weigh import NORMAL
from .pictures import Scene
from .view import evenly

MOST_ENTRIES = 220_000
LEVELS = 65535


def pack(scene: Scene) -> dict[str, Any]:
    """Return the array (or evenly chosen places on its axes, where it is large) with 16 bits an entry.

    A number v stands for ``low + v * step``; of the standard errors, where there are such, for ``v * sure_step``.
    """
    counts = list(scene.x.shape)
    while np.prod(counts, dtype=float) > MOST_ENTRIES:
        longest = int(np.argmax(counts))
        counts[longest] = (counts[longest] + 1) // 2
    places = [evenly(n, count) for n, count in zip(scene.x.shape, counts, strict=True)]
    at = np.ix_(*places)
    layers = {"x": scene.x[at]} | ({} if scene.truth is None else {"truth": scene.truth[at]})
    finite = np.concatenate([values[np.isfinite(values)] for values in layers.values()])
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    step = (high - low) / LEVELS or 1.0
    packed: dict[str, Any] = {
        "axes": [
            {"name": name, "length": n, "places": place}
            for name, n, place in zip(scene.view.names, scene.x.shape, places, strict=True)
        ],
        "along": max(scene.view.steps or (scene.view.columns,), key=lambda axis: scene.x.shape[axis]),
        "low": low,
        "step": step,
        "known": _text(np.packbits(scene.known[at])),
    } | {name: _text(_levels(values, low, step)) for name, values in layers.items()}
    if scene.sure is None:
        return packed
    sure = np.where(np.isfinite(scene.sure[at]), scene.sure[at], 0)
    step = float(sure.max()) / LEVELS or 1.0
    return packed | {"sure": _text(_levels(sure, 0.0, step)), "sure_step": step, "normal": NORMAL}


def weight(packed: dict[str, Any] | None) -> int:
    """Return about how many characters of the page the fibres take."""
    return sum(len(text) for text in (packed or {}).values() if isinstance(text, str))


def _levels(values: np.ndarray, low: float, step: float) -> np.ndarray:
    return np.rint((np.nan_to_num(values.astype(float), nan=low) - low) / step).clip(0, LEVELS).astype("<u2")


def _text(values: np.ndarray) -> str:
    return base64.b64encode(values.tobytes()).decode()
