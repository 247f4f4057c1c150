"""Tables of pandas: index, columns, names and dtypes are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InputError, need
from .frame import Frame, whole


class PandasFrame(Frame):
    """A ``DataFrame``, or a ``Series`` as the only column of one."""

    def __init__(self, given: Any) -> None:
        self.pandas = need("pandas", "tables", "a table of pandas")
        self.given = given
        self.series = isinstance(given, self.pandas.Series)
        self.frame = given.to_frame() if self.series else given
        self.names = list(self.frame.columns)
        self.rows = len(self.frame)
        self.numbers = [i for i in range(len(self.names)) if _is_number(self._column(i).dtype)]

    def values(self, i: int) -> np.ndarray:
        """Return a column of numbers."""
        return self._column(i).to_numpy(dtype=np.float64, na_value=np.nan)

    def stamps(self, i: int | None) -> np.ndarray | None:
        """Return the times of a column, or of the index; in the clock of the first, where they know of clocks."""
        return self._times(self.frame.index if i is None else self.pandas.Index(self._column(i)))

    def aligned(self, mask: Any) -> Any:
        """Return a mask that is a table itself with its columns and rows in the order of this table's."""
        mask = super().aligned(mask)
        index: Any = getattr(mask, "index", None)
        if not isinstance(index, self.pandas.Index) or index.equals(self.frame.index):
            return mask
        at = index.get_indexer(self.frame.index) if index.is_unique and len(index) == self.rows else np.array([-1])
        if (at < 0).any():
            raise InputError("observed has other rows than the table: give it as an array of NumPy to go by position")
        return mask.iloc[at]

    def header_stamps(self) -> np.ndarray | None:
        """Return the names of the columns as times, if they are."""
        times = self._times(self.frame.columns)
        return None if times is None else times[self.numbers]

    def labels(self, i: int) -> np.ndarray:
        """Return a column of labels."""
        return self._column(i).to_numpy(dtype=object)

    def gather(self, rows: Sequence[np.ndarray]) -> Frame:
        """Return a table of these cells; the index is kept if the rows are, and counts anew if there are others."""
        index = self.frame.index
        same = bool(rows) and np.array_equal(rows[0], np.arange(self.rows)) and (np.array(rows) >= 0).all()
        if not same:
            index = self.pandas.RangeIndex(len(rows[0]))
        columns = [self._gathered(i, at).set_axis(index) for i, at in enumerate(rows)]
        out = self.pandas.concat(columns, axis=1)
        out.columns, out.attrs = self.frame.columns, self.frame.attrs
        return PandasFrame(out)

    def _gathered(self, i: int, at: np.ndarray) -> Any:
        column = self._column(i).reset_index(drop=True)
        return column.iloc[at] if (at >= 0).all() else column.reindex(at)

    def put(self, columns: Mapping[int, np.ndarray]) -> Frame:
        """Return the table with these numbers, each column in its own type."""

        def changed(column: Any, values: np.ndarray) -> Any:
            column = (
                column.sparse.to_dense() if hasattr(column.dtype, "fill_value") else column.copy()
            )  # it is full now
            dtype = column.dtype
            other = np.flatnonzero(~(column.to_numpy(dtype=np.float64, na_value=np.nan) == values))
            if len(other):
                integer = _numpy_type(dtype)
                new = whole(values[other], integer) if integer.kind in "iu" else values[other].astype(integer)
                column.iloc[other] = new
            return column

        return self._with(columns, changed)

    def floats(self, columns: Mapping[int, np.ndarray]) -> Frame:
        """Return the table with these numbers, in floating types."""

        def replaced(column: Any, values: np.ndarray) -> Any:
            single = _numpy_type(column.dtype) == np.float32
            values = values.astype(np.float32 if single else np.float64)
            return self.pandas.Series(values, index=column.index, name=column.name)

        return self._with(columns, replaced)

    def _with(self, columns: Mapping[int, np.ndarray], change: Any) -> Frame:
        out = self.frame.copy()
        for i, values in columns.items():
            out.isetitem(i, change(self._column(i), values))
        frame = PandasFrame(out)
        if self.series:
            frame.given, frame.series = out.iloc[:, 0].rename(self.given.name), True
        return frame

    def _column(self, i: int) -> Any:
        return self.frame.iloc[:, i]

    def _times(self, index: Any) -> np.ndarray | None:
        pandas = self.pandas
        if isinstance(index, pandas.PeriodIndex):
            index = index.to_timestamp()
        if isinstance(index, pandas.MultiIndex) or not isinstance(index, pandas.DatetimeIndex):
            return None
        if index.tz is not None and len(index):
            first = index[0].utcoffset()
            index = index.tz_convert("UTC").tz_localize(None) + pandas.Timedelta(first)
        return index.to_numpy().astype("datetime64[ns]")


def _numpy_type(dtype: Any) -> np.dtype:
    """Return the type of NumPy that numbers of a dtype of pandas have."""
    own = getattr(dtype, "numpy_dtype", dtype)
    return own if isinstance(own, np.dtype) else np.dtype(np.float64)


def _is_number(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "iuf"
