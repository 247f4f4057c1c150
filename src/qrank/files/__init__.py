"""Files in and out: videos, pictures, TIFF, NumPy, MATLAB, HDF5, zarr, netCDF and tables.

``read`` chooses by content and suffix; ``write`` gives back a file like the one that was read.

>>> import numpy, tempfile, pathlib
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> write(folder / "a.npy", numpy.arange(24, dtype=numpy.uint8).reshape(2, 3, 4))
[]
>>> loaded = read(folder / "a.npy")
>>> write(folder / "b.mat", loaded.data, like=loaded)
[]
>>> read(folder / "b.mat").data.shape
(2, 3, 4)
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from qrank.atomic import replacing
from qrank.errors import FileError
from qrank.files import (
    arrays,
    hdf5,
    images,
    matlab,
    netcdf,
    pixels,
    read_video,
    table_files,
    tiff,
    write_video,
    zarr_store,
    zipped,
)
from qrank.files.guard import reading, writing
from qrank.files.loaded import MEMORY, Ask, Loaded, restore
from qrank.files.missing import missing_mask
from qrank.files.netcdf import to_xarray
from qrank.files.options import Size, parse_dtype, parse_frames
from qrank.files.pixels import PICTURE_KINDS
from qrank.files.sniff import KEYED, READABLE, is_store, kind_of, kind_of_suffix, split_key

__all__ = ["Loaded", "check_output", "missing_mask", "read", "to_xarray", "write"]

READERS: dict[str, Callable[[Path, Ask], Loaded]] = {
    "video": read_video.read,
    "image": images.read,
    "images": images.read_folder,
    "tiff": tiff.read,
    "npy": arrays.read_npy,
    "npz": arrays.read_npz,
    "mat": matlab.read,
    "hdf5": hdf5.read,
    "zarr": zarr_store.read,
    "netcdf": netcdf.read,
    "zip": zipped.read,
    "csv": table_files.read_text,
    "parquet": table_files.read_parquet,
}
WRITERS: dict[str, Callable[..., Any]] = {
    "image": images.write,
    "tiff": tiff.write,
    "npy": arrays.write_npy,
    "npz": arrays.write_npz,
    "mat": matlab.write,
    "hdf5": hdf5.write,
    "zarr": zarr_store.write,
    "netcdf": netcdf.write,
    "zip": zipped.write,
    "csv": table_files.write_text,
    "parquet": table_files.write_parquet,
}


def read(
    path: str | os.PathLike[str],
    key: str | None = None,
    frames: str | slice | None = None,
    grey: bool = False,
    resize: str | float | Size | None = None,
    dtype: DTypeLike | None = None,
) -> Loaded:
    """Read a file, a folder or pattern of pictures, or one array ``file.h5::dataset`` of a file.

    ``key`` names the array where a file has several; ``frames`` such as ``"10:40"`` takes a part of them;
    ``grey`` mixes colours; ``resize`` is ``(height, width)``, ``"120x216"`` or a factor ``"0.5"``;
    ``dtype`` converts the numbers. Raises ``FileError``, one sentence, if the file cannot be used.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "film.npy"
    >>> np.save(file, np.zeros((8, 9, 20), np.uint8))
    >>> read(file, frames="5:15", dtype="float32").data.shape
    (8, 9, 10)
    """
    cut, wanted = parse_frames(frames), None if dtype is None else parse_dtype(dtype)
    file, key = split_key(path, key)
    with reading(file, "a file"):
        kind = kind_of(file)
    if key is not None and kind not in KEYED:
        raise FileError(f"{file} is {READABLE[kind]} and has no parts to choose: leave '{key}' out")
    with reading(file, READABLE[kind]):
        loaded = READERS[kind](file, Ask(key, cut, grey))
        if loaded.data.size == 0:
            raise FileError(f"{file} is empty: its array is {' x '.join(map(str, loaded.data.shape))}")
        if grey:
            loaded = pixels.grey(loaded)
        if resize is not None:
            loaded = pixels.resize(loaded, resize)
    if wanted is not None:
        # Integers come back as they were; another float type is what the caller wants to keep.
        native = {"dtype": loaded.data.dtype} if loaded.data.dtype.kind in "biu" else {}
        loaded = dataclasses.replace(loaded, data=loaded.data.astype(wanted), meta={**loaded.meta, **native})
    return loaded


def write(
    path: str | os.PathLike[str],
    array: ArrayLike,
    like: Loaded | None = None,
    *,
    key: str | None = None,
    rate: float | Fraction | None = None,
) -> list[str]:
    """Write an array in the format of ``path``'s suffix; return a sentence on each thing it could not keep.

    ``like``, what was read, gives the dtype, frame rate, sound, names, coordinates and the rest back.
    ``array`` has its shape. A path without suffix, or an existing folder, takes a picture a frame.
    ``rate`` sets another number of frames a second. Floats go into pictures as [0, 1].
    The file appears whole or not at all; the input is never touched.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "grey.png"
    >>> write(file, np.linspace(0, 1, 12).reshape(3, 4))
    []
    >>> read(file).data[0]
    array([ 0, 23, 46, 70], dtype=uint8)
    """
    data = np.asarray(array)
    if data.dtype.kind not in "biufc":
        raise FileError(f"{path} cannot be written: the array holds {data.dtype}, not numbers")
    kind = check_output(path, like)
    file, key = split_key(path, key)
    data, like = table_files.unfolded(data, like or Loaded(data, (), (0, 1), MEMORY))
    with writing(file):
        if kind == "images":
            return images.write_folder(file, data, like)
        with replacing(file) as temporary:
            if kind == "video":
                return write_video.write(temporary, data, like, rate)
            if kind in (*PICTURE_KINDS, "zip"):
                return WRITERS[kind](temporary, data, like)
            key = key or (like.meta.get("key") if like.kind == kind else None)
            WRITERS[kind](temporary, restore(data, like.native, temporary.name), like, key)
            return []


def check_output(path: str | os.PathLike[str], like: Loaded | None = None) -> str:
    """Raise ``FileError`` if ``path`` cannot be written, before hours are spent; return its kind.

    >>> check_output("clip.mp4")
    'video'
    """
    file, _ = split_key(path)
    into = os.fspath(path).endswith(("/", os.sep)) or not file.suffix or (file.is_dir() and file.suffix != ".zarr")
    kind = "images" if into else kind_of_suffix(file)
    real = Path(os.path.realpath(file))
    if file.name in ("", ".."):
        raise FileError(f"an output needs a name, and '{file}' is the folder where you are or one above it")
    sources = [] if like is None or like.path is None else [like.path, *like.meta.get("files", ())]
    if any(Path(os.path.realpath(source)) == real for source in sources):
        raise FileError(f"{file} is the input, which is never written to: choose another output")
    if any(is_store(Path(source)) and Path(os.path.realpath(source)) in real.parents for source in sources):
        raise FileError(f"{file} is inside the input, which is never written to: choose another output")
    if not real.parent.is_dir():
        raise FileError(f"{file} cannot be written: there is no folder {real.parent}")
    folder = real if kind == "images" and real.is_dir() else real.parent
    if not os.access(folder, os.W_OK | os.X_OK) or (real.is_file() and not os.access(real, os.W_OK)):
        raise FileError(f"{file} cannot be written: permission denied")
    if real.exists():
        # Only what is clearly an older output may go: never somebody's folder that is named like one.
        ours = {"images": real.is_dir() and not is_store(real), "zarr": is_store(real)}
        if not ours.get(kind, real.is_file()):
            raise FileError(f"{file} is there and is not {READABLE[kind]}: it is left as it is")
    return kind
