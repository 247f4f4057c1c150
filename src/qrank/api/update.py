"""New data arrive: new slices appended to an earlier answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from ..errors import InputError
from ..result import PAGES, Completion
from .complete import complete


def update(
    result: Completion, new: Any, observed: Any = None, *, axis: int | None = None, **options: Any
) -> Completion:
    """Return the completion of the earlier array with new slices appended, in a small part of the steps of a new run.

    ``new`` has the shape of the earlier array but for ``axis``, along which it is appended: the only axis beside the two of a
    slice, or one that must be named where there are several. What is missing in it is marked as for ``qrank.complete``;
    ``options`` are those of that function: ``on_step``, ``rng``, ``bounds``, ``checkpoint``. The answer is a plain array.

    >>> rng = np.random.default_rng(0)
    >>> x = np.sin(np.add.outer(np.add.outer(np.arange(20) / 5, np.arange(24) / 7), np.arange(30) / 3))
    >>> y = np.where(rng.random(x.shape) < 0.5, x, np.nan)
    >>> first = complete(y[:, :, :27], method="vmtqn")
    >>> both = first.update(y[:, :, 27:])
    >>> both.x.shape, len(both.history), bool(np.abs(both.x - x).max() < 0.01)
    ((20, 24, 30), 15, True)
    """
    old, kind = np.ma.getdata(np.asanyarray(result.x)), kernels.of(new)
    known, values = kind.known(new, observed), kind.values(new)
    axis = _axis(result, values.shape, axis)
    y = np.concatenate([old, np.where(known, values, 0)], axis=axis, dtype=old.dtype, casting="same_kind")
    seen = np.concatenate([np.asarray(result.observed), known], axis=axis)
    return complete(y, seen, result.method, result.slice_axes, earlier=result, **options)


def _axis(result: Completion, shape: tuple[int, ...], axis: int | None) -> int:
    """Return the axis along which slices are appended, or say why they cannot be."""
    old = np.shape(result.observed)
    others = [a for a in range(len(old)) if a not in result.slice_axes]
    if axis is None:
        axes = [a for a in others if len(shape) == len(old) and _fits(old, shape, a)]
        if len(axes) > 1:
            raise InputError(f"along which of the axes {axes} are the new slices appended? name it: axis={axes[0]}")
        if not axes:
            raise InputError(
                f"new slices of shape {shape} do not fit an array of shape {old} along {others or 'any axis'}"
            )
        return axes[0]
    if not -len(old) <= axis < len(old):
        raise InputError(f"axis {axis} is none of an array with axes 0 to {len(old) - 1}")
    if not _fits(old, shape, axis % len(old)):
        raise InputError(f"new slices of shape {shape} do not fit an array of shape {old} along axis {axis}")
    return axis % len(old)


def _fits(old: tuple[int, ...], new: tuple[int, ...], axis: int) -> bool:
    """Return whether two shapes are alike but along an axis."""
    return len(old) == len(new) and all(n == m for a, (n, m) in enumerate(zip(old, new, strict=True)) if a != axis)


PAGES["update"] = update
