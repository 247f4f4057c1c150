"""``qrank inspect``: what a file holds, what is missing, and which method to take."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from ..report.sheet import save
from ..study.inspect import inspect as look
from . import options
from .groups import grouped
from .outcome import check_apart
from .tables import TableOptions
from .words import check_place, guarded, screen, sizes


@guarded
@grouped
def inspect(
    source: Annotated[str, typer.Argument(metavar="INPUT", help="Any file that fill reads.")],
    part: options.PartOptions,
    lacking: options.MissingOptions,
    table: TableOptions,
    slice_axes: options.SliceAxes = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the spectra into this .png, .svg or .pdf file.")] = None,
    json: options.Json = False,
) -> None:
    """Show what a file holds, what of it is missing, how low its rank is, and which method to take.

    Example: qrank inspect clip.avi --grey --plot spectra.png
    """
    check_place(plot, "the plot", (".png", ".svg", ".pdf"))
    loaded, axes = part.load(source, slice_axes, table)
    check_apart(plot, "the plot", [source, *lacking.files, *loaded.meta.get("files", ())])
    loaded, missing, left = lacking.masks(loaded)
    layout, why = options.plane(loaded, slice_axes, axes, ~missing if left is None else ~(missing | left))
    found = look(loaded.data, ~missing, layout.slice_axes, ignore=left, progress=not json, **table.settings(loaded))
    if plot is not None:
        save(found.plot().figure, plot, "the plot", 150)
    if json:
        facts = {name: value for name, value in vars(found).items() if name not in ("spectra", "choice")}
        facts |= {"method": found.method}
        if found.choice is not None:
            facts["candidates"] = [trial._asdict() for trial in found.choice.trials]
        spectra = {name: {"rank99": s.rank99, "nuclear": s.nuclear} for name, s in found.spectra.items()}
        typer.echo(json_text.dumps(facts | {"spectra": spectra}))
        return
    out = screen()
    out.print(f"{source}: {loaded.kind}, {sizes(loaded.data.shape, loaded.axes)}")
    for line in [*table.said(loaded), *lacking.said(loaded, missing, left), *why]:
        out.print(line)
    out.print(f"slices: {' x '.join(loaded.axes[axis] for axis in found.slice_axes)}")
    for line in found.lines():
        out.print(line)
    if plot is not None:
        out.print(f"wrote {plot}")
