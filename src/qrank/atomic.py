"""Write beside, then rename: the output is the old one or the whole new one, never half of it."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import FileError

HDF5_OWN = 1 << 17  # bytes for what HDF5 writes beside the numbers


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path; what is written there takes the place of ``path`` if all goes well.

    A folder written there takes the place of a folder. The temporary file has the same name, as libraries
    choose the format by it and messages show it.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "a.txt"
    >>> with replacing(target) as temporary:
    ...     _ = temporary.write_text("whole")
    >>> target.read_text(), len(list(target.parent.iterdir()))
    ('whole', 1)
    """
    target = Path(os.path.realpath(path))
    with _beside(target) as temporary:
        yield temporary
        if temporary.is_dir():
            _swap_folder(temporary, target)
            return
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)


@contextmanager
def saving(path: Path) -> Iterator[Path]:
    """Do what `replacing` does; what the system refuses becomes a ``FileError``."""
    try:
        with replacing(path) as temporary:
            yield temporary
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file, as a whole or not at all, and make its folder if there is none.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "new" / "a.txt"
    >>> write_text(target, "all of it")
    >>> target.read_text()
    'all of it'
    """
    make_folder(path.parent)
    with saving(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def make_folder(path: Path) -> None:
    """Make a folder and those above it, where they are not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {path}: {error.strerror}") from error


@contextmanager
def filling(folder: Path) -> Iterator[Path]:
    """Give a temporary folder; its files move into ``folder`` if all goes well, beside what is there."""
    target = Path(os.path.realpath(folder))
    with _beside(target) as temporary:
        temporary.mkdir()
        yield temporary
        if not target.exists():
            os.rename(temporary, target)
            return
        for file in sorted(temporary.rglob("*")):
            end = target / file.relative_to(temporary)
            if file.is_dir():
                end.mkdir(exist_ok=True)
            else:
                os.replace(file, end)


def reserve(path: Path, size: int) -> None:
    """Raise ``OSError`` now if there is no room for a file of about ``size`` bytes at ``path``.

    HDF5 takes the whole process down with it when a disk fills under it.
    """
    size += size // 50 + HDF5_OWN
    if hasattr(os, "posix_fallocate"):
        with path.open("wb") as stream:
            os.posix_fallocate(stream.fileno(), 0, size)  # knows of quotas too
        path.unlink()
    elif shutil.disk_usage(path.parent).free < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    # In a hidden folder beside the target: on the same disk, so that a rename is all it takes.
    with tempfile.TemporaryDirectory(prefix=".qrank-", dir=target.parent, ignore_cleanup_errors=True) as place:
        yield Path(place) / target.name


def _swap_folder(new: Path, target: Path) -> None:
    old = new.with_name(target.name + ".old")
    if target.exists():
        os.rename(target, old)
    try:
        os.rename(new, target)
    except BaseException:
        if old.exists():
            os.rename(old, target)
        raise
