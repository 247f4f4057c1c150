"""Write beside, then rename: the output is the old one or the whole new one, never half of it."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
    with _workplace(target) as place:
        temporary = place / target.name
        yield temporary
        if temporary.is_dir():
            _swap_folder(temporary, target, place / "old")
            return
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)


@contextmanager
def filling(folder: Path) -> Iterator[Path]:
    """Give a temporary folder; its files move into ``folder`` if all goes well, beside what is there."""
    target = Path(os.path.realpath(folder))
    with _workplace(target) as place:
        temporary = place / target.name
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
def _workplace(target: Path) -> Iterator[Path]:
    # A hidden folder beside the target: on the same disk, so that a rename is all it takes.
    place = Path(tempfile.mkdtemp(prefix=".qrank-", dir=target.parent))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _swap_folder(new: Path, target: Path, old: Path) -> None:
    if not target.exists():
        os.rename(new, target)
        return
    os.rename(target, old)
    try:
        os.rename(new, target)
    except BaseException:
        os.rename(old, target)
        raise
