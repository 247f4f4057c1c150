"""Linear interpolation along one axis: what is hard to beat where whole frames of a clip are lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import InputError
from ..kernels.interpolation import interpolated
from ..kernels.memory import Workspace
from ..kernels.smoothing import ROUGH, smooth_fill, smoothness
from ..problem import Problem
from .base import check_number
from .fill import Fill


@dataclass(frozen=True, kw_only=True, eq=False)
class Interpolate(Fill):
    """Straight lines between the known entries of each fibre along one axis, the nearest value beyond the ends.

        x_i = ((b - i) y_a + (i - a) y_b) / (b - a),   a < i < b the nearest known places of the fibre

    Left out, ``axis`` is the one along which known neighbours differ least (`smoothness`). Fibres of which nothing is known
    are filled along the next axis that is smooth, and at last by the smooth fill: never with 0.

    >>> from qrank import complete
    >>> y = np.array([[1.0, 2.0, 3.0], [np.nan] * 3, [3.0, 4.0, 5.0]])
    >>> complete(y, method="interpolate", axis=0).x[1]
    array([2., 3., 4.])
    """

    name: ClassVar[str] = "interpolate"
    times: ClassVar[float] = 2.6
    work: ClassVar[float] = 2e3
    about: ClassVar[str] = "linear interpolation along one axis, by default the smoothest"

    axis: int | None = None  # of the array as it is given

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.axis is not None:
            check_number("axis", self.axis, whole=True)

    def filled(self, problem: Problem, work: Workspace) -> np.ndarray:
        """Interpolate along the axes in turn, as long as something is left."""
        y, observed = problem.y, problem.observed
        rough = smoothness(y, observed)
        order = [int(axis) for axis in np.argsort(rough, kind="stable")]
        order = order[:1] + [axis for axis in order[1:] if rough[axis] < ROUGH]
        if self.axis is not None:
            first = self._inner(problem)
            order = [first] + [axis for axis in order if axis != first and rough[axis] < ROUGH]
        x, done = interpolated(y, observed, order[0])
        for axis in order[1:]:
            if done.all():
                break
            again, reached = interpolated(y, observed, axis)
            np.copyto(x, again, where=reached & ~done)
            done = done | reached
        if not done.all():
            np.copyto(x, smooth_fill(y, observed), where=~done)
        return x

    def _inner(self, problem: Problem) -> int:
        """Return the axis counted as in the problem, where those of the slices are last."""
        layout, axis = problem.layout, int(self.axis or 0)
        d = len(layout.shape)
        if not -d <= axis < d:
            raise InputError(f"axis {axis}: there are the axes 0 to {d - 1}")
        return (layout.rest + layout.slice_axes).index(axis % d)
