"""One run to a checkpoint: the second is refused, wherever it was started."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from ..errors import FileError

try:
    import fcntl
except ImportError:  # no such locks on this system: runs are not kept apart
    fcntl = None


class Lock:
    """An empty file beside a checkpoint, locked while a run uses it; the system unlocks it when the process dies.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "run.ckpt"
    >>> lock = Lock(path)
    >>> [file.name for file in path.parent.iterdir()]
    ['run.ckpt.lock']
    >>> lock.release()
    >>> [file.name for file in path.parent.iterdir()]
    []
    """

    def __init__(self, path: Path) -> None:
        """Lock a checkpoint; one that is locked is refused with a sentence, what the system refuses is its ``OSError``."""
        self.file = path.with_name(path.name + ".lock")
        self._stream: BinaryIO | None = None
        while fcntl is not None:
            self._stream = stream = self.file.open("ab")
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._named(stream):
                    return
            except BlockingIOError:
                stream.close()
                told = (
                    f"the checkpoint {path} is in use by another run: wait until that has ended, or name another file"
                )
                raise FileError(told) from None
            except OSError:  # a file system without locks: runs are not kept apart
                return
            stream.close()  # whoever had it has removed it meanwhile: the lock is of a file without a name

    def _named(self, stream: BinaryIO) -> bool:
        try:
            return os.path.samestat(os.fstat(stream.fileno()), os.stat(self.file))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Let the next one have it."""
        if self._stream is None or self._stream.closed:
            return
        with self._stream as stream:  # removed while it is locked: nobody else's can be hit
            if os.fstat(stream.fileno()).st_size == 0:  # ours is empty
                self.file.unlink(missing_ok=True)
