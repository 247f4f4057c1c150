"""TQN with a transform that is given, follows from the length of the third mode, or is a yardstick."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .. import kernels
from ..errors import InputError
from ..kernels.linked import apart
from ..kernels.products import DENSE, SPARSE
from ..priors import Fixed, Learner, Prior, QNorm
from ..problem import Problem
from ..tensor import Layout
from ..transforms import (
    Cosine,
    Fourier,
    Identity,
    Matrix,
    Transform,
    extended,
    pca,
    random_orthogonal,
    transform_of,
    wavelet,
)
from ..transforms.wavelets import SMALL
from . import needs
from .base import blind
from .needs import Needs, Size
from .tqn import Recipe


@dataclass(frozen=True, kw_only=True, eq=False)
class FixedQ(Recipe):
    """Methods whose transform does not change in a run."""

    made: ClassVar[Any]  # who makes it, from the length of the third mode
    split: ClassVar[bool] = False  # its slices are complex, given by their parts

    def needs_of_prior(self, layout: Layout, size: Size) -> Needs:
        """Return what shrinking under the transform takes, and the two transforms of a step."""
        found = needs.shrinking(-(-size.n3 // 2) if self.split else size.n3, size, self.split)
        return found + Needs(0, 10 * size.entries * math.log2(size.n3 + 1), 0)

    def undetermined(self, problem: Problem) -> Any:
        """Return rows and columns of which nothing is known in any slice: the transform tells a slice from the others."""
        return blind(problem, (0, 2), (0, 1), linked=(0,))

    def learner(self, problem: Problem) -> Learner:
        """Return who chooses Q, once."""
        return Fixed(self.transform(problem.layout.n3))

    def transform(self, n3: int) -> Transform:
        """Return the transform of a third mode of length n3."""
        return self.made(n3)

    def prior(self, problem: Problem) -> Prior:
        """Return the Q-norm under the transform."""
        return QNorm(self.learner(problem), self.penalty)


@dataclass(frozen=True, kw_only=True, eq=False)
class TQN(FixedQ):
    """Any transform given as ``q``: a column-orthonormal matrix (n3, r), or the transform of an earlier result.

    One of a shorter third mode, to which slices were appended since, is extended by what is known of these.
    """

    name: ClassVar[str] = "tqn"
    about: ClassVar[str] = "Q-nuclear norm with a transform that you give (q: n3 x r, orthonormal columns)"

    q: Any = None  # (n3, r), orthonormal columns, or the transform of an earlier result

    def needs_of_prior(self, layout: Layout, size: Size) -> Needs:
        """Return what shrinking takes, and checks of q and products by it."""
        return super().needs_of_prior(layout, size) + _dense(size, copies=3)

    @cached_property
    def _given(self) -> Transform:
        """Return q as a transform; that its columns are orthonormal is checked once."""
        if self.q is None:
            raise InputError("method 'tqn' needs the option 'q': a matrix (n3, r) with orthonormal columns")
        return transform_of(self.q)

    def learner(self, problem: Problem) -> Learner:
        """Return who chooses Q, once: nobody, but for new slices at the end."""
        if isinstance(self._given, Cosine | Fourier | Identity):
            return Fixed(type(self._given)(problem.layout.n3))
        if self._given.n3 >= problem.layout.n3 or not isinstance(problem.y, np.ndarray):
            return super().learner(problem)

        def made(_: np.random.Generator) -> Matrix:
            kind, start = kernels.of(problem.y), problem.start
            filled = kind.smooth_fill(problem.y, problem.observed) if start is None else start
            return extended(self._given, filled.reshape(problem.stack.shape), problem.mask)

        return Fixed(made)

    def transform(self, n3: int) -> Transform:
        """Return q, or say why it will not do."""
        return transform_of(self._given, n3)


class TNN(FixedQ):
    """Q = Fourier."""

    name: ClassVar[str] = "tnn"
    split: ClassVar[bool] = True
    about: ClassVar[str] = "tensor nuclear norm: Fourier transform (Lu et al. 2018)"
    made: ClassVar[Any] = Fourier


class TNNC(FixedQ):
    """Q = cosine."""

    name: ClassVar[str] = "tnn-c"
    about: ClassVar[str] = "tensor nuclear norm with the cosine transform (Xu et al. 2019)"
    made: ClassVar[Any] = Cosine


class TTNN(FixedQ):
    """Q = Daubechies-4 wavelets."""

    name: ClassVar[str] = "ttnn"
    about: ClassVar[str] = "tensor nuclear norm with the Daubechies-4 wavelet transform (Song et al. 2019)"
    made: ClassVar[Any] = staticmethod(wavelet)

    def needs_of_prior(self, layout: Layout, size: Size) -> Needs:
        """Return what shrinking takes, and products, sparse ones from a copy of a piece to another."""
        pieces = (1, DENSE) if size.n3 <= SMALL else (2, SPARSE)
        return super().needs_of_prior(layout, size) + Needs(needs.multiplied(size, *pieces), 0, 0)


class Slicewise(FixedQ):
    """Q = I."""

    name: ClassVar[str] = "slicewise"
    about: ClassVar[str] = "each frontal slice on its own, as a low-rank matrix: Q = I"
    made: ClassVar[Any] = Identity

    def undetermined(self, problem: Problem) -> Any:
        """Return the rows and columns of each slice of which nothing is known, and where it lies in blocks that nothing links."""
        found = blind(problem, (2,), (1,))
        if kernels.of(found).numpy:
            for lost, known in zip(found.reshape(problem.mask.shape), problem.mask, strict=True):
                between = apart(known)
                lost |= False if between is None else between
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class TQNRandom(FixedQ):
    """Q random: what no knowledge of the data gives.

    Nothing is low-rank under it, so the way to the answer is long and rho is the paper's: with 1.2, mu outgrows it, by 1 dB
    where a tenth of CIFAR is known.
    """

    name: ClassVar[str] = "tqn-random"
    about: ClassVar[str] = "a random orthogonal transform: the paper's lower yardstick"

    rho: float | None = 1.1

    def needs_of_prior(self, layout: Layout, size: Size) -> Needs:
        """Return what shrinking takes, and making Q and products by it."""
        return super().needs_of_prior(layout, size) + _dense(size, copies=5)

    def learner(self, problem: Problem) -> Learner:
        """Return a random square Q, drawn when the run starts."""
        n3 = problem.layout.n3
        return Fixed(lambda rng: random_orthogonal(n3, n3, rng))


@dataclass(frozen=True, kw_only=True, eq=False)
class TQNOracle(FixedQ):
    """Q from the truth: what perfect knowledge of Q gives, which can be the truth itself, so it runs on until nothing moves.

    Once lam is negligible, a step projects on the span of Q and on the data in turn, and 1/rho, by which the multiplier
    decays in T, is its momentum: a direction at angle theta to the data's null space shrinks by 1/sqrt(rho) a step if
    sin(theta) > (rho - 1) / (rho + 1), else by about 1 - sin(theta)^2 rho / (rho - 1). So mu must not stop growing (a cap,
    as the paper's mu_max, takes the momentum off its best), and rho = 1.1 suits both well and badly posed data.
    """

    name: ClassVar[str] = "tqn-oracle"
    about: ClassVar[str] = "the transform of the true array (truth=…): the paper's upper yardstick"

    tol: float = 1e-11
    rho: float | None = 1.1
    truth: Any = None  # the complete array

    def needs_of_prior(self, layout: Layout, size: Size) -> Needs:
        """Return what shrinking takes, and making Q of the truth and products by it."""
        return super().needs_of_prior(layout, size) + _dense(size, copies=2) + Needs(3 * 8 * size.entries, 0, 0)

    def learner(self, problem: Problem) -> Learner:
        """Return PCA(truth, 3, r), made when the run starts."""
        layout = problem.layout
        if self.truth is None:
            raise InputError("method 'tqn-oracle' needs the option 'truth': the complete array")
        if np.shape(self.truth) != layout.shape:
            raise InputError(f"truth has shape {np.shape(self.truth)}, the array has shape {layout.shape}")

        def made(_: np.random.Generator) -> Matrix:
            truth = np.asarray(self.truth, dtype=float)
            if not np.isfinite(truth).all():
                raise InputError("truth must be known everywhere: it has entries that are not finite")
            unit = np.ldexp(truth, -int(np.frexp(np.abs(truth).max())[1]))  # squares of it can be told from 0
            q = pca(unit, slice_axes=layout.slice_axes)
            size = np.linalg.norm(q.T @ layout.stack(unit).reshape(layout.n3, -1), axis=1)
            # Directions that the truth does not have are known not to be; of a truth of zeros one stays.
            return Matrix(q[:, (size > 1e-12 * size[0]) | (np.arange(len(size)) == 0)])

        return Fixed(made)


def _dense(size: Size, copies: int) -> Needs:
    """Return what a matrix Q takes, which is checked or made in double precision, and two products by it."""
    return Needs(copies * 8 * size.n3**2 + needs.multiplied(size, 0, 0), 4 * size.entries * size.n3, 0)
