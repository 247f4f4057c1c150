"""views: the Q-norm seen from several sides at once, annealed.

    sigma from v, the standard deviation of what is known, down to v / depth;   T = Y on Omega, a smooth fill elsewhere
    repeat:  X = sum_k w_k D_k(T, sigma);   T = Y + (T - X) / rho on Omega, X + 0.6 (X - T) elsewhere;   sigma = sigma / rho

D_k sees T as a stack (tube, rows, columns), and shrinks its slices under a Q of its own, learned by maximal variance, by log-sum
with lam = sigma (sqrt(rows) + sqrt(columns)): see `priors/average.py`. It is the loop of the TQN family, with its fit, but for the
step beyond X, which spreads what is known in fewer steps: with it 28 steps are as good as 50 where a third is known, and
44 where a tenth is.

A natural array has the more singular values the lower sigma is, and where they are as many as what is known, nothing is gained
by going on. Of an array that is exactly of low rank they are found early, and their number stands still: then sigma goes on
down, until the residuals are at the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from .. import kernels
from ..errors import InputError
from ..fit import Exact, Fit, Noisy
from ..kernels.arrange import View
from ..kernels.memory import Workspace
from ..kernels.smoothing import ROUGH
from ..priors import Average, MaximalVariance, QNorm, Seen
from ..problem import Problem
from ..result import Step
from ..tensor import Layout
from . import needs
from .needs import Needs, Size
from .schedule import known_share, within
from .tqn import Recipe, State

SQUARE, CUBE, DEEP = 8, 6, 4  # sides of blocks: in the plane alone; in the plane, and along the other axes
SHORT = 4  # an axis up to this length is no side of a slice
JUDGES = 20_000  # held-out entries that judge the views: more tell no more
RELAX = 0.6  # how far T goes beyond X off Omega
PATIENCE = 0.75  # how far log sigma falls without a lower held-out error before a judged run ends
FALLS = 0.995  # the held-out error falls if three steps take it below this part of the three before
SLIGHT = 0.03  # views of less weight than this are left out afterwards
STANDS = 1.05  # the rank stands still if it grows by less than this while sigma falls by e
FULL = 0.6  # and if it is below this part of what it could be
LINGER = 15  # steps at the level of the noise
FILLING = 4.5  # measured: arrays that the smooth fill takes
SMALLER = 1.8  # measured: what the many small pieces of views take beside the operations in them
AGAIN, AGAIN_STEPS, AGAIN_RELAX = (
    1.3,
    5,
    1.3,
)  # a resumed run: sigma falls by so much a step, so many, T goes so far beyond X; less far where there are more steps
WARM = 8.0  # a run from an earlier answer starts so many times below v


def views_of(shape: tuple[int, ...], smooth: Sequence[bool] | np.ndarray) -> list[View]:
    """Return the views of an array of a shape, the slice axes last; only axes along which it is smooth are cut.

    Every pair of long axes as slices, the tube being all others; squares in the plane of the slice axes, whose places are
    the tube; and cubes, whose places in the plane are the rows, all cubes the columns.

    >>> [view.stack_shape((30, 64, 80)) for view in views_of((30, 64, 80), (True, True, True))]
    [(30, 64, 80), (80, 30, 64), (64, 30, 80), (64, 30, 99), (4, 36, 1620)]
    """
    d = len(shape)
    long = [axis for axis in range(d) if shape[axis] > SHORT or axis >= d - 2]
    pairs = sorted(combinations(long, 2), key=lambda pair: pair != (d - 2, d - 1))
    found = [whole(d, pair) for pair in pairs]
    plane = [axis for axis in (d - 2, d - 1) if shape[axis] >= 2 * SQUARE and smooth[axis]]
    if plane:
        sides = tuple(SQUARE if axis in plane else 1 for axis in range(d))
        places = tuple(2 * axis + 1 for axis in plane)
        found.append(View(sides, places, tuple(2 * axis for axis in range(d - 2)), (2 * d - 4, 2 * d - 2)))
        deep = [axis for axis in range(d - 2) if shape[axis] >= 2 * DEEP and smooth[axis]]
        sides = tuple(CUBE if axis in plane else DEEP if axis in deep else 1 for axis in range(d))
        short = tuple(2 * axis for axis in range(d - 2) if axis not in deep and shape[axis] <= SHORT)
        cubes = tuple(2 * axis for axis in range(d) if 2 * axis not in short)
        found.append(View(sides, tuple(2 * axis + 1 for axis in deep) + short, places, cubes))
    return found


def whole(d: int, pair: tuple[int, ...] | None = None) -> View:
    """Return the view of an array of d axes whose slices have a pair of axes, the last two by default, uncut.

    >>> whole(3).stack_shape((5, 6, 7))
    (5, 6, 7)
    """
    pair = (d - 2, d - 1) if pair is None else pair
    return View((1,) * d, tuple(2 * a for a in range(d) if a not in pair), *((2 * a,) for a in pair))


def steps_for(p: float) -> int:
    """Return the steps of a run where a share p is known around what is missing: that spreads the slower the less it is.

    >>> [steps_for(p) for p in (0.5, 0.3, 0.1, 0.01)]
    [28, 28, 44, 60]
    """
    return min(max(28, round(20 + 2.4 / max(p, 1e-3))), 60)


@dataclass(frozen=True, kw_only=True, eq=False)
class Views(Recipe):
    """The mean over views; the slice axes that are given are the plane that is cut into blocks."""

    revision: ClassVar[int] = 1
    name: ClassVar[str] = "views"
    about: ClassVar[str] = "the mean of the learned Q-norm's proxes over several arrangements of the array, annealed"
    single: ClassVar[float] = 0
    presets: ClassVar[dict[str, dict[str, Any]]] = {"default": {}}

    penalty: Any = "log-sum:2"
    steps: int | None = None  # from v down to v / depth; None: 28 to 60, the more the less is known
    depth: float = 80.0  # how far below v sigma ends, unless going on pays
    weights: Any = None  # of the views, or a table that an earlier run has learned; None: equal
    ordered: bool = True  # False: neighbours say nothing of each other: no blocks, and no smooth start
    judged: bool = False  # the weights follow entries that are held out, and sigma falls as long as their error does

    def __post_init__(self) -> None:
        rho = self.rho
        super().__post_init__()
        object.__setattr__(self, "rho", rho)  # None: it follows from steps and depth
        self.check("steps", above=1, whole=True)
        self.check("depth", above=1)
        if self.weights is not None:
            object.__setattr__(self, "weights", _weights(self.weights))

    @property
    def fit(self) -> Fit:
        """How the answer agrees with what is known."""
        if self.outliers is not None:
            return super().fit
        return Exact(self.absolute, RELAX) if self.noise_level is None else Noisy(self.noise_level, self._c, RELAX)

    def needs(self, layout: Layout, dtype: np.dtype, p: float) -> Needs:
        """Return what T, X and a view of T take in single precision, or the smooth fill before, and the largest Gram matrix."""
        size, double = Size.of(layout, np.dtype(np.float32)), np.dtype(dtype).itemsize > 4
        shape, steps = layout.inner_shape, steps_for(p) if self.steps is None else self.steps
        found = [Size(*view.stack_shape(shape), size.item) for view in views_of(shape, (self.ordered,) * len(shape))]
        each = [needs.learning(one.short, one) + needs.shrinking(one.short, one) for one in found]
        # A view, in whose memory its X is made; the Gram matrix is in that of `learning`, and LAPACK's room is twice as large
        padded, room = max(one.bytes for one in found), max(2 * size.item * one.short**2 for one in found)
        memory = 2 * size.bytes + padded + room + max(one.memory for one in each)
        # And y itself where it was in double precision
        memory = double * size.bytes + max(memory, self.ordered * FILLING * size.bytes)
        flops = sum(one.flops for one in each) + (needs.CALLS + needs.PASS * size.entries) * len(each)
        return Needs(memory, SMALLER * flops, min(steps, self.max_steps)) + needs.passes(size)

    def seen(self, problem: Problem) -> list[Seen]:
        """Return the views of the array, each with its prior."""
        shape, seen = problem.y.shape, []
        smooth = problem.smoothness < ROUGH if self.ordered else (False,) * len(shape)
        for view in views_of(shape, smooth):
            tube, rows, columns = view.stack_shape(shape)
            learner = MaximalVariance(min(tube, rows * columns), onto=True)
            seen.append(Seen(QNorm(learner, self.penalty), view))
        return seen

    def prior(self, problem: Problem) -> Average:
        """Return the average over the views of the array."""
        shape, seen, judge, weights = problem.y.shape, self.seen(problem), None, self.weights
        held = problem.held_out
        if self.judged and held is not None and len(held) and problem.held_out_values is not None:
            every = max(1, len(held) // JUDGES)
            judge = held[::every], problem.held_out_values[::every]
        if weights is not None and weights.shape[-1] != len(seen) + weights.ndim - 1:
            raise InputError(f"weights must be {len(seen)} numbers, one for each view, not {weights.shape[-1]}")
        if weights is not None and weights.ndim == 2:
            weights = weights * np.where(np.arange(weights.shape[1]) == 0, self._unit(problem, seen), 1)
        return Average(tuple(seen), shape, weights, judge)

    def as_found(self, problem: Problem, state: State) -> Views:
        """Return the method with the weights and the depth that a judged run has found."""
        if not self.judged:
            return self
        trail, views = np.array(state.prior.trail), self.prior(problem).priors
        table = trail[:, [0, *range(3, trail.shape[1])]]
        table[:, 0] /= self._unit(problem, views)  # sigma over v
        late = table[len(table) // 2 :, 1:].mean(axis=0)
        table[:, 1:] *= late >= SLIGHT
        table[:, 1:] /= table[:, 1:].sum(axis=1, keepdims=True)
        depth = max(2.0, float(1 / table[-1, 0]))  # a NumPy number would make single precision double
        steps = max(2, 1 + round(math.log(depth) / math.log(state.rho)))
        return replace(self, judged=False, weights=table, depth=depth, steps=steps)

    def _unit(self, problem: Problem, seen: Sequence[Seen]) -> float:
        """Return the lam of sigma = v."""
        return problem.spread * seen[0].noise(problem.y.shape)

    def init(self, problem: Problem, work: Workspace) -> State:
        """Start from a smooth fill with sigma = v, or from an earlier answer and below."""
        y, known, prior, kind = problem.y, problem.observed, self.prior(problem), kernels.of(problem.y)
        if problem.start is not None:
            t = kind.keep(kind.copy(problem.start), y, known)
        else:
            t = kind.smooth_fill(y, known) if self.ordered else kind.copy(y)
        t = t.reshape(problem.stack.shape)
        first = 1 / self._unit(problem, prior.priors)
        end = min(first * self.depth, 1 / (self.fitted(problem).finest(problem) or 1e-300))
        mu, rho = self.pace(problem, first, end)
        mu = mu if self.mu0 is None else self.mu0 * problem.scale
        rho = rho if self.rho is None else self.rho
        fit = self.fitted(problem).start(problem, t)
        return State(t, within(mu, problem), rho, prior.start(t, work), fit, end / math.sqrt(rho))

    def doubt(self, problem: Problem, state: State, work: Workspace) -> np.ndarray | None:
        """Return how far the views are apart at each entry, 0 where it is known exactly."""
        if not state.prior.trail:
            return None
        apart = self.prior(problem).apart(state.t, state.prior.trail[-1][0], state.prior, work)
        if self.fit.exact:
            apart *= ~problem.observed
        return apart

    def pace(self, problem: Problem, first: float, end: float) -> tuple[float, float]:
        """Return the mu to start with, where ``first`` is that of sigma = v and ``end`` the last, and by how much it grows in a step."""
        steps = steps_for(known_share(problem)) if self.steps is None else self.steps
        return first if problem.start is None else min(first * WARM, end), self.depth ** (1 / (steps - 1))

    def resumed(self, steps: int | None = None) -> Views:
        """Return the method for an earlier answer that is nearly right: sigma falls from near its end, in a few steps."""
        options: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        options["steps"] = AGAIN_STEPS if steps is None else steps
        return ResumedViews(**options)

    def step(self, problem: Problem, state: State, work: Workspace) -> tuple[State, Step]:
        """Run one step, and see whether going on pays."""
        done = state.mu >= state.last
        state, step = super().step(problem, state, work)
        trail, full = np.array([one[:3] for one in state.prior.trail]), self.prior(problem).full
        back = min(len(trail), 1 + math.ceil(1 / max(math.log(state.rho), 1e-9)))  # as long as sigma falls by e
        if self.judged and trail[-1, 2]:
            errors, low = trail[:, 2], state.mu >= state.last / WARM
            stale = (len(errors) - int(np.argmin(errors))) * math.log(state.rho) > PATIENCE
            falls = len(errors) < 6 or errors[-3:].mean() < FALLS * errors[-6:-3].mean()
            return state, step._replace(settled=(low and stale) or (done and not falls))
        if self.noise is not None:  # sigma stays at its level
            return state, step._replace(settled=int((trail[:, 0] == trail[-1, 0]).sum()) > LINGER)
        found = trail[-1, 1] <= min(STANDS * trail[-back, 1], FULL * full)
        return state, step._replace(settled=done and not found)


class ResumedViews(Views):
    """The last steps of `views`, from an earlier answer."""

    @property
    def fit(self) -> Fit:
        """How the answer agrees with what is known: T goes the farther beyond X the fewer steps there are."""
        if self.noise is not None:
            return super().fit
        return Exact(self.absolute, max(RELAX, AGAIN_RELAX * math.sqrt(AGAIN_STEPS / (self.steps or AGAIN_STEPS))))

    def pace(self, problem: Problem, first: float, end: float) -> tuple[float, float]:
        """Return the mu to start with, the farther below the one that is the end the more steps there are, and its growth."""
        steps = self.steps or AGAIN_STEPS
        below = max(1.1, min(AGAIN ** (steps - 1), end / (first * WARM)))
        return max(first, end / below), below ** (1 / (steps - 1))


def _weights(given: Any) -> np.ndarray:
    """Return weights as an array, checked."""
    try:
        weights = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        weights = np.zeros((0, 0, 0))
    if weights.ndim not in (1, 2) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise InputError(
            "weights must be numbers of at least 0, one for each view, or a table of sigma and such numbers"
        )
    return weights / weights.sum() if weights.ndim == 1 else weights
