"""Write beside, sync, then rename: the output is the old one or the whole new one, never half of it."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from .errors import FileError
from .signals import Signals

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
        _sync_all(temporary)
        with unbroken():
            if temporary.is_dir():
                _swap_folder(temporary, target)
            else:
                if target.exists():
                    shutil.copymode(target, temporary)
                os.replace(temporary, target)
            _sync(target.parent)


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
        _sync_all(temporary)
        with unbroken():
            if target.exists():
                _move_into(temporary, target)
            else:
                os.rename(temporary, target)
            _sync(target.parent)


@contextmanager
def unbroken() -> Iterator[None]:
    """Put Ctrl-C and SIGTERM off until the block is done: renames that belong together are all made, or none is.

    >>> with unbroken():
    ...     pass
    """
    with _PutOff() as put_off:
        yield
    for number in put_off.waiting:
        signal.raise_signal(number)


class _PutOff(Signals):
    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[int] = []

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        self.waiting.append(number)


def stamp(path: Path) -> frozenset[tuple[str, int, int]]:
    """Return what is at a path, such that it differs after anything there was replaced.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "a.txt"
    >>> before = stamp(target)
    >>> write_text(target, "new")
    >>> stamp(target) == before
    False
    """
    target, found = Path(os.path.realpath(path)), []
    for place in (target, *(target.rglob("*") if target.is_dir() else ())):
        with suppress(OSError):
            facts = place.stat()
            found.append((str(place), facts.st_ino, facts.st_mtime_ns))
    return frozenset(found)


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
    """Give a path in a hidden folder beside the target: on the same disk, so that a rename is all it takes."""
    place = Path(tempfile.mkdtemp(prefix=".qrank-", dir=target.parent))
    try:
        yield place / target.name
    except StrandedError:
        raise  # the old output is in there
    except BaseException:
        _clear(place)
        raise
    _clear(place)


def _clear(place: Path) -> None:
    with unbroken():
        shutil.rmtree(place, ignore_errors=True)


class StrandedError(FileError):
    """The new output could not be put in its place, nor the old one back; the message says where it is."""


def _old(path: Path) -> Path:
    return path.with_name(path.name + ".old")


def _swap_folder(new: Path, target: Path) -> None:
    old = _old(new)
    if target.exists():
        os.rename(target, old)
    try:
        os.rename(new, target)
    except BaseException as error:
        if old.exists():
            _bring_back(old, target, error)
        raise


def _move_into(new: Path, target: Path) -> None:
    """Move the files of one folder into another; where one cannot be moved, all is as it was before."""
    kept = _old(new)
    kept.mkdir()
    moved: list[tuple[Path, Path | None]] = []
    try:
        for file in sorted(new.rglob("*")):
            end = target / file.relative_to(new)
            if file.is_dir():
                end.mkdir(exist_ok=True)
                continue
            before = kept / str(len(moved)) if end.exists() else None
            if before is not None:
                _link(end, before)
            moved.append((end, before))
            os.replace(file, end)
    except BaseException as error:
        for end, before in reversed(moved):
            if before is None:
                end.unlink(missing_ok=True)
            else:
                _bring_back(before, end, error)
        raise
    _sync(target)


def _link(file: Path, second: Path) -> None:
    try:
        os.link(file, second)
    except OSError:  # some file systems know no second names
        shutil.copy2(file, second)


def _bring_back(old: Path, target: Path, error: BaseException) -> None:
    try:
        os.replace(old, target)
    except OSError:
        raise StrandedError(f"{target} could not be replaced ({error}), nor put back: it is now at {old}") from error


def _sync_all(path: Path) -> None:
    """Wait until what was written is on the disk: a rename may get there before the content does."""
    for place in (*(path.rglob("*") if path.is_dir() else ()), path):
        _sync(place)


def _sync(path: Path) -> None:
    if os.name != "posix" and path.is_dir():
        return  # folders cannot be opened there
    number = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not on every file system
            raise
    finally:
        os.close(number)
