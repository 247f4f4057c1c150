"""Problem: what is known, brought into the form in which every method works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from . import kernels
from .errors import InputError
from .tensor import Layout

FAINT = 1e-12  # noise below so many times the data's norm is lost in rounding; the square of less may be none
DROWNED = 1e6  # noise so many times the data's norm leaves nothing of it; more would overflow


@dataclass(frozen=True, eq=False)
class Problem:
    """The known entries of an array, scaled, with its slice axes last.

    ``y`` and ``observed`` have shape (..., n1, n2) and are C-contiguous: methods of the TQN family see them as the stacks
    ``stack`` and ``mask``, (n3, n1, n2), methods that use all unfoldings as they are. Neither is ever written to: y may be
    the caller's own array. The scale is a power of two, so that scaling and unscaling lose nothing.

    >>> problem = Problem.of(np.array([[1.0, np.nan], [3.0, 4.0]]))
    >>> problem.y.shape, problem.scale, problem.count
    ((2, 2), 8.0, 3)
    """

    y: Any  # known values divided by the scale, 0 where missing
    observed: Any  # True where known
    exponent: int  # of the scale, 2 ** exponent
    layout: Layout
    held_out: np.ndarray | None = None  # flat positions of known entries that the methods do not see
    held_out_values: np.ndarray | None = None
    ignored: Any = None  # True where an entry is neither known nor to be filled, of y's shape; None: nowhere
    measured: Any = (
        None  # other measurements than entries, scaled (`fit.Measurement`); y is then their least-norm array
    )
    start: Any = None  # an earlier answer to start from, scaled, of y's shape, for methods that can
    finer: Problem | None = None  # of a problem in single precision: that in double, which tells what the data are like

    @classmethod
    def of(cls, array: Any, observed: Any = None, slice_axes: tuple[int, int] = (0, 1)) -> Problem:
        """Check the input and build the problem; nothing of the input is changed."""
        kind = kernels.of(array)
        known, values = kind.known(array, observed), kind.values(array)
        layout = Layout.of(values.shape, slice_axes)
        y, inner_known, exponent = kind.scaled(values, known, layout)
        if not inner_known.any():
            raise InputError("no entry is observed: there is nothing to complete from")
        return cls(y, inner_known, exponent, layout)

    @property
    def scale(self) -> float:
        """What the values are divided by."""
        return 2.0**self.exponent

    @property
    def stack(self) -> Any:
        """The known values as a stack of frontal slices (n3, n1, n2)."""
        return self.y.reshape(self.layout.n3, *self.layout.slice_shape)

    @property
    def mask(self) -> Any:
        """Omega: True where a value of the stack is known."""
        return self.observed.reshape(self.layout.n3, *self.layout.slice_shape)

    @property
    def settled(self) -> Any:
        """True where nothing is to be filled: what is known, and what is ignored."""
        return self.observed if self.ignored is None else self.observed | self.ignored

    @property
    def left_out(self) -> int:
        """How many entries are ignored."""
        return 0 if self.ignored is None else int((self.ignored & ~self.observed).sum())

    def leaving(self, ignored: Any) -> Problem:
        """Return the problem with entries, given in the array's axes, that are not to be filled: they are no holes.

        >>> problem = Problem.of(np.array([[1.0, np.nan], [np.nan, 4.0]])).leaving(np.array([[False, True], [False, False]]))
        >>> int(problem.settled.sum()), problem.count
        (3, 2)
        """
        return self if ignored is None else replace(self, ignored=np.ascontiguousarray(self.layout.inner(ignored)))

    @cached_property
    def norm(self) -> float:
        """||Y||_F of the scaled known values."""
        return kernels.of(self.y).norm(self.y) if self.finer is None else self.finer.norm

    @property
    def size(self) -> float:
        """||Y||_F, or 1 where that is 0: what residuals are relative to."""
        return self.norm or 1.0

    @cached_property
    def spread(self) -> float:
        """The standard deviation of the scaled known values; their size where all are equal, 1 where all are 0."""
        return kernels.of(self.y).spread(self.y, self.observed) if self.finer is None else self.finer.spread

    def variance(self, level: float | None) -> float:
        """Return the variance of noise of a level in the data's unit, scaled, between what is lost in rounding and what drowns the data.

        None, no noise, has none.

        >>> problem = Problem.of(np.array([[3.0, 4.0]]))
        >>> problem.variance(None), 0 < problem.variance(1e-300) < 1e-20, problem.variance(1e300) < 1e15
        (0.0, True, True)
        """
        return 0.0 if level is None else min(max(level / self.scale, FAINT * self.size), DROWNED * self.size) ** 2

    @cached_property
    def smoothness(self) -> np.ndarray:
        """How smooth the known values are along each axis: from 0 to about 1 where their order means nothing."""
        return kernels.of(self.y).smoothness(self.y, self.observed) if self.finer is None else self.finer.smoothness

    @property
    def single(self) -> Problem:
        """The same problem in single precision; whoever asks for it keeps it."""
        kind = kernels.of(self.y)
        if kind.eps(self.y) > 1e-9:
            return self
        start = None if self.start is None else kind.single(self.start)
        measured = None if self.measured is None else self.measured._replace(values=np.float32(self.measured.values))
        return replace(self, y=kind.single(self.y), start=start, measured=measured, finer=self)

    @cached_property
    def count(self) -> int:
        """The number of observed entries."""
        return int(self.observed.sum())

    def hold_out(
        self, share: float, rng: np.random.Generator, blind: Callable[[Problem], Any] | None = None
    ) -> Problem:
        """Hide a share of the known entries from the methods, to measure the error on them.

        ``blind`` tells of which entries of a problem a method can say nothing: those that would be so for want of themselves stay known.

        >>> problem = Problem.of(np.ones((10, 10))).hold_out(0.1, np.random.default_rng(0))
        >>> problem.count
        90
        """
        if isinstance(share, str) or not 0 < share < 1:
            raise InputError(f"the share to hold out must lie between 0 and 1, not {share}")
        kind = kernels.of(self.observed)
        positions = kind.flatnonzero(self.observed)
        hidden = self.without(np.sort(rng.choice(positions, max(1, round(share * len(positions))), False)))
        if blind is None or hidden.held_out is None or not len(hidden.held_out):
            return hidden
        lost = kind.host(blind(hidden).reshape(-1)[kind.brought(hidden.held_out)])
        return self.without(hidden.held_out[~lost]) if lost.any() else hidden

    def starting(self, start: Any) -> Problem:
        """Return the problem with an earlier answer to start from; what is known of the data is not found out again."""
        found = replace(self, start=start)
        found.__dict__.update(norm=self.norm, smoothness=self.smoothness, spread=self.spread, count=self.count)
        return found

    def without(self, positions: np.ndarray, single: bool = False) -> Problem:
        """Hide the entries at flat positions from the methods; at least one stays known. ``single``: in single precision."""
        chosen = positions if len(positions) < self.count else positions[:-1]
        kind = kernels.of(self.y)
        given = kind.single(self.y) if single else self.y
        y, observed, at = kind.copy(given) if given is self.y else given, kind.copy(self.observed), kind.brought(chosen)
        values = kind.host(y.reshape(-1)[at])
        y.reshape(-1)[at] = 0
        observed.reshape(-1)[at] = False
        return replace(self, y=y, observed=observed, held_out=chosen, held_out_values=values, finer=None)

    def part(self, box: tuple[slice, ...]) -> Problem:
        """Return the problem of a part of the array, given as slices of y's axes.

        >>> Problem.of(np.ones((4, 5, 6))).part((slice(3), slice(2), slice(5))).layout.shape
        (2, 5, 3)
        """
        y, observed = np.ascontiguousarray(self.y[box]), np.ascontiguousarray(self.observed[box])
        shape = [0] * y.ndim
        for axis, n in zip(self.layout.rest + self.layout.slice_axes, y.shape, strict=True):
            shape[axis] = n
        ignored = None if self.ignored is None else np.ascontiguousarray(self.ignored[box])
        return Problem(y, observed, self.exponent, Layout(tuple(shape), self.layout.slice_axes), ignored=ignored)

    def held_out_error(self, x: Any) -> float | None:
        """Return the root mean square error of x on the held-out entries, in the data's unit."""
        if self.held_out is None or self.held_out_values is None or not len(self.held_out):
            return None
        at, values = self._held_out
        return self.scale * kernels.of(self.y).rms(x.reshape(-1)[at] - values)

    @cached_property
    def _held_out(self) -> tuple[Any, Any]:
        """Positions and values of what is held out, where y is: they are asked for in every step."""
        kind = kernels.of(self.y)
        return kind.brought(self.held_out), kind.brought(self.held_out_values)

    def unscaled(self, x: Any) -> Any:
        """Return x (which is overwritten) in the data's unit and axes."""
        kind = kernels.of(self.y)
        return kind.unscaled(kind.cast(x, self.y), self.layout, self.exponent)  # single precision may not hold the unit
