"""Where the tasks of a run are computed, how large chunks may be, and where they are kept.

What is read from Dask's configuration, as everything else of Dask's: ``array.chunk-size``, the largest chunk;
``qrank.memory``, what one process may take (for the workers of a cluster: their own limit); ``qrank.scratch``, a folder
that all workers see (default: the system's temporary one).
"""

from __future__ import annotations

import math
import operator
import os
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import FileError, InputError, need
from ...text import in_bytes
from .. import threads
from .left import clear, own
from .store import Disk, Memory, Store

SHARE = 16  # chunks that a task may hold at a time: T, X, Y, the mask, what is made of them, and what libraries keep
COPIES = 8  # arrays of the data's size that a run in memory holds at the worst
LIBRARIES = 245_000_000  # bytes that a process takes before it has any data
LEAST = 50_000_000  # bytes besides, with fewer of which nothing is begun
BUSY = 4  # tasks for each thread in a pass: so many that none waits long for the last
SMALL = 1 << 16  # numbers of a matrix that is sent along with a task; larger ones are kept like chunks

Part = tuple[int, int]  # from, to


class Space:
    """The room in which one run works: its scheduler, its store, the length of its parts.

    ``shape`` is that of the stack, (n3, n1, n2); ``chunks`` are those of the array that the user gave.
    """

    def __init__(self, shape: tuple[int, int, int], dtype: np.dtype, chunks: Any = None) -> None:
        n3, n1, n2 = self.shape = shape
        self.dtype, self.chunks, self.pixels = dtype, chunks, n1 * n2
        self.first: Space | None = None  # whose folder is removed when nobody refers to it
        self.wide = self.pixels <= n3  # T_(3) is: the Gram matrix of pixels is the smaller one
        client, self.slots, self.memory = scheduler()
        self.together = client is not None  # other processes compute
        size = n3 * self.pixels * dtype.itemsize
        self.chunk = max(1, min(chunk_size(), -(-size // self.slots)))
        beside = client is None and not _processes()
        beside = beside and (self.memory is None or COPIES * size < self.memory * self.slots)
        self.store: Store = Memory() if beside else Disk(_folder(client))
        if isinstance(self.store, Disk):
            weakref.finalize(self, shutil.rmtree, self.store.folder, ignore_errors=True)

    def __reduce__(self) -> Any:
        raise TypeError("a space is not sent to workers")

    def turned(self, shape: tuple[int, int, int]) -> Space:
        """Return the same room for another arrangement of the array."""
        found = object.__new__(Space)
        found.__dict__.update(self.__dict__)
        found.shape, found.pixels, found.first = shape, shape[1] * shape[2], self
        found.wide = found.pixels <= shape[0]
        return found

    def parts(self, axis: int, other: int, dtype: np.dtype | None = None) -> list[Part]:
        """Return the parts of rows (axis 0) or columns (axis 1), whole images' rows if possible, ``other`` numbers each."""
        length = self.shape[0] if axis == 0 else self.pixels
        return parts_of(length, self.chunk // (other * (dtype or self.dtype).itemsize), self.shape[2] if axis else 1)

    def groups(self, parts: Sequence[Part], few: bool = False) -> list[list[Part]]:
        """Share parts out to tasks, a few for each thread, or one."""
        many = min(len(parts), self.slots * (1 if few else BUSY))
        edges = [len(parts) * i // many for i in range(many + 1)]
        return [list(parts[a:b]) for a, b in zip(edges, edges[1:], strict=False) if a < b]

    def run(self, job: Callable[..., Any], groups: Sequence[Any], *args: Any, added: bool = False) -> Any:
        """Call job(group, *args) for all groups, as tasks; return the list of results, or their sum, made in a tree."""
        dask = need("dask", "dask", "working on Dask arrays")
        name = f"{job.__name__.strip('_')}-{uuid.uuid4().hex[:12]}"
        tasks = [
            dask.delayed(partial(alone, job, group, *args), pure=False)(dask_key_name=f"{name}-{i}")
            for i, group in enumerate(groups)
        ]
        while added and len(tasks) > 1:
            pairs = [tasks[i : i + 2] for i in range(0, len(tasks), 2)]
            tasks = [dask.delayed(operator.iadd, pure=False)(*p) if len(p) == 2 else p[0] for p in pairs]
        try:
            found = dask.compute(*tasks)
        except OSError as error:
            folder = getattr(self.store, "folder", "memory")
            raise FileError(
                f"the run cannot be kept in {folder} ({error.strerror or error}): name another folder (scratch)"
            ) from error
        return found[0] if added else list(found)

    def small(self, matrix: np.ndarray) -> Small:
        """Return a matrix in the form in which tasks get it."""
        if matrix.size <= SMALL or isinstance(self.store, Memory):
            return Small(matrix)
        name = f"small-{uuid.uuid4().hex}"
        self.store.write(f"{name}/0", matrix)
        return Small(None, self.store, Owned(self, name))

    def takes(self, array: Any) -> None:
        """Refuse chunks of a user's array of which a process cannot hold one with what is made of it."""
        largest = math.prod(max(sizes) for sizes in array.chunks) * self.dtype.itemsize
        if self.memory is None:
            return
        room = self.memory * (1 if self.together else self.slots)
        if SHARE * largest > room and largest > self.chunk:
            raise InputError(
                f"the array's chunks of {in_bytes(largest)} are too large: a process that works on one at a time needs"
                f" {in_bytes(SHARE * largest + LIBRARIES)} of memory; give it that, or store the array in smaller chunks"
            )

    def tried(self, most: int) -> int:
        """Return how many bytes, ``most`` at most, a part of the data may have on which methods are tried in this process."""
        return most if self.memory is None or self.together else min(most, self.memory * self.slots // SHARE)

    def fits(self, what: str, numbers: int, dtype: np.dtype) -> None:
        """Refuse what every task, or the client, would have to hold and cannot."""
        size = numbers * dtype.itemsize
        if self.memory is not None and size > 0.7 * self.memory:
            raise InputError(
                f"{what} takes {size / 1e9:.2g} GB and a task may take {self.memory / 1e9:.2g}: give more memory, or fewer"
                " threads to each worker"
            )


class Small:
    """A matrix that tasks need as a whole."""

    def __init__(self, matrix: np.ndarray | None, store: Store = None, owner: Any = None) -> None:
        self._matrix, self._store, self._owner = matrix, store, owner

    def get(self) -> np.ndarray:
        """Return the matrix."""
        if self._matrix is not None:
            return self._matrix
        return self._store.read(f"{self._owner.name}/0", slice(None), slice(None))


class Owned:
    """An array of a store, which is removed when nobody on the client refers to it any more."""

    def __init__(self, space: Space | None, name: str) -> None:
        self.name, self.space = name, space
        if space is not None:
            weakref.finalize(self, space.store.remove, name)

    def __reduce__(self) -> Any:
        return Owned, (None, self.name)  # what a worker has is no owner


def alone(job: Callable[..., Any], group: Any, *args: Any) -> Any:
    """Run a job in one thread: Dask has others for the other tasks."""
    with threads.own_threads(1):
        return job(group, *args)


def parts_of(length: int, most: int, whole: int = 1) -> list[Part]:
    """Return parts of about equal length, ``most`` at most, multiples of ``whole`` if that is possible.

    >>> parts_of(10, 4), parts_of(12, 5, 4)
    ([(0, 3), (3, 6), (6, 10)], [(0, 4), (4, 8), (8, 12)])
    """
    most = max(1, most)
    unit = whole if whole <= most and length % whole == 0 else 1
    units = length // unit
    many = min(units, math.ceil(units / max(1, most // unit)))
    return [(unit * (units * i // many), unit * (units * (i + 1) // many)) for i in range(many)]


def chunk_size() -> int:
    """Return how many bytes a chunk may have where tasks are computed now."""
    most, memory = _bytes("array.chunk-size") or 1 << 27, scheduler()[2]
    return most if memory is None else max(1, min(most, memory // SHARE))


def gently(array: Any) -> dict[str, Any]:
    """Return how to compute all chunks of a Dask array: one at a time where they are larger than a task of this process may hold."""
    largest = math.prod(max(sizes) for sizes in array.chunks) * array.dtype.itemsize
    client, _, memory = scheduler()
    return {"scheduler": "sync"} if client is None and memory is not None and largest > chunk_size() else {}


def scheduler() -> tuple[Any, int, int | None]:
    """Return the client of a cluster or None, how many tasks run at a time, and the bytes for the data of each; None: no limit."""
    base, config = need("dask.base", "dask", "working on Dask arrays"), need("dask", "dask", "").config
    get = base.get_scheduler()
    client = getattr(get, "__self__", None)
    limit = _bytes("qrank.memory")
    if client is not None and hasattr(client, "scheduler_info"):
        try:
            workers = client.scheduler_info(n_workers=-1)["workers"].values()
        except TypeError:  # older versions tell of all
            workers = client.scheduler_info()["workers"].values()
        if not workers:
            raise InputError("the cluster has no workers")
        limits = ([n for n in (one["memory_limit"], limit) if n] for one in workers)
        own = [_left(min(some), one["nthreads"]) for some, one in zip(limits, workers, strict=True) if some]
        return client, sum(one["nthreads"] for one in workers), min(own, default=None)
    if get is not None and getattr(get, "__module__", "") == "dask.local":
        return None, 1, limit and _left(limit, 1)
    slots = config.get("num_workers", None) or need("dask.system", "dask", "").CPU_COUNT  # as many as Dask itself takes
    return None, slots, limit and _left(limit, slots)


def _left(limit: int, tasks: int) -> int:
    """Return what is left to each task of a process that may take so many bytes."""
    if limit < LIBRARIES + LEAST:
        raise InputError(
            f"{limit / 1e6:.3g} MB of memory are too few: a process takes about {LIBRARIES / 1e6:.0f} MB before it has any data;"
            f" give it {(LIBRARIES + LEAST) / 1e6:.0f} MB or more"
        )
    return (limit - LIBRARIES) // tasks


def _processes() -> bool:
    get = need("dask.base", "dask", "").get_scheduler()
    return getattr(get, "__module__", "") == "dask.multiprocessing"


def _bytes(name: str) -> int | None:
    """Return a number of bytes of Dask's configuration."""
    given = need("dask", "dask", "").config.get(name, None)
    if given is None:
        return None
    try:
        return int(need("dask.utils", "dask", "").parse_bytes(given))
    except ValueError:
        raise InputError(f"{name} must be a number of bytes, such as 2GB, not {given!r}") from None


def _folder(client: Any) -> str:
    """Return a new folder for chunks, after a look whether all workers see it."""
    place = need("dask", "dask", "").config.get("qrank.scratch", None)
    try:
        clear(Path(place or tempfile.gettempdir()))
        folder = tempfile.mkdtemp(prefix="qrank-", dir=place)
        own(Path(folder))
        token = Path(folder, "seen")
        token.write_text(uuid.uuid4().hex)
    except OSError as error:
        where = place or tempfile.gettempdir()
        raise FileError(f"chunks cannot be kept in {where}: {error.strerror or error}; name another folder") from error
    if client is not None:
        seen = client.run(_read, str(token))
        blind = [worker for worker, found in seen.items() if found != token.read_text()]
        if blind:
            shutil.rmtree(folder, ignore_errors=True)
            raise InputError(
                f"the worker {blind[0]} does not see the folder {os.path.dirname(folder)}: name one that all workers see"
                " (--scratch, or qrank.scratch in Dask's configuration)"
            )
    return folder


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text()
    except OSError:
        return None
