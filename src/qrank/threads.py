"""Both cores for work that BLAS would leave to one.

A product of large matrices is threaded inside BLAS. The decompositions of many small slices, and element-wise passes
over large arrays, are not: they are cut into pieces here, each piece run by one thread with BLAS held to one thread.
NumPy and LAPACK release the interpreter's lock, so the threads really run side by side. A piece is computed in the
same way whichever thread takes it, so results do not depend on their number.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import numpy as np
import scipy.linalg.lapack  # noqa: F401  SciPy brings its own BLAS: loaded before the controller looks
from threadpoolctl import ThreadpoolController


class Workspace:
    """Arrays that are used again and again: allocating them anew would cost a page fault for every 4 KB."""

    def __init__(self) -> None:
        self._buffers: dict[str, np.ndarray] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return an uninitialised array; a call with the same name gives the same memory.

        >>> work = Workspace()
        >>> work.array("g", (2, 3), np.dtype(float)).shape
        (2, 3)
        """
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size or buffer.dtype != dtype:
            buffer = self._buffers[name] = np.empty(size, dtype)
        return buffer[:size].reshape(shape)


_local = threading.local()


def scratch(name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an uninitialised array of this thread's own; the next call with the same name overwrites it.

    >>> scratch("a", (2, 2), np.dtype(float)).shape
    (2, 2)
    """
    if not hasattr(_local, "workspace"):
        _local.workspace = Workspace()
    return _local.workspace.array(name, shape, np.dtype(dtype))


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="qrank")


def count() -> int:
    """Return the number of threads to use: as many as the caller lets BLAS have.

    >>> count() >= 1
    True
    """
    return max((lib.num_threads for lib in _controller().lib_controllers if lib.user_api == "blas"), default=1)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread inside the block, and leave it afterwards as it was."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def each(work: Callable[[slice], object], length: int, piece: int) -> list:
    """Call ``work(slice)`` on consecutive pieces of ``range(length)`` in threads; return the results in order.

    >>> each(lambda s: sum(range(s.start, s.stop)), 10, 4)
    [6, 22, 17]
    """
    pieces = [slice(start, min(start + piece, length)) for start in range(0, length, piece)]
    workers = min(count(), len(pieces))
    with one_blas_thread():
        if workers <= 1:
            return [work(s) for s in pieces]
        return list(_pool(workers).map(work, pieces))


def flat(x: np.ndarray) -> np.ndarray:
    """Return a one-dimensional view of a contiguous array.

    >>> flat(np.zeros((2, 3))).shape
    (6,)
    """
    assert x.flags.c_contiguous
    return x.reshape(-1)
