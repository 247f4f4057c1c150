"""Simple fills: methods that are done in one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..kernels.memory import Workspace
from ..problem import Problem
from ..result import Step
from .base import Method


class Filled(NamedTuple):
    """What a step hands to the next."""

    x: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Fill(Method):
    """A method whose answer is a formula of what is known: ``filled`` is all that it defines.

    It needs no transform and no rank, and minimises nothing that could be told of a step: those numbers are 0.
    """

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
