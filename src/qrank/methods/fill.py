"""Simple fills: methods that are done in one step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..kernels.memory import Workspace
from ..problem import Problem
from ..result import Step
from ..tensor import Layout
from . import needs
from .base import Method
from .needs import Needs, Size


class Filled(NamedTuple):
    """What a step hands to the next."""

    x: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Fill(Method):
    """A method whose answer is a formula of what is known: ``filled`` is all that it defines.

    It needs no transform and no rank, and minimises nothing that could be told of a step: those numbers are 0.
    """

    times: ClassVar[float] = 3.0  # measured: what it takes, over the array
    work: ClassVar[float] = math.nan  # measured: operations an entry; not a number: it follows from the holes

    def needs(self, layout: Layout, dtype: np.dtype, p: float) -> Needs:
        """Return what was measured."""
        return needs.measured(self.times, self.work, 1, Size.of(layout, dtype))

    def filled(self, problem: Problem, work: Workspace) -> np.ndarray:
        """Return the problem's y, scaled, of the same shape, with its missing entries filled; the known ones as they are."""
        raise AssertionError(f"{self.name} does not say what it fills with")

    def undetermined(self, problem: Problem) -> np.ndarray:
        """Return that nothing is: every entry follows from others."""
        return np.zeros(problem.observed.shape, dtype=bool)

    def init(self, problem: Problem, work: Workspace) -> Filled:
        """Start from zeros where nothing is known."""
        return Filled(problem.y)

    def step(self, problem: Problem, state: Filled, work: Workspace) -> tuple[Filled, Step]:
        """Fill, which ends the run."""
        x = np.ascontiguousarray(self.filled(problem, work))
        change = float(np.linalg.norm((x - state.x).reshape(-1))) / problem.size
        return Filled(x), Step(0.0, 0.0, change, change, 0.0, 0, problem.layout.n3, settled=True)

    def answer(self, problem: Problem, state: Filled, work: Workspace) -> np.ndarray:
        """Return what was filled."""
        return state.x
