"""Both cores for work that BLAS would leave to one.

The decompositions of many small slices, and element-wise passes over large arrays, are cut into pieces here, each piece
run by one thread with BLAS held to one thread. BLAS's own threads would do for the products of large matrices between
them, but they wait for more work by spinning, for tens of milliseconds after each product, on the cores that the pieces
need. So products are shared out here, too, and only a large eigendecomposition gets BLAS's threads
(`blas_threads`). NumPy and LAPACK release the interpreter's lock, so the threads really run side by side. A piece
is computed in the same way whichever thread takes it, so results do not depend on their number.
"""

from __future__ import annotations

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


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="qrank")


_workers: ContextVar[int | None] = ContextVar("workers", default=None)


def count() -> int:
    """Return the number of threads to use: as many as the caller lets BLAS have.

    >>> count() >= 1
    True
    """
    workers = _workers.get()
    if workers is not None:
        return workers
    return max((lib.num_threads for lib in _blas()), default=1)


@contextmanager
def blas_threads(number: int) -> Iterator[None]:
    """Give BLAS so many threads inside the block, and leave it afterwards as it was."""
    before = [lib.num_threads for lib in _blas()]
    try:
        for lib in _blas():
            lib.set_num_threads(number)
        yield
    finally:
        for lib, threads in zip(_blas(), before, strict=True):
            lib.set_num_threads(threads)


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
