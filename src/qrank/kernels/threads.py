"""Both cores for work that BLAS would leave to one.

The decompositions of many small slices, and element-wise passes over large arrays, are cut into pieces here, each piece
run by one thread with BLAS held to one thread. BLAS's own threads would do for the products of large matrices between
them, but they wait for more work by spinning, for tens of milliseconds after each product, on the cores that the pieces
need. So products are shared out here, too, and only a large eigendecomposition gets BLAS's threads
(`all_blas_threads`). NumPy and LAPACK release the interpreter's lock, so the threads really run side by side. A piece
is computed in the same way whichever thread takes it, so results do not depend on their number.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache

import numpy as np
import scipy.linalg.lapack  # noqa: F401  SciPy brings its own BLAS: loaded before the controller looks
from threadpoolctl import ThreadpoolController

PIECE = 1 << 15  # numbers of each array in a piece of `sums`: a handful of arrays stay in the second-level cache


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

    def lend(self, name: str, array: np.ndarray) -> None:
        """Use a C-contiguous array that is not needed any more for what is called so from now on."""
        self._buffers[name] = flat(array)


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


_workers: ContextVar[int | None] = ContextVar("workers", default=None)


def count() -> int:
    """Return the number of threads to use: as many as the caller lets BLAS have.

    >>> count() >= 1
    True
    """
    workers = _workers.get()
    if workers is not None:
        return workers
    return max((lib.num_threads for lib in _controller().lib_controllers if lib.user_api == "blas"), default=1)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread inside the block, and leave it afterwards as it was."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@contextmanager
def own_threads(workers: int | None = None) -> Iterator[None]:
    """Hold BLAS to one thread inside the block and share work out in as many threads as BLAS had, or as are given."""
    token = _workers.set(workers or count())
    try:
        with one_blas_thread():
            yield
    finally:
        _workers.reset(token)


@contextmanager
def all_blas_threads() -> Iterator[None]:
    """Give BLAS its threads back inside the block."""
    with _controller().limit(limits=count(), user_api="blas"):
        yield


def matmul(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return the product of two matrices, its columns shared out.

    >>> matmul(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))[1]
    array([3., 4.])
    """
    out = np.empty((a.shape[0], b.shape[1]), np.result_type(a, b)) if out is None else out
    a = a if a.flags.c_contiguous or a.flags.f_contiguous else np.ascontiguousarray(a)
    each(lambda s: np.matmul(a, b[:, s], out=out[:, s]), b.shape[1], -(-b.shape[1] // count()))
    return out


def gram(a: np.ndarray, out: np.ndarray | None = None, spare: np.ndarray | None = None) -> np.ndarray:
    """Return A A^T, the sum over A's columns shared out; ``spare`` is memory that may be used for what is to be added.

    >>> gram(np.array([[1.0, 2.0]]))
    array([[5.]])
    """
    n, length = a.shape
    piece = -(-length // count())
    many = -(-length // piece)
    total = np.empty((n, n), a.dtype) if out is None else out
    size = (many - 1) * n * n
    rest = np.empty(size, a.dtype) if spare is None or spare.size < size else spare[:size]
    parts = [total, *rest.reshape(many - 1, n, n)]
    each(lambda s: np.matmul(a[:, s], a[:, s].T, out=parts[s.start // piece]), length, piece)
    for part in parts[1:]:
        total += part
    return total


def each(work: Callable[[slice], object], length: int, piece: int) -> list:
    """Call ``work(slice)`` on consecutive pieces of ``range(length)`` in threads; return the results in order.

    >>> each(lambda s: sum(range(s.start, s.stop)), 10, 4)
    [6, 22, 17]
    """
    pieces = [slice(start, min(start + piece, length)) for start in range(0, length, piece)]
    workers = min(count(), len(pieces))
    with one_blas_thread() if _workers.get() is None else nullcontext():
        if workers <= 1:
            return [work(s) for s in pieces]
        return list(_pool(workers).map(work, pieces))


def sums(work: Callable[..., tuple[float, ...]], *arrays: np.ndarray) -> list[float]:
    """Call work on matching pieces of C-contiguous arrays of one size, in threads; return the sums of what it returns.

    >>> sums(lambda a, b: (float(a @ b), float(a @ a)), np.ones((2, 3)), np.full((2, 3), 2.0))
    [12.0, 6.0]
    """
    whole = [flat(a) for a in arrays]
    parts = each(lambda s: work(*(a[s] for a in whole)), whole[0].size, PIECE)
    return [math.fsum(numbers) for numbers in zip(*parts, strict=True)]


def flat(x: np.ndarray) -> np.ndarray:
    """Return a one-dimensional view of a contiguous array.

    >>> flat(np.zeros((2, 3))).shape
    (6,)
    """
    assert x.flags.c_contiguous
    return x.reshape(-1)
