"""What NumPy does not offer of BLAS and LAPACK: a Gram matrix added up, its largest eigenpairs, a scaled sum.

What is shrunk keeps few of its singular values, and which ones is known as soon as the eigenvalues are. So the stages of a
decomposition are called one by one: the reduction K = H S H^* to a real tridiagonal S (``sytrd``) cannot be spared; but a
Sturm sequence counts the eigenvalues that are wanted (``laebz``, which is guarded against pivots that vanish), relatively
robust representations give only these, one vector at a time (``stemr``), as long as they are few, else divide and conquer
gives all (``stedc``), and H is applied to the wanted ones only (``ormtr``).

SciPy publishes the C functions (`scipy.linalg.cython_lapack`); its own wrappers keep the interpreter's lock, so that threads
could not work side by side. ctypes calls them and releases the lock meanwhile. A capsule's name is its C signature: it is
compared with what is called here before the first call, and where a build differs (integers of 64 bits, say), NumPy does
the same, slower and right.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Any

import numpy as np
import scipy.linalg.cython_blas
import scipy.linalg.cython_lapack

from .memory import scratch

ONE_CALL = 32  # sides below this take one call of NumPy: several would cost more than they spare
FEW = 6  # one eigenvector costs as much by itself as so many of all of them in divide and conquer
BLOCK = 64  # at least LAPACK's own block size: rows of workspace for it

# What the routines take: a letter, an integer, a real number, or one of the matrix's own kind (n: real or complex).
SIGNATURES = {
    "axpy": "irriri",
    "syrk": "aaiirrirri",
    "sytrd": "ainirrnnii",
    "ormtr": "aaaiininninii",
    "stedc": "airrririiii",
    "stemr": "aairrrriiirriiiiriiii",
    "laebz": "iiiiiirrrrrrirriirii",
}
NAMED = {"sytrd": {"F": "chetrd", "D": "zhetrd"}, "ormtr": {"f": "sormtr", "d": "dormtr", "F": "cunmtr", "D": "zunmtr"}}
CTYPES = {"a": ctypes.c_char, "i": ctypes.c_int, "f": ctypes.c_float, "d": ctypes.c_double}
REAL = {"f": "f", "d": "d", "F": "f", "D": "d"}


def _kinds(signature: str) -> str:
    """Return the kinds of the arguments of a C signature, a letter each; "?" for what is not known here.

    >>> _kinds("void (char *, int *, __pyx_t_5scipy_6linalg_11cython_blas_d *, __pyx_t_float_complex *, long *)")
    'aidF?'
    """
    kinds = {"char": "a", "int": "i", "s": "f", "d": "d", "float_complex": "F", "double_complex": "D"}
    words = signature[signature.index("(") + 1 : signature.rindex(")")].split(", ")
    plain = (re.sub(r"^__pyx_t_(5scipy_6linalg_\d+cython_[a-z]+_)?", "", word.removesuffix(" *")) for word in words)
    return "".join(kinds.get(word, "?") for word in plain)


def _published() -> dict[str, Any]:
    """Return the C functions that SciPy publishes, by their names."""
    return scipy.linalg.cython_blas.__pyx_capi__ | scipy.linalg.cython_lapack.__pyx_capi__


@cache
def routine(name: str, kind: str) -> tuple[Any, str] | None:
    """Return a C function for matrices of a kind (f, d, F, D) and the kinds of its arguments; None if it is not as expected."""
    real = REAL[kind]
    full = NAMED.get(name, {}).get(kind) or {"f": "s", "d": "d"}[real] + name
    wanted = SIGNATURES[name].replace("r", real).replace("n", kind)
    capsule = _published().get(full)
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    if capsule is None or _kinds(name_of(capsule).decode()) != wanted:
        return None
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer(capsule, name_of(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(wanted))(address), wanted


@cache
def as_expected(kind: str) -> bool:
    """Return whether all routines for matrices of a kind are there and take what is given to them here."""
    return all(routine(name, kind) is not None for name in SIGNATURES)


def _call(name: str, kind: str, *arguments: bytes | int | float | np.ndarray) -> list[Any]:
    """Call a routine; return what has become of the arguments. Arrays are handed over where they lie."""
    found = routine(name, kind)
    assert found is not None
    function, kinds = found
    held = [v if isinstance(v, np.ndarray) else CTYPES[k](v) for v, k in zip(arguments, kinds, strict=True)]
    function(*(v.ctypes.data if isinstance(v, np.ndarray) else ctypes.addressof(v) for v in held))
    return held


def add_gram(a: np.ndarray, out: np.ndarray, first: bool) -> None:
    """Add A A^T to the upper triangle of ``out``, C-contiguous, or write it there if it is the ``first``.

    A is real, and it or its transpose has rows that are contiguous. The interpreter's lock is released meanwhile.

    >>> out = np.zeros((2, 2))
    >>> add_gram(np.array([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0]]), out, first=True)
    >>> np.triu(out)
    array([[ 5., 11.],
           [ 0., 26.]])
    """
    n, k = a.shape
    assert out.shape == (n, n)
    assert out.flags.c_contiguous
    assert out.dtype == a.dtype
    if not as_expected(a.dtype.char):
        out[...] = a @ a.T + (0 if first else out)
        return
    size = a.itemsize
    by_rows = (a.strides[1] == size or k == 1) and a.strides[0] >= k * size
    if not by_rows and not ((a.strides[0] == size or n == 1) and a.strides[1] >= n * size):
        a, by_rows = np.ascontiguousarray(a), True
    # BLAS counts columns first: it sees A's transpose if its rows are contiguous, and its lower triangle is our upper.
    lead = max(a.strides[0] if by_rows else a.strides[1], size * (k if by_rows else n)) // size
    how = b"T" if by_rows else b"N"
    _call("syrk", a.dtype.char, b"L", how, n, k, 1.0, a, lead, 0.0 if first else 1.0, out, n)


def axpy(alpha: float, x: np.ndarray, y: np.ndarray) -> None:
    """Add alpha x to y, both contiguous vectors of one real type: one pass where NumPy takes two.

    >>> y = np.array([1.0, 2.0])
    >>> axpy(0.5, np.array([4.0, 6.0]), y)
    >>> y
    array([3., 5.])
    """
    if as_expected(x.dtype.char):
        _call("axpy", x.dtype.char, len(x), float(alpha), x, 1, y, 1)
    else:
        y += x.dtype.type(alpha) * x


def space_needed(n: int) -> int:
    """Return how many numbers `eigh_above` of an n x n matrix can use of its ``space``.

    >>> space_needed(100)
    20560
    """
    return n * _lead(n) + _work_size(n)


def _lead(n: int) -> int:
    """Return how many numbers apart the rows of eigenvectors are kept.

    Rows a multiple of 64 numbers apart fall on few places of the cache and drive each other out: turning the eigenvectors of a matrix
    of 1024 rows back takes 1.6 times as long as with 8 numbers between them.

    >>> _lead(100), _lead(128)
    (100, 136)
    """
    return n if n % 64 else n + 8


def _work_size(n: int) -> int:
    """Return how many numbers the stages of a decomposition work in."""
    return max(1 + 4 * n + n * n, BLOCK * n + 65 * BLOCK)


def eigh_above(
    k: np.ndarray, above: float, least: int = 0, space: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues w > above of a Hermitian matrix, ascending, and their eigenvectors, conjugated, as rows.

    So K = B^H diag(w) B if all are wanted. The ``least`` largest are among them in any case. Only the upper triangle of
    ``k``, C-contiguous, is read, and it is overwritten. ``space`` is memory of k's type to work in, of `space_needed`
    numbers; then all eigenvectors are made in it, by divide and conquer: at right angles to the last digit also in single
    precision, where those that are made one by one are not.

    >>> w, b = eigh_above(np.array([[2.0, 1.0], [0.0, 2.0]]), 2.0)
    >>> w.round(12), bool(np.allclose(np.abs(b), 0.5**0.5))
    (array([3.]), True)
    """
    n, kind, above = len(k), k.dtype.char, float(above)
    if n < ONE_CALL or not as_expected(kind):
        return _by_numpy(k, above, least)
    dtype = np.dtype(REAL[kind])
    if space is None or space.size < space_needed(n) or space.dtype != k.dtype:
        z, work = None, scratch("eigh work", (_work_size(n),), k.dtype)
    else:
        square = n * _lead(n)
        z, work = space[:square].reshape(n, -1), space[square : square + _work_size(n)]
    d, e, tau = np.empty(n, dtype), np.zeros(n, dtype), np.empty(n, k.dtype)
    # LAPACK counts columns first: it reads our K as its conjugate, and writes eigenvectors as columns, our rows.
    _call("sytrd", kind, b"L", n, k, n, d, e, tau, work, len(work), 0)
    if not (np.isfinite(d).all() and np.isfinite(e).all()):
        raise np.linalg.LinAlgError("the matrix is not finite")
    count = n if above == -np.inf else max(least, n - _at_most(d, e, above))
    if count == 0:
        return d[:0], np.empty((0, n), k.dtype)
    w, b = _tridiagonal(d, e, above, count, least, z, work.view(dtype))
    b = b.astype(k.dtype, copy=False)
    if len(w):
        lead = b.strides[0] // b.itemsize
        _call("ormtr", kind, b"L", b"L", b"N", n, len(w), k, n, tau, b, lead, work, len(work), 0)
    return w, b


def _by_numpy(k: np.ndarray, above: float, least: int) -> tuple[np.ndarray, np.ndarray]:
    """Do what `eigh_above` does."""
    if not np.isfinite(k).all():
        raise np.linalg.LinAlgError("the matrix is not finite")
    w, v = np.linalg.eigh(k, UPLO="U")
    first = min(int(np.searchsorted(w, above, side="right")), len(w) - least)
    return w[first:], np.ascontiguousarray(v[:, first:].conj().T)


def _tridiagonal(
    d: np.ndarray, e: np.ndarray, above: float, count: int, least: int, z: np.ndarray | None, work: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues > above of a tridiagonal matrix, which are ``count``, and their eigenvectors as rows."""
    n, kind = len(d), d.dtype.char
    integers = scratch("eigh integers", (max(3 + 5 * n, 10 * n),), np.dtype(np.intc))
    if count * FEW <= n and z is None:
        # Asked for by number: where none lies in a range of values, ``stemr`` follows indices that it has not set.
        w, b, support = np.empty(n, d.dtype), np.empty((count, n), d.dtype), np.empty(2 * n, np.intc)
        given = b"V", b"I", n, d.copy(), e.copy(), 0.0, 0.0, n - count + 1, n, 0, w, b, n, count, support, 1
        after = _call("stemr", kind, *given, work, len(work), integers, len(integers), 0)
        if not after[-1].value and after[9].value == count:
            return w[:count], b
    z = np.empty((n, _lead(n)), d.dtype) if z is None or z.dtype != d.dtype else z
    failed = _call("stedc", kind, b"I", n, d, e, z, _lead(n), work, len(work), integers, len(integers), 0)[-1].value
    if failed:
        raise np.linalg.LinAlgError("the eigendecomposition did not converge")
    first = min(int(np.searchsorted(d, above, side="right")), n - least)
    return d[first:], z[first:, :n]


def _at_most(d: np.ndarray, e: np.ndarray, level: float) -> int:
    """Return how many eigenvalues of a tridiagonal matrix are not above a level."""
    squares = np.square(e)
    tiny = float(np.finfo(d.dtype).tiny) * max(1.0, float(squares.max(initial=0)))
    interval, counts, unused = np.full(2, level, d.dtype), np.zeros(2, np.intc), np.zeros(2, np.intc)
    given = 1, 0, len(d), 1, 1, 0, 0.0, 0.0, tiny, d, e, squares, unused, interval, interval.copy(), 0, counts
    _call("laebz", d.dtype.char, *given, interval.copy(), unused, 0)
    return int(counts[1])
