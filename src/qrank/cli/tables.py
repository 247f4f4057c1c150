"""Options on tables and on the values of an answer, shared by commands: ``--fold``, ``--index``, …, ``--min``, ``--integer``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from typer import Option

from ..api import on_one_scale
from ..api.units import OWN, SAME, UNEQUAL
from ..errors import InputError
from ..files import Loaded
from ..files.table_files import arranged
from ..tables import Wide, are_counts, inequality

TABLE = "Tables"
Fold = Annotated[
    str | None,
    Option(
        help="Fold rows by a period: day, hour, week, 12h, a number of rows, or none. [guess]", rich_help_panel=TABLE
    ),
]
Index = Annotated[str | None, Option(help="The column of times, or of labels of rows.", rich_help_panel=TABLE)]
Columns = Annotated[str | None, Option(help="Of a long table: the column of sensors.", rich_help_panel=TABLE)]
Values = Annotated[str | None, Option(help="Of a long table: the column of numbers.", rich_help_panel=TABLE)]
Units = Annotated[
    str | None,
    Option(
        help=f"Whether columns are of the same unit, or each of its own and brought to one size first: {SAME}, {OWN}. [guess]",
        rich_help_panel=TABLE,
    ),
]
Min = Annotated[float | None, Option("--min", help="The least value of a filled entry; -inf: none.")]
Max = Annotated[float | None, Option("--max", help="The largest value of a filled entry; inf: none.")]
Integer = Annotated[bool, Option("--integer", help="Round filled entries to whole numbers.")]


@dataclass(frozen=True)
class TableOptions:
    """How a table is seen."""

    fold: Fold = None
    index: Index = None
    columns: Columns = None
    values: Values = None
    units: Units = None

    def arranged(self, loaded: Loaded) -> Loaded:
        """Return a table as it is asked for, or guessed, and all else as it was read."""
        return arranged(loaded, self.fold, self.index, self.columns, self.values)

    def settings(self, loaded: Loaded, exact: bool = True) -> dict[str, Any]:
        """Return units for ``complete``: the axis of the columns where each has its own."""
        if self.units not in (None, SAME, OWN):
            raise InputError(f"--units is {SAME} or {OWN}, not {self.units}")
        if self.units is not None and "table" not in loaded.meta:
            raise InputError(f"{loaded.name} is no table: --units cannot be used")
        return {"units": (0 if "fold" in loaded.meta else 1) if self._own(loaded, exact) else None}

    def on_one_scale(self, loaded: Loaded) -> Loaded:
        """Return a table whose columns have units of their own with each in its standard deviations."""
        axis = self.settings(loaded)["units"]
        if axis is None:
            return loaded
        return replace(loaded, data=on_one_scale(loaded.data, None, None, axis)[0])

    def _own(self, loaded: Loaded, exact: bool) -> bool:
        table = loaded.meta.get("table")
        if table is None or self.units is not None:
            return self.units == OWN
        return exact and inequality(table.array) > UNEQUAL

    def said(self, loaded: Loaded, exact: bool = True) -> list[str]:
        """Return what was made of a table, in words."""
        table, folding = loaded.meta.get("table"), loaded.meta.get("fold")
        lines = []
        for name, cell in getattr(getattr(table, "frame", None), "unread", []):
            lines.append(f"the column '{name}' has empty cells and is NOT filled: '{cell}' in it is no number")
        if table is not None and table.twice:
            lines.append(f"{table.twice} rows say again what another row says: each is taken once")
        if folding is not None:
            guessed = " (guessed from the time stamps; --fold none leaves the table as it is)"
            lines.append(folding.said + (guessed if self.fold is None else ""))
        elif isinstance(table, Wide) and table.looks_long:
            lines.append(
                "the same times come again and again: if each row is one measurement, name the columns, as in"
                " --index time --columns sensor --values value"
            )
        elif table is not None and self.fold is None:
            why = "its time stamps are not regular, or too few"
            why = "its rows have no time stamps" if table.stamps is None else why
            lines.append(f"the table is not folded: {why} (--fold N: every N rows are a period)")
        if self.units is None and self._own(loaded, exact):
            times = inequality(loaded.meta["table"].array)
            lines.append(
                f"some columns spread {times:.0f} times more than others: units of their own, so each is brought to mean 0 and standard"
                " deviation 1 for the run (--units same: not)"
            )
        return lines


@dataclass(frozen=True)
class RangeOptions:
    """Which values filled entries may have."""

    min: Min = None
    max: Max = None
    integer: Integer = False

    def settings(self, loaded: Loaded, known: np.ndarray) -> dict[str, Any]:
        """Return bounds and integer for ``complete``."""
        bounds = None if self.min is None and self.max is None else (self.min, self.max)
        if bounds is None and "table" in loaded.meta and are_counts(loaded.data[known]):
            bounds = (0.0, None)
        return {"bounds": bounds, "integer": self.integer}

    def said(self, loaded: Loaded, bounds: Any) -> list[str]:
        """Return to what range filled entries are cut, where nobody asked for it."""
        if self.min is not None or self.max is not None:
            return []
        if bounds is not None:
            return [
                "no known value is negative, and all are whole: counts, and filled ones are cut at 0 (--min=-inf: not)"
            ]
        if loaded.data.dtype in (np.uint8, np.uint16):
            return [
                f"filled values are cut to the range of {loaded.data.dtype}, 0 to {np.iinfo(loaded.data.dtype).max}"
            ]
        return []
