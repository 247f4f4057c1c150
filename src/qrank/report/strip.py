"""A strip of bars, one for each slice: where the answer is least sure, and a way to go there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..text import number, share
from .pictures import Scene

MOST_BARS = 600  # of more slices several share a bar, which has the height of the highest


class Strip(NamedTuple):
    """What the strip shows, in a box of width ``count`` and height 1 whose origin is at its top left."""

    what: str  # that the bars stand for
    count: int  # of slices
    bars: str  # the path of those that the model tells of
    guesses: str  # the path of those in which it says nothing of some entries
    top: str  # the largest value, in words
    told: dict[int, str]  # the values of slices that have pictures, in words

    @classmethod
    def of(cls, scene: Scene, shown: Iterable[int]) -> Strip | None:
        """Measure all slices: their standard error, or, where none was estimated, how much of them was missing."""
        count = scene.view.count
        if count < 2:
            return None
        lacking = scene.view.lacking(scene.known)
        if scene.sure is None:
            size = scene.known.size // count
            what, values, words = "share missing", lacking / size, [f"{share(int(n), size)}" for n in lacking]
            told = {i: f"{words[i]} missing" for i in shown}
        else:
            what, values = "standard error", _root_mean_square(scene, lacking)
            words = [number(value, 3) for value in values]
            told = {i: f"standard error {words[i]}" if lacking[i] else "all was known" for i in shown}
        blind = np.zeros(count, bool) if scene.blind is None else scene.view.lacking(~scene.blind) > 0
        heights = values / (float(values.max()) or 1.0)
        return cls(what, count, _path(heights, ~blind), _path(heights, blind), words[int(values.argmax())], told)


def _root_mean_square(scene: Scene, lacking: np.ndarray) -> np.ndarray:
    """Return the root mean square of the standard errors of the missing entries of each slice, 0 where none is missing."""
    assert scene.sure is not None
    told = ~scene.known & np.isfinite(scene.sure)
    squares = np.square(np.where(told, scene.sure, 0), dtype=float)
    return np.sqrt(scene.view.summed(squares) / np.maximum(lacking, 1))


def _path(heights: np.ndarray, which: np.ndarray) -> str:
    """Return bars as one path.

    >>> _path(np.array([1.0, 0.5, 0.0]), np.array([True, True, True]))
    'M0 1V0H1V1ZM1 1V0.5H2V1Z'
    """
    width = -(-len(heights) // MOST_BARS)
    found = []
    for left in range(0, len(heights), width):
        part = slice(left, left + width)
        height = float(heights[part][which[part]].max(initial=0))
        if height > 0:
            found.append(f"M{left} 1V{round(1 - height, 3):g}H{min(left + width, len(heights))}V1Z")
    return "".join(found)
