"""Where chunks are kept: in this process, or as files in a folder that all workers see.

A chunk is a matrix under a name "array/chunk". It is written once, by whichever task makes it, and never changed: a task
that is run again, because its worker died, writes the same numbers again, and no reader sees half of them.
"""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import Any

import numpy as np

SKIPPED = 1 << 14  # bytes between two pieces that take as long to read as to skip
AT_ONCE = 1 << 22  # bytes that are then read together


class Memory:
    """Chunks in the memory of this process, for tasks that run in its threads.

    >>> store = Memory()
    >>> store.write("t/0", np.eye(3))
    >>> store.read("t/0", slice(1, 2), slice(0, 2))
    array([[0., 1.]])
    """

    def __init__(self) -> None:
        self._chunks: dict[str, np.ndarray] = {}

    def write(self, name: str, chunk: np.ndarray) -> None:
        """Keep a chunk, which nobody may change from now on."""
        self._chunks[name] = chunk = np.ascontiguousarray(chunk)
        chunk.flags.writeable = False

    def read(self, name: str, rows: slice, columns: slice) -> np.ndarray:
        """Return a part of a chunk, not to be written to."""
        return self._chunks[name][rows, columns]

    def remove(self, array: str) -> None:
        """Forget all chunks of an array."""
        for name in [name for name in list(self._chunks) if name.startswith(f"{array}/")]:
            del self._chunks[name]

    def take(self, array: str, folder: Path) -> None:
        """Read all chunks of an array that was kept."""
        for file in folder.glob("*.npy"):
            self.write(f"{array}/{file.stem}", np.load(file))

    def keep(self, array: str, folder: Path) -> None:
        """Write all chunks of an array into another folder, for good."""
        for name in [name for name in self._chunks if name.startswith(f"{array}/")]:
            save(folder / f"{name.partition('/')[2]}.npy", self._chunks[name], lasting=True)


class Disk:
    """Chunks as ``.npy`` files, uncompressed, so that any part of one can be read.

    >>> import tempfile
    >>> store = Disk(tempfile.mkdtemp())
    >>> store.write("t/0", np.eye(3))
    >>> store.read("t/0", slice(1, 2), slice(0, 2))
    array([[0., 1.]])
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def write(self, name: str, chunk: np.ndarray) -> None:
        """Write a chunk beside its place, and rename it."""
        save(self._file(name), chunk)

    def read(self, name: str, rows: slice, columns: slice) -> np.ndarray:
        """Read a part of a chunk; memory is taken for that part only."""
        return read_part(self._file(name), rows, columns)

    def remove(self, array: str) -> None:
        """Remove all chunks of an array."""
        shutil.rmtree(self.folder / array, ignore_errors=True)

    def keep(self, array: str, folder: Path) -> None:
        """Give all chunks of an array a second name in another folder, or copies where that is on another disk."""
        _link(self.folder / array, folder)
        for file in folder.glob("*.npy"):
            with file.open("rb+") as stream:
                os.fsync(stream.fileno())

    def take(self, array: str, folder: Path) -> None:
        """Give all chunks of an array that was kept a name here."""
        _link(folder, self.folder / array)

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.npy"


Store = Any  # Memory or Disk


def _link(folder: Path, new: Path) -> None:
    """Give the chunks in a folder second names in a new one; copy them where that is on another disk."""
    new.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.npy"):
        try:
            os.link(file, new / file.name)
        except OSError:
            shutil.copyfile(file, new / file.name)


def save(file: Path, chunk: np.ndarray, lasting: bool = False) -> None:
    """Write a matrix as ``.npy``: the file is there as a whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f"{file.name}.{uuid.uuid4().hex}")
    try:
        with new.open("wb") as stream:
            np.save(stream, np.ascontiguousarray(chunk))
            if lasting:
                stream.flush()
                os.fsync(stream.fileno())
        os.replace(new, file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def read_part(file: Path, rows: slice, columns: slice) -> np.ndarray:
    """Return a part of the matrix in a ``.npy`` file.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.npy"
    >>> np.save(file, np.arange(12).reshape(3, 4))
    >>> read_part(file, slice(1, 3), slice(2, 4))
    array([[ 6,  7],
           [10, 11]])
    """
    with open(file, "rb", buffering=0) as stream:
        np.lib.format.read_magic(stream)
        (height, width), _, dtype = np.lib.format.read_array_header_1_0(stream)
        begin = stream.tell()
        (first, last, _), (left, right, _) = rows.indices(height), columns.indices(width)
        out = np.empty((max(0, last - first), max(0, right - left)), dtype)
        if not out.size:
            return out
        if right - left == width:
            _fill(stream, begin + first * width * dtype.itemsize, out)
        elif (width - right + left) * dtype.itemsize >= SKIPPED:
            for i, row in enumerate(out):
                _fill(stream, begin + ((first + i) * width + left) * dtype.itemsize, row)
        else:
            many = max(1, AT_ONCE // (width * dtype.itemsize))
            for i in range(0, len(out), many):
                some = np.empty((min(many, len(out) - i), width), dtype)
                _fill(stream, begin + (first + i) * width * dtype.itemsize, some)
                out[i : i + many] = some[:, left:right]
        return out


def _fill(stream: Any, begin: int, out: np.ndarray) -> None:
    """Read an array from a place in a file."""
    stream.seek(begin)
    left = memoryview(out.reshape(-1).view(np.uint8).data)
    while left:
        read = stream.readinto(left)
        if not read:
            raise OSError(f"{stream.name} is cut short")
        left = left[read:]
