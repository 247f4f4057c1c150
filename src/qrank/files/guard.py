"""Whatever goes wrong inside a file library becomes a ``FileError``: one sentence that names the file."""

from __future__ import annotations

import errno
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from qrank.errors import FileError, InputError, KindError, MissingExtra

# How h5py and NumPy tell of a full disk: in the text only.
FULL_DISK = ("No space left", " requested and ")
OURS = (InputError, KindError, MissingExtra)


def reading(path: Path, kind: str) -> AbstractContextManager[None]:
    """Turn errors of a reader into ``FileError``."""
    return _guarded(lambda error: _why_not_read(path, kind, error))


def writing(path: Path) -> AbstractContextManager[None]:
    """Turn errors of a writer into ``FileError``."""
    return _guarded(lambda error: _why_not_written(path, error))


@contextmanager
def _guarded(why_not: Callable[[Exception], str]) -> Iterator[None]:
    # A damaged file is told in our one sentence, not also by its library on stderr.
    log = logging.getLogger("tifffile")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except OURS:
        raise
    except Exception as error:
        raise FileError(why_not(error)) from error
    finally:
        log.setLevel(level)


def _why_not_read(path: Path, kind: str, error: Exception) -> str:
    if isinstance(error, FileNotFoundError) and not os.path.exists(path):
        return f"there is no file {path}"
    if isinstance(error, PermissionError):
        return f"{path} cannot be read: permission denied"
    if isinstance(error, MemoryError):
        return f"{path} is too large for the memory there is: store a smaller part of it by itself"
    if "allow_pickle" in str(error):
        return pickled(path)
    return f"{path} cannot be read as {kind}, it may be damaged or cut short: {_short(error)}"


def _why_not_written(path: Path, error: Exception) -> str:
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    if full or any(text in str(error) for text in FULL_DISK):
        return f"no room left on the disk for {path}; nothing was written"
    if isinstance(error, PermissionError) or getattr(error, "errno", None) == errno.EROFS:
        return f"{path} cannot be written: permission denied"
    return f"{path} cannot be written: {_short(error)}"


def pickled(path: Path) -> str:
    """Say why a file with Python objects is not read."""
    return f"{path} holds pickled Python objects, which are never loaded: they can run code"


def _short(error: Exception) -> str:
    # The bare cause: the whole text of an OSError repeats the path, or shows a temporary one.
    text = getattr(error, "strerror", None) or str(error)
    lines = str(text).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
