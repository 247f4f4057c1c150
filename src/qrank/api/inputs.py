"""What callers give, checked: axes, bounds, method, checkpoint."""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ..checkpoint import Checkpoint
from ..choose.noise import level
from ..errors import InputError, KindError, NoiseWarning
from ..kernels import Kernels
from ..methods import METHODS, Auto, Method, method_named
from ..problem import Problem
from ..result import Completion
from .axes import guessed_axes


def usual_axes(y: Any, known: Any, method: Method, earlier: Completion | None) -> tuple[int, int]:
    """Return the axes of a slice where they are not given: those of an earlier run, guessed ones for auto, or the first two."""
    if earlier is not None:
        return earlier.slice_axes
    return guessed_axes(y, known, method.effort != "fast") if isinstance(method, Auto) else (0, 1)


def check_earlier(earlier: Any) -> None:
    """Say that what was given is no result to go on from."""
    if earlier is not None and not isinstance(earlier, Completion):
        raise KindError(f"earlier must be the result of an earlier run, not {type(earlier).__name__}")


def checked_bounds(bounds: Any, y: Any, integer: bool = False) -> tuple[float | None, float | None]:
    """Return the least and the largest value that an answer may have; by default the range of 8- and 16-bit pixels.

    ``integer``: there must be a whole number between them.

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
    least, most = -math.inf if low is None else low, math.inf if high is None else high
    if not least < most or least == math.inf or most == -math.inf:  # NaN is no bound
        raise InputError(f"bounds must be two numbers, the smaller first, or None for one of them, not {bounds!r}")
    if integer and math.isfinite(least) and math.isfinite(most) and math.ceil(least) > math.floor(most):
        raise InputError(f"there is no whole number between the bounds {low:g} and {high:g}")
    return low, high


def generator(rng: Any) -> np.random.Generator:
    """Return the random numbers that a caller asks for.

    >>> int(generator(3).integers(10)) == int(np.random.default_rng(3).integers(10))
    True
    """
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise KindError(
            f"rng must be a seed, a whole number from 0 on, a generator of NumPy, or None, not {rng!r}"
        ) from None


def check_on_step(on_step: Any) -> None:
    """Say that what is to be called after every step cannot be."""
    if on_step is not None and not callable(on_step):
        raise KindError(f"on_step must be a function of a record, not {type(on_step).__name__}")


def within(x: Any, limits: tuple[float | None, float | None], integer: bool) -> Any:
    """Return x cut to the limits, and rounded to whole numbers within them.

    >>> within(np.array([-1.2, 0.6, 7.0]), (0.5, 5.5), True), within(np.array([-1.2, 0.6]), (0, None), False)
    (array([1., 1., 5.]), array([0. , 0.6]))
    """
    low, high = limits
    if isinstance(x.dtype, np.dtype) and x.dtype.kind == "f":  # a bound beyond the range of a type is none
        most = float(np.finfo(x.dtype).max)
        low, high = (None if one is None else min(max(one, -most), most) for one in (low, high))
    if integer:
        low, high = low if low is None else np.ceil(low), high if high is None else np.floor(high)
        x = x.round()
    return x if low is None and high is None else x.clip(low, high)


def check_kind(kind: Kernels, method: Method, y: Any) -> None:
    """Say which methods there are for arrays of a kind, where the one that was asked for is not among them."""
    able = kind.methods or [name for name, one in METHODS.items() if one.numpy_only is False]
    chooses = isinstance(method, Auto) and bool(kind.among)
    if not kind.numpy and not chooses and (method.numpy_only or (kind.methods and method.name not in able)):
        auto = "auto" if kind.among else "auto with effort='fast'"
        raise KindError(
            f"method '{method.name}' is for NumPy arrays, not for {type(y).__module__}.{type(y).__name__}; these can be completed"
            f" by {', '.join(able)}, and by {auto}"
        )
    for option, value in kind.only.get(method.name, {}).items():
        if getattr(method, option) != value:
            raise KindError(
                f"arrays of {type(y).__module__}.{type(y).__name__} can be completed by {method.name} with {option}={value!r} only"
            )


def checkpoint_of(given: str | os.PathLike[str] | Checkpoint | None, every: float | None) -> Checkpoint | None:
    """Return where a run is kept, or None, from what the caller gave."""
    if isinstance(given, Checkpoint) or given is None:
        if every is not None:
            raise InputError("every says how often a checkpoint is written: name its file, checkpoint='run.ckpt'")
        return given
    return Checkpoint(given) if every is None else Checkpoint(given, every)


def with_level(method: Method, problem: Problem, rng: np.random.Generator) -> Method:
    """Return the method with the level of the noise, estimated where that is asked for; one that drowns the data is said."""
    noise = method.noise_level
    if noise is None:
        return method
    if math.isnan(noise):
        return replace(method, **{"noise": level(problem, rng)})
    if noise > problem.spread * problem.scale:
        warnings.warn(
            f"noise of standard deviation {noise:.4g} is more than the known values vary in all"
            f" ({problem.spread * problem.scale:.4g}): is it in the data's unit?",
            NoiseWarning,
            stacklevel=4,
        )
    return method


def method_of(method: str | Method, preset: str | None, options: dict[str, Any]) -> Method:
    """Return the method that a name, or a configured one, and options make."""
    if isinstance(method, Method):
        if preset is not None or options:
            raise InputError("a configured method has its options already: give them when configuring it")
        return method
    if not isinstance(method, str):
        raise KindError(f"method must be a name or a configured method, not {type(method).__name__}")
    return method_named(method).configured(preset, **options)
