"""A table as a matrix, rows x columns, and the matrix as a table again: as it is (wide), or of three columns (long)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import InputError, TooLarge
from ..kernels.free import free_memory
from ..text import in_bytes
from .frame import Frame


@dataclass(frozen=True, eq=False)
class Wide:
    """A row a time, a column a sensor; columns that hold no numbers are carried along.

    Where the names of the columns are times, and the rows have none, it is seen the other way round.
    """

    frame: Frame
    index: int | None = None  # the column that labels the rows

    @cached_property
    def numbers(self) -> list[int]:
        """Positions of the columns that are filled."""
        found = [i for i in self.frame.numbers if i != self.index]
        if not found:
            raise InputError("the table has no column of numbers")
        return found

    @cached_property
    def stamps(self) -> np.ndarray | None:
        """The times of the rows of ``array``, if there are such."""
        return self._header if self._header is not None else self._rows

    @cached_property
    def _rows(self) -> np.ndarray | None:
        if self.index is not None:
            return self.frame.stamps(self.index)
        labels = (i for i in range(len(self.frame.names)) if i not in self.frame.numbers)
        return next((found for found in map(self.frame.stamps, (None, *labels)) if found is not None), None)

    @cached_property
    def _header(self) -> np.ndarray | None:
        if self._rows is not None or len(self.numbers) != len(self.frame.numbers):
            return None
        return self.frame.header_stamps()

    @property
    def twice(self) -> int:
        """Rows that were left out: none."""
        return 0

    @property
    def looks_long(self) -> bool:
        """Whether times come again and again, once for each of the labels in another column: a long table, perhaps."""
        if self._rows is None:
            return False
        times = _code(self._rows)
        if times.max() + 1 > len(times) / 2:
            return False
        others = (i for i in range(len(self.frame.names)) if i not in (self.index, *self.numbers[-1:]))
        for i in others:
            labels = _code(self.frame.labels(i))
            if 1 < labels.max() + 1 < len(labels) / 2 and len(
                np.unique(np.stack([times, labels]), axis=1).T
            ) > 0.9 * len(times):
                return True
        return False

    @cached_property
    def array(self) -> np.ndarray:
        """The numbers, NaN where missing: times x sensors."""
        matrix = np.column_stack([self.frame.values(i) for i in self.numbers])
        return matrix if self._header is None else np.ascontiguousarray(matrix.T)

    @property
    def axes(self) -> tuple[str, str]:
        """The names of the axes of ``array``."""
        return "row" if self.stamps is None else "time", "column"

    @property
    def labels(self) -> list[str]:
        """The names of the columns of ``array``."""
        if self._header is not None:
            return [str(row) for row in range(self.frame.rows)]
        return [str(self.frame.names[i]) for i in self.numbers]

    def part(self, rows: slice) -> Wide:
        """Return some of its rows."""
        if self._header is not None:
            raise InputError("a part of the times cannot be taken where they are the names of columns")
        at = np.arange(self.frame.rows)[rows]
        return Wide(self.frame.gather([at] * len(self.frame.names)), self.index)

    def masked(self, mask: Any) -> np.ndarray:
        """Return a mask of the whole table, or of its numbers, as one of ``array``."""
        mask = np.asarray(mask)
        if mask.shape == (self.frame.rows, len(self.frame.names)):
            mask = mask[:, self.numbers]
        elif mask.ndim == 1 and mask.shape == (self.frame.rows,) and len(self.numbers) == 1:
            mask = mask[:, None]
        return mask if self._header is None else mask.T

    def filled(self, x: np.ndarray) -> Frame:
        """Return the table with these numbers; what is as it was keeps its type and its text."""
        return self.frame.put(self._columns(x))

    def floats(self, x: np.ndarray) -> Frame:
        """Return the table with these numbers in floating types: errors of whole numbers are no whole numbers."""
        return self.frame.floats(self._columns(x))

    def _columns(self, x: np.ndarray) -> dict[int, np.ndarray]:
        return dict(zip(self.numbers, x.T if self._header is None else x, strict=True))


@dataclass(frozen=True, eq=False)
class Long:
    """A row an entry: its time, its sensor, its value. Entries without a row are missing, and get one."""

    frame: Frame
    index: int
    columns: int
    values: int
    twice: int = 0  # rows that said again what another one says, and were left out

    @classmethod
    def of(cls, frame: Frame, index: int, columns: int, values: int) -> Long:
        """Return a long table; of rows for one time and sensor one is kept, unless their values differ."""
        table = cls(frame, index, columns, values)
        value, cell = frame.values(values), table._cell
        order = np.lexsort((np.isnan(value), cell))  # stable: of each cell the first row that has a value is first
        starts = np.diff(cell[order], prepend=-1) > 0
        kept = order[starts]
        if len(kept) == frame.rows:
            return table
        its, own = value[kept][np.cumsum(starts) - 1], value[order]
        apart = np.flatnonzero(~np.isnan(own) & (own != its))
        if apart.size:
            row = order[apart[0]]
            pair = (frame.labels(index)[row], frame.labels(columns)[row])
            raise InputError(
                f"the long table has {its[apart[0]]:g} and {value[row]:g} for {pair[0]}, {pair[1]}, which must have one value:"
                " join such rows first, by their mean for instance"
            )
        kept = np.sort(kept)
        once = frame.gather([kept] * len(frame.names))
        return cls(once, index, columns, values, frame.rows - len(kept))

    def __post_init__(self) -> None:
        if self.frame.rows == 0:
            raise InputError("the table has no row")
        if len({self.index, self.columns, self.values}) < 3:
            raise InputError("index, columns and values must be three different columns of a long table")
        if self.values not in self.frame.numbers:
            raise InputError(f"the column '{self.frame.names[self.values]}' holds no numbers to be filled")

    @cached_property
    def _codes(self) -> tuple[np.ndarray, np.ndarray]:
        stamps = self.frame.stamps(self.index)
        times = self.frame.labels(self.index) if stamps is None else stamps
        return _code(times), _code(self.frame.labels(self.columns))

    @property
    def _shape(self) -> tuple[int, int]:
        return int(self._codes[0].max()) + 1, int(self._codes[1].max()) + 1

    @property
    def _cell(self) -> np.ndarray:
        """Where in ``array``, flat, every row is."""
        return self._codes[0] * self._shape[1] + self._codes[1]

    @cached_property
    def stamps(self) -> np.ndarray | None:
        """The times of the rows of ``array``, if there are such."""
        times = self.frame.stamps(self.index)
        return None if times is None else times[_first(self._codes[0])]

    @cached_property
    def array(self) -> np.ndarray:
        """The numbers, NaN where missing: times x sensors."""
        free, size = free_memory(), 8 * math.prod(self._shape)
        if free is not None and size > free:
            made = " x ".join(map(str, self._shape))
            raise TooLarge(
                f"the long table makes an array of {made}, {in_bytes(size)}, and {in_bytes(free)} are free: are these its index and columns?"
            )
        out = np.full(self._shape, np.nan)
        out.flat[self._cell] = self.frame.values(self.values)
        return out

    @property
    def axes(self) -> tuple[str, str]:
        """The names of the axes of ``array``."""
        return str(self.frame.names[self.index]), str(self.frame.names[self.columns])

    @property
    def labels(self) -> list[str]:
        """The names of the columns of ``array``."""
        return [str(name) for name in self.frame.labels(self.columns)[_first(self._codes[1])]]

    def part(self, rows: slice) -> Long:
        """Return some of its times."""
        raise InputError("a part of a long table cannot be taken: leave frames out")

    def masked(self, mask: Any) -> np.ndarray:
        """Return a mask, of the rows of the long table or of ``array``, as one of ``array``; what has no row is missing."""
        mask = np.asarray(mask)
        if mask.shape != (self.frame.rows,):
            return mask
        out = np.zeros(self._shape, dtype=bool)
        out.flat[self._cell] = mask
        return out

    def filled(self, x: np.ndarray) -> Frame:
        """Return the long table with a row for every entry, in the order of the rows that it had, if they were in one."""
        whole, cells = self._whole
        return whole.put({self.values: x.reshape(-1)[cells]})

    def floats(self, x: np.ndarray) -> Frame:
        """Return the same table with these numbers in floating types."""
        whole, cells = self._whole
        return whole.floats({self.values: x.reshape(-1)[cells]})

    @cached_property
    def _whole(self) -> tuple[Frame, np.ndarray]:
        """The table with all rows, and where in ``array`` each is."""
        cells = self._order()
        row = np.full(self._shape, -1)
        row.flat[self._cell] = np.arange(self.frame.rows)
        own = row.reshape(-1)[cells]
        times, sensors = np.divmod(cells, self._shape[1])
        by_time, by_sensor = _first(self._codes[0])[times], _first(self._codes[1])[sensors]
        rows = [own] * len(self.frame.names)
        rows[self.index], rows[self.columns] = by_time, by_sensor
        if (own < 0).any():
            for i in set(range(len(rows))) - {self.index, self.columns, self.values}:
                labels = _code(self.frame.labels(i))
                for codes, like in ((self._codes[1], by_sensor), (self._codes[0], by_time)):
                    if (
                        labels == labels[_first(codes)][codes]
                    ).all():  # what is the same in all rows of a sensor, or time
                        rows[i] = np.where(own < 0, like, own)
                        break
        return self.frame.gather([np.where(own >= 0, own, column) for column in rows]), cells

    def _order(self) -> np.ndarray:
        """Return the entries of ``array`` in the order of the rows to be."""
        grid = np.arange(np.prod(self._shape)).reshape(self._shape)
        time, sensor = (_ranks(codes) for codes in self._codes)
        for times in time:
            for sensors in sensor:
                ordered = grid[np.argsort(times)][:, np.argsort(sensors)]
                for cells in (ordered.reshape(-1), ordered.T.reshape(-1)):
                    place = np.empty_like(cells)
                    place[cells] = np.arange(len(cells))
                    if (np.diff(place[self._cell]) > 0).all():
                        return cells
        return np.concatenate([self._cell, np.setdiff1d(grid, self._cell)])


def _code(labels: np.ndarray) -> np.ndarray:
    """Number labels in their order, or, where they have none, as they come."""
    try:
        return np.unique(labels, return_inverse=True)[1]
    except TypeError:
        seen: dict[Any, int] = {}
        return np.array([seen.setdefault(label, len(seen)) for label in labels])


def _first(codes: np.ndarray) -> np.ndarray:
    """Return the first row of each code."""
    return np.unique(codes, return_index=True)[1]


def _ranks(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the places of codes in their order, in the reverse, and as they come."""
    first = _first(codes)
    count = np.arange(len(first))
    return count, count[::-1], np.argsort(np.argsort(first))


Table = Wide | Long
