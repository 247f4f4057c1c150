"""How an array is looked at: which axes are a picture's, which is its colour, and which slices are shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError
from ..tensor import Layout

COLOURS = ("colour", "color", "channel", "rgb")
PICTURE_AXES = (("height", "width"), ("row", "column"))
Span = tuple[float, float]  # the values drawn darkest and lightest
SMALLEST_PICTURE = 16  # an unnamed array with shorter sides is drawn as a heat map


@dataclass(frozen=True)
class View:
    """An array seen as slices of rows and columns, in colour where one axis is that of red, green and blue.

    >>> x = np.zeros((8, 20, 30, 3))
    >>> view = View.of(x, x == 0, (1, 2), ("frame", "height", "width", "colour"))
    >>> view.picture, view.colour, view.count, view.label(2)
    (True, 3, 8, 'frame 2')
    >>> view.take(x, 2).shape
    (20, 30, 3)
    """

    shape: tuple[int, ...]
    names: tuple[str, ...]
    rows: int
    columns: int
    colour: int | None
    picture: bool  # False: a heat map
    labels: Mapping[int, Sequence[str]] = field(default_factory=dict)  # names of places along an axis

    @classmethod
    def of(
        cls, x: np.ndarray, known: np.ndarray, slice_axes: tuple[int, int], axes: Any = None, labels: Any = None
    ) -> View:
        """Find the view from the axes' names, or from the shape and the values where there are no names."""
        layout = Layout.of(x.shape, slice_axes)
        names = tuple(str(name) for name in axes) if axes is not None else ()
        if axes is not None and len(names) != x.ndim:
            raise InputError(f"axes names {len(names)} axes, the array has {x.ndim}: give one name for each axis")
        rows, columns = layout.slice_axes
        lower = [name.lower() for name in names]
        named = [pair for pair in PICTURE_AXES if pair[0] in lower and pair[1] in lower]
        if named:
            rows, columns = (lower.index(name) for name in named[0])
        free = [axis for axis in range(x.ndim) if axis not in (rows, columns) and x.shape[axis] == 3]
        colour = next((axis for axis in free if names and lower[axis] in COLOURS), None)
        picture = bool(named) or colour is not None
        anonymous = all(name.startswith("axis") for name in lower)
        if anonymous and _image_like(x, known, rows, columns):
            colour, picture = next((axis for axis in free if axis == x.ndim - 1), None), True
        names = names or tuple(f"axis {axis}" for axis in range(x.ndim))
        return cls(x.shape, names, rows, columns, colour, picture, labels or {})

    @property
    def steps(self) -> tuple[int, ...]:
        """The axes that count slices."""
        return tuple(axis for axis in range(len(self.shape)) if axis not in (self.rows, self.columns, self.colour))

    @property
    def count(self) -> int:
        """How many slices there are."""
        return math.prod(self.shape[axis] for axis in self.steps)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of a slice."""
        return self.shape[self.rows], self.shape[self.columns]

    def take(self, x: np.ndarray, i: int) -> np.ndarray:
        """Return slice i of x: rows by columns, by 3 where there is colour."""
        where = self._position(i)
        last = () if self.colour is None else (self.colour,)
        kept = [axis for axis in range(x.ndim) if axis not in where]
        part = x[tuple(where.get(axis, slice(None)) for axis in range(x.ndim))]
        return np.transpose(part, [kept.index(axis) for axis in (self.rows, self.columns, *last)])

    def lacking(self, known: np.ndarray) -> np.ndarray:
        """Return how many entries of each slice are missing.

        >>> known = np.arange(24).reshape(4, 2, 3) != 7
        >>> View.of(np.zeros((4, 2, 3)), known, (1, 2)).lacking(known)
        array([0, 1, 0, 0])
        """
        return self.summed(~known)

    def summed(self, x: np.ndarray) -> np.ndarray:
        """Return the sum over each slice."""
        inside = tuple(axis for axis in range(len(self.shape)) if axis not in self.steps)
        return np.asarray(np.sum(x, axis=inside)).reshape(-1)

    def label(self, i: int) -> str:
        """Name slice i by its place on each axis that counts slices."""
        named = [
            # "frame 3", but "axis 0: 3"; or the name of the place.
            f"{(name := self.names[axis])}{':' * name[-1:].isdigit()} {index}"
            if axis not in self.labels
            else self.labels[axis][index]
            for axis, index in self._position(i).items()
        ]
        return ", ".join(named) or "the whole array"

    def _position(self, i: int) -> dict[int, int]:
        if not self.steps:
            return {}
        place = np.unravel_index(i, [self.shape[axis] for axis in self.steps])
        return dict(zip(self.steps, (int(index) for index in place), strict=True))


def _image_like(x: np.ndarray, known: np.ndarray, rows: int, columns: int) -> bool:
    """Return whether size and known values are those of pictures: shares from 0 to 1, or bytes."""
    side = min(x.shape[rows], x.shape[columns])
    values = x[known]
    if side < SMALLEST_PICTURE or not len(values):
        return False
    low, high = float(values.min()), float(values.max())
    if low >= 0 and 0.25 < high <= 1:
        return True
    return side >= 2 * SMALLEST_PICTURE and low >= 0 and 64 < high <= 255 and not np.any(values % 1)


def display_range(x: np.ndarray, known: np.ndarray, picture: bool) -> Span:
    """Return the values drawn as darkest and lightest: 0 to 1 or to 255 for pictures, else the bulk of what is known.

    >>> display_range(np.array([0.1, 0.8]), np.array([True, True]), picture=True)
    (0.0, 1.0)
    """
    values = x[known] if known.any() else x.ravel()
    low, high = float(values.min()), float(values.max())
    for top in (1.0, 255.0) if picture and low >= 0 else ():
        if high <= top:
            return 0.0, top
    low, high = (float(v) for v in np.quantile(values[:: max(1, values.size // 1_000_000)], [0.001, 0.999]))
    return (low, high) if high > low else (low, low + 1.0)


def evenly(count: int, most: int) -> list[int]:
    """Return at most ``most`` of 0 … count - 1, evenly spaced, the first and the last among them.

    >>> evenly(5, 3), evenly(2, 9), evenly(9, 1)
    ([0, 2, 4], [0, 1], [4])
    """
    if most == 1:
        return [(count - 1) // 2]
    return sorted({round(i) for i in np.linspace(0, count - 1, min(count, most))})
