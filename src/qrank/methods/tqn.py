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
from ..fit import MILD, Exact, Fit, Measured, Noisy, Robust
from ..kernels.memory import Workspace
from ..penalties import penalty_named
from ..priors import REST, STARTS, ManifoldDescent, MaximalVariance, PrintedDescent, Prior, QNorm
from ..problem import Problem
from ..result import Step
from ..tensor import Layout
from ..transforms import Transform, check_r
from . import needs, schedule
from .base import Method
from .doubts import check_noise, checked_outliers
from .needs import Needs, Size
from .schedule import AGAIN, AGAIN_RHO, AGAIN_STEPS, BEYOND, EVEN, FIRST, first, growth, most, pace, whole, within

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
    beyond: float = 0.0  # how far T goes beyond X off Omega, in a run from an earlier answer
    waits: schedule.Waits = schedule.Waits()  # while lam stands at the level of the noise


@dataclass(frozen=True, kw_only=True, eq=False)
class Recipe(Method):
    """A prior, a fit and a schedule; which prior, the methods say."""

    shares_out: ClassVar[bool] = True
    single: ClassVar[float] = 1 << 18
    measures: ClassVar[bool] = True
    resumes: ClassVar[bool] = True
    numpy_only: ClassVar[bool] = False
    presets: ClassVar[dict[str, dict[str, Any]]] = {"default": {}, "paper": PAPER}

    rho: float | None = None  # None: by what is known and what is found (`schedule`), but 1.1 for penalties not mild
    mu0: float | None = None  # None: from the data
    mu_max: float | None = None  # None: mu grows as long as the run lasts
    penalty: Any = "nuclear"  # a name, or a Penalty, which it is once the method is made
    absolute: bool = False  # the paper's stopping rule, on largest entries in the data's unit
    noise: Any = field(default=None, repr=False)  # standard deviation of what is known, or "auto"; None: it is exact
    outliers: Any = field(default=None, repr=False)  # True or "entries", "fibres": some known values are wrong
    outlier_weight: float | None = field(default=None, repr=False)  # of outliers in the objective; None: Lu et al.'s

    def __post_init__(self) -> None:
        super().__post_init__()
        penalty = penalty_named(self.penalty)
        object.__setattr__(self, "penalty", penalty)
        if self.rho is None and not penalty.mild:
            object.__setattr__(self, "rho", 1.1)  # the answer depends on a slow path
        self.check("rho", at_least=1)
        self.check("mu0", "mu_max", "outlier_weight", above=0)
        object.__setattr__(self, "outliers", checked_outliers(self.outliers))
        check_noise(self.noise, self.outliers)
        if (self.noise is not None or self.outliers is not None) and self.absolute:
            raise InputError(
                "the paper's stopping rule (absolute) is for exact values: leave out noise and outliers, or absolute"
            )

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
        if self.outliers is not None:
            return Robust(self.outliers, self.noise_level, self.outlier_weight, self._c)
        return Exact(self.absolute) if self.noise_level is None else Noisy(self.noise_level, self._c)

    @property
    def _c(self) -> float:
        """How much of the noise the penalty takes away; see `fit/noisy.py`."""
        return MILD if self.penalty.mild else 1.0

    def needs(self, layout: Layout, dtype: np.dtype, p: float) -> Needs:
        """Return what T, the spare array, the prior and the pass take; X on Omega for the paper's rule, U and W for noise."""
        size = Size.of(layout, dtype)
        kept = p * self.absolute if self.noise is None else 5  # temporary ones counted
        state = Needs((2 + kept) * size.bytes, 0, needs.growing(self.rho, self.max_steps))
        return state + needs.passes(size) + self.needs_of_prior(layout, size)

    def needs_of_prior(self, layout: Layout, size: Size) -> Needs:
        """Return what the prior takes beside that: of one that does not say, an array."""
        return Needs(size.bytes, 0, 0)

    def fitted(self, problem: Problem) -> Fit:
        """Return how the answer of a problem agrees with what is known of it: entries, or other measurements."""
        if problem.measured is None:
            return self.fit
        if self.outliers is not None:
            raise InputError("outliers can be found among known entries only, not among other measurements")
        return Measured(self.noise_level, self._c)

    def init(self, problem: Problem, work: Workspace) -> State:
        """Start where the prior leaves little of the zero-filled data, or late on the path from an earlier answer."""
        if problem.start is not None:
            return self._resumed(problem, work)
        t, prior = kernels.of(problem.y).copy(problem.stack), self.prior(problem)
        state, fit = prior.start(t, work), self.fitted(problem).start(problem, t)
        grows = self.rho if self.fitted(problem).exact else 1.0  # else mu stops where the noise is, and waits
        mu = first(problem, 1 / (FIRST * (prior.size(t, state, work) or 1.0)), self.mu0, grows)
        mu, rho = min(mu, 1 / (self._least(problem) or 1e-300)), self.rho or pace(problem)
        looks = self.rho is None and self.fitted(problem).exact and not self.absolute
        if looks and self.mu0 is None:
            # As long as X = 0, T on Omega becomes Y (1 + 1/rho + 1/rho^2 + …): start where that ends.
            ahead = rho / (rho - 1)
            t *= float(ahead)
            mu /= ahead
        return State(t, mu, rho, state, fit, fastest=rho if looks else 0.0)

    def _resumed(self, problem: Problem, work: Workspace) -> State:
        """Start from an earlier answer with a mu under which most of it stays: a few steps bring new entries in.

        mu then grows fast and the schedule ends after AGAIN_STEPS; docs/update.md has what that costs and how near it comes. A
        ``rho`` that is given, or asked for by the penalty, is kept, and the run then ends by its residuals.
        """
        kind, prior = kernels.of(problem.y), self.prior(problem)
        t = kind.keep(kind.copy(problem.start), problem.y, problem.observed).reshape(problem.stack.shape)
        state, fit = prior.start(t, work), self.fitted(problem).start(problem, t)
        mu = AGAIN / (prior.size(t, state, work) or 1.0) if self.mu0 is None else self.mu0 * problem.scale
        mu, rho = min(within(mu, problem), 1 / (self._least(problem) or 1e-300)), self.rho or AGAIN_RHO
        ends = self.rho is None and self.fitted(problem).exact and not self.absolute
        return State(t, mu, rho, state, fit, mu * rho ** (AGAIN_STEPS - 1.5) if ends else np.inf, beyond=BEYOND)

    def step(self, problem: Problem, state: State, work: Workspace) -> tuple[State, Step]:
        """Run one iteration of Algorithm 2."""
        t, mu, rho, prior, fit, last, fastest, beyond, waits = state
        level = self._least(problem)
        lam, lam_next = 1 / mu, max(1 / within(rho * mu, problem), level)  # (30) mu-update
        found = self.prior(problem)(t, lam, prior, work)  # (26) Q-, (27) X-update
        how = self.fitted(problem).beyond(beyond) if beyond else self.fitted(problem)
        agreed = how(problem, t, found.x, lam, lam_next, fit, work)  # (28) E-, (29) Z-update
        residuals = agreed.primal, agreed.dual, agreed.change
        if self.noise_level is not None and lam < 1.001 * level:
            waits = waits.after(agreed.change)
        settled = mu >= last or waits.over
        step = Step(found.value, *residuals, mu, found.rank, found.slices, found.learning, settled=settled)
        if fastest and self._whole(problem, agreed.primal, found.rank, found.slices):
            rho, fastest = min(rho, EVEN), 0.0
        elif fastest:
            rho = growth(fastest, rho, found.rank / self._full(problem), *residuals)
        return State(agreed.t, 1 / lam_next, rho, found.state, agreed.state, last, fastest, beyond, waits), step

    def _whole(self, problem: Problem, primal: float, rank: int, slices: int) -> bool:
        """Return whether X is of low rank along the third mode only; a given transform does not look for that."""
        return False

    def _full(self, problem: Problem) -> int:
        """Return how many singular values X can have."""
        return problem.layout.n3 * min(problem.layout.slice_shape)

    def _least(self, problem: Problem) -> float:
        """Return where lam stops falling; 0: nowhere."""
        least = 0.0 if self.mu_max is None else 1 / most(self.mu_max, problem)
        return max(least, self.fitted(problem).finest(problem))

    def answer(self, problem: Problem, state: State, work: Workspace) -> Any:
        """Return X, in memory that the next step overwrites."""
        return self.fitted(problem).answer(problem, state.t, state.fit, work)

    def outliers_of(self, problem: Problem, state: State) -> Any:
        """Return S, where outliers were looked for."""
        return None if self.outliers is None else state.fit.s

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

    def needs_of_prior(self, layout: Layout, size: Size) -> Needs:
        """Return what learning Q and shrinking under it take."""
        r = check_r(self.r, layout)
        learning = needs.learning(r, size)
        learning = learning._replace(memory=max(learning.memory, needs.returned(size)))
        found = learning + needs.shrinking(r, size)
        return found if self.update_every == 1 else found + Needs(size.n3 * r * size.item, 0, 0)

    def _whole(self, problem: Problem, primal: float, rank: int, slices: int) -> bool:
        """Return whether the slices that the learned Q has found are whole."""
        return whole(primal, rank, slices, min(problem.layout.slice_shape))

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
    was measured better (docs/decisions.md), so it is the default here.
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

    def needs_of_prior(self, layout: Layout, size: Size) -> Needs:
        """Return what V, R, Q and the descent take; a descent shrinks once or twice more, and of most arrays few are tried."""
        r, found = check_r(self.r, layout), super().needs_of_prior(layout, size)
        confined = size.bytes * r / size.n3 if r < size.n3 else 0.0  # T x_3 V
        v, rotations = size.n3 * r * size.item, 8 * r * r * size.item
        learning = max(v + needs.returned(size), 2 * v + rotations + confined)
        return Needs(
            needs.shrinking(r, size).memory + learning + needs.BLAS * 2,
            (1 + 1.5 * self.descents / (1 + REST * (self.start == "spun"))) * found.flops,
            0,
        )

    def prior(self, problem: Problem) -> Prior:
        """Return the Q-norm with manifold descent."""
        kind = PrintedDescent if self.step_size == "printed" else ManifoldDescent
        learner = kind(check_r(self.r, problem.layout), self.descents, self.start)
        return QNorm(learner, self.penalty, self.update_every)
