"""compare(): methods on the same data with the same entries hidden, each finished run saved at once."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from .. import data as patterns
from .. import metrics
from ..api import complete
from ..atomic import make_folder
from ..errors import ConvergenceWarning, InputError, MissingExtra
from ..methods import Method, method_named
from ..tensor import Layout
from ..version import __version__
from .store import RunStore
from .table import Comparison

OnRow = Callable[[dict[str, Any], int, int], Any]


def compare(
    truth: Any,
    methods: Sequence[str | Method] = ("vmtqn", "tnn"),
    rates: Sequence[float] = (0.1, 0.3, 0.5),
    draws: int = 2,
    *,
    pattern: str | np.ndarray = "random",
    slice_axes: tuple[int, int] = (0, 1),
    seed: int = 0,
    preset: str | None = None,
    options: Mapping[str, Any] | None = None,
    folder: str | os.PathLike[str] | None = None,
    on_row: OnRow | None = None,
) -> Comparison:
    """Hide entries of complete data, run methods on what is left, and measure how near they come.

    Parameters
    ----------
    truth
        The complete array.
    methods
        Names from ``qrank.METHODS``, or configured methods.
    rates
        Shares of the entries that the methods see.
    draws
        How many masks are drawn for each rate; all methods see the same ones.
    pattern
        A name from ``qrank.data.PATTERNS`` (``qrank.data.observed`` says what they are), or a boolean array,
        True where an entry is seen: then there is one mask, and ``rates`` and ``draws`` say nothing.
    slice_axes
        The two axes that form a frontal slice.
    seed
        For the masks and whatever is random in the methods.
    preset, options
        For the methods given by name; an option goes to all methods that have it, ``"tnn.tol"`` to one.
    folder
        Where every finished run is kept, as one small JSON file; a second call takes up what is there.
    on_row
        Called with every row, how many are done, and how many there will be.

    Examples
    --------
    >>> x = patterns.low_q_rank((12, 12, 6), r=1, rng=0)
    >>> table = compare(x, ["vmtqn", "tnn"], rates=[0.7], draws=1)
    >>> [row["method"] for row in table.rows], table.best(0.7)
    (['vmtqn', 'tnn'], 'vmtqn')
    """
    truth = _complete_array(truth)
    layout = Layout.of(truth.shape, slice_axes)
    chosen = _configured(methods, preset, options or {}, truth)
    masks = _masks(layout, rates, draws, pattern, seed)
    shown = _ShownSlice(truth, layout)
    runs = _Runs(Path(folder) if folder is not None else None, truth, layout, seed, pattern)
    table = Comparison(pattern=runs.pattern)
    for rate, draw, make in masks:
        known = cache(make)  # drawn when the first method needs it
        for label, method in chosen.items():
            key = runs.key(label, method, rate, draw)
            finished = runs.load(key)
            if finished is None:
                row, x = _run(truth, known(), method, layout, seed + draw)
                row = {"method": label, "pattern": table.pattern, "rate": rate, "draw": draw, **row}
                finished = row, shown.take(x)
                runs.save(key, *finished)
            row, picture = finished
            table.rows.append(row)
            if (rate, draw) == masks[-1][:2]:
                table.pictures[label] = picture
            if on_row is not None:
                on_row(row, len(table.rows), len(masks) * len(chosen))
    table.truth_picture = shown.take(truth)
    table.holed_picture = np.where(shown.cut(masks[-1][2]()), table.truth_picture, np.nan)
    return table


def _complete_array(truth: Any) -> np.ndarray:
    array = np.asarray(np.ma.filled(truth.astype(float), np.nan) if isinstance(truth, np.ma.MaskedArray) else truth)
    if array.dtype.kind not in "biuf":
        raise InputError(f"a comparison needs an array of real numbers, not of type {array.dtype}")
    array = array if array.dtype.kind == "f" else array.astype(np.float32 if array.dtype.itemsize <= 2 else float)
    if missing := int(np.count_nonzero(~np.isfinite(array))):
        raise InputError(f"a comparison needs complete data: {missing} of {array.size} entries are NaN or infinite")
    if not array.any():
        raise InputError("a comparison needs data that are not zero everywhere")
    return array


def _configured(
    methods: Sequence[str | Method], preset: str | None, options: Mapping[str, Any], truth: np.ndarray
) -> dict[str, Method]:
    """Return every method by its label, configured: whatever is wrong is said before the first run."""
    chosen: dict[str, Method] = {}
    taken: set[str] = set()
    for method in methods:
        if isinstance(method, Method):
            chosen[method.name if method.name not in chosen else str(method)] = method
            continue
        kind, mine = method_named(method), {}
        for name, value in options.items():
            whose, _, bare = name.rpartition(".")
            if whose == method or (not whose and bare in kind.options()):
                mine[bare] = value
                taken.add(name)
        if "truth" in kind.options():
            mine.setdefault("truth", truth)
        chosen[method] = kind.configured(preset, **mine)
    if not chosen:
        raise InputError("a comparison needs at least one method")
    if left := [name for name in options if name not in taken]:
        raise InputError(f"none of the methods {', '.join(chosen)} has an option '{left[0]}'")
    return chosen


def _masks(
    layout: Layout, rates: Sequence[float], draws: int, pattern: str | np.ndarray, seed: int
) -> list[tuple[float, int, Callable[[], np.ndarray]]]:
    """Return rate, draw and maker of every mask; a mask depends on seed, rate and draw only, not on the other masks."""
    if not isinstance(pattern, str):
        mask = np.asarray(pattern)
        if mask.dtype != bool or mask.shape != layout.shape:
            raise InputError(f"a mask must be boolean and of shape {layout.shape}, not {mask.dtype} of {mask.shape}")
        if mask.all() or not mask.any():
            raise InputError(f"the mask hides {'nothing' if mask.all() else 'everything'}: there is nothing to compare")
        return [(round(float(mask.mean()), 6), 0, lambda: mask)]
    if not rates or not all(0 < rate < 1 for rate in rates):
        raise InputError(f"rates are shares of what is seen, above 0 and below 1, not {list(rates)}")
    if draws < 1:
        raise InputError(f"at least one draw is needed, not {draws}")

    def make(rate: float, draw: int) -> np.ndarray:
        rng = np.random.default_rng([seed, draw, round(rate * 1e9)])
        return patterns.observed(layout.shape, rate, pattern, layout.slice_axes, rng)

    return [(float(rate), draw, partial(make, rate, draw)) for rate in dict.fromkeys(rates) for draw in range(draws)]


def _run(
    truth: np.ndarray, known: np.ndarray, method: Method, layout: Layout, seed: int
) -> tuple[dict[str, Any], np.ndarray]:
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # the row has the status
        result = complete(truth, known, method, layout.slice_axes, rng=seed)
    similarity = None
    with suppress(MissingExtra, InputError):  # not installed, or slices too small for it
        similarity = metrics.ssim(result.x, truth, layout.slice_axes)
    row = {
        "psnr": metrics.psnr(result.x, truth),
        "psnr_missing": metrics.psnr(result.x, truth, ~known),
        "ssim": similarity,
        "rmse": metrics.rmse(result.x, truth),
        "relative_error": metrics.relative_error(result.x, truth),
        "seconds": result.seconds,
        "steps": len(result.history),
        "status": result.status.name.lower(),
    }
    return row, result.x


class _ShownSlice:
    """The slice that the page shows: the middle one, in colour where the last axis is one of three colours."""

    def __init__(self, truth: np.ndarray, layout: Layout) -> None:
        whole = {*layout.slice_axes, *([truth.ndim - 1] if truth.shape[-1] == 3 else [])}
        self.where = tuple(slice(None) if axis in whole else n // 2 for axis, n in enumerate(truth.shape))
        self.turned = layout.slice_axes[0] > layout.slice_axes[1]
        low, high = float(truth.min()), float(truth.max())
        self.low, self.high = (low, high) if low < 0 else (0.0, max(1.0, high))

    def cut(self, x: np.ndarray) -> np.ndarray:
        """Return the slice."""
        part = x[self.where]
        return part.swapaxes(0, 1) if self.turned else part

    def take(self, x: np.ndarray) -> np.ndarray:
        """Return the slice with values from 0 to 1."""
        return np.clip((self.cut(x).astype(float) - self.low) / ((self.high - self.low) or 1.0), 0, 1)


class _Runs:
    """The finished runs of a comparison, kept under ``folder/cells`` if there is a folder."""

    def __init__(self, folder: Path | None, truth: np.ndarray, layout: Layout, seed: int, pattern: Any) -> None:
        digest = hashlib.sha256(np.ascontiguousarray(truth).tobytes())
        digest.update(repr((__version__, truth.shape, str(truth.dtype), layout.slice_axes, seed)).encode())
        self.about = digest.hexdigest()
        self.pattern, self.mask = pattern, b""
        if not isinstance(pattern, str):
            self.pattern, self.mask = "mask", np.packbits(pattern).tobytes()
        self.store = None if folder is None else RunStore(folder / "cells")
        if self.store is not None:
            make_folder(self.store.folder)  # what cannot be made is said before the first run

    def key(self, label: str, method: Method, rate: float, draw: int) -> str:
        """Return a file name that differs whenever the data, the mask, the method or an option does."""
        fields = ((f.name, getattr(method, f.name)) for f in dataclasses.fields(method) if f.name != "truth")
        said = [(name, value.tobytes() if isinstance(value, np.ndarray) else repr(value)) for name, value in fields]
        text = repr((self.about, method.name, said, self.pattern, rate, draw)).encode() + self.mask
        safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in label)[:40]
        return f"{safe}-{self.pattern}-{rate:g}-{draw}-{hashlib.sha256(text).hexdigest()[:12]}"

    def load(self, key: str) -> tuple[dict[str, Any], np.ndarray] | None:
        """Return the row and the picture of a run that is finished."""
        if self.store is None:
            return None
        row, picture = self.store.load(key), self.store.arrays(key).get("picture")
        if row is None or picture is None or not row.keys() >= {"method", "rate", "draw", "psnr", "seconds"}:
            return None
        return row, picture

    def save(self, key: str, row: dict[str, Any], picture: np.ndarray) -> None:
        """Keep a finished run."""
        if self.store is not None:
            self.store.save(key, row, {"picture": picture.astype(np.float32)})
