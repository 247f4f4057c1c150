"""``qrank compare``: which method comes nearest, on data that are complete."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..errors import FileError, InputError
from ..files.missing import missing_mask
from ..study.compare import compare as run
from ..text import duration
from . import options
from .groups import grouped
from .outcome import check_apart
from .tables import TableOptions
from .words import guarded, parse_list, parse_options, screen, sizes, stopped

Opt = typer.Option
TABLES = ("table.csv", "table.md", "curves.svg", "curves.png", "index.html")  # written into the folder


@guarded
@grouped
def compare(
    source: Annotated[str, typer.Argument(metavar="INPUT", help="Complete data, in any format that fill reads.")],
    output: Annotated[Path, Opt("--output", "-o", help="Folder for table, curves, page and every finished run.")],
    part: options.PartOptions,
    as_table: TableOptions,
    rates: Annotated[str | None, Opt(help="Shares of the entries that are seen. [default: 0.1,0.3,0.5]")] = None,
    methods: options.MethodNames = "vmtqn,tnn,slicewise",
    draws: Annotated[int, Opt(help="Masks drawn for each rate.")] = 2,
    pattern: options.Pattern = "random",
    slice_axes: options.SliceAxes = None,
    option: options.OfMethods = None,
    preset: options.Preset = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Hide entries of complete data, run methods on what is left, and write what came out.

    The folder gets table.csv, table.md, curves.svg, curves.png and index.html. Every finished run is saved at once: the
    same command, started again, goes on where it was stopped.

    Example: qrank compare clip.avi --grey --resize 0.5 --rates 0.2,0.5 --methods vmtqn,tnn --draws 1 -o compared
    """
    if output.exists() and not output.is_dir():
        raise FileError(f"{output} is a file: give a folder")
    loaded, axes = part.load(source, slice_axes, as_table)
    loaded = as_table.on_one_scale(loaded)
    for name in TABLES:
        check_apart(output / name, "the output", [source, *loaded.meta.get("files", ())])
    hide: Any = pattern
    if pattern.startswith("mask:"):
        if rates is not None:
            raise InputError("with a mask the share of what is seen is that of the mask: leave --rates out")
        hide = ~missing_mask(loaded, mask_file=pattern.removeprefix("mask:"))
    layout, why = options.plane(loaded, slice_axes, axes)
    names, shares = parse_list(methods, str, "--methods"), parse_list(rates or "0.1,0.3,0.5", float, "--rates")
    settings: dict[str, Any] = {
        "slice_axes": layout.slice_axes,
        "seed": seed,
        "preset": preset,
        "options": parse_options(option),
    }
    out, done = screen(quiet or json), []

    def on_row(row: dict[str, Any], count: int, total: int) -> None:
        done.append(row)
        where = f"{row['method']} at {row['rate']:g}, draw {row['draw']}"
        out.print(f"{count}/{total} {where}: PSNR {row['psnr']:.2f} dB, {duration(row['seconds'])}")
        status.update(f"{count} of {total} runs are finished")

    out.print(f"{source}: {sizes(loaded.data.shape, loaded.axes)}, {loaded.data.dtype}")
    for line in [*as_table.said(loaded), *why]:
        out.print(line)
    with Console(stderr=True, quiet=quiet or json).status("starting") as status:
        try:
            table = run(loaded.data, names, shares, draws, pattern=hide, folder=output, on_row=on_row, **settings)
        except KeyboardInterrupt:
            raise stopped(len(done), "runs") from None
    paths = table.save(output, title=f"Methods compared on {Path(source).name}")
    if json:
        typer.echo(json_text.dumps({"rows": table.rows, "files": [str(path) for path in paths]}))
    out.print(table.to_markdown())
    out.print(f"wrote {paths[-1]} and the tables and curves beside it")
