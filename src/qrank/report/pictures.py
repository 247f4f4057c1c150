"""Slices as pictures inside the page: data URIs, few and small enough for one file."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import need
from ..metrics import psnr
from ..text import number
from .view import Span, View, display_range, evenly

MOST_SLICES = 40
FEWEST_SLICES = 6
BUDGET = 3_900_000  # characters of all pictures together
LARGEST_SIDE = 480  # pixels; of one or two pictures LARGE_SIDE
LARGE_SIDE = 960
ERROR_SIDE = 300  # errors are noise, which compresses badly
IGNORED = (112, 128, 144)  # slate: neither black nor white, and no colour of the maps
SMALL = 96 * 96  # pixels of a picture that is kept as it is, without loss


@dataclass(frozen=True, eq=False)
class Scene:
    """What the pictures show: the answer, what was known of it, and, where there are such, the truth, the standard error
    that was estimated and the entries of which the model says nothing.
    """

    x: np.ndarray
    known: np.ndarray
    truth: np.ndarray | None
    view: View
    span: Span
    sure: np.ndarray | None = None
    blind: np.ndarray | None = None
    left: np.ndarray | None = None  # True where an entry was ignored: drawn in a colour of its own
    outliers: np.ndarray | None = None  # what was taken out of the known values as wrong

    @classmethod
    def of(
        cls,
        x: np.ndarray,
        known: np.ndarray,
        truth: np.ndarray | None,
        view: View,
        span: Span | None = None,
        sure: np.ndarray | None = None,
        blind: np.ndarray | None = None,
        left: np.ndarray | None = None,
        outliers: np.ndarray | None = None,
    ) -> Scene:
        """Choose the values drawn darkest and lightest where ``span`` does not say; what marks nothing is left out."""
        blind = blind if blind is not None and blind.any() else None
        span = span or display_range(x, known, view.picture)
        return cls(x, known if left is None else known | left, truth, view, span, sure, blind, left, outliers)

    def on_one_scale(self, units: Any) -> Scene:
        """Return the scene with quantities of different units as the run saw them, so that one scale does for all."""
        if units is None:
            return self
        x, truth = units.into(self.x.astype(float)), None if self.truth is None else units.into(self.truth)
        sure = None if self.sure is None else self.sure / units.spread
        return replace(self, x=x, truth=truth, sure=sure, span=display_range(x, self.known, False))

    @cached_property
    def worst(self) -> float:
        """The error drawn lightest, of both kinds, so that they can be compared: what 2 % of the missing entries exceed."""
        missing, found = ~self.known, []
        for values in (
            None if self.truth is None else np.abs(self.x[missing] - self.truth[missing]),
            None if self.sure is None else self.sure[missing],
        ):
            finite = np.empty(0) if values is None else values[np.isfinite(values)]
            if finite.size:
                found.append(float(np.quantile(finite[:: max(1, finite.size // 1_000_000)], 0.98)))
        return max(found, default=1.0) or 1.0

    @cached_property
    def damaged(self) -> int:
        """The slice that lacks most entries; of several the one nearest to the middle."""
        lacking = self.view.lacking(self.known)
        worst = np.flatnonzero(lacking == lacking.max())
        return int(worst[np.argmin(np.abs(worst - self.view.count // 2))])

    def shown(self, count: int) -> list[int]:
        """Return about ``count`` slices, evenly spaced, but the most damaged one in the place of that nearest to it."""
        found = evenly(self.view.count, count)
        found[int(np.argmin(np.abs(np.array(found) - self.damaged)))] = self.damaged
        return found

    def pixels(self, part: np.ndarray) -> np.ndarray:
        """Return a slice as bytes: grey or colour for a picture, by the colour map for a heat map."""
        low, high = self.span
        share = np.clip((np.nan_to_num(part.astype(float), nan=low) - low) / (high - low), 0, 1)
        return to_bytes(share) if self.view.picture else coloured(share, "viridis")

    def tinted(self, body: np.ndarray, i: int) -> np.ndarray:
        """Return bytes of slice i with what was ignored of it in a colour of its own."""
        if self.left is None:
            return body
        left = self.view.take(self.left, i)
        left = np.asarray(left.all(axis=2) if left.ndim == 3 else left)
        return np.where(left[:, :, None], np.array(IGNORED, np.uint8), body if body.ndim == 3 else body[:, :, None])

    def before(self, i: int) -> np.ndarray:
        """Return slice i with what was missing left transparent; a pixel known in part lacks only some colours."""
        known = self.view.take(self.known, i)
        body = self.tinted(self.pixels(self.view.take(self.x, i)), i)
        if self.view.colour is not None:
            # Where all is missing the answer's colour stays below the transparency: smooth areas compress well.
            body = np.where(known | ~known.any(axis=2, keepdims=True), body, 0)
            known = known.any(axis=2)
        return see_through(body, known)

    def error(self, i: int) -> np.ndarray:
        """Return how far slice i is from the truth, the mean over the colours."""
        assert self.truth is not None
        miss = np.abs(self.view.take(self.x, i).astype(float) - self.view.take(self.truth, i))
        return self._by_size(miss)

    def doubt(self, i: int) -> np.ndarray:
        """Return the standard error that was estimated for slice i, the mean over the colours."""
        assert self.sure is not None
        return self._by_size(self.view.take(self.sure, i).astype(float))

    def wrong(self, i: int) -> np.ndarray:
        """Return the size of what was taken out of slice i as wrong, the mean over the colours; white is half of the range."""
        assert self.outliers is not None
        size = np.abs(self.view.take(self.outliers, i).astype(float))
        size = size.mean(axis=2) if size.ndim == 3 else size
        low, high = self.span
        return to_bytes(np.clip(np.nan_to_num(size) / (0.5 * (high - low)), 0, 1))

    def _by_size(self, errors: np.ndarray) -> np.ndarray:
        errors = errors.mean(axis=2) if errors.ndim == 3 else errors
        return coloured(np.clip(np.nan_to_num(errors) / self.worst, 0, 1), "magma")

    def marks(self, i: int) -> np.ndarray | None:
        """Return where the model says nothing of slice i, as what is not transparent; None where it says something of all."""
        blind = None if self.blind is None else self.view.take(self.blind, i)
        if blind is None or not blind.any():
            return None
        blind = blind.any(axis=2) if blind.ndim == 3 else blind
        return see_through(np.zeros(blind.shape, np.uint8), blind)

    def frame(self, i: int, side: int) -> dict[str, Any]:
        """Return all that the page shows of slice i."""
        layers = {"before": self.before(i), "after": self.tinted(self.pixels(self.view.take(self.x, i)), i)}
        note = ""
        if self.truth is not None:
            truth = self.view.take(self.truth, i)
            layers |= {"truth": self.pixels(truth), "error": self.error(i)}
            if np.isfinite(truth).all() and truth.any():
                note = f"PSNR {number(psnr(self.view.take(self.x, i), truth))} dB"
        if self.sure is not None:
            layers["sure"] = self.doubt(i)
        if self.outliers is not None:
            layers["outlier"] = self.wrong(i)
        found: dict[str, Any] = {"at": i, "label": self.view.label(i), "note": note} | {
            name: data_uri(
                body, min(side, ERROR_SIDE) if name in ("error", "sure") else side, lossless=not self.view.picture
            )
            for name, body in layers.items()
        }
        marks = self.marks(i)
        return (
            found if marks is None else found | {"marks": f"url({data_uri(marks, side, lossless=True)})"}
        )  # a mask of the style


def to_bytes(share: np.ndarray) -> np.ndarray:
    """Return values from 0 to 1 as bytes.

    >>> to_bytes(np.array([0.0, 0.5, 1.0]))
    array([  0, 128, 255], dtype=uint8)
    """
    return np.rint(share * 255).astype(np.uint8)


def see_through(body: np.ndarray, known: Any) -> np.ndarray:
    """Return bytes, grey or in colour, as colours that are transparent where nothing is known.

    >>> see_through(np.array([[7, 8]], np.uint8), np.array([[True, False]])).tolist()
    [[[7, 7, 7, 255], [8, 8, 8, 0]]]
    """
    colours = body if body.ndim == 3 else np.repeat(body[:, :, None], 3, axis=2)
    return np.dstack([colours, np.where(known, 255, 0).astype(np.uint8)])


def coloured(share: np.ndarray, colours: str) -> np.ndarray:
    """Return values from 0 to 1 in the colours of a Matplotlib colour map."""
    matplotlib = need("matplotlib", "report", "a report")
    return matplotlib.colormaps[colours](share, bytes=True)[..., :3]


def frames(scene: Scene, most: int = MOST_SLICES, side: int | None = None, room: int = BUDGET) -> list[dict[str, Any]]:
    """Return evenly chosen slices, and the most damaged one, as pictures: as many and as large as there is room for."""
    count = min(scene.view.count, most)
    side = side or (LARGE_SIDE if count <= 2 else LARGEST_SIDE)
    first = _weight([scene.frame(scene.damaged, side)])
    count = min(count, max(FEWEST_SLICES, room // first))
    while True:
        shown = [scene.frame(i, side) for i in scene.shown(count)]
        weight = _weight(shown)
        if weight <= room:
            return shown
        if count > FEWEST_SLICES:
            count = max(FEWEST_SLICES, int(0.95 * count * room / weight))
        else:
            side = int(side * 0.75)


def _weight(shown: list[dict[str, Any]]) -> int:
    return sum(len(text) for frame in shown for text in frame.values() if isinstance(text, str))


def data_uri(body: np.ndarray, side: int = LARGEST_SIDE, lossless: bool = False) -> str:
    """Return bytes (height, width[, 3 or 4]) as a picture in a data URI, no side longer than ``side``.

    >>> data_uri(np.zeros((4, 4), np.uint8))[:22]
    'data:image/png;base64,'
    """
    pillow = need("PIL.Image", "report", "a report")
    image = pillow.fromarray(np.ascontiguousarray(body))
    lossless = lossless or image.width * image.height <= SMALL
    if max(image.size) > side:
        size = [max(1, round(n * side / max(image.size))) for n in image.size]
        image = image.resize(size, pillow.Resampling.BOX)
    stream = io.BytesIO()
    kind, how = ("png", {"optimize": True}) if lossless else ("webp", {"quality": 75, "method": 3})
    image.save(stream, kind, **how)
    return f"data:image/{kind};base64,{base64.b64encode(stream.getvalue()).decode()}"
