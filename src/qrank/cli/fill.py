"""``qrank fill``: from a file with holes to one without."""

from __future__ import annotations

import json as json_text
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from .. import files
from ..api import guessed_axes
from ..checkpoint import Checkpoint
from ..errors import InputError
from ..files.missing import missing_mask
from ..files.options import parse_dtype
from ..files.table_files import unfolded
from ..kernels.free import free_memory
from ..methods import Auto, Method, method_named
from ..patches import Patches
from ..report import check_packages, write_report
from ..result import Completion, Status
from ..tensor import Layout
from ..text import duration, in_bytes
from . import options
from .groups import grouped
from .job import Job, native
from .noise import NoiseOptions, found_noise
from .outcome import check_apart, told_truly
from .progress import Stopper, live_line
from .quality import quality, sentence
from .tables import RangeOptions, TableOptions
from .words import FAILED, STOPPED, check_place, guarded, leave, parse_options, screen, sizes

Opt = typer.Option
PICTURE_PATCH = 16  # the side that was best for photographs: see qrank.patches


@guarded
@grouped
def fill(
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT", help="A video, picture, folder of pictures, table, array file, or file.h5::dataset."
        ),
    ],
    output: Annotated[str, Opt("--output", "-o", help="What to write; its suffix says in which format.")],
    part: options.PartOptions,
    lacking: options.MissingOptions,
    table: TableOptions,
    limits: RangeOptions,
    doubts: NoiseOptions,
    drop: Annotated[float | None, Opt(help="Remove this share at random first, to try things out.")] = None,
    slice_axes: options.SliceAxes = None,
    patch: Annotated[
        int | None, Opt(help="Side of the squares a picture is cut into; 0: none. [default: 16 for a single picture]")
    ] = None,
    dtype: Annotated[str | None, Opt(help="Type to compute in: float32 (8 and 16-bit data) or float64.")] = None,
    method: Annotated[str, Opt(help="See 'qrank methods'.")] = "auto",
    effort: Annotated[str | None, Opt(help="Of auto: fast, balanced or best.")] = None,
    option: options.MethodOption = None,
    preset: options.Preset = None,
    holdout: Annotated[
        float | None,
        Opt(help="Share of known entries to measure the error on while it runs; auto hides its own. [0.01]"),
    ] = None,
    seed: options.Seed = 0,
    checkpoint: Annotated[
        Path | None, Opt(help="Keep the run in this file: the same command goes on where a run was stopped or killed.")
    ] = None,
    report: Annotated[Path | None, Opt(help="Write a page to look at, as one .html file.")] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Fill the missing entries of a file and write a file like it.

    Missing is what is NaN, and what the options say. Known entries come back exactly as they were (where the output's
    format is lossless), unless --noise or --outliers says that they are not right; 8 and 16-bit data keep type and range.

    Example: qrank fill clip.avi --drop 0.7 -o filled.mp4 --report page.html

    Ctrl-C once finishes the step and writes what there is; a second one aborts. With --checkpoint a run that was stopped or
    killed goes on by the same command, to the same answer; the file is removed when the output is written.
    """
    configured = _configured(method, preset, option, {"effort": effort} | doubts.settings())
    chooses = isinstance(configured, Auto)
    _check_report(report)
    kept = _checkpoint(checkpoint, source, output, report)
    loaded, axes = part.load(source, slice_axes, table)
    files.check_output(output, loaded)
    check_apart(report, "the report", [source, output, lacking.missing_mask_file, *loaded.meta.get("files", ())])
    work_type = _work_type(dtype, loaded.data.dtype)
    if loaded.data.dtype.kind == "f":
        loaded = replace(loaded, data=loaded.data.astype(work_type, copy=False))
    rng: Any = np.random.default_rng(seed)
    gone = lacking.mask(loaded)
    hidden = missing_mask(loaded, drop=drop, rng=rng) & ~gone if drop else np.zeros_like(gone)
    guess = chooses and slice_axes is None and loaded.unnamed
    layout = Layout.of(loaded.data.shape, guessed_axes(loaded.data, ~(gone | hidden)) if guess else axes)
    side = _patch_side(layout, patch, by_default=loaded.kind == "image" and slice_axes is None and not chooses)
    held = 0.01 * (not chooses) if holdout is None else holdout
    settings = {"patch": side, "rng": rng, "holdout": held, "checkpoint": kept}
    settings |= limits.settings(loaded, ~(gone | hidden))
    said = table.said(loaded) + limits.said(loaded, settings["bounds"])
    job = Job(loaded, layout, gone, hidden, gone | hidden, configured, work_type, settings, said)
    with told_truly(output):
        _fill(job, source, output, report, quiet or json, json)


def _fill(job: Job, source: str, output: str, report: Path | None, quiet: bool, json: bool) -> None:
    """Run the job, write what came out, and say so."""
    out, loaded, missing = screen(quiet), job.loaded, job.holes
    facts = {"input": source, "output": output} | job.facts()
    out.print(f"{source}: {loaded.kind}, {sizes(loaded.data.shape, loaded.axes)}, {loaded.data.dtype}")
    if job.to_do:
        estimate = job.estimate()
        free = free_memory()
        out.print(f"memory: {estimate}" + ("" if free is None else f" ({in_bytes(free)} are free)"))
        out.print(f"time: {estimate.time}")
        facts |= {"memory_estimate": round(estimate.memory), "seconds_estimate": estimate.forecast}
    out.print("\n".join([*job.said, f"slices: {job.slices()}"]))
    if not job.to_do:
        out.print("nothing is missing: the data are written unchanged")
        notes = files.write(output, loaded.data, like=loaded)
        _end(facts | {"status": Status.COMPLETE.value, "notes": notes}, out, json)
        return
    doing = "filling" if job.method.fit.exact else "filling and cleaning"
    out.print(
        f"missing: {missing.sum()} of {missing.size} entries ({missing.mean():.1%}); {doing} with {job.method.name}"
    )
    with Stopper() as stopper:
        with live_line(job.method, stopper, quiet=quiet) as on_step:
            result = job.run(on_step)
        if result.status is Status.DIVERGED:
            raise leave(f"{result.status} Nothing was written.", FAILED)
        result = replace(result, x=native(result.x, loaded, job.method.fit, ~job.missing))
        facts |= {"status": str(result.status), "steps": len(result.history), "seconds": result.seconds}
        facts["notes"] = files.write(output, result.x, like=loaded)
        if (kept := job.settings["checkpoint"]) is not None and result.status is not Status.INTERRUPTED:
            kept.remove()  # not before the output is there
    facts |= found_noise(result, loaded.data[~job.missing], out)
    main = next(iter(result.runs.values()), [])
    if main and main[-1].holdout is not None:
        facts["holdout_rmse"] = main[-1].holdout
    blind = int(np.count_nonzero(unfolded(np.asarray(result.undetermined), loaded)[0]))
    if blind:
        facts["undetermined"] = blind
        out.print(
            f"{blind} entries lie in slices, rows or columns of which nothing is known: low rank says nothing of them, and"
            " they were filled from the known entries nearby"
        )
    if result.choice is not None:
        facts["choice"] = [trial._asdict() for trial in result.choice.trials]
        out.print(str(result.choice))
    out.print(f"{result.status} {len(result.history)} steps, {duration(result.seconds)}.")
    if job.hidden.any():
        facts |= quality(result.x, loaded.data, job.hidden, job.gone, job.layout.slice_axes)
        out.print(sentence(facts))
    if report is not None:
        _report(job, result, source, report)
        facts["report"] = str(report)
    _end(facts, out, json)
    if result.status is Status.INTERRUPTED:
        more = "" if job.settings["checkpoint"] is None else "; the same command goes on from there"
        raise leave(f"stopped after {len(result.history)} steps; what there is was written{more}", STOPPED)


def _check_report(path: Path | None) -> None:
    """Say before anything is run that a report cannot be written."""
    check_place(path, "the report", (".html", ".htm"))
    if path is not None:
        check_packages()


def _checkpoint(path: Path | None, *others: str | Path | None) -> Checkpoint | None:
    """Return where the run is kept; a file that has another purpose is refused."""
    check_place(path, "the checkpoint")
    if path is None:
        return None
    if os.path.realpath(path) in (os.path.realpath(other) for other in others if other is not None):
        raise InputError(f"the checkpoint {path} needs a file of its own: name another")
    return Checkpoint(path, keep=True)


def _configured(method: str, preset: str | None, option: list[str] | None, more: dict[str, Any]) -> Method:
    """Return the method with what the command line says of it."""
    given = parse_options(option) | {name: value for name, value in more.items() if value is not None}
    return method_named(method).configured(preset, **given)


def _work_type(asked: str | None, dtype: np.dtype) -> np.dtype:
    """Return the type to compute in; by default float32 for 8 and 16-bit integers, which it holds at half the memory."""
    if asked is None:
        return np.dtype(np.float32 if dtype.itemsize <= 2 else np.float64) if dtype.kind in "biu" else dtype
    if parse_dtype(asked) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InputError(f"--dtype is the type to compute in, float32 or float64, not {asked}")
    return parse_dtype(asked)


def _patch_side(layout: Layout, asked: int | None, by_default: bool) -> int:
    """Return the side of the patches, 0 for none; by default slices are cut that have room for a few."""
    if asked is None:
        return PICTURE_PATCH if by_default and min(layout.slice_shape) >= 2 * PICTURE_PATCH else 0
    return Patches(layout, asked).side if asked else 0  # refused before anything is said or run


def _report(job: Job, result: Completion, source: str, path: Path) -> None:
    loaded, truth = job.loaded, None
    if job.hidden.any():
        truth = np.where(job.gone, np.nan, loaded.data.astype(float)) if job.gone.any() else loaded.data
    write_report(
        result,
        path,
        title=Path(source).name,
        truth=truth,
        axes=loaded.axes,
        command=shlex.join(["qrank", *sys.argv[1:]]),
        value_range=(0, 255) if loaded.data.dtype == np.uint8 else None,
        meta={"file": source, "kind": loaded.kind},
    )


def _end(facts: dict[str, Any], out: Console, json: bool) -> None:
    """Say what was written: to scripts as JSON, to people in a line."""
    if json:
        typer.echo(json_text.dumps(facts))
    for note in facts["notes"]:
        out.print(f"note: {note}")
    out.print(f"wrote {facts['output']}" + (f" and {facts['report']}" if "report" in facts else ""))
