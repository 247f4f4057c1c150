"""Symmetric eigendecompositions of many small matrices, straight from LAPACK and without the interpreter's lock.

`numpy.linalg.eigh` would do, but SciPy's LAPACK is faster here, by a third in float32; and SciPy's Python wrappers keep
the lock, so that threads could not work side by side. SciPy publishes the C functions (`scipy.linalg.cython_lapack`);
ctypes calls them and releases the lock meanwhile.
"""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
import scipy.linalg.cython_lapack as published

from .threads import scratch

_ROUTINES = {"f": "ssyevd", "d": "dsyevd", "F": "cheevd", "D": "zheevd"}


@cache
def _routine(code: str):
    capsule = published.__pyx_capi__[_ROUTINES[code]]
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    arguments = 13 if code.isupper() else 11
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(pointer(capsule, name(capsule)))


def eigh(k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Decompose each Hermitian matrix of a stack (m, n, n), C-contiguous and overwritten: K = B^H diag(w) B.

    Returns w (m, n), ascending, and B (m, n, n), whose *rows* are the conjugated eigenvectors. (LAPACK reads the
    row-major K as its conjugate and writes eigenvectors as columns, which are rows again for us.)

    >>> w, b = eigh(np.array([[[2.0, 1.0], [1.0, 2.0]]]))
    >>> w.round(12), bool(np.allclose(b[0].T @ np.diag(w[0]) @ b[0], [[2, 1], [1, 2]]))
    (array([[1., 3.]]), True)
    """
    assert k.flags.c_contiguous
    m, n, _ = k.shape
    code = k.dtype.char
    routine = _routine(code)
    w = np.empty((m, n), k.dtype.type(0).real.dtype)
    size = ctypes.c_int(n)
    status = ctypes.c_int(0)
    # The least sizes that LAPACK asks for; the last one also lets the reduction to tridiagonal form work in blocks.
    integers = scratch("lapack integers", (3 + 5 * n,), np.dtype(np.intc))
    reals = scratch("lapack reals", (max(1 + 6 * n + 2 * n * n, 66 * n),), w.dtype)
    lengths = [ctypes.c_int(len(reals)), ctypes.c_int(len(integers))]
    spare = [reals.ctypes.data, ctypes.addressof(lengths[0]), integers.ctypes.data, ctypes.addressof(lengths[1])]
    if code.isupper():
        complexes = scratch("lapack complexes", (max(2 * n + n * n, 66 * n),), k.dtype)
        length = ctypes.c_int(len(complexes))
        spare = [complexes.ctypes.data, ctypes.addressof(length), *spare]
    vectors, lower = ctypes.c_char(b"V"), ctypes.c_char(b"L")
    head = ctypes.addressof(vectors), ctypes.addressof(lower), ctypes.addressof(size)
    at, at_w = k.ctypes.data, w.ctypes.data
    for i in range(m):
        routine(*head, at + i * k.strides[0], head[2], at_w + i * w.strides[0], *spare, ctypes.addressof(status))
        if status.value:
            raise np.linalg.LinAlgError("the eigendecomposition did not converge")
    return w, k
