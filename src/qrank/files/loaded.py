"""What a file holds: ``Loaded``, and ``Ask``, what the caller wants of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from qrank.errors import FileError, InputError
from qrank.kernels.marks import marked

if TYPE_CHECKING:
    from xarray import DataArray

Side = TypeVar("Side", int, str)
MEMORY = "memory"  # the kind of an array that comes from no file, and whose axes have no names
FRAME_NAMES = ("frame", "page", "time")
VERTICAL = ("height", "lat", "latitude", "y", "row")
HORIZONTAL = ("width", "lon", "longitude", "x", "column")
NORTH = ("degrees_north", "degree_north", "projection_y_coordinate", "grid_latitude", "northing")
EAST = ("degrees_east", "degree_east", "projection_x_coordinate", "grid_longitude", "easting")


@dataclass(frozen=True, eq=False)
class Loaded:
    """An array from a file, with all that is needed to write one like it.

    ``data`` has the file's own dtype; ``axes`` names its axes; ``slice_axes`` are the two axes of a slice:
    height and width of pictures, latitude and longitude of maps, else the first two. ``meta`` holds what
    is not in the array: frame rate, file names, transparency (``alpha``), coordinates, attributes, ...

    >>> Loaded(np.zeros((4, 6, 8)), ("frame", "height", "width"), (1, 2), "video").frame_axis
    0
    """

    data: np.ndarray = field(repr=False)
    axes: tuple[str, ...]
    slice_axes: tuple[int, int]
    kind: str
    path: Path | None = None
    meta: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def native(self) -> np.dtype:
        """The dtype in the file: differs from ``data.dtype`` where the caller asked for another."""
        return self.meta.get("dtype", self.data.dtype)

    @property
    def colour_axis(self) -> int | None:
        """The axis of red, green and blue, or None."""
        return self.axes.index("colour") if "colour" in self.axes else None

    @property
    def picture_axes(self) -> tuple[int, int]:
        """Height and width where the axes have such names, else the slice axes."""
        named = "height" in self.axes and "width" in self.axes
        return (self.axes.index("height"), self.axes.index("width")) if named else self.slice_axes

    @property
    def unnamed(self) -> bool:
        """Whether no names tell which two axes are the sides of a picture or a map."""
        return plane_of_labels(self.axes, self.meta.get("coords", {})) is None

    @property
    def frame_axis(self) -> int | None:
        """The axis that ``frames`` counts along: named so, or the only one that is no picture axis."""
        named = [self.axes.index(name) for name in FRAME_NAMES if name in self.axes]
        rest = [axis for axis, name in enumerate(self.axes) if axis not in self.picture_axes and name != "colour"]
        return named[0] if named else rest[0] if len(rest) == 1 else None

    @property
    def name(self) -> str:
        """The path for a message, or what stands for it where the array came from memory."""
        return str(self.path) if self.path is not None else "the array"

    @staticmethod
    def from_xarray(array: DataArray) -> Loaded:
        """Take an xarray ``DataArray`` in memory; ``qrank.files.to_xarray`` gives one back."""
        from qrank.files.netcdf import from_xarray

        return from_xarray(array)


@dataclass(frozen=True)
class Ask:
    """Which part of a file is wanted: the array's name, the frames, grey or colour."""

    key: str | None = None
    frames: slice | None = None
    grey: bool = False


def find_slice_axes(axes: tuple[str, ...]) -> tuple[int, int]:
    """Return the axes of height and width, or of latitude and longitude, else the first two.

    >>> find_slice_axes(("time", "lat", "lon")), find_slice_axes(("axis0", "axis1", "axis2"))
    ((1, 2), (0, 1))
    """
    lower = [name.lower() for name in axes]
    vertical = [lower.index(name) for name in VERTICAL if name in lower]
    horizontal = [lower.index(name) for name in HORIZONTAL if name in lower]
    return (vertical[0], horizontal[0]) if vertical and horizontal else (0, 1)


def plane_of_labels(axes: tuple[str, ...], coords: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the axes of a map or a picture by their names, or by what coordinates say of themselves; None: neither tells.

    >>> from types import SimpleNamespace as Coordinate
    >>> north, east = (Coordinate(attrs={"units": f"degrees_{where}"}) for where in ("north", "east"))
    >>> plane_of_labels(("t", "j", "i"), {"j": north, "i": east}), plane_of_labels(("a", "b"), {})
    ((1, 2), None)
    """
    found: dict[str, int] = {}
    for k, name in enumerate(axes):
        attrs = dict(getattr(coords.get(name), "attrs", {}))
        said = {name.lower(), *(str(attrs.get(key, "")).lower() for key in ("units", "standard_name"))}
        along = str(attrs.get("axis", "")).upper()
        if said & set(VERTICAL + NORTH) or along == "Y":
            found.setdefault("Y", k)
        elif said & set(HORIZONTAL + EAST) or along == "X":
            found.setdefault("X", k)
    return (found["Y"], found["X"]) if len(found) == 2 else None


def plain_axes(ndim: int) -> tuple[str, ...]:
    """Name the axes of an array that has no names of its own.

    >>> plain_axes(3)
    ('axis0', 'axis1', 'axis2')
    """
    return tuple(f"axis{axis}" for axis in range(ndim))


def without_axis(sides: tuple[Side, ...], axis: int | None) -> tuple[Side, ...]:
    """Leave one entry out of a shape, or of the names of the axes.

    >>> without_axis((4, 5, 3), 2), without_axis((4, 5, 3), None)
    ((4, 5), (4, 5, 3))
    """
    return sides if axis is None else sides[:axis] + sides[axis + 1 :]


def source_of(like: Loaded, kind: str) -> Path | None:
    """Return the file of this kind that an array came from, if it did."""
    return like.path if like.kind == kind else None


def take_frames(loaded: Loaded, frames: slice | None) -> Loaded:
    """Keep only the asked frames of a whole array."""
    if frames is None:
        return loaded
    data = np.ascontiguousarray(loaded.data[(slice(None),) * axis_of_frames(loaded, frames) + (frames,)])
    meta = {**loaded.meta, "frames": frames}
    if "alpha" in meta:
        meta["alpha"] = meta["alpha"][frames]
    return replace(loaded, data=data, meta=meta)


def axis_of_frames(loaded: Loaded, frames: slice) -> int:
    """Return the axis along which frames are chosen, after a look whether there are such."""
    axis = loaded.frame_axis
    if axis is None:
        raise InputError(f"frames cannot be chosen in {loaded.name}: which of its axes {loaded.axes} counts frames?")
    count = loaded.data.shape[axis]
    check_frames(range(count)[frames], count, frames, loaded.name)
    return axis


def check_frames(chosen: range | list, count: int, frames: slice | None, name: str) -> None:
    """Refuse a choice of no frames."""
    if not len(chosen):
        wanted = "" if frames is None else f" and none of them is in {show_frames(frames)}"
        raise FileError(f"{name} has {count} frames{wanted}")


def show_frames(frames: slice) -> str:
    """Write a slice as the user wrote it.

    >>> show_frames(slice(10, 40))
    '10:40'
    """
    parts = [frames.start, frames.stop] + ([] if frames.step is None else [frames.step])
    return ":".join("" if part is None else str(part) for part in parts)


def numeric(array: np.ndarray, name: str) -> np.ndarray:
    """Refuse what is not numbers."""
    if array.dtype.kind not in "biufc":
        raise FileError(f"{name} holds {array.dtype}, not numbers")
    return array


def unmarked(data: np.ndarray, marks: list[float | int]) -> tuple[np.ndarray, dict[str, Any]]:
    """Return numbers with one mark of missing entries, NaN where they are floats, and what is kept to write it again.

    >>> unmarked(np.array([1, -1, -2], np.int16), [-1, -2])
    (array([ 1, -1, -1], dtype=int16), {'nodata': -1})
    """
    if not marks:
        return data, {}
    mark = data.dtype.type(np.nan if data.dtype.kind == "f" else marks[0])
    return np.where(marked(data, marks), mark, data), {"nodata": marks[0]}


def restore(array: np.ndarray, native: np.dtype, name: str) -> np.ndarray:
    """Give ``array`` the dtype of the file: integers are rounded and clipped to their range.

    >>> restore(np.array([-3.0, 1.6, 300.0]), np.dtype(np.uint8), "a.npy")
    array([  0,   2, 255], dtype=uint8)
    """
    if array.dtype == native:
        return array
    if array.dtype.kind == "c" and native.kind != "c":
        raise FileError(f"{name} holds {native}, which cannot hold complex values")
    if native.kind not in "biu":
        return array.astype(native)
    if array.dtype.kind == "f":
        if np.isnan(array).any():
            raise FileError(f"{name} holds {native}, which cannot hold the NaN still in the array")
        array = np.rint(array)
    if native.kind == "b":
        return array >= 1
    (low, high), (least, most) = _range(native), _range(array.dtype)
    return np.clip(array, max(low, least), min(high, most)).astype(native)


def _range(dtype: np.dtype) -> tuple[int, int]:
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    # The largest float below 2**63: one more would wrap round when cast to int64.
    return (0, 1) if dtype.kind == "b" else (-(2**63), 2**63 - 1024)
