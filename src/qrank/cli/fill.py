"""``qrank fill``: from a file with holes to a whole file."""

from __future__ import annotations

import dataclasses
import json as json_text
import shlex
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from .. import files
from ..api import complete
from ..errors import ConvergenceWarning, InputError
from ..files.loaded import restore
from ..files.missing import missing_mask
from ..files.options import parse_dtype
from ..methods import method_named
from ..result import Completion, Status
from ..text import duration
from .patches import SIZE, Patches
from .progress import Line, Stopper
from .quality import quality, sentence
from .words import FAILED, STOPPED, check_place, guarded, leave, parse_options, parse_slice_axes, sizes

Opt = typer.Option
Loaded = files.Loaded


@guarded
def fill(
    source: Annotated[
        str,
        typer.Argument(metavar="INPUT", help="A video, picture, folder of pictures, array file, or file.h5::dataset."),
    ],
    output: Annotated[str, Opt("--output", "-o", help="What to write; its suffix says in which format.")],
    missing_value: Annotated[float | None, Opt(help="Entries of this value are missing.")] = None,
    missing_mask_file: Annotated[
        Path | None, Opt("--missing-mask", "--mask", help="Picture, array or video; not zero = missing.")
    ] = None,
    drop: Annotated[float | None, Opt(help="Remove this share at random first, to try things out.")] = None,
    missing_below: Annotated[float | None, Opt(help="Entries below this are missing (dead pixels).")] = None,
    missing_above: Annotated[float | None, Opt(help="Entries above this are missing (saturated pixels).")] = None,
    slice_axes: Annotated[str | None, Opt(help="The two axes of a slice, by number or name: 1,2 or lat,lon.")] = None,
    patch: Annotated[
        int | None, Opt(help="Side of the squares a picture is cut into; 0: none. [default: 16 for a single picture]")
    ] = None,
    frames: Annotated[str | None, Opt(help="Take a part of the frames, as A:B.")] = None,
    resize: Annotated[str | None, Opt(help="HEIGHTxWIDTH or a factor such as 0.5, for pictures and videos.")] = None,
    grey: Annotated[bool, Opt("--grey", help="Mix the colours first.")] = False,
    dtype: Annotated[str | None, Opt(help="Type to compute in: float32 (8 and 16-bit data) or float64.")] = None,
    method: Annotated[str, Opt(help="See 'qrank methods'.")] = "vmtqn",
    option: Annotated[list[str] | None, Opt("--option", help="An option of the method, name=value; repeat.")] = None,
    preset: Annotated[str | None, Opt(help="default, or paper: the paper's parameters.")] = None,
    holdout: Annotated[float, Opt(help="Share of known entries to measure the error on while it runs.")] = 0.01,
    seed: Annotated[int, Opt(help="For whatever is random.")] = 0,
    report: Annotated[Path | None, Opt(help="Write a page to look at, as one .html file.")] = None,
    quiet: Annotated[bool, Opt("--quiet", "-q", help="Say nothing but errors.")] = False,
    json: Annotated[bool, Opt("--json", help="Print one JSON object, for scripts.")] = False,
) -> None:
    """Fill the missing entries of a file and write a file like it.

    Missing is what is NaN, and what the options say. Known entries come back exactly as they were (where the output's
    format is lossless), 8 and 16-bit data with their own type and range.

    Example: qrank fill clip.avi --drop 0.7 -o filled.mp4 --report page.html

    Ctrl-C once finishes the step and writes what there is; a second one aborts.
    """
    out = Console(quiet=quiet or json, highlight=False, soft_wrap=True)
    options = parse_options(option)
    configured = method_named(method).configured(preset, **options)
    work_type = None if dtype is None else _float_type(dtype)
    check_place(report, "the report", (".html", ".htm"))
    loaded = files.read(source, frames=frames, grey=grey, resize=resize)
    files.check_output(output, loaded)
    if work_type is not None and loaded.data.dtype.kind == "f":
        loaded = dataclasses.replace(loaded, data=loaded.data.astype(work_type))
    axes = parse_slice_axes(slice_axes, loaded.axes, loaded.slice_axes)
    cut = _patches(loaded, axes, patch, slice_axes is not None)
    rng = np.random.default_rng(seed)
    gone = missing_mask(
        loaded, value=missing_value, mask_file=missing_mask_file, below=missing_below, above=missing_above
    )
    hidden = missing_mask(loaded, drop=drop, rng=rng) & ~gone if drop else np.zeros_like(gone)
    missing = gone | hidden
    told: dict[str, Any] = {
        "input": source,
        "output": output,
        "shape": list(loaded.data.shape),
        "axes": list(loaded.axes),
        "slice_axes": list(axes),
        "dtype": str(loaded.data.dtype),
        "missing": int(missing.sum()),
        "missing_share": float(missing.mean()),
        "patch": cut.size if cut else 0,
        "method": str(configured),
    }
    out.print(f"{source}: {loaded.kind}, {sizes(loaded.data.shape, loaded.axes)}, {loaded.data.dtype}", markup=False)
    out.print(f"slices: {_slices(loaded, axes, cut)}", markup=False)
    if not missing.any():
        out.print("nothing is missing: the data are written unchanged")
        notes = files.write(output, loaded.data, like=loaded)
        _end(told | {"status": Status.COMPLETE.value, "notes": notes}, out, json)
        return
    out.print(f"missing: {missing.sum()} of {missing.size} entries ({missing.mean():.1%}); filling with {method}")
    truth = loaded.data if hidden.any() else None
    with Stopper() as stopper:
        with Line(configured, stopper, quiet=quiet or json) as line, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the status says it
            work = loaded.data.astype(work_type or _working(loaded.data.dtype), copy=False)
            known, pair = ~missing, axes
            if cut is not None:
                work, known, pair = cut.split(work, 0), cut.split(known, False), cut.slice_axes
            result = complete(work, known, configured, pair, on_step=line.on_step, rng=rng, holdout=holdout)
            if cut is not None:  # the transform is that of the patches
                result = dataclasses.replace(
                    result, x=cut.join(result.x), observed=~missing, slice_axes=axes, transform=None
                )
        told |= {"status": str(result.status), "steps": len(result.history), "seconds": result.seconds}
        if result.status is Status.DIVERGED:
            raise leave(f"{result.status} Nothing was written.", FAILED)
        x = native(result.x, loaded, missing)
        told["notes"] = files.write(output, x, like=loaded)
    if result.history and result.history[-1].holdout is not None:
        told["holdout_rmse"] = result.history[-1].holdout
    out.print(f"{result.status} {len(result.history)} steps, {duration(result.seconds)}.", markup=False)
    if truth is not None:
        told |= quality(x, truth, hidden, gone, axes)
        out.print(sentence(told))
    if report is not None:
        _report(dataclasses.replace(result, x=x), report, loaded, truth, gone, told)
    _end(told, out, json)
    if result.status is Status.INTERRUPTED:
        raise leave(f"stopped by Ctrl-C after {len(result.history)} steps; what there is was written", STOPPED)


def native(x: np.ndarray, loaded: Loaded, missing: np.ndarray) -> np.ndarray:
    """Return the answer in the data's own type, rounded and clipped to its range, the known entries as they were.

    >>> loaded = Loaded(np.array([[250, 7]], np.uint8), ("height", "width"), (0, 1), "image")
    >>> native(np.array([[250.2, 270.0]]), loaded, np.array([[False, True]]))
    array([[250, 255]], dtype=uint8)
    """
    data = loaded.data
    if data.dtype.kind == "f":
        return x
    return np.where(missing, restore(x, data.dtype, loaded.name), data)


def _working(dtype: np.dtype) -> np.dtype:
    """Return the type to compute in: float32 holds 8 and 16-bit integers exactly, at half the memory."""
    if dtype.kind in "biu":
        return np.dtype(np.float32 if dtype.itemsize <= 2 else np.float64)
    return dtype


def _float_type(text: str) -> np.dtype:
    found = parse_dtype(text)
    if found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InputError(f"--dtype is the type to compute in, float32 or float64, not {text}")
    return found


def _patches(loaded: Loaded, axes: tuple[int, int], size: int | None, chosen: bool) -> Patches | None:
    """Return how to cut the slices; by default only a single picture is, if nobody chose its slices."""
    small = min(loaded.data.shape[axis] for axis in axes)
    if size is None:
        size = SIZE if loaded.kind == "image" and not chosen and small >= 2 * SIZE else 0
    if size and not 2 <= size <= small:
        raise InputError(f"--patch {size}: a patch must have a side from 2 to {small}, or 0 for none")
    return Patches(loaded.data.shape, axes, size) if size else None


def _slices(loaded: Loaded, axes: tuple[int, int], cut: Patches | None) -> str:
    names, shape = loaded.axes, loaded.data.shape
    if cut is not None:
        return (
            f"patches of {cut.size} x {cut.size} in {names[axes[0]]} x {names[axes[1]]} (--patch 0: the whole picture)"
        )
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    third = " and ".join(names[axis] for axis in rest) or "none (a single slice)"
    return f"{names[axes[0]]} x {names[axes[1]]}; third mode: {third}, length {int(np.prod([shape[a] for a in rest]))}"


def _report(
    result: Completion, path: Path, loaded: Loaded, truth: np.ndarray | None, gone: np.ndarray, told: dict[str, Any]
) -> None:
    from .. import report

    if truth is not None and gone.any():
        truth = np.where(gone, np.nan, truth.astype(float))
    span = (0.0, float(np.iinfo(loaded.data.dtype).max)) if loaded.data.dtype == np.uint8 else None
    report.write_report(
        result,
        path,
        title=Path(told["input"]).name,
        truth=truth,
        axes=loaded.axes,
        command=shlex.join(["qrank", *sys.argv[1:]]),
        value_range=span,
        meta={"file": told["input"], "kind": loaded.kind},
    )
    told["report"] = str(path)


def _end(told: dict[str, Any], out: Console, json: bool) -> None:
    if json:
        typer.echo(json_text.dumps(told))
    for note in told["notes"]:
        out.print(f"note: {note}", markup=False)
    out.print(f"wrote {told['output']}" + (f" and {told['report']}" if "report" in told else ""), markup=False)
