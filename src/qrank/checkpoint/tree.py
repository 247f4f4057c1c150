"""A tree of arrays, numbers and words in one file: written beside, synced and renamed; its checksum is its last line of defence.

    magic · length of the text · text (JSON: the tree, its arrays replaced by numbers, and what the arrays are) · arrays · SHA-256

Tuples, lists, named tuples and dictionaries come back as what they were, arrays to the last bit and in the same order in memory,
on which rounding depends. Nothing in a file is ever run or imported: a named tuple is looked up among those that are loaded.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .. import kernels
from ..errors import FileError

MAGIC = b"qrank checkpoint 1\n"
DIGEST = hashlib.sha256().digest_size
BLOCK = 1 << 22  # bytes that are read at once
KINDS = "biufc"  # of arrays: numbers only


def save(path: Path, tree: Any) -> None:
    """Write a tree: afterwards the file is the old one or the whole new one, also if the machine goes down.

    The file that is written first has a fixed name, so that a run that is killed while writing leaves one at most.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "tree"
    >>> save(path, {"x": (np.arange(3.0), None), "k": 7})
    >>> load(path)
    {'x': (array([0., 1., 2.]), None), 'k': 7}
    """
    arrays: list[np.ndarray] = []
    others = {one.name for one in parts(path).glob("*")}
    text = json.dumps({"tree": _packed(tree, arrays, parts(path)), "arrays": [_described(a) for a in arrays]}).encode()
    new = beside(path)
    with new.open("wb") as stream:
        digest = hashlib.sha256()
        for part in (MAGIC, len(text).to_bytes(8, "little"), text, *map(_bytes, arrays)):
            digest.update(part)
            stream.write(part)
        stream.write(digest.digest())
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(new, path)
    if hasattr(os, "O_DIRECTORY"):  # the new name lasts once the folder is synced; elsewhere folders cannot be
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    for name in others:  # what only the old file needed
        shutil.rmtree(parts(path) / name, ignore_errors=True)


def load(path: Path) -> Any:
    """Read a tree; a file that is no such tree, or not whole, is refused with a sentence."""
    try:
        with path.open("rb") as stream:
            if stream.read(len(MAGIC)) != MAGIC:
                raise FileError(f"{path} is no checkpoint that this version can read: name another file, or remove it")
            stream.seek(0)
            if not _whole(stream):
                raise _damaged(path)
            stream.seek(len(MAGIC))
            length = min(int.from_bytes(stream.read(8), "little"), os.fstat(stream.fileno()).st_size)
            try:
                said = json.loads(stream.read(length))
                arrays = [_read(stream, *described) for described in said["arrays"]]
                return _unpacked(said["tree"], arrays, parts(path))
            except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
                raise _damaged(path) from error
    except OSError as error:
        raise FileError(f"cannot read the checkpoint {path}: {error.strerror or error}") from error


def beside(path: Path) -> Path:
    """Return the file that is written before it is renamed.

    >>> beside(Path("run.ckpt")).name
    'run.ckpt.new'
    """
    return path.with_name(path.name + ".new")


def parts(path: Path) -> Path:
    """Return the folder beside a file that has the arrays that are not in memory.

    >>> parts(Path("run.ckpt")).name
    'run.ckpt.parts'
    """
    return path.with_name(path.name + ".parts")


class Kept(NamedTuple):
    """An array that is not in memory, where it was kept: `kernels.revived` takes it up again."""

    said: dict[str, Any]
    folder: Path


def _damaged(path: Path) -> FileError:
    return FileError(f"the checkpoint {path} is damaged: its checksum does not match; remove it to start anew")


def _whole(stream: BinaryIO) -> bool:
    """Return whether the last bytes of a file are the checksum of all before them."""
    left = os.fstat(stream.fileno()).st_size - DIGEST
    digest = hashlib.sha256()
    while left > 0 and (part := stream.read(min(left, BLOCK))):
        digest.update(part)
        left -= len(part)
    return left == 0 and stream.read() == digest.digest()


def _described(a: np.ndarray) -> list[Any]:
    """Return type, shape and the axes from the slowest to the fastest in memory."""
    return [a.dtype.str, list(a.shape), sorted(range(a.ndim), key=lambda axis: -abs(a.strides[axis]))]


def _bytes(a: np.ndarray) -> memoryview:
    inner = np.ascontiguousarray(a.transpose(_described(a)[2]))  # a copy only where there are gaps
    return inner.reshape(-1).view(np.uint8).data


def _read(stream: BinaryIO, dtype: str, shape: list[int], order: list[int]) -> np.ndarray:
    kind, left = _dtype(dtype), os.fstat(stream.fileno()).st_size - stream.tell()
    if math.prod(shape) * kind.itemsize > left or min(shape, default=0) < 0:  # before memory is taken for it
        raise ValueError(shape)
    inner = np.empty([shape[axis] for axis in order], kind)
    stream.readinto(inner.reshape(-1).view(np.uint8).data)  # type: ignore[attr-defined]
    return inner.transpose(np.argsort(order))


def _dtype(name: str) -> np.dtype:
    kind = np.dtype(name)
    if kind.kind not in KINDS:
        raise ValueError(name)
    return kind


def _packed(value: Any, arrays: list[np.ndarray], folder: Path) -> Any:
    """Return a value as JSON knows it; whatever is more than a number, a word or None is a list that begins with what it is."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, dict):
        return ["dict", {str(key): _packed(one, arrays, folder) for key, one in value.items()}]
    if hasattr(type(value), "_fields") and _named(name := f"{type(value).__module__}:{type(value).__qualname__}"):
        return [name, *(_packed(one, arrays, folder) for one in value)]
    if type(value) in (tuple, list):
        return [type(value).__name__, *(_packed(one, arrays, folder) for one in value)]
    if isinstance(value, np.ndarray) and value.dtype.kind in KINDS:
        arrays.append(value)
        return ["array", len(arrays) - 1]
    if isinstance(value, np.generic) and value.dtype.kind in KINDS:
        # It keeps its type in products with arrays, unlike a number of Python's.
        return ["scalar", value.dtype.str, value.tobytes().hex()]
    return ["kept", json.dumps(kernels.of(value).kept(value, folder))]


def _unpacked(value: Any, arrays: list[np.ndarray], folder: Path) -> Any:
    if not isinstance(value, list):
        return value
    kind, *parts = value
    if kind == "array":
        return arrays[parts[0]]
    if kind == "scalar":
        return np.frombuffer(bytes.fromhex(parts[1]), _dtype(parts[0]))[0]
    if kind == "kept":
        return Kept(json.loads(parts[0]), folder)
    if kind == "dict":
        return {key: _unpacked(one, arrays, folder) for key, one in parts[0].items()}
    inner = [_unpacked(one, arrays, folder) for one in parts]
    if kind in ("tuple", "list"):
        return tuple(inner) if kind == "tuple" else inner
    make = _named(kind)
    if make is None:
        raise ValueError(kind)
    return make(inner)


def _named(name: str) -> Callable[[list[Any]], Any] | None:
    """Return how a named tuple of a loaded module is made, if there is one of the name."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for word in path.split("."):
        found = getattr(found, word, None)
    is_one = isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields")
    return found._make if is_one else None  # type: ignore[union-attr]
