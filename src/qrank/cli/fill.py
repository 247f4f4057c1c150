"""``qrank fill``: from a file with holes to one without."""

from __future__ import annotations

import json as json_text
import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from .. import files
from ..checkpoint import Checkpoint
from ..errors import InputError
from ..files import Loaded
from ..files.missing import missing_mask
from ..files.options import parse_dtype
from ..files.table_files import unfolded
from ..kernels.free import free_memory
from ..methods import Auto, Method, method_named
from ..patches import Patches
from ..report import check_packages
from ..result import Status
from ..tensor import Layout
from ..text import duration, in_bytes
from . import options
from .beside import ErrorOptions, report_on
from .by_chunks import Where, fill_by_chunks
from .groups import grouped
from .job import Job, native
from .noise import NoiseOptions, found_noise
from .outcome import check_apart, told_truly
from .progress import Stopper
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
    where: Where,
    beside: ErrorOptions,
    doubts: NoiseOptions,
    drop: Annotated[float | None, Opt(help="Remove this share at random first, to try things out.")] = None,
    slice_axes: options.SliceAxes = None,
    patch: options.Patch = None,
    dtype: Annotated[str | None, Opt(help="Type to compute in: float32 (8 and 16-bit data) or float64.")] = None,
    method: options.MethodName = "auto",
    effort: options.Effort = None,
    option: options.OfMethod = None,
    preset: options.Preset = None,
    holdout: options.HoldOut = None,
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
    _check_report(report)
    kept = _checkpoint(checkpoint, source, output, report)
    if where.asked:
        whole = (patch, part.frames, part.resize, part.grey, dtype, holdout, report, beside.error)
        about = (slice_axes, configured, seed, kept, whole, quiet, json)
        return fill_by_chunks(where, source, output, lacking, drop, *about)
    loaded, axes = part.load(source, slice_axes, table)
    files.check_output(output, loaded)
    others = [source, output, *lacking.files, *loaded.meta.get("files", ())]
    check_apart(report, "the report", others)
    beside.check(loaded, configured, [*others, report, checkpoint])
    (loaded, work_type), rng = _typed(loaded, dtype), np.random.default_rng(seed)
    loaded, gone, left = lacking.masks(loaded)
    settled = gone if left is None else gone | left
    hidden = missing_mask(loaded, drop=drop, rng=rng) & ~settled if drop else np.zeros_like(gone)
    known, chooses = ~(settled | hidden), isinstance(configured, Auto)
    layout, why = options.plane(loaded, slice_axes, axes, known)
    side = _patch_side(layout, patch, by_default=loaded.kind == "image" and slice_axes is None and not chooses)
    holdout = (0.0 if chooses else 0.01) if holdout is None else holdout
    settings = {"patch": side, "rng": rng, "holdout": holdout, "checkpoint": kept, "ignore": left}
    settings |= limits.settings(loaded, known) | table.settings(loaded, configured.fit.exact)
    said = table.said(loaded, configured.fit.exact) + lacking.said(loaded, gone, left)
    said += limits.said(loaded, settings["bounds"]) + why
    job = Job(loaded, layout, gone, hidden, gone | hidden, configured, work_type, settings, said)
    with told_truly(output):
        _fill(job, source, output, report, beside, quiet or json, json)


def _fill(
    job: Job, source: str, output: str, report: Path | None, beside: ErrorOptions, quiet: bool, json: bool
) -> None:
    """Run the job, write what came out, and say so."""
    out, loaded, missing = screen(quiet), job.loaded, job.holes
    facts = {"input": source, "output": output} | job.facts() | beside.facts()
    out.print(f"{source}: {loaded.kind}, {sizes(loaded.data.shape, loaded.axes)}, {loaded.data.dtype}")
    if not job.to_do:
        out.print("\n".join([*job.said, "nothing is missing: the data are written unchanged"]))
        notes = files.write(output, loaded.data, like=loaded) + beside.write(None, loaded)
        _end(facts | {"status": Status.COMPLETE.value, "notes": notes}, out, json)
        return
    doing = "filling" if job.method.fit.exact else "filling and cleaning"
    out.print(
        f"missing: {missing.sum()} of {missing.size} entries ({missing.mean():.1%}); {doing} with {job.method.name}"
    )
    facts |= _forecast(job, out)
    out.print("\n".join([*job.said, f"slices: {job.slices()}"]))
    with Stopper() as stopper:
        result = job.run(stopper, progress=not quiet)
        if result.status is Status.DIVERGED:
            raise leave(f"{result.status} Nothing was written.", FAILED)
        result = replace(result, x=native(result.x, loaded, job.method.fit, ~job.missing))
        facts |= {"status": str(result.status), "steps": len(result.history), "seconds": result.seconds}
        facts["notes"] = files.write(output, result.x, like=loaded)
        if (kept := job.settings["checkpoint"]) is not None and result.status is not Status.INTERRUPTED:
            kept.remove()  # not before the output is there
    facts["notes"] += beside.write(result, loaded)
    facts |= found_noise(result, loaded.data[~job.missing], out)
    main = next(iter(result.runs.values()), [])
    if main and main[-1].holdout is not None:
        facts["holdout_rmse"] = main[-1].holdout
    blind = int(np.count_nonzero(unfolded(np.asarray(result.undetermined), loaded)[0]))
    if blind:
        facts["undetermined"] = blind
        out.print(
            f"{blind} entries lie in slices, rows or columns of which nothing is known, or which no known entries link: low rank says"
            " nothing of them, and they were filled from the known entries nearby"
        )
    if result.choice is not None:
        facts["choice"] = [trial._asdict() for trial in result.choice.trials]
        out.print(str(result.choice))
    out.print(f"{result.status} {len(result.history)} steps, {duration(result.seconds)}.")
    if job.hidden.any():
        facts |= quality(result.x, loaded.data, job.hidden, job.untold, job.layout.slice_axes)
        out.print(sentence(facts))
    if report is not None:
        report_on(result, loaded, job.untold, job.hidden, source, report)
        facts["report"] = str(report)
    _end(facts, out, json)
    if result.status is Status.INTERRUPTED:
        more = "" if job.settings["checkpoint"] is None else "; the same command goes on from there"
        raise leave(f"stopped after {len(result.history)} steps; what there is was written{more}", STOPPED)


def _forecast(job: Job, out: Console) -> dict[str, Any]:
    """Say what memory and time the run is expected to take; return both for scripts."""
    estimate, free = job.estimate(), free_memory()
    out.print(f"memory: {estimate}" + ("" if free is None else f" ({in_bytes(free)} are free)"))
    out.print(f"time: {estimate.time}")
    return {"memory_estimate": round(estimate.memory), "seconds_estimate": estimate.forecast}


def _check_report(path: Path | None) -> None:
    """Refuse a place for the report that cannot be one, and say what it needs."""
    check_place(path, "the report", (".html", ".htm"))
    if path is not None:
        check_packages()


def _typed(loaded: Loaded, asked: str | None) -> tuple[Loaded, np.dtype]:
    """Return the data and the type to compute in, which floats have at once."""
    dtype = _work_type(asked, loaded.data.dtype)
    if loaded.data.dtype.kind == "f":
        loaded = replace(loaded, data=loaded.data.astype(dtype, copy=False))
    return loaded, dtype


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


def _end(facts: dict[str, Any], out: Console, json: bool) -> None:
    """Say what was written: to scripts as JSON, to people in a line."""
    if json:
        typer.echo(json_text.dumps(facts))
    for note in facts["notes"]:
        out.print(f"note: {note}")
    out.print("wrote " + " and ".join(facts[name] for name in ("output", "error", "report") if name in facts))
