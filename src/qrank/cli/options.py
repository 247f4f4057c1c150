"""Options that several commands share, each declared and read once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Option

from ..files import Loaded, missing_mask, read
from .tables import TableOptions
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
MethodOption = Annotated[list[str] | None, Option("--option", help="An option of the method, name=value; repeat.")]
Preset = Annotated[str | None, Option(help="default, or paper: the paper's parameters.")]
Seed = Annotated[int, Option(help="For whatever is random.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, Option("--json", help="Print one JSON object, for scripts.")]


@dataclass(frozen=True)
class MissingOptions:
    """What is missing beside what is NaN."""

    missing_value: MissingValue = None
    missing_mask_file: MissingMask = None
    missing_below: MissingBelow = None
    missing_above: MissingAbove = None

    def mask(self, loaded: Loaded) -> np.ndarray:
        """Return True where an entry is missing."""
        ends: dict[str, Any] = {"below": self.missing_below, "above": self.missing_above}
        return missing_mask(loaded, value=self.missing_value, mask_file=self.missing_mask_file, **ends)


@dataclass(frozen=True)
class PartOptions:
    """What is read of a file."""

    frames: Frames = None
    resize: Resize = None
    grey: Grey = False

    def load(
        self, source: str, slice_axes: str | None, table: TableOptions | None = None
    ) -> tuple[Loaded, tuple[int, int]]:
        """Read the part of a file that is asked for, a table as the options say; return it and the axes of its slices."""
        loaded = read(source, frames=self.frames, grey=self.grey, resize=self.resize)
        loaded = loaded if table is None else table.arranged(loaded)
        return loaded, parse_slice_axes(slice_axes, loaded.axes, loaded.slice_axes)
