"""F-TNN and tnn-linear: the tensor nuclear norm under a linear map along the third mode that is not orthogonal.

    min  sum_i w_i ||(L X)^(i)||_*    s.t.  P_Omega(X) = P_Omega(Y),    L X short for X x_3 L^T, L of shape (r, n3)

* ``f-tnn``: L = W, the framelet transform: W^T W = I, but there are more slices than frames (r > n3). As in its authors'
  program the bands have weights: w_i = w_b, about the size that noise has in band b (`transforms.framelets`).
  T.-X. Jiang, M. Ng, X.-L. Zhao, T.-Z. Huang. Framelet Representation of Tensor Nuclear Norm for Third-Order Tensor
  Completion. IEEE Transactions on Image Processing, 2020.
* ``tnn-linear``: L any invertible matrix, w_i = 1.
  C. Lu, X. Peng, Y. Wei. Low-Rank Tensor Completion With a New Tensor Nuclear Norm Induced by Invertible Linear
  Transforms. CVPR, 2019.

In both, the prox of the norm is not L^T prox L. So L X is given a name of its own, G = L X, and the ADMM is run on
that, with D = Lambda / mu and P the prox of the penalty on the singular values of every slice, by w_i / mu in slice i:

    G = P_{w/mu}(L X + D)                                                                                      (G)
    X = X - L^T (L X - G + D) / tau  off Omega,  Y on Omega                                                    (X)
    D = D + L X - G                                                                                            (Lambda)

The X-update is a gradient step on ||L X - G + D||_F^2 / 2 of length 1/tau, tau = ||L||_2^2 (linearised ADMM); for
an isometry tau = 1, the step arrives at W^T (G - D), and that is the exact minimiser, as in the paper.

There are many more slices than frames, and of G, D and L X one is enough. With R = L X + D - G, what the prox takes away,
and c = mu / mu_next, the next argument of the prox is L X + c D = c R + L Z with Z = X + c (X - X_before). So a step goes
from band to band, T = c R + L Z, G = P(T), R = T - G, and keeps R alone; ||L Z - G|| is how far the two are apart. Of L Z
and R single precision is enough where tol asks for no more digits than that: the prox and X are in that of the data.

| symbol | here | |
|---|---|---|
| Y, Omega | ``problem.stack``, ``problem.observed`` | the known values and where they are |
| L or W | ``transform`` | ``forward`` is L, ``backward`` its transpose, ``bands`` L in parts |
| w | ``transform.weights`` | what the norm of each slice counts |
| X, Z | ``x``, ``z`` | the answer, and where it is going |
| G | ``g`` | transformed slices of a band, shrunk |
| c R | ``r`` | what the last shrinkage took away, times c |
| lambda = 1/mu | | threshold of the prox |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import InputError
from ..kernels import packed, threads
from ..kernels.memory import Workspace
from ..kernels.packed import Packed
from ..kernels.products import sums
from ..kernels.shrink import shrink
from ..kernels.spectral import spectral_norm
from ..penalties import penalty_named
from ..problem import Problem
from ..result import Step
from ..tensor import Layout
from ..transforms import Framelet, Matrix, Transform, checked_matrix
from ..transforms.framelets import usual_levels
from . import needs
from .base import Method
from .needs import Needs, Size
from .schedule import DIGITS, FIRST, first, most

TOGETHER = 1 << 17  # entries of the slices that are worked on together
COLUMNS = 1 << 18  # numbers of R that are unpacked together
SINGULAR = 1e-10  # least ratio of singular values of an invertible matrix


class State(NamedTuple):
    """What a step hands to the next."""

    x: np.ndarray  # (n3, n1, n2)
    z: np.ndarray  # (n3, n1, n2)
    r: np.ndarray | Packed  # (r, n1, n2)
    mu: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Analysis(Method):
    """The linearised ADMM on G = L X; what L is, the methods say."""

    shares_out: ClassVar[bool] = True

    tol: float = 1e-4
    rho: float = 1.1  # by which mu grows in a step
    mu0: float | None = None  # None: from the data
    mu_max: float | None = None  # None: from the data, far beyond where a run ends
    penalty: Any = "nuclear"  # a name, or a Penalty, which it is once the method is made

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("rho", at_least=1)
        self.check("mu0", "mu_max", above=0)
        object.__setattr__(self, "penalty", penalty_named(self.penalty))

    def transform(self, n3: int) -> tuple[Transform, float]:
        """Return L for a third mode of length n3, and tau = ||L||_2^2."""
        raise AssertionError(f"{self.name} defines no transform")

    def needs(self, layout: Layout, dtype: np.dtype, p: float) -> Needs:
        """Return what X, Z, the spare array and R take, and bands of slices."""
        size = Size.of(layout, dtype)
        redundant, item = self.transform(size.n3)[0].r, 4 if self._short else size.item
        room = min(size.n3, max(TOGETHER // (size.n1 * size.n2), 4 * threads.count())) * size.n1 * size.n2
        memory = size.bytes + 2 * size.entries * item + redundant * (3 if self._short else item) * size.n1 * size.n2
        memory += room * (2 * item + size.item)
        flops = 30 * redundant * size.n1 * size.n2
        steps = needs.growing(self.rho, self.max_steps, 7.5)
        return Needs(memory, flops, steps) + needs.shrinking(redundant, size) + needs.pieces(3, size, 33000)

    def init(self, problem: Problem, work: Workspace) -> State:
        """Start from X = Y, zero where missing, and Lambda = 0."""
        x = problem.stack.copy()
        transform, _ = self.transform(problem.layout.n3)
        z, shape = x.astype(np.float32 if self._short else x.dtype), (transform.r, *x.shape[1:])
        mu = first(problem, 1 / (FIRST * (_largest(transform, z, work) or 1.0)), self.mu0, self.rho)
        z[...] = x
        mu = min(mu, most(self.mu_max, problem))
        return State(x, z, packed.zeros(shape) if self._short else np.zeros(shape, x.dtype), mu)

    def step(self, problem: Problem, state: State, work: Workspace) -> tuple[State, Step]:
        """Run one iteration of the linearised ADMM."""
        x, z, r, mu = state
        transform, tau = self.transform(problem.layout.n3)
        spare, room = work.array("spare", z.shape, z.dtype), (_room(z), *z.shape[1:])
        band, t_all, g_all = (work.array(n, room, a.dtype) for n, a in (("band", z), ("T", z), ("G", x)))
        mu_next = min(self.rho * mu, most(self.mu_max, problem))
        c = mu / mu_next
        value, rank, slices, apart, size = 0.0, 0, 0, 0.0, 0.0
        for rows, lz in transform.bands(z, band, (spare, z)):
            t = packed.unpacked(r, rows, t_all) if isinstance(r, Packed) else r[rows]
            g = g_all[: len(lz)] if len(lz) <= len(g_all) else np.empty_like(lz)

            def argument(t: np.ndarray, g: np.ndarray, lz: np.ndarray) -> tuple[()]:
                np.add(t, lz, out=g)
                return ()

            def taken_away(t: np.ndarray, g: np.ndarray, lz: np.ndarray) -> tuple[float, float]:
                lz -= g
                apart = float(lz @ lz)
                lz += t  # R
                np.multiply(lz, c, out=t)
                return apart, float(lz @ lz)

            sums(argument, t, g, lz)
            shrunk = shrink(g, 1 / mu, self.penalty, weights=_part(transform.weights, rows))  # (G)
            more = sums(taken_away, t, g, lz)  # (Lambda)
            if isinstance(r, Packed):
                packed.write(r, rows, t)
            apart, size = apart + more[0], size + more[1]
            value, rank, slices = value + shrunk.value, rank + shrunk.rank, slices + shrunk.slices
        back = _adjoint(transform, r, spare)

        def advance(x: np.ndarray, back: np.ndarray, on: np.ndarray) -> tuple[float]:
            back *= -1 / (tau * c)
            back *= ~on  # where X is Y, and stays so
            x += back  # (X)
            moved = float(back @ back)
            back *= c
            back += x  # Z
            return (moved,)

        moved = math.sqrt(sums(advance, x, back, problem.observed)[0])
        primal = math.sqrt(apart) / (problem.size * tau**0.5)
        dual = moved * tau**0.5 / max(math.sqrt(size), float(np.finfo(x.dtype).tiny))
        work.lend("spare", z)
        return State(x, back, r, mu_next), Step(value, primal, dual, moved / problem.size, mu, rank, slices)

    @property
    def _short(self) -> bool:
        """Whether R is kept in three bytes a number, and Z in single precision."""
        return False

    def answer(self, problem: Problem, state: State, work: Workspace) -> np.ndarray:
        """Return X."""
        return state.x

    def learned(self, problem: Problem, state: State, work: Workspace) -> Transform | None:
        """Return L."""
        return self.transform(problem.layout.n3)[0]


def _largest(transform: Transform, z: np.ndarray, work: Workspace) -> float:
    """Return max_b sigma_1(L_b Z) / w_b; Z is overwritten."""
    band = work.array("band", (_room(z), *z.shape[1:]), z.dtype)
    bands = transform.bands(z, band, (work.array("spare", z.shape, z.dtype), z))
    weights = np.ones(transform.r) if transform.weights is None else transform.weights
    return max(
        spectral_norm(band.astype(float)) / float(weights[rows.start]) for rows, band in bands
    )  # one weight a band


def _adjoint(transform: Transform, r: np.ndarray | Packed, out: np.ndarray) -> np.ndarray:
    """Return L^T R: what is packed, a few columns at a time."""
    if not isinstance(r, Packed):
        return transform.backward(r, out=out)
    found = out.reshape(len(out), -1)
    size = min(found.shape[1], max(1, COLUMNS // transform.r))

    def work(some: slice) -> None:
        some = slice(
            max(0, some.start - size + some.stop - some.start), some.stop
        )  # all alike: the last begins earlier
        found[:, some] = transform.backward(packed.columns(r, some))[:, 0]

    threads.each(work, found.shape[1], size)
    return out


def _room(x: np.ndarray) -> int:
    """Return how many slices are worked on together: enough for all threads."""
    return min(len(x), max(TOGETHER // max(1, x[0].size), 4 * threads.count()))


def _part(weights: np.ndarray | None, rows: slice) -> np.ndarray | None:
    return None if weights is None else weights[rows]


@dataclass(frozen=True, kw_only=True, eq=False)
class FTNN(Analysis):
    """L = framelets. Levels by default: as many as have filters no longer than the third mode, 3 at most."""

    name: ClassVar[str] = "f-tnn"
    about: ClassVar[str] = "tensor nuclear norm with framelets, a redundant tight frame (Jiang et al. 2020)"

    filters: str = "cubic"  # or "linear": which B-spline
    levels: int | None = None  # None: 3, fewer where the third mode is short

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("levels", at_least=1, whole=True)
        self.transform(1)  # checks the filters

    @property
    def _short(self) -> bool:
        """Whether tol asks for no more digits: R, of many more slices than X, is most of the memory."""
        return self.tol >= DIGITS

    def transform(self, n3: int) -> tuple[Transform, float]:
        """Return W, an isometry."""
        levels = usual_levels(n3, self.filters) if self.levels is None else int(self.levels)
        return Framelet(n3, self.filters, levels), 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class TNNLinear(Analysis):
    """L = q^T for any invertible matrix q."""

    name: ClassVar[str] = "tnn-linear"
    about: ClassVar[str] = (
        "tensor nuclear norm with an invertible matrix that you give (q: n3 x n3; Lu, Peng, Wei 2019)"
    )

    q: Any = None  # an invertible matrix (n3, n3)
    rho: float = 1.02  # linearised steps are short, the more so the worse q is conditioned: mu must grow slowly
    max_steps: int = 1000

    @cached_property
    def _given(self) -> tuple[Matrix, float]:
        """Return q, and its squared spectral norm; that it is invertible is checked once."""
        if self.q is None:
            raise InputError("method 'tnn-linear' needs the option 'q': an invertible matrix (n3, n3)")
        q = checked_matrix(self.q.matrix if isinstance(self.q, Transform) else self.q)
        s = np.linalg.svd(q, compute_uv=False)
        if s[-1] <= SINGULAR * s[0] and q.shape[0] == q.shape[1]:
            raise InputError(
                f"q must be invertible, but its singular values go from {s[0]:.2g} down to {s[-1]:.2g};"
                " use method 'tqn' with orthonormal columns to confine the answer to a span"
            )
        return Matrix(q), float(s[0] ** 2)

    def transform(self, n3: int) -> tuple[Transform, float]:
        """Return q, as it is given, and its squared spectral norm; or say why it will not do."""
        q, size = self._given
        if q.q.shape != (n3, n3):
            raise InputError(f"q must have shape ({n3}, {n3}), the length of the third mode, not {q.q.shape}")
        return q, size
