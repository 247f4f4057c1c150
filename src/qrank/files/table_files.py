"""Tables in files: ``.csv``, ``.tsv`` and ``.parquet``; cells that were known come back as they were written."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from qrank.errors import FileError, InputError, need
from qrank.files.loaded import Ask, Loaded, check_frames
from qrank.files.room import DENSEST, check_room
from qrank.tables import ArrowFrame, Fold, Frame, Table, TextFrame, Wide, table_of

CELL = 80  # bytes that a cell of text takes in memory


def read_text(path: Path, ask: Ask) -> Loaded:
    """Read a ``.csv`` or ``.tsv`` file."""
    content = path.read_bytes()
    marks = sum(content.count(mark) for mark in (b",", b";", b"\t", b"|", b"\n", b"\r"))
    check_room(path, len(content) + CELL * marks, len(content), densest=CELL + 1)
    if b"\0" in content:
        raise FileError(f"{path} cannot be read as a table: it holds bytes that are no text")
    # What is no UTF-8 is carried through as it is.
    text = content.decode("utf-8", errors="surrogateescape")
    with _named(path):
        frame = TextFrame.parsed(text, "\t" if path.suffix.lower() == ".tsv" else None)
    return _loaded(path, frame, "csv", ask)


def read_parquet(path: Path, ask: Ask) -> Loaded:
    """Read a ``.parquet`` file."""
    parquet = need("pyarrow.parquet", "tables", "reading parquet")
    with parquet.ParquetFile(path) as file:
        about = file.metadata
        groups = (about.row_group(i) for i in range(about.num_row_groups))
        size = max(sum(group.total_byte_size for group in groups), 8 * about.num_rows * about.num_columns)
        check_room(path, size, path.stat().st_size, DENSEST, copies=2)
        table = file.read(use_threads=False)
    table.validate(full=True)
    return _loaded(path, ArrowFrame(table), "parquet", ask)


def write_text(path: Path, array: np.ndarray, like: Loaded, key: str | None) -> None:
    """Write a ``.csv`` or ``.tsv`` file."""
    delimiter, frame = "\t" if path.suffix.lower() == ".tsv" else ",", _frame(array, like)
    if not isinstance(frame, TextFrame):
        frame = TextFrame.of(_plain(frame), isinstance(frame, Frame), delimiter)
    elif like.path is not None and like.path.suffix.lower() != path.suffix.lower():
        frame = frame.parted_by(delimiter)
    with path.open("wb") as stream:
        stream.write(frame.text.encode("utf-8", errors="surrogateescape"))


def write_parquet(path: Path, array: np.ndarray, like: Loaded, key: str | None) -> None:
    """Write a ``.parquet`` file."""
    arrow, parquet = (need(name, "tables", "writing parquet") for name in ("pyarrow", "pyarrow.parquet"))
    frame = _frame(array, like)
    table = frame.given if isinstance(frame, ArrowFrame) else arrow.table(_plain(frame))
    inside = io.BytesIO()  # Arrow writes into files past Python, and an error at their end is lost
    parquet.write_table(table, inside)
    with path.open("wb") as stream:
        stream.write(inside.getbuffer())


def arranged(
    loaded: Loaded,
    fold: str | int | None = None,
    index: str | None = None,
    columns: str | None = None,
    values: str | None = None,
) -> Loaded:
    """Return a table that was read as it is asked for: long, or with a column that labels rows, and folded.

    >>> frame = TextFrame.parsed("a,b\\n1,2\\n3,\\n5,6\\n7,8\\n")
    >>> arranged(_loaded(Path("a.csv"), frame, "csv", Ask()), fold=2).data.shape
    (2, 2, 2)
    """
    asked = [name for name, value in (("index", index), ("columns", columns), ("values", values)) if value is not None]
    table: Table | None = loaded.meta.get("table")
    if table is None:
        if asked or (fold is not None and fold != "none"):
            raise InputError(f"{loaded.name} is no table: {', '.join(asked) or 'fold'} cannot be used")
        return loaded
    if asked:
        table = table_of(table.frame, index, columns, values)
    array = table.array.astype(loaded.data.dtype, copy=False)
    loaded = dataclasses.replace(loaded, data=array, axes=table.axes, meta={**loaded.meta, "table": table})
    folding = Fold.of(fold, len(array), table.stamps)
    if folding is None:
        return loaded
    axes = (table.axes[1], *folding.axes[1:])
    return dataclasses.replace(
        loaded, data=folding.folded(array), axes=axes, slice_axes=(0, 1), meta={**loaded.meta, "fold": folding}
    )


def _loaded(path: Path, frame: Frame, kind: str, ask: Ask) -> Loaded:
    table = Wide(frame)
    if ask.frames is not None:
        check_frames(range(frame.rows)[ask.frames], frame.rows, ask.frames, str(path))
        table = table.part(ask.frames)
    with _named(path):
        return Loaded(table.array, table.axes, (0, 1), kind, path, {"table": table})


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let what is wrong with a table name its file."""
    try:
        yield
    except InputError as error:
        raise FileError(f"{path} cannot be used as a table: {error}") from error


def unfolded(array: np.ndarray, like: Loaded) -> tuple[np.ndarray, Loaded]:
    """Return an array that was made of a folded table as rows x columns, and what such a table was read as."""
    folding, table = like.meta.get("fold"), like.meta.get("table")
    if folding is None or table is None:
        return array, like
    meta = {name: value for name, value in like.meta.items() if name != "fold"}
    return folding.unfolded(array), dataclasses.replace(like, data=table.array, axes=table.axes, meta=meta)


def _frame(array: np.ndarray, like: Loaded) -> Any:
    """Return the array in the table it came from; what came from none as it is."""
    table = like.meta.get("table")
    if table is None:
        if array.ndim > 2 or not array.ndim:
            raise FileError(f"a table has rows and columns, and the array {array.ndim} axes: choose another format")
        if array.dtype.kind == "c":
            raise FileError("a table cannot hold complex values: choose another format")
        return array.reshape(len(array), -1)
    return table.floats(array) if like.meta.get("floats") else table.filled(array)


def _plain(frame: Any) -> dict[str, Any]:
    """Return the columns of a table of any kind: numbers, times, texts."""
    if isinstance(frame, np.ndarray):
        return {str(i): column for i, column in enumerate(frame.T)}
    found: dict[str, Any] = {}
    for i, name in enumerate(frame.names):
        times = frame.stamps(i)
        numbers = frame.values(i) if i in frame.numbers else None
        found[str(name)] = next(one for one in (numbers, times, frame.labels(i)) if one is not None)
    return found
