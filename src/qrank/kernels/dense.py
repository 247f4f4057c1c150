"""What NumPy does not offer of BLAS and LAPACK: a large Gram matrix added up, its largest eigenpairs, a scaled sum.

The C functions come from `lapack.routine`. Of the stages of a decomposition, the reduction K = H S H^T to a tridiagonal S
(``sytrd``) cannot be spared; but a Sturm sequence counts the eigenvalues that are wanted (``laebz``, which is guarded
against pivots that vanish), relatively robust representations give only these, one vector at a time (``stemr``), as long
as they are few, and H is applied to these only (``ormtr``).
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .lapack import routine, work_size
from .threads import scratch

FEW = 6  # one eigenvector costs as much by itself as so many of all of them in divide and conquer


def _call(name: str, dtype: np.dtype, *arguments: bytes | int | float | np.ndarray) -> tuple[Any, ...]:
    """Call a routine of BLAS or LAPACK for real numbers of a type; return what has become of the arguments."""
    real = ctypes.c_float if dtype.char == "f" else ctypes.c_double
    kinds = {bytes: ctypes.c_char, int: ctypes.c_int, float: real}
    held = [v if isinstance(v, np.ndarray) else kinds[type(v)](v) for v in arguments]
    at = [v.ctypes.data if isinstance(v, np.ndarray) else ctypes.addressof(v) for v in held]
    routine(("s" if dtype.char == "f" else "d") + name, len(at))(*at)
    return tuple(v if isinstance(v, np.ndarray) else v.value for v in held)


def add_gram(a: np.ndarray, out: np.ndarray, first: bool) -> None:
    """Add A A^T to the upper triangle of ``out``, C-contiguous, or write it there if it is the ``first``.

    A is real, and it or its transpose has rows that are contiguous. The interpreter's lock is released meanwhile.

    >>> out = np.zeros((2, 2))
    >>> add_gram(np.array([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0]]), out, first=True)
    >>> out
    array([[ 5., 11.],
           [ 0., 26.]])
    """
    n, k = a.shape
    assert out.shape == (n, n)
    assert out.flags.c_contiguous
    assert out.dtype == a.dtype
    size = a.itemsize
    by_rows = (a.strides[1] == size or k == 1) and a.strides[0] >= k * size
    if not by_rows and not ((a.strides[0] == size or n == 1) and a.strides[1] >= n * size):
        a, by_rows = np.ascontiguousarray(a), True
    # BLAS counts columns first: it sees A's transpose if its rows are contiguous, and its lower triangle is our upper.
    lead = max(a.strides[0] if by_rows else a.strides[1], size * (k if by_rows else n)) // size
    how = b"T" if by_rows else b"N"
    _call("syrk", a.dtype, b"L", how, n, k, 1.0, a, lead, 0.0 if first else 1.0, out, n)


def axpy(alpha: float, x: np.ndarray, y: np.ndarray) -> None:
    """Add alpha x to y, both contiguous vectors of one real type: one pass where NumPy takes two.

    >>> y = np.array([1.0, 2.0])
    >>> axpy(0.5, np.array([4.0, 6.0]), y)
    >>> y
    array([3., 5.])
    """
    _call("axpy", x.dtype, len(x), float(alpha), x, 1, y, 1)


def eigh_above(k: np.ndarray, above: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues w > above of a symmetric matrix, ascending, and their eigenvectors as rows.

    Only the upper triangle of ``k``, C-contiguous, is read, and it is overwritten.

    >>> w, b = eigh_above(np.array([[2.0, 1.0], [0.0, 2.0]]), 2.0)
    >>> w.round(12), bool(np.allclose(np.abs(b), 0.5**0.5))
    (array([3.]), True)
    """
    n, dtype, above = len(k), k.dtype, float(above)
    work = scratch("dense work", (work_size(n),), dtype)
    integers = scratch("dense integers", (max(3 + 5 * n, 10 * n),), np.dtype(np.intc))
    d, e, tau = np.empty(n, dtype), np.zeros(n, dtype), np.empty(n, dtype)
    _call("sytrd", dtype, b"L", n, k, n, d, e, tau, work, len(work), 0)
    if not (np.isfinite(d).all() and np.isfinite(e).all()):
        raise np.linalg.LinAlgError("the matrix is not finite")
    count = n - _at_most(d, e, above)
    if count == 0:
        return d[:0], np.empty((0, n), dtype)
    found = _largest(d, e, count, work, integers) if count * FEW <= n else None
    if found is None:
        z = np.empty((n, n), dtype)
        failed = _call("stedc", dtype, b"I", n, d, e, z, n, work, len(work), integers, len(integers), 0)[-1]
        if failed:
            raise np.linalg.LinAlgError("the eigendecomposition did not converge")
        first = int(np.searchsorted(d, above, side="right"))
        found = d[first:], z[first:]
    w, b = found
    if len(w):
        _call("ormtr", dtype, b"L", b"L", b"N", n, len(w), k, n, tau, b, n, work, len(work), 0)
    return w, b


def _at_most(d: np.ndarray, e: np.ndarray, level: float) -> int:
    """Return how many eigenvalues of a tridiagonal matrix are not above a level."""
    squares = np.square(e)
    tiny = float(np.finfo(d.dtype).tiny) * max(1.0, float(squares.max(initial=0)))
    interval, counts, unused = np.full(2, level, d.dtype), np.zeros(2, np.intc), np.zeros(2, np.intc)
    given = 1, 0, len(d), 1, 1, 0, 0.0, 0.0, tiny, d, e, squares, unused, interval, interval.copy(), 0, counts
    _call("laebz", d.dtype, *given, interval.copy(), unused, 0)
    return int(counts[1])


def _largest(
    d: np.ndarray, e: np.ndarray, count: int, work: np.ndarray, integers: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the ``count`` >= 1 largest eigenpairs of a tridiagonal matrix; None if LAPACK cannot.

    They are asked for by number: where none lies in a range of values, ``stemr`` follows indices that it has not set.
    """
    n = len(d)
    w, z, support = np.empty(n, d.dtype), np.empty((count, n), d.dtype), np.empty(2 * n, np.intc)
    given = b"V", b"I", n, d.copy(), e.copy(), 0.0, 0.0, n - count + 1, n, 0, w, z, n, count, support, 1
    after = _call("stemr", d.dtype, *given, work, len(work), integers, len(integers), 0)
    return None if after[-1] or after[9] != count else (w[:count], z)
