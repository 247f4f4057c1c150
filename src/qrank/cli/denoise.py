"""``qrank denoise``: fill, with known values that are noisy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from . import options
from .fill import fill
from .groups import grouped
from .words import guarded


@guarded
@grouped
def denoise(
    source: Annotated[str, Argument(metavar="INPUT", help="Any file that fill reads.")],
    output: Annotated[str, Option("--output", "-o", help="What to write; its suffix says in which format.")],
    part: options.PartOptions,
    noise: Annotated[str, Option(help="auto, or the standard deviation of the noise in the data's unit.")] = "auto",
    slice_axes: options.SliceAxes = None,
    method: Annotated[str, Option(help="See 'qrank methods'.")] = "auto",
    option: options.OfMethod = None,
    seed: options.Seed = 0,
    report: Annotated[Path | None, Option(help="Write a page to look at, as one .html file.")] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Take noise away from a file and write a file like it; what is NaN is filled as well.

    It is fill with --noise, which has more options.

    Example: qrank denoise clip.avi -o clean.mp4 --report page.html
    """
    read = {"frames": part.frames, "resize": part.resize, "grey": part.grey, "slice_axes": slice_axes}
    run = {"noise": noise, "method": method, "option": option, "seed": seed}
    fill(source=source, output=output, **read, **run, report=report, quiet=quiet, json=json)
