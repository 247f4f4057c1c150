"""The journal of a completion: its runs, finished ones and the one under way, kept in a file from which it goes on.

A completion is a sequence of runs, one or, for `auto`, many. Whoever makes one asks the journal for it: a run that the file
knows begins where it was when the file was written, with the random numbers of that moment, and one that was finished has
nothing left to do. All between the runs is computed anew, from the same numbers: so the answer is that of a completion that
was never interrupted, to the last bit (with as many threads).
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import kernels
from ..errors import CheckpointWarning, FileError, InputError
from ..problem import Problem
from ..result import Record, Status
from ..run import Run
from ..version import __version__
from . import tree
from .fingerprint import fingerprint
from .lock import Lock

EVERY = 60.0  # seconds between writes
SHARE = 20  # and so many times what the last one took: writing takes a twentieth of the time at most


@dataclass(frozen=True)
class Checkpoint:
    """Where a completion is kept, and how often.

    ``every``: seconds that lie between two writes at least; 0 writes after every step. ``keep``: leave the file when the
    completion is done, to be removed once the answer is safe.

    >>> Checkpoint("run.ckpt").every
    60.0
    """

    path: str | os.PathLike[str]
    every: float = EVERY
    keep: bool = False

    def __post_init__(self) -> None:
        name = (
            self.path
            if isinstance(self.path, str)
            else os.fspath(self.path)
            if isinstance(self.path, os.PathLike)
            else ""
        )
        if not name or "\0" in name:
            raise InputError(f"a checkpoint is kept in a file: its name must be a path, not {self.path!r}")
        if isinstance(self.every, str) or not self.every >= 0:
            raise InputError(f"every is the seconds between two checkpoints, at least 0, not {self.every!r}")

    @property
    def file(self) -> Path:
        """The file; where the name is that of a link, what it points to."""
        return Path(os.path.realpath(self.path))

    def remove(self) -> None:
        """Remove the file and what an interrupted write has left."""
        for file in (self.file, tree.beside(self.file)):
            file.unlink(missing_ok=True)
        shutil.rmtree(tree.parts(self.file), ignore_errors=True)


class Journal:
    """Gives runs and keeps them; without a checkpoint it only gives them.

    >>> journal = Journal()
    >>> from qrank.methods import METHODS
    >>> run, records = journal.open(Problem.of(np.ones((4, 4)), np.eye(4) < 1), METHODS["tnn"].configured(max_steps=3), 0)
    >>> [record.step for record in journal.steps(run)]
    [1, 2, 3]
    """

    def __init__(self, checkpoint: Checkpoint | None = None) -> None:
        self.checkpoint = checkpoint
        self.seconds = 0.0  # that runs had taken when the file was written
        self._active = checkpoint is not None
        self._made: dict[str, Any] = {}  # what the file belongs to
        self._start: Any = None  # of the random numbers
        self._kept: list[dict[str, Any]] = []  # runs of the file that nobody has asked for yet
        self._done: list[dict[str, Any]] = []  # runs that are finished
        self._records: list[Record] = []  # of the run under way
        self._over = False  # the run under way has nothing left to do
        self._due = 0.0
        self._lock: Lock | None = None

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        """Let another run have the file."""
        if self._lock is not None:
            self._lock.release()

    def begin(self, problem: Problem, method: Any, rng: np.random.Generator, fixed: bool, *settings: Any) -> None:
        """Take up what the file holds, or write the first one, which shows that it can be written.

        The file is this journal's until ``with journal`` ends; where another run has it, this one is refused.

        ``fixed``: the caller has said where the random numbers start, so those of the file must be the same.
        """
        if self.checkpoint is None:
            return
        layout, path = problem.layout, self.checkpoint.file
        arrays = [kernels.of(a).digest(a) for a in (problem.y, problem.observed)]
        data = fingerprint(*arrays, problem.exponent, layout.shape, layout.slice_axes, settings)
        self._made = {"version": __version__, "data": data, "options": fingerprint(method), "method": str(method)}
        self._start = rng.bit_generator.state
        try:
            self._lock = Lock(path)
            if not path.exists():
                self._write(None)
                return
        except OSError as error:
            raise FileError(f"cannot write the checkpoint {path}: {error.strerror or error}") from error
        self._take_up(path, rng, fixed)

    def _take_up(self, path: Path, rng: np.random.Generator, fixed: bool) -> None:
        found = tree.load(path)
        anew = "remove it to start anew"
        made = found["made"]
        if made["version"] != __version__:
            raise FileError(f"the checkpoint {path} is of qrank {made['version']}, and this is {__version__}: {anew}")
        if made["data"] != self._made["data"]:
            raise FileError(f"the checkpoint {path} is of other data, or of other slice axes, patch or holdout: {anew}")
        if made["options"] != self._made["options"]:
            raise FileError(f"the checkpoint {path} is of another method or other options, {made['method']}: {anew}")
        if fixed and fingerprint(found["start"]) != fingerprint(self._start):
            raise FileError(f"the checkpoint {path} is of other random numbers: give the same rng, or {anew}")
        self._start = rng.bit_generator.state = found["start"]
        self._kept = found["runs"]
        self.seconds = sum(one["seconds"] for one in self._kept)
        self._due = time.monotonic() + self.checkpoint.every  # type: ignore[union-attr]

    def open(self, problem: Problem, method: Any, rng: Any) -> tuple[Run, list[Record]]:
        """Return the next run, where the file has left it, and the records that it has so far."""
        self._records, self._over = [], False
        if not self._active or not self._kept:
            return Run(problem, method, rng), []
        kept = self._kept.pop(0)
        if kept["name"] != method.name:
            raise FileError(
                f"the checkpoint {self.checkpoint and self.checkpoint.path} goes on with {kept['name']} where {method.name}"
                " is to run: it was made with other libraries; remove it to start anew"
            )
        run = Run(problem, method, rng, revived(kept["state"], problem.y), kept["k"])
        run.seconds, run.status = kept["seconds"], Status[kept["status"]]
        run.work.rng.bit_generator.state = kept["rng"]
        self._records = [Record(*values) for values in kept["records"]]
        self._over = kept["over"] or run.status is not Status.INTERRUPTED
        return run, list(self._records)

    def steps(self, run: Run) -> Iterator[Record]:
        """Yield the record of every step that the run still has to do, and write the file where it is time."""
        if self._over:
            return
        for _, record in run:
            if self._active:
                self._records.append(record)
            yield record
            self._write_if_due(run)

    def finish(self, run: Run) -> None:
        """Keep a run of which no further step will be asked; its state is not to be changed any more."""
        if self._active:
            self._done.append(self._entry(run, True))
            self._records = []
            self._write_if_due(None)

    def stop(self, run: Run) -> None:
        """Write the run that is under way, and nothing more: whatever follows is not part of the completion."""
        if self._active and not self._kept:
            self._try_to_write(run)
        self._active = False

    def flush(self) -> None:
        """Write the finished runs, where the file is to be kept."""
        if self._active and self.checkpoint is not None and self.checkpoint.keep:
            self._try_to_write(None)

    def end(self) -> None:
        """Remove the file, unless it is to be kept: the completion is done."""
        if self.checkpoint is not None and not self.checkpoint.keep:
            self.checkpoint.remove()

    def _write_if_due(self, run: Run | None) -> None:
        if self._active and not self._kept and time.monotonic() >= self._due:  # else the file still holds more
            self._try_to_write(run)

    def _try_to_write(self, run: Run | None) -> None:
        """Write the file; a full disk must not end a run of hours."""
        try:
            self._write(run)
        except OSError as error:
            path = self.checkpoint.path if self.checkpoint else ""
            told = f"the checkpoint {path} could not be written ({error.strerror or error}); the run goes on"
            warnings.warn(told, CheckpointWarning, stacklevel=2)

    def _write(self, run: Run | None) -> None:
        assert self.checkpoint is not None
        begun = time.monotonic()
        runs = self._done if run is None else [*self._done, self._entry(run, False)]
        try:
            tree.save(self.checkpoint.file, {"made": self._made, "start": self._start, "runs": runs})
        finally:
            now, every = time.monotonic(), self.checkpoint.every
            self._due = now + max(every, SHARE * (now - begun) if every else 0)

    def _entry(self, run: Run, over: bool) -> dict[str, Any]:
        return {
            "name": run.method.name,
            "k": run.k,
            "seconds": run.seconds,
            "status": run.status.name,
            "over": over,
            "state": run.state,
            "rng": run.work.rng.bit_generator.state,
            "records": [tuple(getattr(one, f.name) for f in dataclasses.fields(one)) for one in self._records],
        }


def revived(state: Any, y: Any) -> Any:
    """Return a state of a file with its arrays taken up again for a run on y.

    >>> revived((1, [2.0]), np.zeros(3))
    (1, [2.0])
    """
    if isinstance(state, tree.Kept):
        return kernels.of(y).revived(state.said, state.folder, y)
    if isinstance(state, tuple | list):
        parts = [revived(one, y) for one in state]
        return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)
    return state
