"""Unfolding, folding and the mode product, in the orientation of the paper.

The paper arranges the fibres of mode 3 as *rows*: T_(3) has shape (n1 n2, n3), and T x_3 Q = fold(T_(3) Q).

Inside the package a tensor is a **stack** of frontal slices of shape (n3, n1, n2), C-contiguous. Then every frontal
slice is one contiguous block, and ``t.reshape(n3, -1)`` is T_(3) transposed, with no copy: the two things that the
algorithms need, each in the order in which BLAS and LAPACK want it.
"""

from __future__ import annotations

import math
import operator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from .errors import InputError


def unfold(x: np.ndarray, mode: int) -> np.ndarray:
    """Return the unfolding X_(mode) of shape (product of the other sizes, n_mode).

    >>> unfold(np.zeros((2, 3, 5)), 2).shape
    (6, 5)
    """
    return np.moveaxis(x, mode, -1).reshape(-1, x.shape[mode])


def fold(matrix: np.ndarray, mode: int, shape: tuple[int, ...]) -> np.ndarray:
    """Undo :func:`unfold`: the array of the given shape, its size along ``mode`` taken from the matrix.

    >>> x = np.arange(30).reshape(2, 3, 5)
    >>> bool((fold(unfold(x, 1), 1, x.shape) == x).all())
    True
    """
    mode %= len(shape)
    others = tuple(n for axis, n in enumerate(shape) if axis != mode)
    return np.moveaxis(matrix.reshape(*others, matrix.shape[1]), -1, mode)


def mode_product(x: np.ndarray, q: np.ndarray, mode: int = 2) -> np.ndarray:
    """Return X x_mode Q = fold(X_(mode) Q), for Q of shape (n_mode, r).

    >>> mode_product(np.ones((2, 3, 5)), np.ones((5, 4)))[0, 0]
    array([5., 5., 5., 5.])
    """
    return fold(unfold(x, mode) @ q, mode, x.shape)


def laid_over(mask: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return a mask as a view of an array's shape, or None where it does not fit.

    It fits as NumPy broadcasts; a trailing axis of 3 or 4 is colour, over which a mask may be the same; and a mask of some axes
    that follow each other fits where there is one such place only: (height, width) in (height, width, bands).

    >>> [laid_over(np.ones(s, bool), (5, 20, 30, 3)).shape for s in ((20, 30), (5, 20, 30), (5, 20))]
    [(5, 20, 30, 3), (5, 20, 30, 3), (5, 20, 30, 3)]
    >>> laid_over(np.ones((20, 31), bool), (5, 20, 30, 3)) is None
    True
    """
    d, k = len(shape), mask.ndim
    tries = [mask.shape]
    if shape and shape[-1] in (3, 4):
        tries.append((*mask.shape, 1))
    places = [first for first in range(d - k + 1) if shape[first : first + k] == mask.shape]
    if k and len(places) == 1:
        tries.append((*mask.shape, *[1] * (d - k - places[0])))
    for sides in tries:
        with suppress(ValueError):
            return np.broadcast_to(mask.reshape(sides), shape)
    return None


def shapes_of_masks(shape: tuple[int, ...]) -> str:
    """Name the shapes that a mask for an array may have.

    >>> shapes_of_masks((40, 120, 160, 3)), shapes_of_masks((5, 6))
    ('(40, 120, 160, 3), (40, 120, 160) or (120, 160)', '(5, 6)')
    """
    plain = shape[:-1] if len(shape) > 2 and shape[-1] in (3, 4) else shape
    found = [str(one) for one in dict.fromkeys((shape, plain, plain[-2:]))]
    return " or ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


@dataclass(frozen=True)
class Layout:
    """How a d-way array is seen as n1 x n2 x n3: ``slice_axes`` form a slice, all other axes are the third mode.

    >>> layout = Layout.of((8, 20, 30, 3), (1, 2))  # a colour clip: frames, height, width, colour
    >>> layout.n3, layout.stack(np.zeros((8, 20, 30, 3))).shape
    (24, (24, 20, 30))
    """

    shape: tuple[int, ...]
    slice_axes: tuple[int, int]

    @classmethod
    def of(cls, shape: tuple[int, ...], slice_axes: tuple[int, int]) -> Layout:
        """Check the axes against the shape; negative axes count from the end."""
        if len(shape) < 2:
            series = ": fold a series by its period, fold=N of y[:, None], or --fold N of a .csv" if shape else ""
            raise InputError(f"an array of at least 2 axes is needed, this one has shape {tuple(shape)}{series}")
        if 0 in shape:
            raise InputError(f"the array is empty: its shape is {tuple(shape)}")
        try:
            first, second = (operator.index(axis) for axis in slice_axes)
        except (TypeError, ValueError):
            raise InputError(f"slice_axes must be two axis numbers, not {slice_axes!r}") from None
        d = len(shape)
        if not (-d <= first < d and -d <= second < d) or first % d == second % d:
            raise InputError(f"slice_axes {slice_axes!r} must be two different axes of an array with axes 0 to {d - 1}")
        return cls(tuple(shape), (first % d, second % d))

    @property
    def rest(self) -> tuple[int, ...]:
        """The axes that together are the third mode."""
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.slice_axes)

    @property
    def n3(self) -> int:
        """The length of the third mode (1 for a 2-way array)."""
        return math.prod(self.shape[axis] for axis in self.rest)

    @property
    def size(self) -> int:
        """The number of entries."""
        return math.prod(self.shape)

    @property
    def slice_shape(self) -> tuple[int, int]:
        """The shape (n1, n2) of a frontal slice."""
        return self.shape[self.slice_axes[0]], self.shape[self.slice_axes[1]]

    @property
    def inner_shape(self) -> tuple[int, ...]:
        """The shape of the array with the slice axes last: all of the third mode's axes, then n1, n2."""
        return tuple(self.shape[axis] for axis in self.rest) + self.slice_shape

    def inner(self, x: np.ndarray) -> np.ndarray:
        """Return a view of x with the slice axes last."""
        return np.transpose(x, self.rest + self.slice_axes)

    def outer(self, x: np.ndarray) -> np.ndarray:
        """Undo :meth:`inner` and :meth:`stack`: a view with the axes of the original array."""
        return np.transpose(x.reshape(self.inner_shape), tuple(np.argsort(self.rest + self.slice_axes).tolist()))

    def stack(self, x: np.ndarray) -> np.ndarray:
        """Return x as a stack of frontal slices, shape (n3, n1, n2)."""
        return self.inner(x).reshape(self.n3, *self.slice_shape)
