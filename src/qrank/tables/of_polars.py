"""Tables of polars: columns, names and dtypes are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import need
from .frame import Frame, whole


class PolarsFrame(Frame):
    """A ``DataFrame``, or a ``Series`` as the only column of one."""

    def __init__(self, given: Any) -> None:
        self.polars = need("polars", "tables", "a table of polars")
        self.given = given
        self.series = isinstance(given, self.polars.Series)
        self.frame = given.to_frame() if self.series else given
        self.names = list(self.frame.columns)
        self.rows = self.frame.height
        types = self.frame.dtypes
        self.numbers = [i for i, kind in enumerate(types) if kind.is_integer() or kind.is_float()]

    def values(self, i: int) -> np.ndarray:
        """Return a column of numbers."""
        return self._column(i).cast(self.polars.Float64).fill_null(float("nan")).to_numpy().astype(np.float64)

    def stamps(self, i: int | None) -> np.ndarray | None:
        """Return the times of a column; rows have no labels."""
        if i is None or self.frame.dtypes[i] not in (self.polars.Datetime, self.polars.Date):
            return None
        return self._column(i).cast(self.polars.Datetime("ns")).to_numpy().astype("datetime64[ns]")

    def labels(self, i: int) -> np.ndarray:
        """Return a column of labels."""
        return np.array(self._column(i).to_list(), dtype=object)

    def gather(self, rows: Sequence[np.ndarray]) -> Frame:
        """Return a table of these cells."""
        places = [self.polars.Series([None if at < 0 else int(at) for at in column]) for column in rows]
        places = [place.cast(self.polars.UInt32) for place in places]
        return PolarsFrame(self.polars.DataFrame([self._column(i).gather(place) for i, place in enumerate(places)]))

    def put(self, columns: Mapping[int, np.ndarray]) -> Frame:
        """Return the table with these numbers, each column in its own type."""

        def changed(column: Any, values: np.ndarray, old: np.ndarray) -> Any:
            integer = column.dtype.is_integer()
            new = np.where(old == values, 0, values)
            new = whole(new, np.dtype(str(column.dtype).lower())) if integer else new
            series = self.polars.Series(column.name, new).cast(column.dtype)
            return series.zip_with(self.polars.Series(~(old == values)), column)

        return self._with({i: changed(self._column(i), x, self.values(i)) for i, x in columns.items()})

    def floats(self, columns: Mapping[int, np.ndarray]) -> Frame:
        """Return the table with these numbers, in floating types."""
        return self._with(
            {
                i: self.polars.Series(column.name, x).cast(
                    column.dtype if column.dtype.is_float() else self.polars.Float64
                )
                for i, x in columns.items()
                for column in [self._column(i)]
            }
        )

    def _with(self, columns: Mapping[int, Any]) -> Frame:
        found = [columns.get(i, self._column(i)) for i in range(len(self.names))]
        frame = PolarsFrame(self.polars.DataFrame(found))
        if self.series:
            frame.given, frame.series = found[0], True
        return frame

    def _column(self, i: int) -> Any:
        return self.frame.to_series(i)
