"""Principal directions of the third mode of a stack in memory, from the Gram matrix of the shorter side of T_(3).

T_(3) = U diag(s) V^T. Where T_(3) is tall, T_(3)^T T_(3) = V diag(s^2) V^T gives V; where it is wide, T_(3) T_(3)^T gives U,
and V = T_(3)^T U / s. Squaring loses what is small beside s_1, so what matters there is taken from T itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from . import threads
from .lapack import BLOCK, eigh_above, space_needed
from .memory import Workspace
from .products import double_gram, gram, matmul, product
from .spectral import gram_safe, tells

THREADED = 256  # rows of a Gram matrix from which on threads inside LAPACK gain something


def eigenpairs(
    square: np.ndarray, above: float = -np.inf, space: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the square roots of the eigenvalues of a Gram matrix greater than ``above``, descending, one at least.

    With them come the eigenvectors, as rows, which overwrite the Gram matrix. ``space`` is memory that may be worked in.

    >>> eigenpairs(np.diag([4.0, 1.0]), above=2.0)[0]
    array([2.])
    """
    n = len(square)
    if space is None or space.size < space_needed(n):
        space = np.empty(space_needed(n), square.dtype)
    with threads.blas_threads(threads.count() if n >= THREADED else 1):
        w, b = eigh_above(square, above, 1, space)
    rows = square[: len(b)]
    rows[...] = b[::-1]
    return np.sqrt(np.maximum(w[::-1], 0)), rows


def short_side(t: np.ndarray, lam: float, r: int, work: Workspace) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return the singular vectors of the shorter side of T_(3) above lam, as rows, r at most, and the singular values.

    What is small beside s_1 drowns in the Gram matrix. Then (``sure`` is False) all of its eigenvectors are given: they are
    orthonormal, which is all that G = T x_3 Q asks of a tall T_(3). Of a wide one s is needed, too, and taken from T_(3)
    itself. T = G x_3 Q^T holds for any orthonormal U, and X differs from it by lam at most in each direction, so that the
    mixture of directions that the Gram matrix cannot tell apart matters less and less as lam falls.
    """
    n3, n1, n2 = t.shape
    flat, wide, short = t.reshape(n3, n1 * n2), n1 * n2 <= n3, min(n3, n1 * n2)
    a = flat.T if wide else flat
    room = max(space_needed(short), (threads.count() - 1) * short**2)
    space = work.array("spare", (min(t.size, room),), t.dtype)  # idle until G is made
    square = gram(a, work.array("gram", (short, short), t.dtype), space)
    rows, s, sure = pairs(square, lam, r, space)
    if wide and not sure and (lost := drowned(s)).any():
        s[lost] = lengths(flat, rows[lost].T)
    return rows, s, sure


def pairs(
    square: np.ndarray, lam: float, r: int, space: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return what `short_side` does, of a Gram matrix, which is overwritten."""
    sure = tells(float(np.trace(square)), lam, square.dtype)
    s, rows = eigenpairs(square, lam * lam if sure else -np.inf, space)
    return rows[:r], s[:r], sure


def drowned(s: np.ndarray) -> np.ndarray:
    """Return which singular values a Gram matrix cannot tell."""
    return s < gram_safe(s.dtype) * s[0]


def under_left(rows: np.ndarray, s: np.ndarray, t: np.ndarray, work: Workspace) -> np.ndarray:
    """Return T x_3 Q = U diag(s), (k, n1, n2), for Q = PCA(T, 3, k) known by rows = U^T: no product is needed."""
    g = work.array("spare", rows.shape, t.dtype)
    return np.multiply(rows, s[:, None], out=g).reshape(-1, *t.shape[1:])


def from_left(
    g: np.ndarray, rows: np.ndarray, s: np.ndarray, t: np.ndarray, work: Workspace, out: np.ndarray | None = None
) -> np.ndarray:
    """Return G x_3 Q^T for Q = PCA(T, 3, k) of a wide T_(3) = U diag(s) Q^T, known by rows = U^T; G and U are overwritten.

    X_(3) = G_(3) Q^T = (G_(3) diag(1/s) U^T) T_(3), where the bracket is only (n1 n2)^2, takes half the flops of making
    Q = T_(3)^T U / s and multiplying by it, and the memory of U. Where k is small, making Q, a few rows at a time, is less.
    ``out`` may be T's own memory; without it X takes the place of G.
    """
    flat, onto = t.reshape(len(t), -1), out is not None
    n, k = flat.shape[1], len(rows)
    out = work.array("spare", t.shape, t.dtype) if out is None else out
    x = out.reshape(flat.shape)
    g /= np.maximum(s, np.finfo(s.dtype).tiny)[:, None, None]  # of s = 0 nothing is left but 0
    if 2 * k <= n:
        u, right = rows.T, g.reshape(k, -1).copy()
        threads.each(lambda some: np.matmul(flat[some] @ u, right, out=x[some]), len(flat), 256)
        return out
    # The transpose of the bracket; lies in the place of G until U is not needed
    bracket = product(rows.T, g, out=work.array("spare", (n, *g.shape[1:]), t.dtype)).reshape(n, n)
    square = work.array("gram", (n, n), t.dtype)
    square[...] = bracket
    if not onto:
        return matmul(flat, square, out=x).reshape(t.shape)
    threads.each(lambda some: np.matmul(flat[some].copy(), square, out=x[some]), len(flat), 256)
    return out


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
        s, rows = eigenpairs(gram(flat))
        return rows[:r].T, s[:r]
    out = np.empty((n3, r), t.dtype) if out is None else out.reshape(-1)[: n3 * r].reshape(n3, r)
    idle = out.reshape(-1)
    if t.dtype.itemsize < 8:
        room = idle[: len(idle) // 2 * 2].view(np.float64)
        rows = eigenpairs(double_gram(flat.T), space=room)[1].astype(t.dtype)
    else:
        square = (work or Workspace()).array("gram", (n1 * n2, n1 * n2), t.dtype)
        rows = eigenpairs(gram(flat.T, square, idle), space=idle)[1]
    q, s = directions(flat, rows[:r].T, out)
    # The columns of T_(3)^T U are at right angles but for rounding, where T has any size in their direction. Where it has
    # none they are made so: which ones they are does not matter.
    if s.min() <= (2e-5 if t.dtype.itemsize < 8 else 3e-6) * s[0] or not _mended(q):
        _orthonormal(q)
    return q, s


def _orthonormal(q: np.ndarray) -> None:
    """Make any columns orthonormal in place, each at right angles to those before it, by Householder reflections.

    LAPACK counts columns first and sees rows, of which it begins with the last: so the columns are turned round meanwhile.
    """

    def turn(a: np.ndarray) -> None:
        def work(s: slice) -> None:
            q[s] = a[s, ::-1]

        threads.each(work, len(q), 256)

    turn(q)
    upper, tau, _, _ = _lapack(q.dtype, "gerqf")(q.T, lwork=BLOCK * q.shape[1], overwrite_a=True)
    rows, _, _ = _lapack(q.dtype, "orgrq")(upper, tau, lwork=BLOCK * q.shape[1], overwrite_a=True)
    turn(rows.T)


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
        return matmul(principal(t, r)[0].T, flat).reshape(-1, n1, n2)
    s, rows = eigenpairs(gram(flat.T))  # T_(3) = U diag(s) V^T
    return (rows[:r] * s[:r, None]).reshape(-1, n1, n2)


def directions(flat: np.ndarray, u: np.ndarray, out: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of T_(3)^T U at unit length, and their lengths: those are true singular values of T_(3) also
    where squaring has lost them.
    """
    q = matmul(flat, u, out=out)
    s = np.maximum(np.sqrt(np.einsum("ij,ij->j", q, q)), np.finfo(q.dtype).tiny)
    q /= s
    return q, s


def lengths(flat: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return the lengths that `directions` does, without keeping the directions."""

    def work(rows: slice) -> np.ndarray:
        part = flat[rows] @ u
        return np.einsum("ij,ij->j", part, part)

    squares = np.sum(threads.each(work, len(flat), 256), axis=0)
    return np.maximum(np.sqrt(squares), np.finfo(flat.dtype).tiny)
