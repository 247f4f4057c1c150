"""Tables: frames of pandas, polars, Arrow and text as matrices, long tables, and folding by the day."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..errors import InputError
from .fold import Fold
from .frame import Frame
from .of_arrow import ArrowFrame
from .of_pandas import PandasFrame
from .of_polars import PolarsFrame
from .of_text import TextFrame
from .table import Long, Table, Wide

__all__ = [
    "ArrowFrame",
    "Fold",
    "Frame",
    "Long",
    "Table",
    "TextFrame",
    "Wide",
    "are_counts",
    "frame_of",
    "inequality",
    "moments",
    "table_of",
]
KINDS: tuple[tuple[str, tuple[str, ...], type[Frame]], ...] = (
    ("pandas", ("DataFrame", "Series"), PandasFrame),
    ("polars", ("DataFrame", "Series"), PolarsFrame),
    ("pyarrow", ("Table",), ArrowFrame),
)


def frame_of(given: Any) -> Frame | None:
    """Return a table of the user's as a frame; None for arrays and all else.

    >>> frame_of(np.zeros((3, 4))) is None
    True
    """
    for package, names, kind in KINDS:
        module = sys.modules.get(package)  # whoever has such a table has imported it
        if module is not None and isinstance(given, tuple(getattr(module, name) for name in names)):
            return kind(given)  # type: ignore[call-arg]
    return given if isinstance(given, Frame) else None


def table_of(frame: Frame, index: Any = None, columns: Any = None, values: Any = None) -> Table:
    """Return a frame as a table: long where ``columns`` and ``values`` name its sensors and numbers, else wide.

    >>> frame = TextFrame.parsed("t,place,value\\n1,a,3\\n1,b,5\\n2,b,7\\n")
    >>> table_of(frame, "t", "place", "value").array
    array([[ 3.,  5.],
           [nan,  7.]])
    """
    if columns is None and values is None:
        return Wide(frame, None if index is None else frame.position(index))
    if index is None or columns is None or values is None:
        raise InputError(
            "a long table needs index, columns and values: the names of its time, sensor and number columns"
        )
    return Long.of(frame, *map(frame.position, (index, columns, values)))


def moments(values: np.ndarray, known: np.ndarray, axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of what is known along axes, which stay with length 1; 0 where nothing is.

    >>> moments(np.array([[1e300], [3e300], [np.nan]]), np.array([[True], [True], [False]]), (0,))
    (array([[2.e+300]]), array([[1.e+300]]))
    """
    count = np.maximum(known.sum(axis=axes, keepdims=True), 1)
    seen = np.where(known, values, 0).astype(float, copy=False)
    exponent = np.frexp(np.abs(seen).max(axis=axes, keepdims=True))[1]
    seen = np.ldexp(seen, -exponent)  # squares of 1e300 are no numbers
    mean = seen.sum(axis=axes, keepdims=True) / count
    spread = np.sqrt(np.square(np.where(known, seen - mean, 0)).sum(axis=axes, keepdims=True) / count)
    return np.ldexp(mean, exponent), np.ldexp(spread, exponent)


def inequality(array: np.ndarray) -> float:
    """Return how many times more the numbers of one column spread than those of another.

    >>> inequality(np.array([[1.0, 100.0, 5.0], [3.0, 300.0, 5.0]]))
    100.0
    """
    _, spread = moments(array, np.isfinite(array), (0,))
    spread = spread[spread > 0]
    return float(spread.max()) / float(spread.min()) if spread.size else 1.0


def are_counts(array: np.ndarray) -> bool:
    """Return whether all known numbers are whole and none is negative.

    >>> are_counts(np.array([3, 0, np.nan])), are_counts(np.array([3, -1.0])), are_counts(np.array([0.5, np.nan]))
    (True, False, False)
    """
    known = array[~np.isnan(array)] if array.dtype.kind == "f" else array
    return bool(known.size and (known >= 0).all() and (known == np.rint(known)).all())
