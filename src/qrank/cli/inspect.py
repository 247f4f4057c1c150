"""``qrank inspect``: what a file holds, what is missing, and which method to take."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .. import files
from ..errors import FileError
from ..files.missing import missing_mask
from ..study.inspect import inspect as look
from .words import check_place, guarded, parse_slice_axes, sizes

Opt = typer.Option


@guarded
def inspect(
    source: Annotated[str, typer.Argument(metavar="INPUT", help="Any file that fill reads.")],
    missing_value: Annotated[float | None, Opt(help="Entries of this value are missing.")] = None,
    missing_mask_file: Annotated[
        Path | None, Opt("--missing-mask", "--mask", help="Picture, array or video; not zero = missing.")
    ] = None,
    missing_below: Annotated[float | None, Opt(help="Entries below this are missing.")] = None,
    missing_above: Annotated[float | None, Opt(help="Entries above this are missing.")] = None,
    slice_axes: Annotated[str | None, Opt(help="The two axes of a slice, by number or name.")] = None,
    frames: Annotated[str | None, Opt(help="Take a part of the frames, as A:B.")] = None,
    resize: Annotated[str | None, Opt(help="HEIGHTxWIDTH or a factor such as 0.5.")] = None,
    grey: Annotated[bool, Opt("--grey", help="Mix the colours first.")] = False,
    plot: Annotated[Path | None, Opt(help="Draw the spectra into this .png, .svg or .pdf file.")] = None,
    json: Annotated[bool, Opt("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """Show what a file holds, what of it is missing, how low its rank is, and which method to take.

    Example: qrank inspect clip.avi --grey --plot spectra.png
    """
    check_place(plot, "the plot", (".png", ".svg", ".pdf"))
    loaded = files.read(source, frames=frames, grey=grey, resize=resize)
    axes = parse_slice_axes(slice_axes, loaded.axes, loaded.slice_axes)
    missing = missing_mask(
        loaded, value=missing_value, mask_file=missing_mask_file, below=missing_below, above=missing_above
    )
    with Console(stderr=True, quiet=json).status("looking"):
        found = look(loaded.data, ~missing, axes)
    if plot is not None:
        figure: Any = found.plot().figure
        try:
            figure.savefig(plot, dpi=150)
        except OSError as error:
            raise FileError(f"the plot {plot} cannot be written: {error.strerror}") from error
    if json:
        told = {name: value for name, value in vars(found).items() if name != "spectra"}
        told["spectra"] = {n: {"rank99": s.rank99, "nuclear": s.nuclear} for n, s in found.spectra.items()}
        typer.echo(json_text.dumps(told))
        return
    out = Console(highlight=False, soft_wrap=True)
    out.print(f"{source}: {loaded.kind}, {sizes(loaded.data.shape, loaded.axes)}", markup=False)
    out.print(f"slices: {loaded.axes[axes[0]]} x {loaded.axes[axes[1]]}", markup=False)
    if loaded.kind == "image" and slice_axes is None:
        out.print("(fill cuts a single picture into patches; what follows is for the whole picture, --patch 0)")
    for line in found.lines():
        out.print(line, markup=False)
    if plot is not None:
        out.print(f"wrote {plot}", markup=False)
