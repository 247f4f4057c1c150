"""patches: a finishing stage that fills every block of the array by what the blocks of its kind are like.

Each step is one round of `priors/gaussian.py`: X -> the expectation of the missing entries given the known ones, under
Gaussian laws of the blocks of X, on a grid at another place each time. It starts from the answer of `views`, whose errors
it can only mend where the blocks of the fill already are like those of the truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import InputError, KindError, nearest
from ..kernels.memory import Workspace
from ..kernels.products import keep_known, sums
from ..priors.gaussian import Kinds
from ..problem import Problem
from ..result import Step
from .base import Method, check_number

SHAPES = ("fibre", "cube", "slice")


class State(NamedTuple):
    """What a step hands to the next."""

    x: np.ndarray  # y's shape
    variance: np.ndarray | None  # y's shape
    factor: float
    k: int


@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianPatches(Method):
    """Rounds of the local Gaussian model."""

    name: ClassVar[str] = "patches"
    about: ClassVar[str] = "a local Gaussian model of blocks, with its own error estimate, after views"
    shares_out: ClassVar[bool] = True
    after: ClassVar[str | None] = "views"

    shape: Any = None  # "fibre", "cube", "slice", or sides, those of the slice axes last; None: by the data's shape
    clusters: int = 16
    eigenpairs: int = 60
    rounds: int = 3
    overlap: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("clusters", "eigenpairs", "rounds", "overlap", at_least=1, whole=True)
        if isinstance(self.shape, str):
            if self.shape not in SHAPES:
                raise InputError(f"there are no patches of shape '{self.shape}'{nearest(self.shape, SHAPES)}")
        elif self.shape is not None:
            if not isinstance(self.shape, tuple | list):
                raise KindError(f"shape must be a name or the sides of a patch, not {self.shape!r}")
            for side in self.shape:
                check_number("a side of shape", side, at_least=1, whole=True)

    def kinds(self, shape: tuple[int, ...]) -> Kinds:
        """Return the model for an array of a shape."""
        block = self.block(shape)
        stride = tuple(1 if b == n else -(-b // int(self.overlap)) for b, n in zip(block, shape, strict=True))
        return Kinds(block, stride, int(self.clusters), int(self.eigenpairs))

    def block(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the sides of a patch of an array (..., n1, n2)."""
        *front, n1, n2 = shape
        if self.shape is not None and not isinstance(self.shape, str):
            if len(self.shape) != len(shape):
                raise InputError(f"shape has {len(self.shape)} sides, but the array has {len(shape)} axes: {shape}")
            return tuple(min(int(b), n) for b, n in zip(self.shape, shape, strict=True))
        name = self.shape
        if name is None:
            name = "fibre" if math.prod(front) <= 100 else "cube"
        if name == "fibre":
            sides = [*front, 4, 4]
        elif name == "cube":
            sides = [*(n if n <= 4 else 6 for n in front), 5, 5]
        else:
            sides = [*(n if n <= 4 else 1 for n in front), 6, 6]
        return tuple(min(b, n) for b, n in zip(sides, shape, strict=True))

    def init(self, problem: Problem, work: Workspace) -> State:
        """Start from the given start, or from the mean of the known values, with these in their places."""
        if problem.start is None:
            x = np.full_like(problem.y, problem.y.sum() / problem.count)
        else:
            x = np.array(problem.start, problem.y.dtype, order="C")
        np.copyto(x, problem.y, where=problem.observed)
        return State(x, None, 1.0, 0)

    def step(self, problem: Problem, state: State, work: Workspace) -> tuple[State, Step]:
        """Run one round."""
        found = self.kinds(problem.y.shape).expected(state.x, problem.y, problem.observed, work.rng)
        x = found.x

        def advance(x: np.ndarray, x_old: np.ndarray, y: np.ndarray, on: np.ndarray) -> tuple[float]:
            keep_known(x, y, on)
            x_old -= x
            return (float(x_old @ x_old),)

        change = math.sqrt(sums(advance, x, state.x, problem.y, problem.observed)[0]) / problem.size
        k = state.k + 1
        step = Step(found.error, 0.0, change, change, 0.0, 0, 0, settled=k >= self.rounds)
        return State(x, found.variance, found.factor, k), step

    def answer(self, problem: Problem, state: State, work: Workspace) -> np.ndarray:
        """Return X."""
        return state.x

    def deviation(self, problem: Problem, state: State, work: Workspace) -> np.ndarray | None:
        """Return the posterior standard deviation of each entry, 0 where known."""
        if state.variance is None:
            return None
        return np.where(problem.observed, 0, np.sqrt(state.variance))
