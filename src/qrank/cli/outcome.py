"""Exit codes that are true: whether the output was written is looked up on the disk, not guessed from where it went wrong."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..atomic import stamp
from ..errors import FileError, InputError, KindError, MissingExtra
from ..files.sniff import split_key
from .words import INCOMPLETE, STOPPED, hush, leave


@contextmanager
def told_truly(output: str | os.PathLike[str]) -> Iterator[None]:
    """Let an error after the output was written say so; before, it goes on as it is: nothing was written.

    >>> import tempfile
    >>> with told_truly(Path(tempfile.mkdtemp()) / "out.npy"):
    ...     pass
    """
    place = split_key(output)[0]
    before = stamp(place)
    try:
        yield
    except (InputError, KindError, MissingExtra, OSError, MemoryError, SystemExit, KeyboardInterrupt) as error:
        if stamp(place) == before:
            raise
        if isinstance(error, KeyboardInterrupt):
            raise leave(f"aborted after {place} was written; nothing else was", STOPPED) from error
        gone = isinstance(error, BrokenPipeError | SystemExit)  # the latter is how rich tells of a pipe that broke
        if gone:
            hush()
        why = "nobody reads what is printed" if gone else str(error) or "memory ran out"
        raise leave(f"{place} was written, but not all that was asked for: {why}", INCOMPLETE) from error


def check_apart(path: Path | None, what: str, others: Iterable[str | os.PathLike[str] | None]) -> None:
    """Refuse a place to write to that is, perhaps by another name, one of the other files of a command.

    >>> check_apart(None, "the report", ["in.npy"])
    """
    if path is None:
        return
    for other in (split_key(other)[0] for other in others if other is not None):
        same = os.path.realpath(other) == os.path.realpath(path)
        if same or (os.path.exists(other) and os.path.exists(path) and os.path.samefile(other, path)):
            raise FileError(f"{what} {path} would overwrite {other}: choose another name for it")
