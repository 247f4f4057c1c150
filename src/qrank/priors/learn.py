"""Who chooses Q: nobody (a fixed transform), variance maximisation (VMTQN), or descent on the manifold (MOTQN).

A learner looks at T, the argument of the prox, and returns a transform together with G = T x_3 Q, (r, n1, n2).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from ..kernels import threads
from ..kernels.principal import SMALL, double_gram, eigh, norms, principal, under_principal
from ..kernels.spectral import Shrunk, gram_safe, shrink, told
from ..kernels.threads import Workspace
from ..penalties import Penalty
from ..transforms import stiefel
from ..transforms.base import Matrix, Transform

STARTS = ("spun", "pca", "last")  # of MOTQN's Q-updates, see ManifoldDescent
LIKE = 2  # singular values within this factor of each other are alike
NEAR = 30  # lam so many times below what a Gram matrix tells still matters for the answer


class Learned(NamedTuple):
    """A transform, and what is known of T under it."""

    transform: Transform
    g: np.ndarray  # T x_3 Q; already shrunk where `shrunk` is given
    shrunk: Shrunk | None = None
    values: tuple[float, ...] = ()  # the learner's objective at its start and after every accepted step
    tau: float | None = None  # the last accepted step size
    energies: np.ndarray | None = None  # squared norms of the slices of g, where they are known


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
        packed = self.transform.packed
        return Learned(packed, packed.forward(t, out=work.array("g", (packed.r, *t.shape[1:]), t.dtype)))

    def first(self, t: np.ndarray) -> np.ndarray:
        """Return T under the fixed transform."""
        return self.transform.forward(t)


@dataclass(frozen=True, eq=False)
class Principal(Transform):
    """Q = PCA(T, 3, k) of a wide T_(3) = U diag(s) Q^T, known by its left vectors U (n1 n2, k).

    It is good for one ``backward`` while T is as it was: X_(3) = G_(3) Q^T = (G_(3) diag(1/s) U^T) T_(3), where the
    bracket is only (n1 n2)^2, takes half the flops of making Q = T_(3)^T U / s and multiplying by it, and the memory of U.
    ``apart`` does make Q, a few rows at a time, which is less work where k is small.
    """

    flat: np.ndarray  # T_(3)^T, (n3, n1 n2)
    square: np.ndarray  # (n1 n2, n1 n2), whose first k rows are U^T
    s: np.ndarray  # (k,)
    apart: bool

    def backward(self, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return G x_3 Q^T; G and U are overwritten, and ``out`` may be G's memory."""
        out = np.empty((len(self.flat), *g.shape[1:]), g.dtype) if out is None else out
        whole, n = out.reshape(self.flat.shape), len(self.square)
        g /= self.s[:, None, None]
        if self.apart:
            u, right = self.square[: len(g)].T, g.reshape(len(g), -1).copy()
            threads.each(lambda rows: np.matmul(self.flat[rows] @ u, right, out=whole[rows]), len(self.flat), 256)
            return out
        bracket = whole[:n]  # its transpose; lies here until U is not needed any more
        Matrix(self.square[: len(g)].T).backward(g, out=bracket.reshape(n, *g.shape[1:]))
        self.square[...] = bracket
        threads.matmul(self.flat, self.square, out=whole)
        return out


@dataclass(frozen=True)
class MaximalVariance:
    """VMTQN, (26): Q = PCA(T, 3, r), the right singular vectors of T_(3).

    They come from the Gram matrix of the shorter side of T_(3). The singular values s_i of T_(3) are the Frobenius
    norms of the slices of T x_3 Q, and a slice with s_i <= lam is shrunk to zero, so only columns with s_i > lam are
    made. Of a wide T_(3), Q itself is made only where it is kept for later steps (``lasting``).

    What is small beside s_1 drowns in the Gram matrix; then all of its eigenvectors are used. That harms no tall T_(3):
    they are orthonormal, which is all that G = T x_3 Q asks. Of a wide one s is needed, too, and taken from T_(3) itself.
    T = G x_3 Q^T holds for any orthonormal U, and X differs from it by lam at most in each direction, so that the mixture
    of directions that the Gram matrix cannot tell apart matters less and less as lam falls. In single precision the steps
    in which it begins to matter, 0.06 dB on COIL-20, take the Gram matrix in double where that is not the larger part of
    the work.
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
        short = min(n3, n1 * n2)
        if wide and self.lasting:
            transform = Matrix(principal(t, self.r)[0])
            return Learned(transform, transform.forward(t, out=work.array("g", (transform.r, n1, n2), t.dtype)))
        space = work.array("g", (t.size,), t.dtype)  # idle until G is made
        gram = work.array("gram", (short, short), t.dtype)
        threads.gram(flat.T if wide else flat, gram, space)
        sure = told(float(np.trace(gram)), lam, t.dtype)
        near = not sure and told(float(np.trace(gram)), NEAR * lam, t.dtype)  # where what is mixed up matters most
        if near and t.dtype.itemsize < 8 and (not wide or short < SMALL):
            s, exact = eigh(double_gram(flat.T if wide else flat), lam * lam)
            s, rows = s.astype(t.dtype), gram[: len(exact)]
            rows[...] = exact
        else:
            s, rows = eigh(gram, lam * lam if sure else -np.inf, space)
        k = min(self.r, len(rows))
        s, rows = s[:k], rows[:k]
        g = work.array("g", (k, n1, n2), t.dtype)
        if not wide:  # T_(3)^T T_(3) = Q diag(s^2) Q^T
            transform = Matrix(rows.T)
            return Learned(transform, transform.forward(t, out=g), energies=s * s if sure else None)
        # T_(3) T_(3)^T = U diag(s^2) U^T: T x_3 Q = U diag(s) needs no product.
        if not sure and (drowned := s < gram_safe(t.dtype) * s[0]).any():
            s[drowned] = norms(flat, rows[drowned].T)
        np.multiply(rows, s[:, None], out=g.reshape(k, n1 * n2))
        return Learned(Principal(flat, gram, s, apart=2 * k <= n1 * n2), g, energies=s * s)

    def first(self, t: np.ndarray) -> np.ndarray:
        """Return T under its own principal directions."""
        return under_principal(t, self.r)


@dataclass(frozen=True)
class ManifoldDescent:
    """MOTQN, Algorithm 1: Cayley steps that decrease what the next X-update leaves of the augmented Lagrangian.

    For fixed T, minimising over X *and* Q is minimising over Q the Moreau envelope of the penalty,
    f(Q) = sum over slices of envelope(sigma(G), lam), G = T x_3 Q. It is smooth, with gradient
    P = T_(3)^T (G - prox(G))_(3) / lam: the prox that the X-update needs anyway.

    With r < n3 a free Q would run away into the small singular directions, so Q = V R with V = PCA(T, 3, r) and R an
    orthogonal r x r matrix, which is what is optimised. Where a descent starts decides how well it completes:

    - "spun": at R = `spin`, other random rotations in every update. Directions whose singular values are alike are not told
      apart by the data, so PCA's choice among them is one of many as good; the ADMM, whose X moves slowly, then minimises
      about the mean of the norms under all of them, which has no preferred directions and completes better.
    - "pca": at R = I.
    - "last": at the last Q wherever f is lower there, which minimises f furthest but completes worst: early on, T is mostly
      zeros, and the Q that fits it best is not the one that fits the data.
    """

    r: int
    steps: int
    start: str
    rng: np.random.Generator
    printed: bool = False

    def __call__(
        self, t: np.ndarray, previous: Learned | None, lam: float, penalty: Penalty, work: Workspace
    ) -> Learned:
        """Return Q after up to ``steps`` decreasing steps, and T under it, shrunk."""
        if self.printed:
            return self._printed(t, previous, lam, penalty, work)
        v, s = principal(t, self.r)
        flat = t.reshape(len(t), -1)
        if self.r < len(t):  # G = R^T (T x_3 V); else G = (V R)^T T saves an array of T's size
            flat = threads.matmul(v.T, flat)
        shape = (self.r, *t.shape[1:])
        x = work.array("g", shape, t.dtype)  # prox(G) at the rotation that was evaluated last
        at: np.ndarray | None = None

        def full(rotation: np.ndarray) -> np.ndarray:
            return rotation if self.r < len(t) else v @ rotation

        def value(rotation: np.ndarray) -> tuple[float, tuple[np.ndarray, Shrunk]]:
            nonlocal at
            at = rotation
            threads.matmul(full(rotation).T, flat, out=x.reshape(self.r, -1))
            shrunk = shrink(x, lam, penalty)
            return shrunk.envelope, (rotation, shrunk)

        def gradient(payload: tuple[np.ndarray, Shrunk]) -> np.ndarray:
            rotation, _ = payload
            if at is not rotation:
                value(rotation)
            prox = x.reshape(self.r, -1)
            columns = max(512, (1 << 17) // len(flat))
            # Single precision takes T under PCA: rows of falling size, each rounded on its own.
            apart = self.r == len(t) and t.dtype.itemsize < 8
            turn = rotation if apart else full(rotation)

            def summed(share: slice) -> np.ndarray:  # G once more, a few columns at a time, costs less than keeping it
                total = np.zeros((self.r, self.r), t.dtype)
                for first in range(share.start, share.stop, columns):
                    part = slice(first, min(first + columns, share.stop))
                    base = v.T @ flat[:, part] if apart else flat[:, part]
                    g = np.matmul(turn.T, base, out=threads.scratch("columns", base.shape, t.dtype))
                    g -= prox[:, part]
                    total += base @ g.T
                return total

            p = np.sum(threads.each(summed, flat.shape[1], -(-flat.shape[1] // threads.count())), axis=0) / lam
            return p if apart or self.r < len(t) else v.T @ p

        rotation = spin(s, self.rng) if self.start == "spun" else np.eye(self.r, dtype=t.dtype)
        start = value(rotation)
        if self.start == "last" and previous is not None:
            last = nearest_orthogonal(v.T @ previous.transform.matrix.astype(t.dtype, copy=False))
            if (at_last := value(last))[0] < start[0]:
                rotation, start = last, at_last
        found = stiefel.descend(
            value, gradient, rotation, start, self.steps, None if previous is None else previous.tau
        )
        if at is not found.q:  # the last trials were refused
            value(found.q)
        return Learned(Matrix(v @ found.q), x, found.payload[1], tuple(found.values), found.tau)

    def first(self, t: np.ndarray) -> np.ndarray:
        """Return T under its own principal directions."""
        return under_principal(t, self.r)

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


def spin(s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random rotation that mixes only directions whose singular values are alike, (r, r).

    ``s``, (r,), are the singular values, descending. Levels of one factor of LIKE each, counted from a random one, are
    blocks, and each is turned by an orthogonal matrix of its own.

    >>> spin(np.array([8.0, 1.0]), np.random.default_rng(0)) ** 2
    array([[1., 0.],
           [0., 1.]])
    """
    below = s[0] / np.maximum(s, max(np.finfo(s.dtype).eps * s[0], np.finfo(s.dtype).tiny))
    level = np.floor(np.log(np.maximum(below, 1)) / np.log(LIKE) + rng.random())
    rotation = np.zeros((len(s), len(s)), s.dtype)
    edges = np.flatnonzero(np.diff(level, prepend=-1, append=np.inf))
    for i, j in pairwise(edges):
        rotation[i:j, i:j] = np.linalg.qr(rng.standard_normal((j - i, j - i)))[0]
    return rotation


def nearest_orthogonal(m: np.ndarray) -> np.ndarray:
    """Return the orthogonal polar factor of a square matrix.

    >>> nearest_orthogonal(np.diag([2.0, -3.0]))
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    u, _, vh = np.linalg.svd(m)
    return u @ vh
