"""NumPy's own files: ``.npy`` and ``.npz``; never with pickled content."""

from __future__ import annotations

import io
import math
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import numpy as np

from qrank.errors import FileError
from qrank.files.guard import pickled
from qrank.files.loaded import Ask, Loaded, find_slice_axes, numeric, plain_axes, source_of, take_frames
from qrank.files.room import DEFLATE, DENSEST, PLAIN, check_room
from qrank.files.which_array import choose
from qrank.text import in_bytes

LONGEST_HEADER = 1 << 16  # bytes; one that names shape and type has a hundred
DENSITY = {zipfile.ZIP_STORED: PLAIN, zipfile.ZIP_DEFLATED: DEFLATE}


def plain(array: np.ndarray, kind: str, path: Path, ask: Ask, axes: tuple[str, ...] = (), **meta: Any) -> Loaded:
    """Wrap an array whose axes have no other meaning than their order, or names that are given."""
    names = axes or plain_axes(array.ndim)
    loaded = Loaded(numeric(array, str(path)), names, find_slice_axes(names), kind, path, meta)
    return take_frames(loaded, ask.frames)


def read_npy(path: Path, ask: Ask) -> Loaded:
    """Read a ``.npy`` file."""
    with path.open("rb") as stream:
        shape, dtype = read_header(stream)
        _check_claim(path, shape, dtype, path.stat().st_size)
        stream.seek(0)
        return plain(np.lib.format.read_array(stream, allow_pickle=False), "npy", path, ask)


def write_npy(path: Path, array: np.ndarray, like: Loaded, key: str | None) -> None:
    """Write a ``.npy`` file."""
    with path.open("wb") as stream:
        np.lib.format.write_array(by_python(stream), array, allow_pickle=False)


def by_python(stream: IO[bytes]) -> Any:
    """Return a stream that is not taken for a file: into those NumPy writes past Python, and an error at their end is lost."""
    calls = ("write", "read", "seek", "tell", "flush", "close")
    return SimpleNamespace(fileno=io.BytesIO().fileno, **{name: getattr(stream, name) for name in calls})


def read_npz(path: Path, ask: Ask) -> Loaded:
    """Read one array of a ``.npz`` archive."""
    with zipfile.ZipFile(path) as archive:
        found: dict[str, tuple[tuple[int, ...], np.dtype]] = {}
        for name in (name for name in archive.namelist() if name.endswith(".npy")):
            with archive.open(name) as stream:
                found[name.removesuffix(".npy")] = read_header(stream)
        shapes = {name: shape for name, (shape, dtype) in found.items() if dtype.kind in "biufc"}
        objects = [name for name, (_, dtype) in found.items() if dtype.hasobject]
        if ask.key in objects or (objects and not shapes):
            raise FileError(pickled(path))
        key = choose(path, ask.key, shapes)
        entry = archive.getinfo(key + ".npy")
        _check_claim(path, *found[key], entry.file_size)
        check_room(path, entry.file_size, entry.compress_size, DENSITY.get(entry.compress_type, DENSEST))
        with archive.open(key + ".npy") as stream:
            return plain(np.lib.format.read_array(stream, allow_pickle=False), "npz", path, ask, key=key)


def read_all(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays of a ``.npz`` archive by their names, if what they claim can be in it."""
    with zipfile.ZipFile(path) as archive:
        found = {}
        for entry in archive.infolist():
            with archive.open(entry) as stream:
                shape, dtype = read_header(stream)
            if dtype.hasobject:
                raise FileError(pickled(path))
            _check_claim(path, shape, dtype, entry.file_size)
            check_room(path, entry.file_size, entry.compress_size, DENSITY.get(entry.compress_type, DENSEST))
            with archive.open(entry) as stream:
                found[entry.filename.removesuffix(".npy")] = np.lib.format.read_array(stream, allow_pickle=False)
        return found


def write_npz(path: Path, array: np.ndarray, like: Loaded, key: str | None) -> None:
    """Write a ``.npz`` archive; the other arrays of the archive it came from go with it."""
    own = (key or "data") + ".npy"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        if source := source_of(like, "npz"):
            with zipfile.ZipFile(source) as old:
                archive.compression = old.infolist()[0].compress_type
                for entry in (entry for entry in old.namelist() if entry != own):
                    # Piece by piece: another array of the archive may be larger than memory.
                    with old.open(entry) as stream, archive.open(entry, "w", force_zip64=True) as copy:
                        shutil.copyfileobj(stream, copy, 1 << 20)
        with archive.open(own, "w", force_zip64=True) as stream:
            np.lib.format.write_array(stream, array, allow_pickle=False)


def read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Return shape and dtype of the ``.npy`` array that a stream starts with.

    >>> stream = io.BytesIO()
    >>> np.save(stream, np.zeros((2, 3)))
    >>> _ = stream.seek(0)
    >>> read_header(stream)
    ((2, 3), dtype('float64'))
    """
    version = np.lib.format.read_magic(stream)
    digits, read = (2, np.lib.format.read_array_header_1_0)
    if version != (1, 0):
        digits, read = (4, np.lib.format.read_array_header_2_0)
    count = stream.read(digits)
    length = int.from_bytes(count, "little")
    if length > LONGEST_HEADER:  # an archive could make gigabytes of it out of nothing
        raise ValueError(f"its header is {length} bytes long")
    shape, _, dtype = read(io.BytesIO(count + stream.read(length)))
    if any(side < 0 for side in shape):
        raise ValueError(f"its header has the shape {shape}")
    return shape, dtype


def _check_claim(path: Path, shape: tuple[int, ...], dtype: np.dtype, stored: int) -> None:
    """Refuse an array that cannot be in so many bytes, then one that memory cannot hold."""
    size = math.prod(shape) * dtype.itemsize
    if size > stored and not dtype.hasobject:
        raise FileError(
            f"{path} is damaged or cut short: it claims {in_bytes(size)} of numbers and has {in_bytes(stored)}"
        )
    check_room(path, size, stored)
