"""Options that several commands share, each declared and read once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Option

from ..api import guess
from ..files import Loaded, missing_mask, read
from ..files.missing import mask_from, opaque, outlying
from ..files.numbering import lost, with_lost
from ..tensor import Layout
from . import complete as offered
from .tables import TableOptions
from .words import parse_slice_axes

MissingValue = Annotated[float | None, Option(help="Entries of this value are missing.")]
MissingMask = Annotated[
    Path | None, Option("--missing-mask", "--mask", help="Picture, array or video; not zero = missing.")
]
MissingBelow = Annotated[float | None, Option(help="Entries below this are missing (dead pixels).")]
MissingAbove = Annotated[float | None, Option(help="Entries above this are missing (saturated pixels).")]
MissingAlpha = Annotated[
    bool, Option("--missing-alpha", help="Pixels that are wholly transparent are missing; filled, they are opaque.")
]
MissingFiles = Annotated[
    bool, Option("--missing-files", help="Pictures that lack in the numbering of a folder are missing, and written.")
]
Ignore = Annotated[
    Path | None, Option(help="Picture, array or video; where it is not zero (land), entries are left as they are.")
]
SliceAxes = Annotated[str | None, Option(help="The two axes of a slice, by number or name: 1,2 or lat,lon.")]
Frames = Annotated[str | None, Option(help="Take a part of the frames, as A:B.")]
Resize = Annotated[str | None, Option(help="HEIGHTxWIDTH or a factor such as 0.5, for pictures and videos.")]
Grey = Annotated[bool, Option("--grey", help="Mix the colours first.")]
Preset = Annotated[
    str | None, Option(help="default, or paper: the paper's parameters.", autocompletion=offered.presets)
]
MethodName = Annotated[str, Option(help="See 'qrank methods'.", autocompletion=offered.methods)]
MethodNames = Annotated[str, Option(help="Names from 'qrank methods'.", autocompletion=offered.listed_methods)]
Effort = Annotated[str | None, Option(help="Of auto: fast, balanced or best.", autocompletion=offered.efforts)]
OfMethod = Annotated[
    list[str] | None,
    Option("--option", help="An option of the method, name=value; repeat.", autocompletion=offered.options),
]
OfMethods = Annotated[
    list[str] | None,
    Option(
        "--option",
        help="name=value for all methods that have it, tnn.name=value for one.",
        autocompletion=offered.options,
    ),
]
Pattern = Annotated[
    str,
    Option(
        help="random, frames, scratches, … (qrank.data.PATTERNS), or mask:FILE (not zero = hidden).",
        autocompletion=offered.patterns,
    ),
]
Patch = Annotated[
    int | None, Option(help="Side of the squares a picture is cut into; 0: none. [default: 16 for a single picture]")
]
HoldOut = Annotated[
    float | None,
    Option(help="Share of known entries to measure the error on while it runs; auto hides its own. [0.01]"),
]
Seed = Annotated[int, Option(help="For whatever is random.", min=0)]
Workers = Annotated[int | None, Option(help="Fill by chunks in so many processes (Dask).")]
Memory = Annotated[
    str | None, Option(help="Fill by chunks, within so much memory a process: 4GB; alone: in threads of this one.")
]
Cluster = Annotated[str | None, Option(help="Fill by chunks on the Dask cluster of this address.")]
Scratch = Annotated[Path | None, Option(help="Folder for chunks while the run lasts; all workers must see it.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, Option("--json", help="Print one JSON object, for scripts.")]


@dataclass(frozen=True)
class MissingOptions:
    """What is missing beside what is NaN."""

    missing_value: MissingValue = None
    missing_mask_file: MissingMask = None
    missing_below: MissingBelow = None
    missing_above: MissingAbove = None
    missing_alpha: MissingAlpha = False
    missing_files: MissingFiles = False
    ignore: Ignore = None

    @property
    def files(self) -> list[Path | None]:
        """The files that the options name."""
        return [self.missing_mask_file, self.ignore]

    def masks(self, loaded: Loaded) -> tuple[Loaded, np.ndarray, np.ndarray | None]:
        """Return the file as it will be when filled, True where an entry is missing, and True where it is left as it is."""
        loaded, lost = with_lost(loaded) if self.missing_files else (loaded, False)
        ends: dict[str, Any] = {"below": self.missing_below, "above": self.missing_above}
        alpha = {"alpha": True} if self.missing_alpha else {}
        gone = lost | missing_mask(loaded, value=self.missing_value, mask_file=self.missing_mask_file, **ends, **alpha)
        left = None if self.ignore is None else mask_from(self.ignore, loaded)
        gone = gone if left is None else gone & ~left
        return opaque(loaded, gone) if self.missing_alpha else loaded, gone, left

    def said(self, loaded: Loaded, gone: np.ndarray, left: np.ndarray | None) -> list[str]:
        """Return what was made of the data without being asked, or is not filled, in words."""
        nodata = loaded.meta.get("nodata")
        lines = [] if nodata is None else [f"nodata: {nodata:g} in the file stands for a missing entry"]
        if (lacking := loaded.meta.get("unwritten")) is not None and self.missing_value is None:
            lines.append(lacking)
        if not self.missing_files and (lacking := lost(loaded)):
            names = ", ".join(list(lacking.values())[:3]) + (", …" if len(lacking) > 3 else "")
            lines.append(f"not there, by the numbers of the others: {names} (--missing-files fills them)")
        if (far := outlying(loaded.data, gone if left is None else gone | left)) is not None:
            lines.append(
                f"{far[1]} entries are {far[0]:g}, far from all others: does that stand for missing? (--missing-value={far[0]:g})"
            )
        return (
            lines if left is None else [*lines, f"ignored: {left.sum()} entries ({left.mean():.1%}) stay as they are"]
        )


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


def plane(
    loaded: Loaded, asked: str | None, axes: tuple[int, int], known: np.ndarray | None = None
) -> tuple[Layout, list[str]]:
    """Return how the data are cut into slices, and, where neither the user nor the names of the axes tell, a line why."""
    if asked is not None or not loaded.unnamed or loaded.data.ndim < 3:
        return Layout.of(loaded.data.shape, axes), []
    found = guess(loaded.data, known, loaded.axes)
    why = f"axes of slices guessed: {found.why} (--slice-axes A,B takes others)"
    return Layout.of(loaded.data.shape, found.axes), [why]
