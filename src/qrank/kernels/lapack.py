"""Symmetric eigendecompositions straight from LAPACK: only the vectors that are wanted, without the interpreter's lock.

What is shrunk keeps few of its singular values, and which ones is known as soon as the eigenvalues are. So the three
stages of LAPACK's divide and conquer are called one by one: K = H S H^T with S tridiagonal (``sytrd``), S = Z diag(w) Z^T
(``stedc``), and H Z (``ormtr``) for the wanted columns of Z only. Of a complex K, S and Z are real.

SciPy publishes the C functions (`scipy.linalg.cython_lapack`); its own wrappers keep the lock, so that threads could not
work side by side. ctypes calls them and releases the lock meanwhile.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import scipy.linalg.cython_blas
import scipy.linalg.cython_lapack

from .threads import scratch

_PREFIX = {"f": ("ssy", "s", "sor"), "d": ("dsy", "d", "dor"), "F": ("che", "s", "cun"), "D": ("zhe", "d", "zun")}
SMALL = 64  # sides below this take one call of LAPACK's driver (``syevd``): three calls would cost more than they spare
BLOCK = 64  # at least LAPACK's own block size: rows of workspace for it


@cache
def routine(name: str, arguments: int):
    """Return a C function of BLAS or LAPACK that takes so many pointers; calling it releases the interpreter's lock."""
    published: dict[str, Any] = scipy.linalg.cython_blas.__pyx_capi__ | scipy.linalg.cython_lapack.__pyx_capi__
    capsule = published[name]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(pointer(capsule, name_of(capsule)))


def space_needed(n: int) -> int:
    """Return how many real numbers `eigh` of one real n x n matrix can use of its ``space``.

    >>> space_needed(100)
    20560
    """
    return n * n + work_size(n)


def work_size(n: int) -> int:
    """Return how many numbers the stages of one decomposition work in."""
    return max(1 + 4 * n + n * n, BLOCK * n + 65 * BLOCK)


def eigh(
    k: np.ndarray, above: float = -np.inf, least: int = 0, space: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Decompose each Hermitian matrix of a stack (m, n, n), C-contiguous and overwritten: K = B^H diag(w) B.

    Returns w (m, n), ascending, and the last rows of B, (m, kept, n), one for each eigenvalue greater than ``above``
    (as many as the matrix that has most of them needs, and ``least`` at least): conjugated eigenvectors, in memory that
    the thread's next call overwrites. (LAPACK reads the row-major K as its conjugate and writes eigenvectors as
    columns, which are rows again for us.) ``space`` is memory to work in, of `space_needed` real numbers; B then lies
    at its beginning.

    >>> w, b = eigh(np.array([[[2.0, 1.0], [1.0, 2.0]]]), above=2.0)
    >>> w.round(12), bool(np.allclose(np.abs(b[0]), 0.5**0.5))
    (array([[1., 3.]]), True)
    """
    assert k.flags.c_contiguous
    m, n, _ = k.shape
    if n < SMALL:
        w = _whole(k)
        kept = max(least, int((w > above).sum(axis=1).max(initial=0)))
        return w, k[:, n - kept :]
    hermitian, real, orthogonal = _PREFIX[k.dtype.char]
    reduce, divide = routine(hermitian + "trd", 10), routine(real + "stedc", 11)
    dtype = k.dtype.type(0).real.dtype
    w = np.empty((m, n), dtype)
    tau = scratch("lapack tau", (m, n), k.dtype)
    off = scratch("lapack off-diagonal", (n,), dtype)
    integers = scratch("lapack integers", (3 + 5 * n,), np.dtype(np.intc))
    if space is not None and m == 1 and k.dtype == space.dtype and space.size >= space_needed(n):
        z, work = space[: n * n].reshape(1, n, n), space[n * n : n * n + work_size(n)]
    else:
        z, work = scratch("lapack z", (m, n, n), dtype), scratch("lapack work", (work_size(n),), k.dtype)
    size, length, integer_length, status = (ctypes.c_int(v) for v in (n, len(work), len(integers), 0))
    lower, compute = ctypes.c_char(b"L"), ctypes.c_char(b"I")
    at_size, at_length, at_status = ctypes.addressof(size), ctypes.addressof(length), ctypes.addressof(status)
    at_lower, at_compute = ctypes.addressof(lower), ctypes.addressof(compute)
    at_work, at_integers, at_off = work.ctypes.data, integers.ctypes.data, off.ctypes.data
    for i in range(m):
        at_k, at_w, at_tau, at_z = (a.ctypes.data + i * a.strides[0] for a in (k, w, tau, z))
        reduce(at_lower, at_size, at_k, at_size, at_w, at_off, at_tau, at_work, at_length, at_status)
        if not (np.isfinite(w[i]).all() and np.isfinite(off[: n - 1]).all()):
            raise np.linalg.LinAlgError("the matrix is not finite")
        more = at_integers, ctypes.addressof(integer_length), at_status
        divide(at_compute, at_size, at_w, at_off, at_z, at_size, at_work, at_length, *more)
        if status.value:
            raise np.linalg.LinAlgError("the eigendecomposition did not converge")
    kept = max(least, int((w > above).sum(axis=1).max(initial=0)))
    b = z[:, n - kept :]
    if np.iscomplexobj(k):
        b = scratch("lapack vectors", (m, kept, n), k.dtype)
        b[...] = z[:, n - kept :]
    if kept:
        turn, columns = routine(orthogonal + "mtr", 13), ctypes.c_int(kept)
        left, plain = ctypes.c_char(b"L"), ctypes.c_char(b"N")
        head = ctypes.addressof(left), at_lower, ctypes.addressof(plain), at_size, ctypes.addressof(columns)
        for i in range(m):
            at_k, at_tau, at_b = (a.ctypes.data + i * a.strides[0] for a in (k, tau, b))
            turn(*head, at_k, at_size, at_tau, at_b, at_size, at_work, at_length, at_status)
    return w, b


def _whole(k: np.ndarray) -> np.ndarray:
    """Put all eigenvectors of each matrix of a stack, as rows, in its place; return the eigenvalues."""
    m, n, _ = k.shape
    driver = routine(_PREFIX[k.dtype.char][0] + "evd", 13 if np.iscomplexobj(k) else 11)
    w = np.empty((m, n), k.dtype.type(0).real.dtype)
    # The least sizes that LAPACK asks for; the last one also lets the reduction to tridiagonal form work in blocks.
    integers = scratch("lapack integers", (3 + 5 * n,), np.dtype(np.intc))
    reals = scratch("lapack reals", (max(1 + 6 * n + 2 * n * n, 66 * n),), w.dtype)
    spaces = [reals, integers]
    if np.iscomplexobj(k):
        spaces.insert(0, scratch("lapack complexes", (max(2 * n + n * n, 66 * n),), k.dtype))
    lengths = [ctypes.c_int(len(space)) for space in spaces]
    size, status, vectors, lower = ctypes.c_int(n), ctypes.c_int(0), ctypes.c_char(b"V"), ctypes.c_char(b"L")
    spare = [
        at
        for space, length in zip(spaces, lengths, strict=True)
        for at in (space.ctypes.data, ctypes.addressof(length))
    ]
    head = ctypes.addressof(vectors), ctypes.addressof(lower), ctypes.addressof(size)
    at_k, at_w, at_status = k.ctypes.data, w.ctypes.data, ctypes.addressof(status)
    for i in range(m):
        driver(*head, at_k + i * k.strides[0], head[2], at_w + i * w.strides[0], *spare, at_status)
        if status.value:
            raise np.linalg.LinAlgError("the eigendecomposition did not converge")
    if not np.isfinite(w).all():
        raise np.linalg.LinAlgError("the matrix is not finite")
    return w
