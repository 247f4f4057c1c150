"""``qrank compare``: which method comes nearest, on data that are complete."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .. import files
from ..errors import FileError, InputError
from ..files.missing import missing_mask
from ..study.compare import compare as run
from ..text import duration
from .words import ABORTED, guarded, leave, parse_list, parse_options, parse_slice_axes, sizes

Opt = typer.Option


@guarded
def compare(
    source: Annotated[str, typer.Argument(metavar="INPUT", help="Complete data, in any format that fill reads.")],
    output: Annotated[Path, Opt("--output", "-o", help="Folder for table, curves, page and every finished run.")],
    rates: Annotated[str | None, Opt(help="Shares of the entries that are seen. [default: 0.1,0.3,0.5]")] = None,
    methods: Annotated[str, Opt(help="Names from 'qrank methods'.")] = "vmtqn,tnn,slicewise",
    draws: Annotated[int, Opt(help="Masks drawn for each rate.")] = 2,
    pattern: Annotated[str, Opt(help="random, fibres, frames, blocks, or mask:FILE (not zero = hidden).")] = "random",
    slice_axes: Annotated[str | None, Opt(help="The two axes of a slice, by number or name.")] = None,
    frames: Annotated[str | None, Opt(help="Take a part of the frames, as A:B.")] = None,
    resize: Annotated[str | None, Opt(help="HEIGHTxWIDTH or a factor such as 0.5.")] = None,
    grey: Annotated[bool, Opt("--grey", help="Mix the colours first.")] = False,
    option: Annotated[
        list[str] | None, Opt("--option", help="name=value for all methods that have it, tnn.name=value for one.")
    ] = None,
    preset: Annotated[str | None, Opt(help="default, or paper: the paper's parameters.")] = None,
    seed: Annotated[int, Opt(help="For the masks and whatever is random.")] = 0,
    quiet: Annotated[bool, Opt("--quiet", "-q", help="Say nothing but errors.")] = False,
    json: Annotated[bool, Opt("--json", help="Print the rows as JSON, for scripts.")] = False,
) -> None:
    """Hide entries of complete data, run methods on what is left, and write what came out.

    The folder gets table.csv, table.md, curves.svg, curves.png and index.html. Every finished run is saved at once: the
    same command, started again, goes on where it was stopped.

    Example: qrank compare clip.avi --grey --resize 0.5 --rates 0.2,0.5 --methods vmtqn,tnn --draws 1 -o compared
    """
    out = Console(quiet=quiet or json, highlight=False, soft_wrap=True)
    line = Console(stderr=True, quiet=quiet or json)
    if output.exists() and not output.is_dir():
        raise FileError(f"{output} is a file: give a folder")
    loaded = files.read(source, frames=frames, grey=grey, resize=resize)
    axes = parse_slice_axes(slice_axes, loaded.axes, loaded.slice_axes)
    hide: Any = pattern
    if pattern.startswith("mask:"):
        if rates is not None:
            raise InputError("with a mask the share of what is seen is that of the mask: leave --rates out")
        hide = ~missing_mask(loaded, mask_file=pattern.removeprefix("mask:"))
    names = parse_list(methods, str, "--methods")
    out.print(f"{source}: {sizes(loaded.data.shape, loaded.axes)}, {loaded.data.dtype}", markup=False)
    done = 0
    with line.status("starting") as status:

        def on_row(row: dict[str, Any], count: int, total: int) -> None:
            nonlocal done
            done = count
            out.print(
                f"{count}/{total} {row['method']} at {row['rate']:g}, draw {row['draw']}:"
                f" PSNR {row['psnr']:.2f} dB, {duration(row['seconds'])}",
                markup=False,
            )
            status.update(f"{count} of {total} runs are finished")

        try:
            table = run(
                loaded.data,
                names,
                parse_list(rates or "0.1,0.3,0.5", float, "--rates"),
                draws,
                pattern=hide,
                slice_axes=axes,
                seed=seed,
                preset=preset,
                options=parse_options(option),
                folder=output,
                on_row=on_row,
            )
        except KeyboardInterrupt:
            raise leave(
                f"stopped; {done} finished runs are kept: the same command goes on from there", ABORTED
            ) from None
    paths = table.save(output, title=f"Methods compared on {Path(source).name}")
    if json:
        typer.echo(json_text.dumps({"rows": table.rows, "files": [str(path) for path in paths]}))
    out.print(table.to_markdown(), markup=False)
    out.print(f"wrote {paths[-1]} and the tables and curves beside it", markup=False)
