"""Tables of text, .csv and .tsv: every cell is kept as it is written, and written back as it was unless its number changed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import InputError
from .frame import Frame, whole
from .times import stamps as times_of

MISSING = {"", "na", "n/a", "nan", "-nan", "null", "none", "<na>", "#n/a", "#na", "-", "?", "nil", "missing"}
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?[iI]nf(inity)?")
DIGITS = 6  # significant ones of a filled cell


@dataclass(frozen=True, eq=False)
class TextFrame(Frame):
    """Cells as they are written, quotes and all; ``text`` gives the file back.

    >>> frame = TextFrame.parsed("time,a,b\\n2024-01-01,1.50,x\\n2024-01-02,,y\\n", ",")
    >>> frame.numbers, frame.values(1)
    ([1], array([1.5, nan]))
    >>> frame.put({1: np.array([1.5, 2.25])}).text
    'time,a,b\\n2024-01-01,1.50,x\\n2024-01-02,2.25,y\\n'
    """

    head: tuple[str, ...] | None  # cells of the header, if there is one
    cells: tuple[list[str], ...]  # of each column
    delimiter: str
    preamble: str = ""  # what stands before the header
    newline: str = "\n"
    ended: bool = True  # whether the last line ends

    @classmethod
    def parsed(cls, text: str, delimiter: str | None = None) -> TextFrame:
        """Take a file apart; the delimiter is looked for in its first line, if it is not given."""
        newline = "\r\n" if "\r\n" in text else "\r" if "\r" in text and "\n" not in text else "\n"
        opening = re.match(r"\ufeff?(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\n|\r))*", text)
        preamble = "" if opening is None else opening[0]
        body = text[len(preamble) :].removeprefix("\ufeff")
        preamble = text[: len(text) - len(body)]
        delimiter = delimiter or _delimiter(body.split(newline, 1)[0])
        ended = body.endswith(newline)
        lines = _split(body.rstrip("\r\n"), delimiter, newline)
        if len(lines) < 1 or lines == [[""]]:
            raise InputError("there is no row in it")
        width = len(lines[0])
        for number, line in enumerate(lines):
            if len(line) != width:
                raise InputError(f"row {number + 1} has {len(line)} cells and the first row {width}")
        decimal = delimiter != ","
        named = not all(_number(_bare(cell), decimal) or _bare(cell).lower() in MISSING for cell in lines[0])
        head, rows = (tuple(lines[0]), lines[1:]) if named else (None, lines)
        if not rows:
            raise InputError("there is no row below its header")
        return cls(head, tuple(list(column) for column in zip(*rows, strict=True)), delimiter, preamble, newline, ended)

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[Any]], head: bool, delimiter: str) -> TextFrame:
        """Write columns of numbers, times and texts as text."""
        cells = tuple([_written(value, delimiter) for value in column] for column in columns.values())
        if len(cells) == 1:
            cells = ([cell or "NaN" for cell in cells[0]],)  # an empty line is no row
        return cls(tuple(_quoted(str(name), delimiter) for name in columns) if head else None, cells, delimiter)

    def parted_by(self, delimiter: str) -> TextFrame:
        """Return the same cells with another delimiter between them; those that need it are quoted."""
        head = None if self.head is None else tuple(_quoted(name, delimiter) for name in self.names)
        cells = tuple([_quoted(_bare(cell), delimiter) for cell in column] for column in self.cells)
        return replace(self, head=head, cells=cells, delimiter=delimiter)

    @property
    def text(self) -> str:
        """The file."""
        rows = [] if self.head is None else [self.delimiter.join(self.head)]
        rows += map(self.delimiter.join, zip(*self.cells, strict=True))
        return self.preamble + self.newline.join(rows) + (self.newline if self.ended else "")

    @property
    def given(self) -> Any:
        """The table itself: text is no kind of its own."""
        return self

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.cells[0])

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns, or their numbers."""
        return [str(i) for i in range(len(self.cells))] if self.head is None else [_bare(cell) for cell in self.head]

    @cached_property
    def numbers(self) -> list[int]:
        """Which columns hold numbers: not the first where it has no name, or counts rows."""
        found = [i for i, column in enumerate(self.cells) if self._is_number(column)]
        if found and found[0] == 0 and len(self.cells) > 1 and self.head is not None:
            first = self.values(0)
            if self.names[0] == "" or (len(first) > 2 and (np.diff(first) == 1).all()):
                found = found[1:]
        return found

    @property
    def unread(self) -> list[tuple[str, str]]:
        """Columns with gaps that begin like numbers, but have a cell that is none, and the first such cell."""
        found = []
        for i in set(range(len(self.cells))) - set(self.numbers):
            bare = [_bare(cell) for cell in self.cells[i]]
            told = [cell for cell in bare if cell.lower() not in MISSING]
            wrong = [cell for cell in told if not _number(cell, self.delimiter != ",")]
            if len(told) < len(bare) and wrong and self.stamps(i) is None and any(map(_figures, told)):
                found.append((self.names[i], wrong[0]))
        return sorted(found)

    def values(self, i: int) -> np.ndarray:
        """Return a column of numbers."""
        bare = (_bare(cell) for cell in self.cells[i])
        texts = ["nan" if cell.lower() in MISSING else cell for cell in bare]
        if self._comma:
            texts = [text.replace(",", ".") for text in texts]
        try:
            return np.array([float(text) for text in texts])
        except ValueError:
            raise InputError(f"the column '{self.names[i]}' holds texts, not numbers") from None

    def stamps(self, i: int | None) -> np.ndarray | None:
        """Return the times of a column; rows have no labels beside it."""
        return None if i is None or i in self.numbers else times_of([_bare(cell) for cell in self.cells[i]])

    def header_stamps(self) -> np.ndarray | None:
        """Return the names of the columns of numbers as times, if they are."""
        return None if self.head is None else times_of([self.names[i] for i in self.numbers])

    def labels(self, i: int) -> np.ndarray:
        """Return a column of labels."""
        return np.array([_bare(cell) for cell in self.cells[i]], dtype=object)

    def gather(self, rows: Sequence[np.ndarray]) -> TextFrame:
        """Return a table of these cells."""
        taken = (
            [column[at] if at >= 0 else "" for at in places] for column, places in zip(self.cells, rows, strict=True)
        )
        return replace(self, cells=tuple(taken))

    def put(self, columns: Mapping[int, np.ndarray]) -> TextFrame:
        """Return the table with these numbers: a cell whose number is the same keeps its text."""
        cells = list(self.cells)
        for i, x in columns.items():
            old = self.values(i).astype(x.dtype)
            decimals = max((_decimals(_bare(cell)) for cell in cells[i]), default=0)
            same = (old == x) | (np.isnan(old) & np.isnan(x))
            cells[i] = [
                cell if kept else self._shown(float(value), decimals)
                for cell, value, kept in zip(cells[i], x, same, strict=True)
            ]
        return replace(self, cells=tuple(cells))

    floats = put

    def _shown(self, value: float, decimals: int) -> str:
        """Write a filled number: with six digits, or as many decimals as the column has."""
        if np.isnan(value):
            return ""
        text = f"{value:.{DIGITS}g}"
        if value == whole(np.array(value)) and abs(value) < 1e15:
            text = f"{value:.0f}"
        elif "e" not in text and _decimals(text) < decimals:
            text = f"{value:.{decimals}f}"
        return text.replace(".", ",") if self._comma else text

    def _is_number(self, column: Sequence[str]) -> bool:
        bare = [cell for cell in map(_bare, column) if cell.lower() not in MISSING]
        return bool(bare) and all(_number(cell, self.delimiter != ",") for cell in bare)

    @cached_property
    def _comma(self) -> bool:
        """Whether numbers are written with a decimal comma."""
        if self.delimiter == ",":
            return False
        comma = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
        return any(comma.fullmatch(_bare(cell)) for column in self.cells for cell in column)


def _split(body: str, delimiter: str, newline: str) -> list[list[str]]:
    if '"' not in body:
        return [line.split(delimiter) for line in body.split(newline)]
    others = "[^" + re.escape(delimiter) + "\r\n]*+"
    cell = re.compile(rf'("(?:[^"]|"")*+"{others}|{others})({re.escape(delimiter)}|\r\n|\n|\r|$)')
    lines: list[list[str]] = [[]]
    for found in cell.finditer(body):
        lines[-1].append(found[1])
        if found[2] == "":
            break
        if found[2] != delimiter:
            lines.append([])
    return lines


def _delimiter(line: str) -> str:
    plain = re.sub(r'"(?:[^"]|"")*+"', "", line)
    return max(",;\t|", key=plain.count)


def _bare(cell: str) -> str:
    cell = cell.strip()
    return cell[1:-1].replace('""', '"') if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def _number(cell: str, comma: bool) -> bool:
    return NUMBER.fullmatch(cell.replace(",", ".", 1) if comma else cell) is not None


def _figures(cell: str) -> bool:
    """Return whether a cell begins like a number, and is no date or time."""
    bare = cell.lstrip("+-.,<>~ ")
    return bare[:1].isdigit() and not any(mark in bare for mark in "-:/")


def _decimals(cell: str) -> int:
    return len(re.split("[eE]", cell)[0].replace(",", ".").partition(".")[2])


def _quoted(cell: str, delimiter: str) -> str:
    awkward = any(mark in cell for mark in (delimiter, '"', "\n", "\r"))
    return '"' + cell.replace('"', '""') + '"' if awkward else cell


def _written(value: Any, delimiter: str) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float | np.floating):
        return repr(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
    return _quoted(str(value), delimiter)
