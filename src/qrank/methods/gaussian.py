"""patches: a finishing stage that fills every block of the array by what the blocks of its kind are like.

Each step is one round of the local Gaussian model (`priors/gaussian.py`): X becomes the expectation of the missing entries
given the known ones, under Gaussian laws of the blocks of X, on a grid at another place each time. It starts from the
answer of another method: it mends a fill whose blocks already are about like those of the truth.

| shape | sides of a block of an array (..., n1, n2) |
|---|---|
| ``fibre`` | all other axes whole (cut where they have more than 128 entries together), 3 x 3 in the slice |
| ``cube`` | axes of at most 4 entries whole, 6 along the others, 5 x 5 in the slice |
| ``slice`` | axes of at most 4 entries whole, 1 along the others, 6 x 6 in the slice |

Where the other axes have few entries, the sides of a fibre in the slice are larger, up to 8 for a matrix. Rounds before the
last leave some places out, but blocks always overlap. Sides, kinds, eigenpairs, strides and the noise were chosen by the
error on the missing entries of the balloons cube, two clips at quarter size and 90 views of COIL-20; generated clips and
spectral fields were looked at beside them. It gains where pixels are alike along the other axes, and may lose on clips.

With ``noise`` known values are the truth and noise of that level, and known entries become their expectation, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import InputError, KindError, nearest
from ..fit import Exact, Fit, Noisy
from ..kernels import threads
from ..kernels.memory import Workspace
from ..kernels.products import keep_known, sums
from ..priors.gaussian import LEARN, PIECE, Kinds, Local
from ..problem import Problem
from ..result import Step
from ..tensor import Layout
from .base import Method, check_number
from .doubts import check_noise
from .needs import Needs, Size
from .views import Views

SHAPES = ("fibre", "cube", "slice")
FIBRE = 128  # entries that the other axes of a fibre have at most
ENTRIES = 100  # entries that a fibre has about at least
FEWEST, MOST = 30, 80  # eigenpairs
WORK = 2.6e5  # measured: operations an entry in a round
KIND = 0.7  # measured: share of the blocks that laws are learned from which is read at a time
SHORT = 4  # axes up to this are never cut: colours


class State(NamedTuple):
    """What a step hands to the next."""

    x: np.ndarray  # y's shape
    variance: np.ndarray | None  # y's shape; None before the first step
    k: int


@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianPatches(Method):
    """Rounds of the local Gaussian model."""

    nearby: ClassVar[bool] = True
    name: ClassVar[str] = "patches"
    about: ClassVar[str] = "views, finished by a local Gaussian model of blocks, which knows how sure it is"
    shares_out: ClassVar[bool] = True
    after: ClassVar[str | None] = "views"
    resumes: ClassVar[bool] = True
    revision: ClassVar[int] = 1
    single: ClassVar[float] = np.finfo(float).tiny  # a covariance of a handful of blocks is not known to more digits

    shape: Any = None  # a name, or the sides of a block, those of the slice axes last; None: fibre or cube, by the size
    clusters: int = 64  # at most; kinds with too few blocks are not kept
    eigenpairs: int | None = None  # None: half as many as a block has known entries, from 30 to 80
    rounds: int = 3  # each learns from what the one before has filled
    stride: int | None = None  # of the grid in the last round; None: half of the side
    noise: Any = field(default=None, repr=False)  # standard deviation of what is known, or "auto"; None: it is exact

    def __post_init__(self) -> None:
        super().__post_init__()
        check_noise(self.noise, None)
        self.check("clusters", "eigenpairs", "rounds", "stride", at_least=1, whole=True)
        if isinstance(self.shape, str):
            if self.shape not in SHAPES:
                raise InputError(f"there are no patches of shape '{self.shape}'{nearest(self.shape, SHAPES)}")
        elif self.shape is not None:
            if not isinstance(self.shape, tuple | list):
                raise KindError(
                    f"shape must be one of {', '.join(SHAPES)}, or the sides of a block, not {self.shape!r}"
                )
            for side in self.shape:
                check_number("a side of shape", side, at_least=1, whole=True)

    @property
    def fit(self) -> Fit:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How the answer agrees with what is known."""
        return Exact() if self.noise_level is None else Noisy(self.noise_level)

    def needs(self, layout: Layout, dtype: np.dtype, p: float) -> Needs:
        """Return what the array and its variance take, blocks of one kind, and what threads work in; and the views before.

        How many blocks are of a kind is not known before the run.
        """
        size, views = Size.of(layout, np.dtype(np.float32)), Views().needs(layout, dtype, p)
        steps = views.steps + self.rounds * WORK * size.entries / views.flops  # of the views' size
        block = self.block(layout.inner_shape)
        places = math.prod(n - b + 1 for n, b in zip(layout.inner_shape, block, strict=True))
        entries, r = math.prod(block), self._eigenpairs(block, p)
        learned = KIND * min(LEARN, places) * entries * size.item
        arrays = (
            5 * size.bytes + (np.dtype(dtype).itemsize > 4) * 2 * size.bytes
        )  # what is given, in single precision, too
        memory = arrays + learned + threads.count() * (3 * PIECE + entries * r * (r + 1) / 2 * size.item)
        return Needs(max(views.memory, memory), views.flops, steps)

    def block(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the sides of a block of an array (..., n1, n2).

        >>> [GaussianPatches().block(shape) for shape in ((31, 64, 64), (500, 64, 64), (3, 90, 90), (90, 90))]
        [(31, 3, 3), (6, 5, 5), (3, 6, 6), (8, 8)]
        """
        front = shape[:-2]
        if self.shape is not None and not isinstance(self.shape, str):
            if len(self.shape) != len(shape):
                raise InputError(f"shape has {len(self.shape)} sides, but the array has {len(shape)} axes")
            sides = [int(b) for b in self.shape]
        elif self.shape == "fibre" or (self.shape is None and math.prod(front) <= FIBRE):
            whole = list(front)
            while math.prod(whole) > FIBRE:
                longest = whole.index(max(whole))
                whole[longest] = -(-whole[longest] // 2)
            side = min(8, max(3, math.ceil(math.sqrt(ENTRIES / math.prod(whole)))))
            sides = [*whole, side, side]
        else:
            along, side = (1, 6) if self.shape == "slice" else (6, 5)
            sides = [*(n if n <= SHORT else along for n in front), side, side]
        return tuple(min(b, n) for b, n in zip(sides, shape, strict=True))

    def strides(self, block: tuple[int, ...], shape: tuple[int, ...], last: bool) -> tuple[int, ...]:
        """Return how far apart blocks are along each axis: in the last round, or in those before, where it may be farther.

        >>> GaussianPatches().strides((31, 3, 3), (31, 64, 64), last=False)
        (1, 2, 2)
        """
        found = []
        for b, n in zip(block, shape, strict=True):
            s = max(1, b // 2) if self.stride is None else min(b, int(self.stride))
            found.append(1 if b == n else s if last else max(s, min(-(-b // 2), 2 * s)))
        return tuple(found)

    def kinds(self, problem: Problem) -> Kinds:
        """Return the model of a problem's blocks."""
        block = self.block(problem.y.shape)
        eigenpairs = self._eigenpairs(block, problem.count / problem.y.size)
        return Kinds(block, int(self.clusters), eigenpairs, problem.variance(self.noise_level))

    def _eigenpairs(self, block: tuple[int, ...], p: float) -> int:
        """Return how many eigenpairs a kind of blocks has, of which a share p is known."""
        if self.eigenpairs is not None:
            return int(self.eigenpairs)
        return int(min(max(FEWEST, math.prod(block) * p / 2), MOST))

    def beside(self, problem: Problem) -> Local:
        """Return the model as a prior beside others, on the grid of the rounds before the last."""
        kinds, shape = self.kinds(problem), problem.y.shape
        return Local(kinds, self.strides(kinds.block, shape, last=False), problem.y, problem.observed)

    def init(self, problem: Problem, work: Workspace) -> State:
        """Start from the answer that is given, or else from the mean of the known values."""
        if problem.start is None:
            x = np.full_like(problem.y, problem.y.sum() / problem.count)
        else:
            x = np.array(problem.start, problem.y.dtype, order="C").reshape(problem.y.shape)
        if self.noise is None:
            keep_known(x, problem.y, problem.observed)
        return State(x, None, 0)

    def step(self, problem: Problem, state: State, work: Workspace) -> tuple[State, Step]:
        """Run one round; its objective is the rms error of known entries that are expected from the others."""
        shape, k, kinds = problem.y.shape, state.k + 1, self.kinds(problem)
        stride = self.strides(kinds.block, shape, k >= self.rounds)
        variance = np.empty_like(state.x) if state.variance is None else state.variance
        out = work.array("spare", shape, state.x.dtype), variance
        x, variance, error = kinds.expected(state.x, problem.y, problem.observed, stride, work.rng, out)

        def advance(x: np.ndarray, x_old: np.ndarray, y: np.ndarray, on: np.ndarray) -> tuple[float]:
            if self.noise is None:
                keep_known(x, y, on)
            x_old -= x
            return (float(x_old @ x_old),)

        change = math.sqrt(sums(advance, x, state.x, problem.y, problem.observed)[0]) / problem.size
        work.lend("spare", state.x)
        step = Step(error, 0.0, change, change, 0.0, 0, 0, settled=k >= self.rounds)
        return State(x, variance, k), step

    def answer(self, problem: Problem, state: State, work: Workspace) -> np.ndarray:
        """Return X."""
        return state.x

    def deviation(self, problem: Problem, state: State, work: Workspace) -> np.ndarray | None:
        """Return the posterior standard deviation of each entry, 0 where it is known exactly."""
        if state.variance is None:
            return None
        deviation = np.sqrt(state.variance)
        if self.noise is None:
            deviation *= ~problem.observed
        return deviation

    def doubt(self, problem: Problem, state: State, work: Workspace) -> np.ndarray | None:
        """Return the deviation; with noise that which a known entry would have if it were missing."""
        deviation = self.deviation(problem, state, work)
        return deviation if deviation is None else self.as_missing(problem, deviation)

    def as_missing(self, problem: Problem, deviation: np.ndarray) -> np.ndarray:
        """Return deviations, overwritten where an entry is known with noise: without its own value, 1/v = 1/e^2 + 1/s2 has e."""
        s2 = self.kinds(problem).s2
        if s2 > 0:
            v = np.square(deviation[problem.observed])
            deviation[problem.observed] = np.sqrt(v / np.maximum(1 - v / s2, 1e-3))
        return deviation
