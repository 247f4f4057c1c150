"""A completion, or a comparison of methods, as one self-contained HTML page to look at.

>>> import tempfile, pathlib, qrank
>>> y = np.outer(np.arange(1.0, 7), np.arange(1.0, 7))[:, :, None] * np.ones(4)
>>> y[2, 3, 1] = np.nan
>>> page = pathlib.Path(tempfile.mkdtemp()) / "page.html"
>>> qrank.complete(y).report(page, title="A small example")
>>> "A small example" in page.read_text(encoding="utf-8")
True
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InputError, MissingExtra, need
from ..result import PAGES, Completion, Status
from ..text import number
from . import charts, facts, fibres, pictures, trust
from .compared import comparison
from .hints import hints
from .page import render, write
from .spectrum import Spectrum
from .strip import Strip
from .view import Span, View

__all__ = ["check_packages", "fragment", "write_comparison", "write_report"]

LARGEST_Q = 2000  # a fixed transform of a longer third mode is not drawn: its matrix would be large
THUMBNAILS = 3
MOST_RUNS = 6  # whose curves are drawn; a run that was stopped early may have left more


def check_packages() -> None:
    """Raise ``MissingExtra`` if a package that draws a page is missing, before hours are spent.

    >>> check_packages()
    """
    for package in ("jinja2", "matplotlib", "PIL"):
        need(package, "report", "a report")


def write_report(
    result: Completion,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    truth: Any = None,
    axes: Sequence[str] | None = None,
    command: str | None = None,
    value_range: Span | None = None,
    meta: Mapping[str, Any] | None = None,
    labels: Mapping[int, Sequence[str]] | None = None,
) -> None:
    """Write one HTML page that shows a completion; it needs no network.

    Pictures come first, with a map of the standard errors where there are such, marks where the model says nothing, and a
    strip of bars, one for each slice, to go by; then what `auto` tried and what may be tried next, numbers, and last the
    curves of each run. It opens on the slice that lacks most.

    Parameters
    ----------
    result
        What ``qrank.complete`` returned.
    path
        The file to write; it is replaced as a whole or not at all.
    title
        The heading; by default it names the method.
    truth
        The complete array where it is known: adds its pictures, the error, PSNR, SSIM and RMSE.
    axes
        The name of each axis. "height" and "width" make pictures, "colour" (of length 3) makes them coloured; without
        names an array whose values look like those of pictures is taken for one, all else is drawn as heat maps.
    command
        The command that repeats the run.
    value_range
        The values drawn darkest and lightest.
    meta
        More to tell, such as the name of the file and its frame rate.
    labels
        Names of the places along an axis, by its number: those of the columns of a table.
    """
    x = _plain(result.x)
    truth = None if truth is None else _truth(truth, x.shape)
    if truth is not None and result.ignored is not None:
        truth = np.where(result.ignored, np.nan, truth)
    axes = getattr(result.x, "dims", result.axes) if axes is None else axes
    view = View.of(x, result.observed, result.slice_axes, axes, labels or result.labels)
    sure = None if result.error is None or result.settled.all() else _plain(result.error)
    blind = None if result.undetermined is None else _plain(result.undetermined)
    wrong = None if result.outliers is None else _plain(result.outliers)
    drawn = (x, result.observed, truth, view, _span(value_range), sure, blind, result.ignored, wrong)
    scene = pictures.Scene.of(*drawn).on_one_scale(result.units)
    quality = None if truth is None else facts.Quality.of(x, result.observed, truth, view)
    packed = None if view.picture else fibres.pack(scene)
    frames = pictures.frames(scene, room=pictures.BUDGET - fibres.weight(packed))
    write(
        path,
        "report.html",
        title=title or f"Completed by {result.method.name}",
        result=result,
        view=view,
        tiles=facts.headline(result, quality),
        frames=frames,
        start=[frame["label"] for frame in frames].index(view.label(scene.damaged)),
        strip=Strip.of(scene, [frame["at"] for frame in frames]),
        fibres=packed,
        keys=_keys(scene, result.units is not None),
        meaning=None if sure is None else trust.meaning(result, x, sure, truth),
        candidates=trust.candidates(result.choice),
        hints=hints(result, view),
        runs=_runs(result),
        others=_structure(result, x if result.ignored is None else np.where(result.ignored, 0, x)),
        tables=facts.tables(result, x, view, quality, meta),
        command=command,
    )


def write_comparison(table: Any, path: str | os.PathLike[str], *, title: str = "Methods compared") -> None:
    """Write one HTML page that compares methods: curves, pictures side by side and the table.

    ``table.rows`` is a list of dictionaries with method, pattern, rate, draw, psnr, ssim, rmse, seconds, steps and
    status. ``table.pictures`` (method -> one completed slice), ``table.truth_picture`` and ``table.holed_picture`` (NaN
    where missing) may be there: values from 0 to 1, height x width or height x width x 3.
    """
    write(path, "comparison.html", title=title, **comparison(table))


def fragment(result: Completion) -> str | None:
    """Return a completion as a piece of HTML for a notebook; None, for the plain text, without the extra ``report``."""
    try:
        x = _plain(result.x)
        view = View.of(x, result.observed, result.slice_axes, getattr(result.x, "dims", None))
        scene = pictures.Scene.of(x, result.observed, None, view, left=result.ignored)
        main, records = next(iter(result.runs.items()), ("", []))
        return render(
            "fragment.html",
            result=result,
            tiles=facts.headline(result, None),
            frames=pictures.frames(scene, THUMBNAILS, side=160),
            picture=view.picture,
            main=main,
            chart=charts.small_convergence(records) if len(records) > 1 else None,
        )
    except MissingExtra:
        return None


def _plain(x: Any) -> np.ndarray:
    return np.asarray(np.ma.getdata(x) if isinstance(x, np.ma.MaskedArray) else x)


def _truth(truth: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = np.ma.filled(truth.astype(float), np.nan) if isinstance(truth, np.ma.MaskedArray) else np.asarray(truth)
    if array.shape != shape:
        raise InputError(f"the truth has shape {array.shape}, the answer has shape {shape}")
    return array.astype(float, copy=False)


def _span(value_range: Span | None) -> Span | None:
    if value_range is None:
        return None
    low, high = (float(value) for value in value_range)
    if not low < high:
        raise InputError(f"value_range must be two numbers, the smaller first, not {value_range!r}")
    return low, high


def _keys(scene: pictures.Scene, scaled: bool) -> dict[str, str]:
    keys, unit = {}, "standard deviations" if scaled else "the data's unit"
    if not scene.view.picture:
        keys["value"] = charts.colour_bar(
            "key-value", *scene.span, "viridis", f"value, in {unit}" if scaled else "value"
        )
    if scene.truth is not None or scene.sure is not None:
        both = scene.truth is not None and scene.sure is not None
        what = "both errors" if both else "standard error" if scene.truth is None else "absolute error"
        keys["error"] = charts.colour_bar("key-error", 0, scene.worst, "magma", f"{what}, in {unit}")
    return keys


def _runs(result: Completion) -> list[charts.RunCharts]:
    """Return the curves of each run that made the answer, apart: what they minimise differs. Most weight comes first."""
    runs, found = result.runs, []
    for k, (name, records) in enumerate(list(runs.items())[:MOST_RUNS]):
        steps = f"{number(len(records))} step{'s' * (len(records) != 1)}"
        pairs = charts.convergence(records, f"run{k}", name if len(runs) > 1 else "")
        found.append(charts.RunCharts(name, f"{_role(result, name)}, {steps}", pairs))
    return found if any(one.pairs for one in found) else []


def _role(result: Completion, name: str) -> str:
    """Return what a run is to the answer."""
    if result.choice is None:
        return "the answer" if name == next(iter(result.runs)) else "the other starts from it"
    weight = next((one.weight for one in result.choice.trials if one.name == name), 0.0)
    if weight > 0:
        return f"weight {weight:.2f}"
    return "no weight" if result.status is Status.INTERRUPTED else "no weight, but others start from it"


def _structure(result: Completion, x: np.ndarray) -> list[charts.Chart]:
    """Return the charts of the answer's structure: its spectrum, the ranks of its slices, and the transform."""
    if not np.isfinite(x).all():
        return []
    spectrum = Spectrum.of(result, x)
    found = [charts.spectra(spectrum.values, spectrum.stride), charts.ranks(spectrum.ranks, spectrum.most)]
    if result.transform is not None and 1 < result.transform.n3 <= LARGEST_Q:
        found.append(charts.picture_of(result.transform))
    return found


PAGES.update(report=write_report, fragment=fragment)
