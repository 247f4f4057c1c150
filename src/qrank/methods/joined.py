"""joined: the last steps of `views`, in which the local Gaussian model of `patches` is one more of those that are averaged.

    X = sum_k w_k D_k(T, sigma) + w P(T),   P(T): what is expected of every block given what is known of it

A view knows what the whole array has in common, a block what is near; each takes for noise what the other knows, and their mean
in every step is better than either after the other. Six steps do, down to the sigma at which `views` ends; it starts from its
answer. Their number and where they begin were chosen on the truth of two clips and the balloons cube at p = 0.1 and 0.3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..kernels.memory import Workspace
from ..priors import Seen
from ..problem import Problem
from ..result import Step
from ..tensor import Layout
from .gaussian import GaussianPatches
from .needs import Needs
from .tqn import State
from .views import Views, whole

ABOVE = 2.0  # sigma starts so many times above where it ends,
STEPS = 6  # and falls there in so many steps


@dataclass(frozen=True, kw_only=True, eq=False)
class Joined(Views):
    """Views and patches, averaged in every step."""

    revision: ClassVar[int] = 3
    name: ClassVar[str] = "joined"
    about: ClassVar[str] = "views, joined in the last steps by the local Gaussian model of patches"
    after: ClassVar[str | None] = "views"
    measures: ClassVar[bool] = False  # a block is filled from its known entries
    numpy_only: ClassVar[bool] = True

    shape: Any = None  # of a block: as for `patches`
    eigenpairs: int | None = None  # of each kind of blocks: as for `patches`

    def __post_init__(self) -> None:
        super().__post_init__()
        self._patches()  # which checks them

    def _patches(self) -> GaussianPatches:
        return GaussianPatches(shape=self.shape, eigenpairs=self.eigenpairs, noise=self.noise)

    def seen(self, problem: Problem) -> list[Seen]:
        """Return the views, and the patches as one more."""
        return [*super().seen(problem), Seen(self._patches().beside(problem), whole(problem.y.ndim))]

    def needs(self, layout: Layout, dtype: np.dtype, p: float) -> Needs:
        """Return what the views take, which come first, and the patches beside them."""
        views, patches = super().needs(layout, dtype, p), self._patches().needs(layout, dtype, p)
        return Needs(max(views.memory, patches.memory), views.flops, STEPS + patches.steps)

    def pace(self, problem: Problem, first: float, end: float) -> tuple[float, float]:
        """Return the mu to start with, a little below the one that is the end, and by how much it grows in a step."""
        steps = STEPS if self.steps is None else self.steps
        return max(first, end / ABOVE), ABOVE ** (1 / (steps - 1))

    def resumed(self, steps: int | None = None) -> Joined:
        """Return itself: it always starts from an answer that is nearly right."""
        return self

    def as_found(self, problem: Problem, state: State) -> Joined:
        """Return the method with the weights that a judged run has found; its schedule stays."""
        return replace(self, judged=False, weights=super().as_found(problem, state).weights)

    def step(self, problem: Problem, state: State, work: Workspace) -> tuple[State, Step]:
        """Run one step; the schedule ends where it was meant to."""
        done = state.mu >= state.last
        state, step = super().step(problem, state, work)
        return state, step._replace(settled=done)

    def doubt(self, problem: Problem, state: State, work: Workspace) -> np.ndarray | None:
        """Return the deviation: the patches know more of it than how far the views are apart."""
        deviation = self.deviation(problem, state, work)
        return deviation if deviation is None else self._patches().as_missing(problem, deviation)

    def deviation(self, problem: Problem, state: State, work: Workspace) -> np.ndarray | None:
        """Return the standard deviation that the patches give to each entry, 0 where it is known exactly."""
        variance = state.prior.each[-1]
        if variance is None:
            return None
        work.part("seen").clear()  # what the views have worked in is not needed any more
        deviation = np.sqrt(variance)
        if self.fit.exact:
            deviation *= ~problem.observed
        return deviation
