"""Options that several commands share, each declared and read once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from ..files import Loaded, read
from .words import parse_slice_axes

MissingValue = Annotated[float | None, Option(help="Entries of this value are missing.")]
MissingMask = Annotated[
    Path | None, Option("--missing-mask", "--mask", help="Picture, array or video; not zero = missing.")
]
MissingBelow = Annotated[float | None, Option(help="Entries below this are missing (dead pixels).")]
MissingAbove = Annotated[float | None, Option(help="Entries above this are missing (saturated pixels).")]
SliceAxes = Annotated[str | None, Option(help="The two axes of a slice, by number or name: 1,2 or lat,lon.")]
Frames = Annotated[str | None, Option(help="Take a part of the frames, as A:B.")]
Resize = Annotated[str | None, Option(help="HEIGHTxWIDTH or a factor such as 0.5, for pictures and videos.")]
Grey = Annotated[bool, Option("--grey", help="Mix the colours first.")]
Preset = Annotated[str | None, Option(help="default, or paper: the paper's parameters.")]
Holdout = Annotated[
    float | None,
    Option(help="Share of known entries to measure the error on while it runs; auto hides its own. [0.01]"),
]
Seed = Annotated[int, Option(help="For whatever is random.")]
Workers = Annotated[int | None, Option(help="Fill by chunks in so many processes (Dask).")]
Memory = Annotated[
    str | None, Option(help="Fill by chunks, within so much memory a process: 4GB; alone: in threads of this one.")
]
Cluster = Annotated[str | None, Option(help="Fill by chunks on the Dask cluster of this address.")]
Scratch = Annotated[Path | None, Option(help="Folder for chunks while the run lasts; all workers must see it.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, Option("--json", help="Print one JSON object, for scripts.")]


def load(
    source: str, slice_axes: str | None, frames: str | None, grey: bool, resize: str | None
) -> tuple[Loaded, tuple[int, int]]:
    """Read the part of a file that the options ask for; return it and the axes of its slices."""
    loaded = read(source, frames=frames, grey=grey, resize=resize)
    return loaded, parse_slice_axes(slice_axes, loaded.axes, loaded.slice_axes)
