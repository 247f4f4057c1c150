"""zarr stores, ``store.zarr::group/array``; whatever else is in the store is kept."""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from qrank.errors import FileError, need
from qrank.files.arrays import plain
from qrank.files.guard import pickled
from qrank.files.loaded import Ask, Loaded, source_of, unmarked
from qrank.files.raster import with_nodata
from qrank.files.room import check_room
from qrank.files.which_array import choose
from qrank.kernels.marks import marks_of

FEW_CHUNKS, CHUNKS_A_FILE = 1 << 14, 1 << 12  # chunks that a store may claim: in all, and for each of its files
ROOT = "/"  # the name of an array that is the whole store


def read(path: Path, ask: Ask) -> Loaded:
    """Read one array of a store."""
    zarr = need("zarr", "files", "reading zarr")
    stored, count = _weigh(path)
    arrays = _arrays(zarr.open(store=str(path), mode="r"))
    asked = None if ask.key is None else ask.key.strip("/") or ROOT
    numbers = {name: array.shape for name, array in arrays.items() if array.dtype.kind in "biufc"}
    if asked in arrays and asked not in numbers:
        raise FileError(f"{path}::{asked} holds {arrays[asked].dtype}, not numbers")
    key = choose(path, asked, numbers)
    array = arrays[key]
    # A store may name "pickle" as the codec of any array: reading it would run what is in there.
    codecs = {k: v for k, v in array.metadata.to_dict().items() if k != "attributes"}
    if "pickle" in json.dumps(codecs, default=str).lower():
        raise FileError(pickled(path))
    _check(path, array, stored, count)
    attrs = dict(array.attrs)
    names = tuple(getattr(array.metadata, "dimension_names", None) or attrs.get("_ARRAY_DIMENSIONS") or ())
    axes = names if all(names) and len(set(names)) == len(names) == array.ndim else ()
    data, about = unmarked(np.asarray(array[...]), marks(array))
    return plain(data, "zarr", path, ask, axes, key=key, attrs=attrs, unwritten=unwritten(array), **about)


def marks(array: Any) -> list[float | int]:
    """Return the values that stand for missing entries; in a store of version 2 that xarray wrote the fill value does.

    Elsewhere that is no more than what chunks that are not stored are read as, and chunks that hold nothing else are not stored.
    """
    attrs = dict(array.attrs)
    by_xarray = array.metadata.zarr_format == 2 and "_ARRAY_DIMENSIONS" in attrs
    return marks_of(attrs, array.dtype, array.fill_value if by_xarray else None)


def unwritten(array: Any) -> str | None:
    """Return a sentence on chunks that were never written, if there are some that are not taken for missing, or None."""
    fill, lacking = array.fill_value, array.nchunks - array.nchunks_initialized
    if lacking <= 0 or fill is None or fill != fill or fill in marks(array):
        return None
    share = f"{lacking} of {array.nchunks} chunks are not stored and were read as {fill:g}"
    return f"{share}: are they gaps? (--missing-value={fill:g} takes every {fill:g} for missing)"


def _weigh(path: Path) -> tuple[int, int]:
    """Return the bytes and the number of files in a store, after a look that they are files and are in it."""
    home, size, count = os.path.realpath(path), 0, 0
    for folder, folders, names in os.walk(path):
        for name in (*folders, *names):
            file = Path(folder, name)
            # A link could bring any file of the machine into the output.
            if file.is_symlink() and os.path.commonpath([home, os.path.realpath(file)]) != home:
                raise FileError(
                    f"{path} has a link to what is outside of it: {file.relative_to(path)}; it is not followed"
                )
            if not (file.is_file() or file.is_dir()):
                raise FileError(f"{path} has what is neither file nor folder in it: {file.relative_to(path)}")
        for name in names:
            size, count = size + os.stat(os.path.join(folder, name)).st_size, count + 1
    return size, count


def _check(path: Path, array: Any, stored: int, count: int) -> None:
    """Refuse an array that cannot be in so many bytes, or not in memory; chunks are read as a whole, and each costs time."""
    cells = [array.shape, array.chunks, *([array.shards] if getattr(array, "shards", None) else [])]
    check_room(path, max(math.prod(cell) for cell in cells) * array.dtype.itemsize, stored)
    chunks = math.prod(-(-side // part) for side, part in zip(array.shape, array.chunks, strict=True))
    if chunks > max(FEW_CHUNKS, count * CHUNKS_A_FILE):
        raise FileError(f"{path} is damaged or cut short: it claims {chunks} chunks and has {count} files")


def _arrays(node: Any) -> dict[str, Any]:
    zarr = need("zarr", "files", "reading zarr")
    if isinstance(node, zarr.Array):
        return {ROOT: node}
    return {name: item for name, item in node.members(max_depth=None) if isinstance(item, zarr.Array)}


def write(path: Path, array: np.ndarray, like: Loaded, key: str | None) -> None:
    """Write an array into a copy of the store it came from, or into a new store."""
    zarr = need("zarr", "files", "writing zarr")
    source = source_of(like, "zarr")
    if source is not None:
        shutil.copytree(source, path)
        arrays = _arrays(zarr.open(store=str(path), mode="r+"))
        if key in arrays:
            arrays[key].resize(array.shape)
            arrays[key][...] = with_nodata(array, like.meta.get("nodata"))
            return
    name = None if key in (None, ROOT) else key
    if name is not None and source is None:
        zarr.open_group(str(path), mode="w")
    dims = list(like.axes) or None
    zarr.create_array(store=str(path), name=name, data=np.ascontiguousarray(array), dimension_names=dims)
