"""What callers give, checked: axes, bounds, method, checkpoint."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .. import kernels
from ..checkpoint import Checkpoint
from ..choose import plane
from ..errors import InputError, KindError
from ..methods import Method, method_named
from ..problem import Problem


def guessed_axes(y: Any, observed: Any = None) -> tuple[int, int]:
    """Return the two axes that are most like the sides of a picture, from their lengths and how smooth the data are.

    >>> rows, columns = np.mgrid[:30, :40] / 10
    >>> guessed_axes(np.random.default_rng(0).random((25, 1, 1)) * np.sin(rows + columns))
    (1, 2)
    """
    kind = kernels.of(y)
    problem = Problem.of(*kind.glimpse(y, kind.known(y, observed)))
    order = problem.layout.rest + problem.layout.slice_axes
    return plane(np.shape(y), problem.smoothness[np.argsort(order)])


def checked_bounds(bounds: Any, y: Any) -> tuple[float | None, float | None]:
    """Return the least and the largest value that an answer may have; by default the range of 8- and 16-bit pixels.

    >>> checked_bounds(None, np.zeros(3, np.uint8)), checked_bounds((0, None), np.zeros(3))
    ((0.0, 255.0), (0.0, None))
    """
    if bounds is None:
        dtype = str(getattr(y, "dtype", ""))
        return (0.0, 2.0 ** int(dtype[4:]) - 1) if dtype in ("uint8", "uint16") else (None, None)
    try:
        low, high = (None if value is None else float(value) for value in bounds)
    except (TypeError, ValueError):
        raise InputError(
            f"bounds must be the least and the largest value, or None for one of them, not {bounds!r}"
        ) from None
    if low is not None and high is not None and not low < high:
        raise InputError(f"bounds must be two numbers, the smaller first, not {bounds!r}")
    return low, high


def checkpoint_of(given: str | os.PathLike[str] | Checkpoint | None, every: float | None) -> Checkpoint | None:
    """Return where a run is kept, or None, from what the caller gave."""
    if isinstance(given, Checkpoint) or given is None:
        if every is not None:
            raise InputError("every says how often a checkpoint is written: name its file, checkpoint='run.ckpt'")
        return given
    return Checkpoint(given) if every is None else Checkpoint(given, every)


def method_of(method: str | Method, preset: str | None, options: dict[str, Any]) -> Method:
    """Return the method that a name, or a configured one, and options make."""
    if isinstance(method, Method):
        if preset is not None or options:
            raise InputError("a configured method has its options already: give them when configuring it")
        return method
    if not isinstance(method, str):
        raise KindError(f"method must be a name or a configured method, not {type(method).__name__}")
    return method_named(method).configured(preset, **options)
