"""Tables of Arrow, which parquet files hold: schema and metadata are kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import need
from .frame import Frame, whole


class ArrowFrame(Frame):
    """A ``pyarrow.Table``."""

    def __init__(self, given: Any) -> None:
        self.arrow = need("pyarrow", "tables", "a parquet file")
        need("pyarrow.compute", "tables", "a parquet file")
        self.given = given
        self.names = list(given.column_names)
        self.rows = given.num_rows
        types = self.arrow.types
        self.numbers = [
            i for i, field in enumerate(given.schema) if types.is_integer(field.type) or types.is_floating(field.type)
        ]

    def values(self, i: int) -> np.ndarray:
        """Return a column of numbers."""
        column = self.given.column(i)
        double = column.cast(self.arrow.float64(), safe=False)
        return np.asarray(double.to_numpy(), dtype=np.float64)

    def stamps(self, i: int | None) -> np.ndarray | None:
        """Return the times of a column; rows have no labels."""
        types = self.arrow.types
        if i is None or not (types.is_timestamp(self.given.schema[i].type) or types.is_date(self.given.schema[i].type)):
            return None
        return self.given.column(i).cast(self.arrow.timestamp("ns"), safe=False).to_numpy().astype("datetime64[ns]")

    def labels(self, i: int) -> np.ndarray:
        """Return a column of labels."""
        return np.array(self.given.column(i).to_pylist(), dtype=object)

    def gather(self, rows: Sequence[np.ndarray]) -> Frame:
        """Return a table of these cells."""
        taken = [
            self.given.column(i).take(self.arrow.array(at, mask=at < 0, type=self.arrow.int64()))
            for i, at in enumerate(rows)
        ]
        return ArrowFrame(self.arrow.Table.from_arrays(taken, schema=self.given.schema))

    def put(self, columns: Mapping[int, np.ndarray]) -> Frame:
        """Return the table with these numbers, each column in its own type."""
        table = self.given
        for i, x in columns.items():
            field, old = table.schema[i], self.values(i)
            new = np.where(old == x, 0, x)
            if self.arrow.types.is_integer(field.type):
                new = whole(new, np.dtype(field.type.to_pandas_dtype()))
            other = self.arrow.array(~(old == x))
            fresh = self.arrow.array(new).cast(field.type, safe=False)
            kept = self.arrow.compute.if_else(other, fresh, table.column(i).combine_chunks())
            table = table.set_column(i, field, kept)
        return ArrowFrame(table)

    def floats(self, columns: Mapping[int, np.ndarray]) -> Frame:
        """Return the table with these numbers, in floating types."""
        table, changed = self.given, set()
        for i, x in columns.items():
            field = table.schema[i]
            if not self.arrow.types.is_floating(field.type):
                field = field.with_type(self.arrow.float64())
                changed.add(field.name)
            table = table.set_column(i, field, self.arrow.array(x).cast(field.type, safe=False))
        return ArrowFrame(table.replace_schema_metadata(_told_to_pandas(table.schema.metadata, changed)))


def _told_to_pandas(metadata: dict[bytes, bytes] | None, changed: set[str]) -> dict[bytes, bytes] | None:
    """Return what a file says to pandas of the types of its columns, those that have changed being float64.

    >>> told = {b"pandas": b'{"columns": [{"name": "a", "field_name": "a", "numpy_type": "Int64"}]}'}
    >>> b"Int64" in _told_to_pandas(told, {"a"})[b"pandas"], _told_to_pandas(None, {"a"})
    (False, None)
    """
    if not metadata or b"pandas" not in metadata:
        return metadata
    about = json.loads(metadata[b"pandas"])
    for column in about.get("columns", ()):
        if column.get("field_name", column.get("name")) in changed:
            column |= {"pandas_type": "float64", "numpy_type": "float64", "metadata": None}
    return {**metadata, b"pandas": json.dumps(about).encode()}
