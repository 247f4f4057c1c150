"""NumPy's own files: ``.npy`` and ``.npz``; never with pickled content."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from qrank.errors import FileError
from qrank.files.guard import pickled
from qrank.files.loaded import Ask, Loaded, find_slice_axes, numeric, plain_axes, source_of, take_frames
from qrank.files.which_array import choose


def plain(array: np.ndarray, kind: str, path: Path, ask: Ask, axes: tuple[str, ...] = (), **meta: Any) -> Loaded:
    """Wrap an array whose axes have no other meaning than their order, or names that are given."""
    names = axes or plain_axes(array.ndim)
    loaded = Loaded(numeric(array, str(path)), names, find_slice_axes(names), kind, path, meta)
    return take_frames(loaded, ask.frames)


def read_npy(path: Path, ask: Ask) -> Loaded:
    """Read a ``.npy`` file."""
    with path.open("rb") as stream:
        return plain(np.lib.format.read_array(stream, allow_pickle=False), "npy", path, ask)


def write_npy(path: Path, array: np.ndarray, like: Loaded, key: str | None) -> None:
    """Write a ``.npy`` file."""
    with path.open("wb") as stream:
        np.lib.format.write_array(stream, array, allow_pickle=False)


def read_npz(path: Path, ask: Ask) -> Loaded:
    """Read one array of a ``.npz`` archive."""
    with zipfile.ZipFile(path) as archive:
        found = {
            name.removesuffix(".npy"): _header(archive, name) for name in archive.namelist() if name.endswith(".npy")
        }
        shapes = {name: shape for name, (shape, dtype) in found.items() if dtype.kind in "biufc"}
        objects = [name for name, (_, dtype) in found.items() if dtype.hasobject]
        if ask.key in objects or (objects and not shapes):
            raise FileError(pickled(path))
        key = choose(path, ask.key, shapes)
        with archive.open(key + ".npy") as stream:
            return plain(np.lib.format.read_array(stream, allow_pickle=False), "npz", path, ask, key=key)


def write_npz(path: Path, array: np.ndarray, like: Loaded, key: str | None) -> None:
    """Write a ``.npz`` archive; the other arrays of the archive it came from go with it."""
    own = (key or "data") + ".npy"
    kept, how = {}, zipfile.ZIP_DEFLATED
    if source := source_of(like, "npz"):
        with zipfile.ZipFile(source) as archive:
            how = archive.infolist()[0].compress_type
            kept = {entry: archive.read(entry) for entry in archive.namelist() if entry != own}
    with zipfile.ZipFile(path, "w", how) as archive:
        for entry, content in kept.items():
            archive.writestr(entry, content)
        with archive.open(own, "w", force_zip64=True) as stream:
            np.lib.format.write_array(stream, array, allow_pickle=False)


def _header(archive: zipfile.ZipFile, entry: str) -> tuple[tuple[int, ...], np.dtype]:
    with archive.open(entry) as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
    return shape, dtype
