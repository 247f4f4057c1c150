"""MOTQN, Algorithm 1: Cayley steps that decrease what the next X-update leaves of the augmented Lagrangian.

For fixed T, minimising over X *and* Q is minimising over Q the Moreau envelope of the penalty,
f(Q) = sum over slices of envelope(sigma(G), lam), G = T x_3 Q. It is smooth, with gradient
P = T_(3)^T (G - prox(G))_(3) / lam: the prox that the X-update needs anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .. import kernels
from ..kernels.memory import Workspace
from ..kernels.shrink import Shrunk
from ..penalties import Penalty
from ..transforms import Matrix, stiefel
from .base import Proxed
from .qnorm import Learner, QState, prox_under

STARTS = ("spun", "pca", "last")  # of a Q-update, see ManifoldDescent
LIKE = 2  # singular values within this factor of each other are alike
WORTH = 0.01  # of f: what a descent from a spun start must gain to be tried in the next update as well,
REST = 4  # and else that is not done for so many updates
NEARLY = 1e-3  # of lam: (G - prox(G)) / lam at so small a threshold is U V^T, up to the values below it


class Envelope:
    """f as a function of R, an orthogonal (r, r) matrix: Q = V R."""

    def __init__(self, t: np.ndarray, v: np.ndarray, lam: float, penalty: Penalty, x: np.ndarray) -> None:
        self.kind, self.v, self.lam, self.penalty = kernels.of(t), v, lam, penalty
        self.r, self.square = v.shape[1], v.shape[1] == len(t)
        flat = t.reshape(len(t), -1)
        # G = R^T (T x_3 V); where V is square, G = (V R)^T T saves an array of T's size.
        self.flat = flat if self.square else self.kind.matmul(v.T, flat)
        self.x = x  # (r, n1, n2): prox(G) at the rotation that was evaluated last,
        self.at: np.ndarray | None = None  # which is this one

    def _turn(self, rotation: np.ndarray) -> np.ndarray:
        return self.v @ rotation if self.square else rotation

    def value(self, rotation: np.ndarray) -> tuple[float, tuple[np.ndarray, Shrunk]]:
        """Return f, and with it where that was and what shrinking tells."""
        self.at = rotation
        g = self.kind.matmul(self._turn(rotation).T, self.flat, out=self.x.reshape(self.r, -1))
        shrunk = self.kind.shrink(g.reshape(self.x.shape), self.lam, self.penalty)
        self.x = shrunk.g
        return shrunk.envelope, (rotation, shrunk)

    def gradient(self, payload: tuple[np.ndarray, Shrunk]) -> np.ndarray:
        """Return the Euclidean gradient in R, shape (r, r)."""
        rotation, _ = payload
        if self.at is not rotation:
            self.value(rotation)
        prox = self.x.reshape(self.r, -1)
        if self.square and self.flat.dtype.itemsize < 8:  # single precision takes T under PCA
            return self.kind.slope(rotation, self.flat, prox, self.v) / self.lam
        p = self.kind.slope(self._turn(rotation), self.flat, prox) / self.lam
        return self.v.T @ p if self.square else p


@dataclass(frozen=True)
class ManifoldDescent(Learner):
    """Descent on the Stiefel manifold.

    With r < n3 a free Q would run away into the small singular directions, so Q = V R with V = PCA(T, 3, r) and R an
    orthogonal r x r matrix, which is what is optimised. Where a descent starts decides how well it completes:

    - "spun": at R = `spin`, other random rotations in every update. Directions whose singular values are alike are not told
      apart by the data, so PCA's choice among them is one of many as good; the ADMM, whose X moves slowly, then minimises
      about the mean of the norms under all of them, which has no preferred directions and completes better. A descent costs as
      much as a step without one, and of natural arrays it gains 1e-4 of f, where other rotations change f more: so updates
      after one that gained less than WORTH start and end at R = `spin`. Of arrays of exactly low Q-rank it gains 1e-2 and more.
    - "pca": at R = I.
    - "last": at the last Q wherever f is lower there, which minimises f furthest but completes worst: early on, T is mostly
      zeros, and the Q that fits it best is not the one that fits the data.
    """

    r: int
    steps: int
    begin: str  # one of STARTS

    def prox(self, t: np.ndarray, lam: float, penalty: Penalty, state: QState, work: Workspace) -> Proxed:
        """Return X under Q after up to ``steps`` decreasing steps."""
        v, s = kernels.of(t).principal(
            t, self.r, None if self.begin == "last" else state.q
        )  # in the memory of the last Q
        v *= facing(v)  # a spun descent starts from them: which of the two each is must not hang on rounding
        f = Envelope(t, v, lam, penalty, work.array("spare", (self.r, *t.shape[1:]), t.dtype))
        kind = kernels.of(t)
        rotation = kind.eye(self.r, self.r, t)
        if self.begin == "spun":
            rotation = kind.cast(kind.brought(spin(kind.host(s), work.rng)), t)
        here = f.value(rotation)
        if self.begin == "last" and state.q is not None:
            last = nearest_orthogonal(v.T @ kind.cast(state.q, t))
            if (at_last := f.value(last))[0] < here[0]:
                rotation, here = last, at_last
        steps = 0 if self.begin == "spun" and state.rest else self.steps
        found = stiefel.descend(f.value, f.gradient, rotation, here, steps, state.tau)
        if f.at is not found.q:  # the last trials were refused
            f.value(found.q)
        q = v @ found.q
        x = kind.product(q, f.x, out=work.array("spare", t.shape, t.dtype))
        shrunk, state = found.payload[1], state._replace(q=q, tau=found.tau, rest=rest_after(state.rest, found.values))
        return Proxed(x, state, shrunk.value, shrunk.rank, shrunk.slices, tuple(found.values))


class PrintedDescent(ManifoldDescent):
    """One step of the size that the paper prints, along the gradient of the norm itself."""

    def prox(self, t: np.ndarray, lam: float, penalty: Penalty, state: QState, work: Workspace) -> Proxed:
        """Return X under Q after the printed step."""
        n3, kind = len(t), kernels.of(t)
        q = kind.eye(n3, self.r, t) if state.q is None else state.q
        g = kind.product(q.T, t)
        x = kind.copy(g)
        shrunk = kind.shrink(x, NEARLY * lam, penalty)
        p = t.reshape(n3, -1) @ (g - shrunk.g).reshape(self.r, -1).T / (NEARLY * lam)
        a = stiefel.tangent(q, p)
        q = stiefel.cayley(q, a, stiefel.printed_step(q, p, a))
        found = prox_under(Matrix(q), t, lam, penalty, state._replace(q=q), work)
        return found._replace(learning=(shrunk.envelope,))


def rest_after(rest: int, values: list[float]) -> int:
    """Return for how many updates of Q no descent is tried, after one with these values of f and so many still to rest.

    >>> rest_after(0, [1.0, 0.9999]), rest_after(4, [1.0]), rest_after(0, [1.0, 0.9])
    (4, 3, 0)
    """
    if rest:
        return rest - 1
    return 0 if values[0] - values[-1] >= WORTH * abs(values[0]) else REST


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


def facing(v: np.ndarray) -> np.ndarray:
    """Return 1 or -1 for each column of v, (n, r): the sign that turns it to the same side as a vector that has no pattern.

    >>> facing(np.array([[1.0, -1.0], [0.0, 0.0]]))
    array([ 1., -1.])
    """
    kind = kernels.of(v)
    side = kind.brought(np.sqrt(np.arange(1.0, len(v) + 1)) % 1 + 0.1)
    return kind.cast(kind.xp.where(side @ kind.cast(v, side) < 0, -1, 1), v)


def nearest_orthogonal(m: np.ndarray) -> np.ndarray:
    """Return the orthogonal polar factor of a square matrix.

    >>> nearest_orthogonal(np.diag([2.0, -3.0]))
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    u, _, vh = kernels.of(m).xp.linalg.svd(m)
    return u @ vh
