"""Quantities of different units in one array: each brought to mean 0 and standard deviation 1 for the run, and back.

    z = (y - m_k) / s_k   with m_k, s_k of what is known of quantity k;   x = m_k + s_k z,   error = s_k error_z

A run minimises one sum over all entries, and its levels follow from the largest: a column in pascal beside one in kelvin would be
all that it sees. Scaling columns leaves the rank as it is, and a mean is one direction more or less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import kernels
from ..errors import InputError
from ..kernels.host import check_finite
from ..result import Choice, Completion
from ..tables import inequality, moments
from .inputs import within
from .labels import along, as_given, axes_of, ignored_of
from .tabular import Arranged

UNEQUAL = 10.0  # columns of a table that spread so many times more than others are taken for other units
SAME, OWN = "same", "own"


@dataclass(frozen=True, eq=False)
class Units:
    """Mean and standard deviation of each quantity, of length 1 along all axes but that of the quantities."""

    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def along(cls, axis: int, values: np.ndarray, known: np.ndarray) -> Units:
        """Return those of what is known.

        >>> y = np.array([[280.0, 101_000], [290, 103_000], [np.nan, 102_000]])
        >>> units = Units.along(1, y, np.isfinite(y))
        >>> units.into(y).round(2).tolist()
        [[-1.0, -1.22], [1.0, 1.22], [nan, 0.0]]
        >>> units.back(np.zeros((1, 2))).tolist()
        [[285.0, 102000.0]]
        """
        if not -values.ndim <= axis < values.ndim:
            raise InputError(f"units={axis} is no axis of an array of {values.ndim} axes")
        others = tuple(a for a in range(values.ndim) if a != axis % values.ndim)
        mean, spread = moments(values, known, others)
        return cls(mean, np.where(spread > 0, spread, 1.0))

    def into(self, values: np.ndarray) -> np.ndarray:
        """Return values of all quantities on one scale, in their type."""
        return ((values - self.mean) / self.spread).astype(values.dtype)

    def back(self, x: np.ndarray) -> np.ndarray:
        """Return an answer in the units of the data."""
        return self.mean + self.spread * x

    def answer(self, found: Completion, y: Any, limits: tuple[float | None, float | None], integer: bool) -> Completion:
        """Return the completion of an array on one scale as that of y: within limits, known entries as they were given."""
        kind = kernels.of(y)
        x = kind.keep(kind.typed(within(self.back(kind.values(found.x)), limits, integer), y), y, found.observed)
        error = None if found.error is None else self.spread * kind.values(found.error)
        x, error = as_given(x, error, y, kind, found.ignored)
        choice = None if found.choice is None else in_deviations(found.choice)
        return replace(found, x=x, error=error, choice=choice, units=self)


def axis_of(units: int | str | None, y: Any, table: Arranged | None, exact: bool, earlier: Any) -> int | None:
    """Return the axis of the quantities that have units of their own, None where all have the same.

    Of a table nobody need say it: the plain rule is that some column spreads more than ten times as much as another.
    """
    if table is not None:
        if units not in (None, SAME, OWN):
            raise InputError(f"units of a table are '{SAME}', or '{OWN}' of every column, not {units!r}")
        able = exact and earlier is None
        own = units == OWN or (
            units is None and able and inequality(np.where(table.known, table.matrix, np.nan)) > UNEQUAL
        )
        axis = (1 if table.fold is None else 0) if own else None
    elif units is None or units == SAME:
        return None
    else:
        axis = axes_of((units,), y)[0]
    if axis is not None and not exact:
        raise InputError("a level of noise, and what is wrong, have one unit: give quantities of one unit, or no noise")
    if axis is not None and earlier is not None:
        raise InputError("units cannot be taken with an earlier result: leave out one of them")
    return axis


def on_one_scale(y: Any, observed: Any, ignore: Any, axis: int) -> tuple[Any, np.ndarray, Units]:
    """Return an array of y's kind with the quantities along an axis on one scale, what is known of it, and their units."""
    kind = kernels.of(y)
    if not kind.numpy:
        raise InputError(f"units are for NumPy's arrays, xarray's and tables, not for {type(y).__name__}")
    known, _ = ignored_of(ignore, y, kind, kind.known(y, along(observed, y)))
    values = kind.values(y)
    check_finite(values, known)
    units = Units.along(axis, values, known)
    seen = np.where(
        known, values, units.mean
    )  # what is not known may be anything, beyond the range of its type once it is scaled
    return kind.like(units.into(seen).astype(values.dtype, copy=False), y), known, units


def in_deviations(choice: Choice) -> Choice:
    """Return what was tried, with the unit that its errors have."""
    return replace(choice, tried_on=f"{choice.tried_on}, each quantity in its standard deviations,")
