"""Tables on their way to an array and back: as a matrix, or folded by their period."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError, KindError
from ..result import Completion
from ..tables import Fold, Table, are_counts, frame_of, table_of


@dataclass(frozen=True, eq=False)
class Arranged:
    """What is made of a table, or of a matrix that is to be folded."""

    matrix: np.ndarray  # rows x columns
    known: np.ndarray  # True where an entry of it is known
    table: Table | None
    fold: Fold | None

    @property
    def array(self) -> np.ndarray:
        """What is completed."""
        return self.matrix if self.fold is None else self.fold.folded(self.matrix)

    @property
    def observed(self) -> np.ndarray:
        """True where an entry of ``array`` is known."""
        return self.known if self.fold is None else self.fold.folded(self.known, False)

    def needed(self, exact: bool) -> Arranged:
        """Return what is to be completed: only padding is missing of a folded table of which all is known."""
        return replace(self, fold=None) if exact and self.known.all() else self

    def bounds(self, bounds: Any) -> Any:
        """Return the bounds that were given; counts in a table are not negative if none were."""
        counts = bounds is None and self.table is not None and are_counts(self.matrix[self.known])
        return (0, None) if counts else bounds

    def back(self, found: Completion) -> Completion:
        """Return a completion of ``array`` as one of the table."""

        def flat(x: Any) -> Any:
            return x if x is None or self.fold is None else self.fold.unfolded(x)

        x, error = flat(found.x), flat(found.error)
        if self.table is not None:
            rows, columns = self.table.axes
            axes = (rows, columns) if self.fold is None else (columns, *self.fold.axes[1:])
            found = replace(found, axes=axes, labels={1 if self.fold is None else 0: self.table.labels})
            x = self.table.filled(x).given
            error = None if error is None else self.table.floats(error).given
        observed, blind = flat(found.observed), flat(found.undetermined)
        return replace(found, x=x, error=error, observed=observed, undetermined=blind, slice_axes=(0, 1), folded=found)


def boolean(mask: Any) -> np.ndarray:
    """Return a mask as an array of truth values, which it must have: of "False", or NaN, it is not known what is meant.

    >>> boolean([[True, False]])
    array([[ True, False]])
    """
    found = np.asarray(mask)
    if found.dtype == object and all(isinstance(one, bool | np.bool_) for one in found.flat):
        found = found.astype(bool)
    if found.dtype != bool:
        raise KindError(f"observed must be boolean, True where the value is known, not of type {found.dtype}")
    return found


def arrangement(
    y: Any, observed: Any = None, fold: Any = None, index: Any = None, columns: Any = None, values: Any = None
) -> Arranged | None:
    """Return what is made of y where it is a table or to be folded, None where it is an array as it is.

    >>> arrangement(np.zeros((6, 2)), fold=3).array.shape, arrangement(np.zeros((6, 2))) is None
    ((2, 3, 2), True)
    """
    frame = frame_of(y)
    if frame is None:
        if any(name is not None for name in (index, columns, values)):
            raise InputError("index, columns and values name columns of a table: they cannot be used with an array")
        if fold is None or fold == "none":
            return None
        matrix, table, stamps = np.ma.getdata(y if isinstance(y, np.ndarray) else np.asarray(y)), None, None
        if matrix.ndim != 2:
            raise InputError(f"fold makes a matrix, rows x columns, a 3-way array: this one has {matrix.ndim} axes")
        known = ~np.ma.getmaskarray(y) if isinstance(y, np.ma.MaskedArray) else np.ones(matrix.shape, dtype=bool)
        matrix = matrix if matrix.dtype.kind == "f" else matrix.astype(float)
        mask = None if observed is None else boolean(observed)
    else:
        table = table_of(frame, index, columns, values)
        matrix, stamps = table.array, table.stamps
        known = np.ones(matrix.shape, dtype=bool)
        if 0 in matrix.shape:
            raise InputError("the table has no row")
        observed = observed if frame_of(observed) is None else frame.aligned(observed)
        mask = None if observed is None else table.masked(boolean(observed))
    if mask is not None and mask.shape != matrix.shape:
        raise InputError(f"observed has shape {mask.shape}, and what is to be filled has shape {matrix.shape}")
    known &= ~np.isnan(matrix) if mask is None else mask
    folding = Fold.of(fold, len(matrix), stamps)
    return Arranged(matrix, known, table, folding)
