"""kriging: whole fibres are missing, and are predicted from the others by a Gaussian model with learned covariances.

Where the fibre of place s at time t (the day of a station) is missing as a whole, nothing along it helps; the fibres of
other places and times do. With y <- y^p, divided by (rms of the known of place s)^a, and U the eigenvectors of the second
moment of the known fibres, D_ic = <fibre i, U_c>, the model is

    max  sum_c log N(D_c; 0, alpha_c M + sigma_c I),   M_ij = Ks[s_i, s_j] Kt[t_i, t_j]                       (likelihood)

over Ks, Kt, alpha and sigma, by EM (`kronecker.py`), from Ks = I; the missing fibres are the posterior mean. Two things
keep Ks (as many numbers as pairs of places) from learning noise: it and Kt are drawn to ones of equal variances and equal
covariances, as if by as many more observations as they have rows; and EM is ended early. The number of steps, a and p
are those that predict held-out known fibres best. The first steps learn Kt alone, with one alpha and one sigma.

| symbol | here | |
|---|---|---|
| s, t, B | ``s``, ``t`` | place and time of a known fibre, its length |
| Ks, Kt | ``k.ks``, ``k.kt`` | covariances between places, between times; mean diagonal 1 |
| alpha_c, sigma_c | ``k.alpha``, ``k.sigma`` | variance of coefficient c, of its noise |
| beta_c | ``beta`` | (alpha_c M + sigma_c I)^-1 D_c |
| a, p | ``a``, ``p`` | powers of the place's rms that is divided out, and of the values |

Fibres of which half of the entries are known count as known, with their holes filled by the fibres' own covariance;
in the end every fibre with some known entries is conditioned on them. A place without any known fibre is
taken for an average of the others, a time without one is interpolated from the others (with Kt averaged by lag).

One step takes an n x n eigendecomposition for n known fibres. Beyond ``largest`` fibres the places are put into groups of
neighbours, between which Ks is zero, so small that a step costs as much as one of ``largest`` fibres.

The model: E. V. Bonilla, K. M. A. Chai, C. K. I. Williams. Multi-task Gaussian Process Prediction. NeurIPS, 2007.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from ..errors import InputError
from ..kernels.memory import Workspace
from ..problem import Problem
from ..result import Step
from . import kronecker
from .base import Method
from .fibres import Fibres, arranged, conditioned, fibres, known_fibres, restored, turned_back
from .kriging_choice import Settings, choose
from .kronecker import Covariances, Known

TIMES_ONLY = 30  # steps that learn Kt alone
STILL = 1e-3  # change of Kt below which they are over
EVEN = 1e-3  # least eigenvalue of a covariance that was averaged by lag, relative
FIRST = 0.1  # share of a time's variance that is its own, at the start


class State(NamedTuple):
    """What a step hands to the next."""

    settings: Settings
    fibres: Fibres
    group: np.ndarray  # (S,)
    k: Covariances  # those that alpha, sigma and beta belong to
    beta: np.ndarray  # (n, C)
    ks: np.ndarray  # the next ones
    kt: np.ndarray
    done: int  # steps, those of Kt alone included

    @property
    def learned(self) -> int | None:
        """How many steps of EM have changed Ks; -1 where Kt alone is learned, None before that."""
        return self.done - TIMES_ONLY - 1 if self.done >= TIMES_ONLY else None


@dataclass(frozen=True, kw_only=True, eq=False)
class Kriging(Method):
    """Gaussian model of whole fibres with learned covariances between places and between times."""

    name: ClassVar[str] = "kriging"
    about: ClassVar[str] = "whole fibres missing: Gaussian model, covariances of places and times learned by EM"

    max_steps: int = 200
    axis: int | Sequence[int] | None = None  # the axis, or axes, of y that fibres lie along; None: as the mask has it
    times: int | None = None  # the axis of y that is time; all others are places; None: by hold-out
    a: float | None = None  # power of the place's rms that is divided out; None: 0, 1/2 or 1, by hold-out
    p: float | None = None  # power of the values, which must be at least 0 unless it is 1; None: 1 or 1/2, by hold-out
    steps: int | None = None  # steps of EM that learn Ks and Kt; None: by hold-out, at most 30
    largest: int = 1500  # known fibres in one eigendecomposition

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("times", whole=True)
        self.check("a", at_least=0)
        self.check("p", above=0)
        self.check("steps", at_least=0, whole=True)
        self.check("largest", at_least=2, whole=True)

    def undetermined(self, problem: Problem) -> np.ndarray:
        """Return that nothing is: every entry follows from others."""
        return np.zeros(problem.observed.shape, dtype=bool)

    def init(self, problem: Problem, work: Workspace) -> State:
        """Choose what is not given, and start from Ks = I and times that are much alike."""
        settings = choose(self, problem, work)
        y, on = self._seen(problem, settings)
        if settings.p != 1 and y.min() < 0:
            raise InputError(f"p = {settings.p} needs values of at least 0, and the array has negative ones: use p=1")
        f = fibres(y, on, known_fibres(on), settings.a, settings.p)
        n_places, n_times = y.shape[:2]
        if n_times > self.largest:
            raise InputError(
                f"axis {settings.times} has {n_times} times, and kriging holds a covariance for each pair of at most "
                f"{self.largest}: name a shorter axis by times=…, or raise largest"
            )
        ks, kt = np.eye(n_places), np.full((n_times, n_times), 1 - FIRST) + FIRST * np.eye(n_times)
        size = max(float(np.square(f.d).mean()), np.finfo(float).tiny)
        c = f.d.shape[1]
        k = Covariances(ks, kt, np.full(c, size), np.full(c, 0.1 * size))
        group = groups(f.s, n_places, self.largest)
        return State(settings, f, group, k, np.zeros_like(f.d), ks, kt, 0)

    def as_found(self, problem: Problem, state: State) -> Kriging:
        """Return the method with the settings that a run has chosen."""
        a, p, steps, _, _, times, axis = state.settings
        return replace(self, a=a, p=p, steps=steps, times=times, axis=axis)

    def step(self, problem: Problem, state: State, work: Workspace) -> tuple[State, Step]:
        """Make one step of EM; the first ones with Ks = I."""
        settings, f, group, k, _, ks, kt, done = state
        early = done < TIMES_ONLY
        known = Known(f.d, f.s, f.t, np.arange(len(ks)) if early else group)
        made = kronecker.step(k._replace(ks=ks, kt=kt), known, common=early, places=not early)
        moved = max(_apart(made.ks, ks), _apart(made.kt, kt))
        done += 1
        if early and moved < STILL:
            done = TIMES_ONLY
        settled = done >= TIMES_ONLY + settings.steps + 1
        objective = math.exp(-made.value / f.d.size)  # in the data's unit: the geometric mean of what is not predicted
        noise = math.sqrt(float(made.fitted.sigma.sum()) / len(f.basis))
        step = Step(
            objective, 0.0, moved, 1.0 if early else moved, 1 / (noise or 1.0), f.d.shape[1], len(ks), settled=settled
        )
        return State(settings, f, group, made.fitted, made.beta, made.ks, made.kt, done), step

    def answer(self, problem: Problem, state: State, work: Workspace) -> np.ndarray:
        """Return X: the posterior mean."""
        return self._posterior(problem, state, False)

    def deviation(self, problem: Problem, state: State, work: Workspace) -> np.ndarray:
        """Return the standard deviation of the posterior, with noise; 0 where known."""
        return self._posterior(problem, state, True)

    def _seen(self, problem: Problem, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
        """Return the known values, as double precision, and where they are (S, T, B)."""
        y = arranged(problem.y, settings.order, settings.split).astype(float)
        return y, arranged(problem.observed, settings.order, settings.split)

    def _posterior(self, problem: Problem, state: State, deviation: bool) -> np.ndarray:
        """Return the posterior mean or standard deviation of every entry, in the problem's axes."""
        settings, f = state.settings, state.fibres
        y, on = self._seen(problem, settings)
        known = Known(f.d, f.s, f.t, state.group if state.done > TIMES_ONLY else np.arange(len(state.ks)))
        k = known_to_all(state.k, known)
        mean, variance = kronecker.mean(k, known, state.beta), np.zeros((1, 1, len(k.alpha)))
        some = on.any(2) & ~on.all(2)
        if deviation or settings.p != 1 or some.any():
            variance, alone, variance_alone = kronecker.variance(k, known, state.beta)
            mean[f.s, f.t] = alone  # what the others say of a known fibre: its own entries are taken in below
            variance += k.sigma
            variance[f.s, f.t] = variance_alone
        x = mean @ f.basis.T
        spread = variance @ np.square(f.basis).T + f.rest
        if some.any():
            s, t = np.nonzero(some)
            given = np.where(on[s, t], y[s, t], 0) ** settings.p / f.level[s][:, None]
            x[s, t], spread[s, t] = conditioned(given, on[s, t], mean[s, t], variance[s, t], f.basis, f.rest)
        x, spread = turned_back(x, spread, f.level, settings.p)
        found = np.where(on, 0, spread) if deviation else np.where(on, y, x)
        return restored(found, settings.order, problem.y.shape, problem.y.dtype)


def _apart(new: np.ndarray, old: np.ndarray) -> float:
    return float(np.linalg.norm(new - old) / (np.linalg.norm(old) or 1.0))


def groups(s: np.ndarray, n_places: int, largest: int) -> np.ndarray:
    """Return the group of each place (S,): neighbours, as many as an eigendecomposition of their known fibres may have.

    The cost of all groups, sum of n_g^3, is at most that of one of ``largest`` fibres, unless a place alone has more.

    >>> groups(np.repeat(np.arange(4), 10), 4, 40).tolist(), groups(np.repeat(np.arange(4), 10), 4, 30).tolist()
    ([0, 0, 0, 0], [0, 0, 0, 1])
    """
    n = len(s)
    if n <= largest:
        return np.zeros(n_places, int)
    most = math.sqrt(largest**3 / n)
    return (np.searchsorted(np.sort(s), np.arange(n_places)) / most).astype(int)


def known_to_all(k: Covariances, known: Known) -> Covariances:
    """Return the covariances with rows for places and times without a known fibre, of which EM can learn nothing.

    Such a place is the average of the known places and something of its own; such a time is the
    mixture of known times that would predict it if covariances were those of the lag alone, and something of its own.

    >>> k = Covariances(np.eye(3), np.array([[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]]), np.ones(1), np.ones(1))
    >>> known = Known(np.ones((2, 1)), np.array([0, 1]), np.array([0, 1]), np.zeros(3, int))
    >>> full = known_to_all(k, known)
    >>> full.ks[2].round(3).tolist(), full.kt[2].round(3).tolist()
    ([0.5, 0.5, 1.0], [0.8, 0.8, 1.0])
    """
    ks, kt = k.ks.copy(), k.kt.copy()
    here = np.isin(np.arange(len(ks)), known.s)
    if not here.all():
        row = ks[np.ix_(here, here)].mean(0)
        ks[np.ix_(~here, here)], ks[np.ix_(here, ~here)] = row, row[:, None]
        ks[~here, ~here] = np.diag(ks)[here].mean()
    then = np.isin(np.arange(len(kt)), known.t)
    if then.all():
        return k._replace(ks=ks)
    seen = np.flatnonzero(then)
    inner = kt[np.ix_(seen, seen)]
    lags = np.abs(seen[:, None] - seen)
    count = np.bincount(lags.ravel(), minlength=len(kt))
    by_lag = np.bincount(lags.ravel(), inner.ravel(), len(kt)) / np.maximum(count, 1)
    by_lag[count == 0] = inner[lags > 0].mean() if len(seen) > 1 else 0
    w, u = np.linalg.eigh(by_lag[np.abs(np.subtract.outer(np.arange(len(kt)), np.arange(len(kt))))])
    even = (u * np.maximum(w, EVEN * w[-1])) @ u.T  # the same for all pairs of a lag, and a covariance
    for t in np.flatnonzero(~then):
        mix = np.linalg.solve(even[np.ix_(seen, seen)], even[seen, t])
        kt[t, seen] = kt[seen, t] = inner @ mix
        kt[t, t] = max(by_lag[0], mix @ inner @ mix)
    return k._replace(ks=ks, kt=kt)
