"""Biharmonic inpainting: what is usually done with scratches on a photograph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..kernels.memory import Workspace
from ..kernels.plates import thin_plate
from ..kernels.smoothing import smooth_fill
from ..problem import Problem
from .fill import Fill


@dataclass(frozen=True, kw_only=True, eq=False)
class Biharmonic(Fill):
    """A thin plate in the holes of each slice, held by the known entries around them.

        min_X  sum (d_rr X)^2 + 2 (d_rc X)^2 + (d_cc X)^2   s.t.  X = Y on Omega

    Slices of which nothing is known are filled by the smooth fill. The answer is cut to the range of the known entries:
    slopes go on into a wide hole, beyond anything that was seen.

    S. B. Damelin, N. S. Hoang. On Surface Completion and Image Inpainting by Biharmonic Functions. 2018.

    >>> from qrank import complete
    >>> x = np.sin(np.add.outer(np.arange(30) / 8, np.arange(20) / 5))
    >>> y = np.where(np.random.default_rng(0).random(x.shape) < 0.5, x, np.nan)
    >>> bool(np.abs(complete(y, method="biharmonic").x - x).max() < 0.1)
    True
    """

    name: ClassVar[str] = "biharmonic"
    about: ClassVar[str] = "a thin plate in the holes of each slice: classical inpainting of photographs"

    def filled(self, problem: Problem, work: Workspace) -> np.ndarray:
        """Fill slice by slice."""
        y, observed = problem.y, problem.observed
        known = y[observed]
        x = np.clip(thin_plate(y, observed), known.min(), known.max())
        there = np.broadcast_to(observed.any(axis=(-2, -1), keepdims=True), y.shape)
        if not there.all():
            np.copyto(x, smooth_fill(y, observed), where=~there)
        return x
