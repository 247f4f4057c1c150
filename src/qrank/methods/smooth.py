"""The smooth fill, which other methods start from, as a method of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..kernels.memory import Workspace
from ..kernels.smoothing import smooth_fill
from ..problem import Problem
from .fill import Fill


@dataclass(frozen=True, kw_only=True, eq=False)
class Smooth(Fill):
    """Gaussian means of the known entries nearby, from fine to coarse, along the axes that are smooth.

        x_w = (V_w G_w (m y) + c x_w') / (V_w G_w m + c),   w' the next larger width, x the finest

    `qrank.kernels.smoothing` has the details.

    >>> from qrank import complete
    >>> x = np.add.outer(np.arange(30.0), np.arange(20.0))
    >>> y = np.where(np.random.default_rng(0).random(x.shape) < 0.5, x, np.nan)
    >>> bool(np.abs(complete(y, method="smooth").x - x).max() < 3)
    True
    """

    name: ClassVar[str] = "smooth"
    times: ClassVar[float] = 4.6  # four arrays of `smooth_fill`, and coarser ones, by how many axes are smooth
    work: ClassVar[float] = 4e3
    about: ClassVar[str] = "Gaussian means of the known entries nearby, along the axes that are smooth"

    def filled(self, problem: Problem, work: Workspace) -> np.ndarray:
        """Fill all at once."""
        return smooth_fill(problem.y, problem.observed)
