"""PCA along the third mode: the principal directions of a mode-3 unfolding, from the Gram matrix of its shorter side.

T_(3) = U diag(s) V^T. Where T_(3) is tall, T_(3)^T T_(3) = V diag(s^2) V^T gives V; where it is wide, T_(3) T_(3)^T gives U,
and V = T_(3)^T U / s. Squaring loses what is small beside s_1, so what matters there is taken from T itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..errors import InputError
from ..tensor import Layout
from . import lapack, threads
from .threads import Workspace

SMALL = 256  # rows of a Gram matrix below which threads inside LAPACK gain nothing


def pca(x: np.ndarray, r: int | None = None, slice_axes: tuple[int, int] = (0, 1)) -> np.ndarray:
    """Return PCA(X, 3, r): the first r right singular vectors of X_(3), shape (n3, r); r = min(n1 n2, n3) by default.

    It minimises ||X_(3) Q||_{2,1} over column-orthonormal Q with X_(3) Q Q^T = X_(3) (Theorem 2).

    >>> pca(np.random.default_rng(0).standard_normal((4, 5, 6)), 3).shape
    (6, 3)
    """
    layout = Layout.of(np.shape(x), slice_axes)
    r = check_r(r, layout)
    flat = layout.stack(np.asarray(x, dtype=float)).reshape(layout.n3, -1)
    return np.linalg.svd(flat, full_matrices=False)[0][:, :r]


def check_r(r: int | None, layout: Layout) -> int:
    """Return the number of columns of Q, or say which numbers can be.

    >>> check_r(None, Layout.of((4, 5, 60), (0, 1)))
    20
    """
    n1, n2 = layout.slice_shape
    most = min(n1 * n2, layout.n3)
    if r is None:
        return most
    if not 1 <= r <= most or int(r) != r:
        raise InputError(f"r must be a whole number from 1 to min(n1 n2, n3) = {most}, not {r}")
    return int(r)


def eigh(gram: np.ndarray, above: float = -np.inf, space: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the square roots of a Gram matrix's eigenvalues, descending, and eigenvectors as rows.

    There is an eigenvector for every eigenvalue greater than ``above``, and one at least. The Gram matrix is overwritten
    by them. ``space`` is memory that may be worked in.

    >>> eigh(np.diag([4.0, 1.0]), above=2.0)[0]
    array([2., 1.])
    """
    n = len(gram)
    if n < SMALL:  # BLAS's threads would gain nothing, and workspace is at hand
        w, b = lapack.eigh(gram[None], above, 1)
    else:
        if space is None or space.size < lapack.space_needed(n):
            space = np.empty(lapack.space_needed(n), gram.dtype)
        with threads.all_blas_threads():
            w, b = lapack.eigh(gram[None], above, 1, space)
    rows = gram[: b.shape[1]]
    rows[...] = b[0, ::-1]
    return np.sqrt(np.maximum(w[0, ::-1], 0)), rows


def principal(
    t: np.ndarray, r: int, out: np.ndarray | None = None, work: Workspace | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return V = PCA(T, 3, r), (n3, r), for a stack T, and the r largest singular values of T_(3).

    Where V is as large as T it is made in ``out``, if given.

    >>> v, s = principal(np.arange(24.0).reshape(2, 3, 4), 2)
    >>> v.shape, s.round(3)
    ((2, 2), array([65.315,  7.611]))
    """
    n3, n1, n2 = t.shape
    flat = t.reshape(n3, n1 * n2)
    if n3 <= n1 * n2:
        s, rows = eigh(threads.gram(flat))
        return rows[:r].T, s[:r]
    out = np.empty((n3, r), t.dtype) if out is None else threads.flat(out)[: n3 * r].reshape(n3, r)
    idle = out.reshape(-1)
    if t.dtype.itemsize < 8:
        rows = eigh(double_gram(flat.T))[1].astype(t.dtype)
    else:
        square = (work or Workspace()).array("gram", (n1 * n2, n1 * n2), t.dtype)
        rows = eigh(threads.gram(flat.T, square, idle), space=idle)[1]
    q, s = directions(flat, rows[:r].T, out)
    # The columns of T_(3)^T U are at right angles but for rounding, where T has any size in their direction. Where it has
    # none they are made so: which ones they are does not matter.
    sure = int(np.count_nonzero(s > (2e-5 if t.dtype.itemsize < 8 else 3e-6) * s[0]))
    first, rest = q[:, :sure], q[:, sure:]
    fine = _mended(first)
    for _ in range(2 if sure < r else 0):  # twice is enough (Kahan)
        _without(first, rest)
        rest /= np.maximum(np.sqrt(np.einsum("ij,ij->j", rest, rest)), np.finfo(q.dtype).tiny)
        fine = fine and _mended(rest)
    return (q if fine else np.linalg.qr(q)[0]), s


def _without(first: np.ndarray, rest: np.ndarray) -> None:
    """Take from each column of ``rest`` its part in the span of ``first``, whose columns are orthonormal."""
    inner = first.T @ rest

    def work(s: slice) -> None:
        rest[s] -= first[s] @ inner

    threads.each(work, len(rest), 256)


def _mended(q: np.ndarray) -> bool:
    """Make columns that are nearly orthonormal so, in place, by Cholesky QR; return whether it could be done."""
    factor, failed = _lapack(q.dtype, "potrf")((q.T @ q).T, lower=True, overwrite_a=True)
    if failed:
        return False
    mend, failed = _lapack(q.dtype, "trtri")(factor, lower=True, overwrite_c=True)
    if failed:
        return False

    def work(s: slice) -> None:
        q[s] = q[s] @ mend.T

    threads.each(work, len(q), 256)
    return True


def _lapack(dtype: np.dtype, name: str) -> Any:
    return scipy.linalg.get_lapack_funcs(name, dtype=dtype)


def under_principal(t: np.ndarray, r: int) -> np.ndarray:
    """Return T x_3 V, V = PCA(T, 3, r)."""
    n3, n1, n2 = t.shape
    flat = t.reshape(n3, n1 * n2)
    if n3 <= n1 * n2:
        return threads.matmul(principal(t, r)[0].T, flat).reshape(-1, n1, n2)
    s, rows = eigh(threads.gram(flat.T))  # T_(3) = U diag(s) V^T
    return (rows[:r] * s[:r, None]).reshape(-1, n1, n2)


def double_gram(a: np.ndarray) -> np.ndarray:
    """Return A A^T of a matrix in single precision, in double: squaring there loses what is 3e-4 below the largest."""

    def work(s: slice) -> np.ndarray:
        total = np.zeros((len(a), len(a)))
        for start in range(s.start, s.stop, 512):
            part = a[:, start : min(start + 512, s.stop)].astype(np.float64)
            total += part @ part.T
        return total

    parts = threads.each(work, a.shape[1], -(-a.shape[1] // threads.count()))
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def directions(flat: np.ndarray, u: np.ndarray, out: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of T_(3)^T U at unit length, and their lengths: those are true singular values of T_(3) also
    where squaring has lost them.
    """
    q = threads.matmul(flat, u, out=out)
    s = np.maximum(np.sqrt(np.einsum("ij,ij->j", q, q)), np.finfo(q.dtype).tiny)
    q /= s
    return q, s


def norms(flat: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return the lengths that `directions` does, without keeping the directions."""

    def work(rows: slice) -> np.ndarray:
        part = flat[rows] @ u
        return np.einsum("ij,ij->j", part, part)

    squares = np.sum(threads.each(work, len(flat), 256), axis=0)
    return np.maximum(np.sqrt(squares), np.finfo(flat.dtype).tiny)
