"""Both cores for work that BLAS would leave to one.

The decompositions of many small slices, and element-wise passes over large arrays, are cut into pieces here, each piece
run by one thread with BLAS held to one thread. BLAS's own threads would do for the products of large matrices between
them, but they wait for more work by spinning, for tens of milliseconds after each product, on the cores that the pieces
need. So products are shared out here, too, and only a large eigendecomposition gets BLAS's threads
(`blas_threads`). NumPy and LAPACK release the interpreter's lock, so the threads really run side by side. A piece
is computed in the same way whichever thread takes it, so results do not depend on their number.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import Any

import scipy.linalg.lapack  # noqa: F401  SciPy brings its own BLAS: loaded before the controller looks
from threadpoolctl import ThreadpoolController


@cache
def _blas() -> list[Any]:
    """Return the BLAS libraries of this process: NumPy's and SciPy's."""
    return [lib for lib in ThreadpoolController().lib_controllers if lib.user_api == "blas"]


_workers: ContextVar[int | None] = ContextVar("workers", default=None)


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    # A piece shares nothing out again: threads that wait for each other would wait for ever.
    return ThreadPoolExecutor(workers, "qrank", initializer=lambda: _workers.set(1))


class _Limits:
    """How many threads BLAS has, while several threads of the process want something of it.

    For most builds that is one number for the whole process: the one who wants least is obeyed, and when the last has left,
    BLAS has what it had before the first came. Builds on OpenMP have a number for each thread that calls them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted: dict[int, list[int]] = {}  # by thread; what a block within a block wants comes last
        self._before: list[int] = []
        self._own = threading.local()

    def most(self) -> int:
        """Return how many threads BLAS has outside all blocks."""
        with self._lock:
            shared = self._before if self._wanted else _numbers(_shared())
            outer = getattr(self._own, "before", None)
            return max(shared + (outer[0] if outer else _numbers(_per_thread())), default=1)

    def enter(self, number: int) -> None:
        """Begin a block of this thread in which BLAS has so many threads."""
        if not hasattr(self._own, "before"):
            self._own.before = []
        self._own.before.append(_numbers(_per_thread()))
        _set(_per_thread(), [number] * len(_per_thread()))
        with self._lock:
            if not self._wanted:
                self._before = _numbers(_shared())
            self._wanted.setdefault(threading.get_ident(), []).append(number)
            self._apply()

    def leave(self) -> None:
        """End this thread's last block."""
        with self._lock:
            own = threading.get_ident()
            self._wanted[own].pop()
            if not self._wanted[own]:
                del self._wanted[own]
            self._apply()
        _set(_per_thread(), self._own.before.pop())

    def _apply(self) -> None:
        least = min((numbers[-1] for numbers in self._wanted.values()), default=None)
        _set(_shared(), self._before if least is None else [least] * len(self._before))


def _shared() -> list[Any]:
    return [lib for lib in _blas() if getattr(lib, "threading_layer", "") != "openmp"]


def _per_thread() -> list[Any]:
    return [lib for lib in _blas() if getattr(lib, "threading_layer", "") == "openmp"]


def _numbers(libs: list[Any]) -> list[int]:
    return [lib.num_threads for lib in libs]


def _set(libs: list[Any], numbers: list[int]) -> None:
    for lib, number in zip(libs, numbers, strict=True):
        if lib.num_threads != number:
            lib.set_num_threads(number)
            # With new versions of threadpoolctl, who has set the number keeps others from it until this is called.
            getattr(lib, "clear_controlling_thread", int)()


_limits = _Limits()


def count() -> int:
    """Return the number of threads to use: as many as the caller lets BLAS have.

    >>> count() >= 1
    True
    """
    workers = _workers.get()
    return _limits.most() if workers is None else workers


@contextmanager
def blas_threads(number: int) -> Iterator[None]:
    """Give BLAS so many threads inside the block, fewer where another thread wants fewer; afterwards it is as it was."""
    _limits.enter(number)
    try:
        yield
    finally:
        _limits.leave()


@contextmanager
def own_threads(workers: int | None = None) -> Iterator[None]:
    """Hold BLAS to one thread inside the block and share work out in as many threads as BLAS had, or as are given."""
    token = _workers.set(workers or count())
    try:
        with blas_threads(1):
            yield
    finally:
        _workers.reset(token)


def each(work: Callable[[slice], object], length: int, piece: int) -> list:
    """Call ``work(slice)`` on consecutive pieces of ``range(length)`` in threads; return the results in order.

    >>> each(lambda s: sum(range(s.start, s.stop)), 10, 4)
    [6, 22, 17]
    """
    pieces = [slice(start, min(start + piece, length)) for start in range(0, length, piece)]
    workers = min(count(), len(pieces))
    with blas_threads(1) if _workers.get() is None else nullcontext():
        if workers <= 1:
            return [work(s) for s in pieces]
        return list(_pool(workers).map(work, pieces))
