"""TQN: completion by the tensor Q-nuclear norm, and every recipe of its family.

H. Kong, C. Lu, Z. Lin. Tensor Q-Rank: New Data Dependent Definition of Tensor Rank. Machine Learning, 2021.

    min  ||X||_{Q,*} = sum_i ||(X x_3 Q)^(i)||_*    s.t.  P_Omega(X) = P_Omega(Y),   Q fixed, PCA(X, 3, r) or learned

by the ADMM on X + E = Y, P_Omega(E) = 0 (Algorithm 2 of the paper), Z the multiplier and mu its weight. A recipe says which
prior, which fit and which schedule of mu; the step is the same for all.

| symbol | here | |
|---|---|---|
| Y, Omega | ``problem.stack``, ``problem.mask`` | the known values and where they are |
| T = Y - E + Z/mu | ``t`` | argument of the prox; with Y it is the whole state, see ``fit/exact.py`` |
| Q | | how it is chosen: ``priors/`` |
| lambda = 1/mu | ``lam`` | threshold of the prox |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import kernels
from ..errors import InputError
from ..fit import Exact, Fit, Noisy
from ..kernels.memory import Workspace
from ..penalties import penalty_named
from ..priors import STARTS, ManifoldDescent, MaximalVariance, PrintedDescent, Prior, QNorm
from ..problem import Problem
from ..result import Step
from ..transforms import Transform, check_r
from .base import Method
from .schedule import FIRST, growth, most, pace, within

# The paper's settings, of which a method takes those that it has
PAPER = dict(rho=1.1, mu0=1e-4, mu_max=1e10, tol=1e-8, absolute=True, penalty="nuclear", update_every=1, start="pca")


class State(NamedTuple):
    """What a step hands to the next."""

    t: Any  # (n3, n1, n2); with an exact fit it is X off Omega
    mu: float
    rho: float
    prior: Any
    fit: Any
    last: float = np.inf  # the mu with which the schedule ends
    fastest: float = 0.0  # the largest rho while X moves; 0: rho is fixed


@dataclass(frozen=True, kw_only=True, eq=False)
class Recipe(Method):
    """A prior, a fit and a schedule; which prior, the methods say."""

    shares_out: ClassVar[bool] = True
    numpy_only: ClassVar[bool] = False
    presets: ClassVar[dict[str, dict[str, Any]]] = {"default": {}, "paper": PAPER}

    rho: float | None = None  # None: by what is known and what is found (`schedule`), but 1.1 for penalties not mild
    mu0: float | None = None  # None: from the data
    mu_max: float | None = None  # None: mu grows as long as the run lasts
    penalty: Any = "nuclear"  # a name, or a Penalty, which it is once the method is made
    absolute: bool = False  # the paper's stopping rule, on largest entries in the data's unit
    noise: float | None = field(default=None, repr=False)  # standard deviation of what is known; None: it is exact

    def __post_init__(self) -> None:
        super().__post_init__()
        penalty = penalty_named(self.penalty)
        object.__setattr__(self, "penalty", penalty)
        if self.rho is None and not penalty.mild:
            object.__setattr__(self, "rho", 1.1)  # the answer depends on a slow path
        self.check("rho", at_least=1)
        self.check("mu0", "mu_max", "noise", above=0)
        if self.noise is not None and self.absolute:
            raise InputError("the paper's stopping rule (absolute) is for exact values: leave out noise, or absolute")

    def tolerance(self, eps: float) -> float:
        """Return tol, but 1000 eps at least: the last digits of single precision cost steps in double, for no decibels."""
        return self.tol if self.absolute else max(self.tol, 1000 * eps)

    def dual_tolerance(self, tolerance: float) -> float:
        """Return 10 tol; the paper's rule, on largest entries, has a tol in the data's unit, so there 10 times the default one.

        That rule asks for no dual residual: it is met, too, where mu was so large that nothing moved. That run has settled.
        """
        return super().dual_tolerance(Method.tol if self.absolute else tolerance)

    def prior(self, problem: Problem) -> Prior:
        """Return what the answer should be like."""
        raise AssertionError(f"{self.name} defines no prior")

    @property
    def fit(self) -> Fit:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How the answer agrees with what is known."""
        return Exact(self.absolute) if self.noise is None else Noisy(float(self.noise))

    def init(self, problem: Problem, work: Workspace) -> State:
        """Start where the prior leaves little of the zero-filled data."""
        t, prior = kernels.of(problem.y).copy(problem.stack), self.prior(problem)
        state, fit = prior.start(t, work), self.fit.start(problem, t)
        mu = 1 / (FIRST * (prior.size(t, state, work) or 1.0)) if self.mu0 is None else self.mu0 * problem.scale
        mu, rho = min(within(mu, problem), 1 / (self._least(problem) or 1e-300)), self.rho or pace(problem.mask)
        looks = self.rho is None and self.fit.exact and not self.absolute
        if looks and self.mu0 is None:
            # As long as X = 0, T on Omega becomes Y (1 + 1/rho + 1/rho^2 + …): start where that ends.
            ahead = rho / (rho - 1)
            t *= float(ahead)
            mu /= ahead
        return State(t, mu, rho, state, fit, fastest=rho if looks else 0.0)

    def step(self, problem: Problem, state: State, work: Workspace) -> tuple[State, Step]:
        """Run one iteration of Algorithm 2."""
        t, mu, rho, prior, fit, last, fastest = state
        lam, lam_next = 1 / mu, max(1 / within(rho * mu, problem), self._least(problem))  # (30) mu-update
        found = self.prior(problem)(t, lam, prior, work)  # (26) Q-, (27) X-update
        agreed = self.fit(problem, t, found.x, lam, lam_next, fit, work)  # (28) E-, (29) Z-update
        residuals = agreed.primal, agreed.dual, agreed.change
        step = Step(found.value, *residuals, mu, found.rank, found.slices, found.learning, settled=mu >= last)
        if fastest:
            rho = growth(fastest, rho, found.rank / self._full(problem), *residuals)
        return State(agreed.t, 1 / lam_next, rho, found.state, agreed.state, last, fastest), step

    def _full(self, problem: Problem) -> int:
        """Return how many singular values X can have."""
        return problem.layout.n3 * min(problem.layout.slice_shape)

    def _least(self, problem: Problem) -> float:
        """Return where lam stops falling; 0: nowhere."""
        least = 0.0 if self.mu_max is None else 1 / most(self.mu_max, problem)
        return max(least, self.fit.finest(problem))

    def answer(self, problem: Problem, state: State, work: Workspace) -> Any:
        """Return X, in memory that the next step overwrites."""
        return self.fit.answer(problem, state.t, state.fit, work)

    def learned(self, problem: Problem, state: State, work: Workspace) -> Transform | None:
        """Return the prior's transform; T, which has done its duty, may be overwritten."""
        return self.prior(problem).transform(self.answer(problem, state, work), state.t, state.prior, work)


@dataclass(frozen=True, kw_only=True, eq=False)
class Learning(Recipe):
    """Options of the methods that learn Q."""

    update_every: int = 1  # the paper's K
    r: int | None = None  # columns of Q; None: min(n1 n2, n3)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("update_every", "r", at_least=1, whole=True)

    def _full(self, problem: Problem) -> int:
        """Return the columns of Q, times the singular values of a slice."""
        return check_r(self.r, problem.layout) * min(problem.layout.slice_shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class VMTQN(Learning):
    """Variance maximisation: Q = PCA(T, 3, r) in every K-th step."""

    name: ClassVar[str] = "vmtqn"
    about: ClassVar[str] = "learned transform of maximal variance: Q = right singular vectors of the mode-3 unfolding"

    def prior(self, problem: Problem) -> Prior:
        """Return the Q-norm with variance maximisation."""
        learner = MaximalVariance(check_r(self.r, problem.layout), lasting=self.update_every > 1)
        return QNorm(learner, self.penalty, self.update_every)


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

    penalty: Any = "log-sum:20"
    descents: int = 1  # Cayley steps in one Q-update
    start: str = "spun"  # where a Q-update starts: see `priors.ManifoldDescent`
    step_size: str = "backtracking"  # or "printed": the paper's, which overshoots

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("descents", at_least=1, whole=True)
        if self.start not in STARTS:
            raise InputError(f"start must be one of {', '.join(map(repr, STARTS))}, not {self.start!r}")
        if self.step_size not in ("backtracking", "printed"):
            raise InputError(f"step_size must be 'backtracking' or 'printed', not {self.step_size!r}")

    def prior(self, problem: Problem) -> Prior:
        """Return the Q-norm with manifold descent."""
        kind = PrintedDescent if self.step_size == "printed" else ManifoldDescent
        learner = kind(check_r(self.r, problem.layout), self.descents, self.start)
        return QNorm(learner, self.penalty, self.update_every)
