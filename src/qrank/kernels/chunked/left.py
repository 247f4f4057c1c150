"""Folders of chunks that a killed process has left behind: the next run of this machine in the same place removes them.

Whoever works in a folder holds a lock on a file in it, which the system lets go of when the process ends, however it ends. Locks
of other machines may not be seen here, so their folders are left alone.
"""

from __future__ import annotations

import platform
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not on Windows, where nothing is removed
    fcntl: Any = None

LOCK = "owner"
_held: list[Any] = []  # open files, whose locks last as long as this process


def own(folder: Path) -> None:
    """Say that this process works in a folder."""
    stream = (folder / LOCK).open("w")
    if fcntl is not None:
        with suppress(
            OSError
        ):  # a file system without locks: then the name of no machine is told, and nobody removes it
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            stream.write(platform.node())
            stream.flush()
    for one in [one for one in _held if not Path(one.name).exists()]:
        _held.remove(one)
        one.close()
    _held.append(stream)


def clear(place: Path) -> None:
    """Remove the folders in a place that were left by processes of this machine which are not there any more."""
    if fcntl is None:
        return
    for file in place.glob(f"qrank-*/{LOCK}"):
        with suppress(OSError), file.open() as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails where its owner lives
            if stream.read() == platform.node():
                shutil.rmtree(file.parent, ignore_errors=True)
