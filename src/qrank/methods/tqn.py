"""TQN: completion by the tensor Q-nuclear norm, with any transform and any way of choosing it.

H. Kong, C. Lu, Z. Lin. Tensor Q-Rank: New Data Dependent Definition of Tensor Rank. Machine Learning, 2021.

    min  ||X||_{Q,*} = sum_i ||(X x_3 Q)^(i)||_*    s.t.  P_Omega(X) = P_Omega(Y),   Q fixed, PCA(X, 3, r) or learned

by the ADMM on X + E = Y, P_Omega(E) = 0 (Algorithm 2 of the paper), Z the multiplier and mu its weight.

| symbol | here | |
|---|---|---|
| Y, Omega | ``problem.stack``, ``problem.observed`` | the known values and where they are |
| T = Y - E + Z/mu | ``t`` | argument of the prox; with Y it is the whole state, see ``admm.py`` |
| Q | ``learned.transform`` | how it is chosen: ``learn.py`` |
| G = T x_3 Q | ``learned.g`` | transformed slices |
| lambda = 1/mu | ``lam`` | threshold of the prox |

The methods differ only in the learner. Where Q has fewer columns than rows, X is confined to its span (the paper's
section on the influence of r); Algorithm 3's residual term, `qrank.prox_q_nuclear`, would leave everything else unpenalised.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import InputError
from ..kernels.advance import Known, advance, known_entries, pace
from ..kernels.principal import check_r, pca, principal
from ..kernels.spectral import shrink, spectral_norm
from ..kernels.threads import Workspace
from ..penalties import Penalty, penalty_named
from ..priors.learn import STARTS, Keep, Learned, Learner, ManifoldDescent, MaximalVariance
from ..problem import Problem
from ..result import Step
from ..transforms.base import Cosine, Fourier, Identity, Matrix, Transform, random_orthogonal, transform_of
from ..transforms.wavelets import wavelet
from .base import Method, check_number

START = 0.9  # the first lam, as a share of the largest Q-singular value of the zero-filled data


class State(NamedTuple):
    """What a step hands to the next."""

    k: int
    t: np.ndarray  # (n3, n1, n2); off Omega it is X
    x_known: Known | None  # X on Omega, for the paper's stopping rule only
    mu: float
    # never changes in a run
    rho: float
    y: np.ndarray  # (n3, n1, n2)
    observed: np.ndarray  # (n3, n1, n2) bool: Omega
    learner: Learner
    work: Workspace
    # changes with Q
    learned: Learned | None


@dataclass(frozen=True, kw_only=True, eq=False)
class TQN(Method):
    """Any transform given as ``q``: a column-orthonormal matrix (n3, r), or the transform of an earlier result."""

    name: ClassVar[str] = "tqn"
    about: ClassVar[str] = "Q-nuclear norm with a transform that you give (q: n3 x r, orthonormal columns)"
    shares_out: ClassVar[bool] = True

    rho: float | None = None  # None: `admm.pace`, from the share that is known, but 1.1 for penalties that are not mild
    mu0: float | None = None  # None: from the data
    mu_max: float | None = None  # None: mu grows as long as the run lasts
    penalty: str | Penalty = "nuclear"
    absolute: bool = False  # the paper's stopping rule, on largest entries in the data's unit
    q: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        penalty = penalty_named(self.penalty)
        object.__setattr__(self, "penalty", penalty)
        if self.rho is None and not penalty.mild:
            object.__setattr__(self, "rho", 1.1)  # the answer depends on a slow path
        if self.rho is not None:
            check_number("rho", self.rho, at_least=1)
        if self.mu_max is not None:
            check_number("mu_max", self.mu_max, above=0)
        if self.mu0 is not None:
            check_number("mu0", self.mu0, above=0)

    @classmethod
    def preset(cls, preset: str | None) -> dict[str, Any]:
        """Return the paper's settings for ``"paper"``."""
        if preset == "paper":
            paper = {
                "rho": 1.1,
                "mu0": 1e-4,
                "mu_max": 1e10,
                "tol": 1e-8,
                "absolute": True,
                "penalty": "nuclear",
                "update_every": 1,
                "start": "pca",
            }
            return {name: value for name, value in paper.items() if name in cls.options()}
        if preset in (None, "default"):
            return {}
        raise InputError(f"method '{cls.name}' has no preset '{preset}'; there are: default, paper")

    def tolerance(self, dtype: np.dtype) -> float:
        """Return tol, but 1000 eps at least: the last digits of single precision cost steps in double, for no decibels."""
        return self.tol if self.absolute else max(self.tol, 1000 * float(np.finfo(dtype).eps))

    def learner(self, problem: Problem, rng: np.random.Generator) -> Learner:
        """Return who chooses Q."""
        if self.q is None:
            raise InputError("method 'tqn' needs the option 'q': a matrix (n3, r) with orthonormal columns")
        return Keep(transform_of(self.q, problem.layout.n3))

    def updates(self, k: int) -> bool:
        """Return whether Q is chosen anew in step k = 1, 2, …"""
        return True

    def init(self, problem: Problem, rng: np.random.Generator) -> State:
        """Start from X = 0, Z = 0: T is the zero-filled data."""
        t, work, learner = problem.stack.copy(), Workspace(), self.learner(problem, rng)
        if self.mu0 is not None:
            mu = self.mu0 * problem.scale
        else:
            mu = 1 / (START * (spectral_norm(learner.first(t)) or 1.0))
        observed = problem.observed.reshape(t.shape)
        x_known = known_entries(np.zeros_like(t), observed) if self.absolute else None
        return State(0, t, x_known, mu, self.rho or pace(observed), problem.stack, observed, learner, work, None)

    def step(self, problem: Problem, state: State) -> tuple[State, Step]:
        """Run one iteration of Algorithm 2."""
        k, t, mu, rho, penalty = state.k + 1, state.t, state.mu, state.rho, self.penalty
        assert not isinstance(penalty, str)  # __post_init__ has settled it
        lam = 1 / mu
        if state.learned is None or self.updates(k):  # (26) Q-update
            learned = state.learner(t, state.learned, lam, penalty, state.work)
        else:
            learned = Keep(state.learned.transform)(t, None, lam, penalty, state.work)
        g, transform = learned.g, learned.transform
        shrunk = learned.shrunk or shrink(
            g, lam, penalty, transform.weights, learned.energies
        )  # (27) X-update, Algorithm 3
        x = transform.backward(g, out=state.work.array("g", t.shape, t.dtype))
        mu_next = rho * mu if self.mu_max is None else min(rho * mu, self.mu_max * problem.scale)  # (30) mu-update
        # (28) E-, (29) Z-update: X becomes the next T, and the last T the place for the next G.
        residuals = advance(t, x, state.y, state.observed, mu / mu_next, state.x_known)
        state.work.lend("g", t)

        if self.absolute:
            primal, change = residuals.primal_max * problem.scale, residuals.change_max * problem.scale
        else:
            size = problem.norm or 1.0
            primal, change = residuals.primal / size, residuals.change / size
        step = Step(
            objective=shrunk.value,
            primal=primal,
            dual=residuals.change / max(residuals.dual, np.finfo(t.dtype).tiny),
            change=change,
            mu=mu,
            rank=_weighted(shrunk.ranks, transform.weights),
            slices=_weighted(shrunk.ranks > 0, transform.weights),
            learning=learned.values,
        )
        return state._replace(k=k, t=x, mu=mu_next, learned=learned._replace(g=g[:0])), step

    def answer(self, state: State) -> np.ndarray:
        """Return X, in memory that the next step overwrites; on Omega it is Y where X itself is not kept."""
        x = state.work.array("g", state.t.shape, state.t.dtype)
        x[...] = state.t
        if state.x_known is None:
            np.copyto(x, state.y, where=state.observed)
        else:
            x[state.observed] = np.concatenate(state.x_known)
        return x

    def learned(self, problem: Problem, state: State) -> Transform | None:
        """Return the transform of the last step."""
        if isinstance(state.learner, Keep):
            return state.learner.transform
        return None if state.learned is None else state.learned.transform


def _weighted(counts: np.ndarray, weights: np.ndarray | None) -> int:
    return int(counts.sum() if weights is None else weights @ counts)


@dataclass(frozen=True, kw_only=True, eq=False)
class Learning(TQN):
    """Options of the methods that learn Q."""

    q: None = field(default=None, init=False, repr=False)  # these choose Q themselves
    update_every: int = 1  # the paper's K
    r: int | None = None  # columns of Q; None: min(n1 n2, n3)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("update_every", self.update_every, at_least=1, whole=True)
        if self.r is not None:
            check_number("r", self.r, at_least=1, whole=True)

    def updates(self, k: int) -> bool:
        """Return whether k mod K = K - 1."""
        return k % self.update_every == self.update_every - 1


@dataclass(frozen=True, kw_only=True, eq=False)
class VMTQN(Learning):
    """Variance maximisation: Q = PCA(T, 3, r) in every K-th step."""

    name: ClassVar[str] = "vmtqn"
    about: ClassVar[str] = "learned transform of maximal variance: Q = right singular vectors of the mode-3 unfolding"

    def learner(self, problem: Problem, rng: np.random.Generator) -> Learner:
        """Return variance maximisation."""
        return MaximalVariance(check_r(self.r, problem.layout), lasting=self.update_every > 1)

    def learned(self, problem: Problem, state: State) -> Transform | None:
        """Return PCA(X, 3, r) of the last X: during the run only the columns that survive the threshold are made.

        T, which has done its duty, may be overwritten.
        """
        v, _ = principal(self.answer(state), check_r(self.r, problem.layout), state.t, state.work)
        return Matrix(v)


@dataclass(frozen=True, kw_only=True, eq=False)
class MOTQN(Learning):
    """Manifold optimisation: Cayley steps on the Stiefel manifold.

    The paper descends the nuclear norm, ``penalty="nuclear"``. A mild log-sum takes no longer and completes nearly all that
    was measured better (docs/theory.md), so it is the default here.
    """

    name: ClassVar[str] = "motqn"
    about: ClassVar[str] = (
        "learned transform of least penalty: Cayley descent on the Stiefel manifold (the paper's norm: penalty nuclear)"
    )

    penalty: str | Penalty = "log-sum:20"
    descents: int = 1  # Cayley steps in one Q-update
    start: str = "spun"  # where a Q-update starts: see `learn.ManifoldDescent`
    step_size: str = "backtracking"  # or "printed": the paper's, which overshoots

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("descents", self.descents, at_least=1, whole=True)
        if self.start not in STARTS:
            raise InputError(f"start must be one of {', '.join(map(repr, STARTS))}, not {self.start!r}")
        if self.step_size not in ("backtracking", "printed"):
            raise InputError(f"step_size must be 'backtracking' or 'printed', not {self.step_size!r}")

    def learner(self, problem: Problem, rng: np.random.Generator) -> Learner:
        """Return manifold descent."""
        r = check_r(self.r, problem.layout)
        return ManifoldDescent(r, self.descents, self.start, rng, printed=self.step_size == "printed")


@dataclass(frozen=True, kw_only=True, eq=False)
class Fixed(TQN):
    """Methods whose transform follows from the length of the third mode alone."""

    q: None = field(default=None, init=False, repr=False)

    def learner(self, problem: Problem, rng: np.random.Generator) -> Learner:
        """Return the fixed transform."""
        return Keep(self.transform(problem.layout.n3))

    def transform(self, n3: int) -> Transform:
        """Return the transform of a third mode of length n3."""
        raise AssertionError(f"{self.name} defines no transform")


class TNN(Fixed):
    """Q = Fourier."""

    name: ClassVar[str] = "tnn"
    about: ClassVar[str] = "tensor nuclear norm: Fourier transform (Lu et al. 2018)"

    def transform(self, n3: int) -> Transform:
        """Return the DFT."""
        return Fourier(n3)


class TNNC(Fixed):
    """Q = cosine."""

    name: ClassVar[str] = "tnn-c"
    about: ClassVar[str] = "tensor nuclear norm with the cosine transform (Xu et al. 2019)"

    def transform(self, n3: int) -> Transform:
        """Return the DCT."""
        return Cosine(n3)


class TTNN(Fixed):
    """Q = Daubechies-4 wavelets."""

    name: ClassVar[str] = "ttnn"
    about: ClassVar[str] = "tensor nuclear norm with the Daubechies-4 wavelet transform (Song et al. 2019)"

    def transform(self, n3: int) -> Transform:
        """Return the wavelet transform."""
        return wavelet(n3)


class Slicewise(Fixed):
    """Q = I."""

    name: ClassVar[str] = "slicewise"
    about: ClassVar[str] = "each frontal slice on its own, as a low-rank matrix: Q = I"

    def transform(self, n3: int) -> Transform:
        """Return the identity."""
        return Identity(n3)


@dataclass(frozen=True, kw_only=True, eq=False)
class TQNRandom(TQN):
    """Q random: what no knowledge of the data gives.

    Nothing is low-rank under it, so the way to the answer is long and rho is the paper's: with 1.2, mu outgrows it, by 1 dB
    where a tenth of CIFAR is known.
    """

    name: ClassVar[str] = "tqn-random"
    about: ClassVar[str] = "a random orthogonal transform: the paper's lower yardstick"

    rho: float | None = 1.1
    q: None = field(default=None, init=False, repr=False)

    def learner(self, problem: Problem, rng: np.random.Generator) -> Learner:
        """Return a random square Q."""
        n3 = problem.layout.n3
        return Keep(random_orthogonal(n3, n3, rng))


@dataclass(frozen=True, kw_only=True, eq=False)
class TQNOracle(TQN):
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
    q: None = field(default=None, init=False, repr=False)
    truth: Any = None

    def learner(self, problem: Problem, rng: np.random.Generator) -> Learner:
        """Return PCA(truth, 3, r)."""
        layout = problem.layout
        if self.truth is None:
            raise InputError("method 'tqn-oracle' needs the option 'truth': the complete array")
        if np.shape(self.truth) != layout.shape:
            raise InputError(f"truth has shape {np.shape(self.truth)}, the array has shape {layout.shape}")
        truth = np.asarray(self.truth, dtype=float)
        q = pca(truth, slice_axes=layout.slice_axes)
        size = np.linalg.norm(q.T @ layout.stack(truth).reshape(layout.n3, -1), axis=1)
        return Keep(Matrix(q[:, size > 1e-12 * size[0]]))  # directions that the truth does not have are known not to be
