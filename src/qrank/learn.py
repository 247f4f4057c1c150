"""Who chooses Q: nobody (a fixed transform), variance maximisation (VMTQN), or descent on the manifold (MOTQN).

A learner looks at T, the argument of the prox, and returns a transform together with G = T x_3 Q, (r, n1, n2).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import scipy.linalg

from . import stiefel, threads
from .errors import InputError
from .penalties import Penalty
from .spectral import Shrunk, gram_safe, shrink
from .tensor import Layout
from .threads import Workspace
from .transforms import Matrix, Transform


class Learned(NamedTuple):
    """A transform, and what is known of T under it."""

    transform: Transform
    g: np.ndarray  # T x_3 Q; already shrunk where `shrunk` is given
    shrunk: Shrunk | None = None
    values: tuple[float, ...] = ()  # the learner's objective at its start and after every accepted step
    tau: float | None = None  # the last accepted step size


class Learner(Protocol):
    """Chooses Q for T; ``previous`` is what it returned last, None at the start."""

    def __call__(
        self, t: np.ndarray, previous: Learned | None, lam: float, penalty: Penalty, work: Workspace
    ) -> Learned:
        """Return Q and T x_3 Q."""
        ...

    def first(self, t: np.ndarray) -> np.ndarray:
        """Return T under the transform that a run starts from, whose largest singular value sets the first mu."""
        ...


@dataclass(frozen=True, eq=False)
class Keep:
    """A fixed transform is a learned one whose learner does nothing."""

    transform: Transform

    def __call__(
        self, t: np.ndarray, previous: Learned | None, lam: float, penalty: Penalty, work: Workspace
    ) -> Learned:
        """Return T under the fixed transform."""
        shape = (self.transform.r, *t.shape[1:])
        return Learned(self.transform, self.transform.forward(t, out=work.array("g", shape, t.dtype)))

    def first(self, t: np.ndarray) -> np.ndarray:
        """Return T under the fixed transform."""
        return self.transform.forward(t)


@dataclass(frozen=True, eq=False)
class Principal(Transform):
    """Q = PCA(T, 3, k) of a wide T_(3) = U diag(s) Q^T, known by its left vectors U (n1 n2, k).

    It is good for one ``backward`` while T is as it was: X_(3) = G_(3) Q^T = (G_(3) diag(1/s) U^T) T_(3), where the
    bracket is only (n1 n2)^2, takes half the flops of making Q = T_(3)^T U / s and multiplying by it.
    """

    flat: np.ndarray  # T_(3)^T, (n3, n1 n2)
    u: np.ndarray
    s: np.ndarray

    def backward(self, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return G x_3 Q^T."""
        out = np.empty((len(self.flat), *g.shape[1:]), g.dtype) if out is None else out
        bracket = threads.matmul(self.u, g.reshape(len(g), -1) / self.s[:, None])  # its transpose
        threads.matmul(self.flat, bracket, out=out.reshape(self.flat.shape))
        return out


@dataclass(frozen=True)
class MaximalVariance:
    """VMTQN, (26): Q = PCA(T, 3, r), the right singular vectors of T_(3).

    They come from the Gram matrix of the shorter side of T_(3). The singular values s_i of T_(3) are the Frobenius
    norms of the slices of T x_3 Q, and a slice with s_i <= lam is shrunk to zero, so only columns with s_i > lam are
    made. Q itself is made where it is small, is kept for later steps (``lasting``), or squaring is not safe any more.
    """

    r: int
    lasting: bool = False

    def __call__(
        self, t: np.ndarray, previous: Learned | None, lam: float, penalty: Penalty, work: Workspace
    ) -> Learned:
        """Return the principal directions of T that survive lam, and T under them."""
        n3, n1, n2 = t.shape
        flat = t.reshape(n3, n1 * n2)  # T_(3)^T
        wide = n1 * n2 <= n3
        squares, vectors = eigh(threads.gram(flat.T if wide else flat))
        s = np.sqrt(np.maximum(squares, 0))[::-1][: self.r]
        k = max(1, int(np.count_nonzero(s > lam)))
        g = work.array("g", (k, n1, n2), t.dtype)
        safe = lam >= gram_safe(t.dtype) * s[0]
        s, vectors = s[:k], vectors[:, ::-1][:, :k]
        if not wide:  # T_(3)^T T_(3) = Q diag(s^2) Q^T
            transform = Matrix(vectors)
            return Learned(transform, transform.forward(t, out=g))
        # T_(3) T_(3)^T = U diag(s^2) U^T: T x_3 Q = U diag(s) needs no product.
        if safe and not self.lasting and 2 * k > n1 * n2:
            transform = Principal(flat, vectors, s)
        else:
            q = threads.matmul(flat, vectors)
            s = np.sqrt(np.einsum("ij,ij->j", q, q))  # true also where squaring has lost the small ones
            s = np.maximum(s, np.finfo(s.dtype).tiny)
            q /= s
            transform = Matrix(q)
        np.multiply(vectors.T, s[:, None], out=g.reshape(k, n1 * n2))
        return Learned(transform, g)

    def first(self, t: np.ndarray) -> np.ndarray:
        """Return T under its own principal directions."""
        return principal(t, self.r)[1]


@dataclass(frozen=True)
class ManifoldDescent:
    """MOTQN, Algorithm 1: Cayley steps that decrease what the next X-update leaves of the augmented Lagrangian.

    For fixed T, minimising over X *and* Q is minimising over Q the Moreau envelope of the penalty,
    f(Q) = sum over slices of envelope(sigma(G), lam), G = T x_3 Q. It is smooth, with gradient
    P = T_(3)^T (G - prox(G))_(3) / lam: the prox that the X-update needs anyway.

    With r < n3 a free Q would run away into the small singular directions, so Q = V R with V = PCA(T, 3, r) and R an
    orthogonal r x r matrix, which is what is optimised. It starts from R = I, that is PCA(T, 3, r), in every update;
    ``go_on`` starts from the last Q instead wherever f is lower there, which minimises f further but completes worse:
    early on, T is mostly zeros, and the Q that fits it best is not the one that fits the data.
    """

    r: int
    steps: int
    go_on: bool = False
    printed: bool = False

    def __call__(
        self, t: np.ndarray, previous: Learned | None, lam: float, penalty: Penalty, work: Workspace
    ) -> Learned:
        """Return Q after up to ``steps`` decreasing steps, and T under it, shrunk."""
        if self.printed:
            return self._printed(t, previous, lam, penalty, work)
        v, base = principal(t, self.r)
        shape = base.shape
        flat = base.reshape(self.r, -1)

        def value(rotation: np.ndarray) -> tuple[float, tuple[np.ndarray, np.ndarray, Shrunk]]:
            g = threads.matmul(rotation.T, flat).reshape(shape)
            x = g.copy()
            shrunk = shrink(x, lam, penalty)
            return shrunk.envelope, (g, x, shrunk)

        def gradient(payload: tuple[np.ndarray, np.ndarray, Shrunk]) -> np.ndarray:
            g, x, _ = payload
            g -= x
            return threads.matmul(flat, g.reshape(self.r, -1).T) / lam

        rotation = np.eye(self.r, dtype=t.dtype)
        start = value(rotation)
        if self.go_on and previous is not None:
            last = nearest_orthogonal(v.T @ previous.transform.matrix.astype(t.dtype, copy=False))
            if (at_last := value(last))[0] < start[0]:
                rotation, start = last, at_last
        found = stiefel.descend(
            value, gradient, rotation, start, self.steps, None if previous is None else previous.tau
        )
        _, x, shrunk = found.payload
        return Learned(Matrix(v @ found.q), x, shrunk, tuple(found.values), found.tau)

    def first(self, t: np.ndarray) -> np.ndarray:
        """Return T under its own principal directions."""
        return principal(t, self.r)[1]

    def _printed(
        self, t: np.ndarray, previous: Learned | None, lam: float, penalty: Penalty, work: Workspace
    ) -> Learned:
        """Take one step of the size that the paper prints, along the gradient of the norm itself."""
        n3 = len(t)
        q = np.eye(n3, self.r, dtype=t.dtype) if previous is None else previous.transform.matrix
        g = Matrix(q).forward(t)
        x = g.copy()
        shrunk = shrink(x, 1e-3 * lam, penalty)  # (G - prox(G)) / lam is U V^T up to the values below 1e-3 lam
        p = t.reshape(n3, -1) @ (g - x).reshape(self.r, -1).T / (1e-3 * lam)
        a = stiefel.tangent(q, p)
        q = stiefel.cayley(q, a, stiefel.printed_step(q, p, a))
        learned = Keep(Matrix(q))(t, None, lam, penalty, work)
        return learned._replace(values=(shrunk.envelope,))


def eigh(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues, ascending, and eigenvectors of a Gram matrix, which is overwritten.

    >>> eigh(np.diag([2.0, 1.0]))[0]
    array([1., 2.])
    """
    with threads.all_blas_threads() if len(gram) >= 256 else contextlib.nullcontext():  # a small one gains nothing
        return scipy.linalg.eigh(gram, driver="evd", check_finite=False, overwrite_a=True)


def principal(t: np.ndarray, r: int) -> tuple[np.ndarray, np.ndarray]:
    """Return V = PCA(T, 3, r), (n3, r), and T x_3 V, (r, n1, n2), for a stack T.

    >>> v, g = principal(np.arange(24.0).reshape(2, 3, 4), 2)
    >>> v.shape, g.shape
    ((2, 2), (2, 3, 4))
    """
    n3, n1, n2 = t.shape
    flat = t.reshape(n3, n1 * n2)
    if n3 <= n1 * n2:
        v = eigh(threads.gram(flat))[1][:, ::-1][:, :r]
    else:  # T_(3)^T U has orthogonal columns but for rounding; QR makes them orthonormal, also in the null space
        v = np.linalg.qr(flat @ eigh(threads.gram(flat.T))[1][:, ::-1][:, :r])[0]
    return v, threads.matmul(v.T, flat).reshape(-1, n1, n2)


def nearest_orthogonal(m: np.ndarray) -> np.ndarray:
    """Return the orthogonal polar factor of a square matrix.

    >>> nearest_orthogonal(np.diag([2.0, -3.0]))
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    u, _, vh = np.linalg.svd(m)
    return u @ vh


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
