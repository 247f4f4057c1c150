"""What every kind of table can do: a ``Frame`` is columns that can be read, gathered and given numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InputError, nearest


class Frame:
    """A table of some kind: pandas', polars', Arrow's or text. Never changed: what changes it returns another.

    - names: of the columns
    - rows: how many there are
    - numbers: positions of the columns that hold numbers and are not labels
    - values(i): a column of numbers, float64, NaN where missing
    - stamps(i): a column of times, datetime64[ns]; None where it is no such; ``i=None``: the row labels
    - labels(i): a column as an array of hashable labels
    - gather(rows): the table whose column i has the cells of the rows ``rows[i]``, a missing one for -1
    - put(columns): the table with these columns of numbers, as far as they differ from what is there; their types stay
    - floats(columns): the table with these columns of numbers, as floating ones
    - given: the table as the user's kind of object
    """

    names: Sequence[Any]
    rows: int
    numbers: list[int]
    given: Any

    def values(self, i: int) -> np.ndarray:
        """Return a column of numbers."""
        raise AssertionError(f"{type(self).__name__} defines no values")

    def stamps(self, i: int | None) -> np.ndarray | None:
        """Return a column of times, if it is one."""
        raise AssertionError(f"{type(self).__name__} defines no stamps")

    def labels(self, i: int) -> np.ndarray:
        """Return a column of labels."""
        raise AssertionError(f"{type(self).__name__} defines no labels")

    def gather(self, rows: Sequence[np.ndarray]) -> Frame:
        """Return a table of these cells."""
        raise AssertionError(f"{type(self).__name__} defines no gather")

    def put(self, columns: Mapping[int, np.ndarray]) -> Frame:
        """Return the table with these numbers."""
        raise AssertionError(f"{type(self).__name__} defines no put")

    def floats(self, columns: Mapping[int, np.ndarray]) -> Frame:
        """Return the table with these numbers, in floating types."""
        raise AssertionError(f"{type(self).__name__} defines no floats")

    def position(self, name: Any) -> int:
        """Return where a column is, by its name."""
        found = [i for i, one in enumerate(self.names) if one == name or str(one) == str(name)]
        if len(found) != 1:
            there = (
                "is there more than once" if found else f"is not in the table{nearest(str(name), map(str, self.names))}"
            )
            raise InputError(f"the column '{name}' {there}")
        return found[0]

    @property
    def unread(self) -> list[tuple[str, str]]:
        """Columns that look like numbers with gaps but for some of their cells, and the first such cell: they are not filled."""
        return []

    def aligned(self, mask: Any) -> Any:
        """Return a mask that is a table itself with its columns and rows in the order of this table's."""
        names = getattr(mask, "columns", None)
        if names is None:  # of a single column
            return mask
        names, own = list(names), [list(self.names), [self.names[i] for i in self.numbers]]
        if names in own:
            return mask
        order = next(
            (one for one in own if len(set(one)) == len(one) and sorted(map(str, one)) == sorted(map(str, names))), None
        )
        if order is None or set(order) != set(names):
            raise InputError(
                "observed has other columns than the table: give it as an array of NumPy to go by position"
            )
        return mask[order]

    def header_stamps(self) -> np.ndarray | None:
        """Return the names of the columns of numbers as times, if they are."""
        return None


def whole(values: np.ndarray, dtype: np.dtype | None = None) -> np.ndarray:
    """Return numbers rounded, in the range of an integer type.

    >>> whole(np.array([-3.2, 99.6, 300.0]), np.dtype(np.uint8))
    array([  0, 100, 255], dtype=uint8)
    """
    rounded = np.rint(values)
    if dtype is None:
        return rounded
    info = np.iinfo(dtype)
    top = float(info.max) if dtype.itemsize < 8 else float(np.nextafter(np.float64(info.max), 0))  # a float below it
    return np.clip(rounded, float(info.min), top).astype(dtype)
