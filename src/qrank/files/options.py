"""The options of ``read`` as people write them: ``"10:40"``, ``"120x216"``, ``"0.5"``, ``"float32"``."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import DTypeLike

from qrank.errors import InputError

Size = tuple[int, int]


def parse_frames(frames: str | slice | None) -> slice | None:
    """Read ``A:B`` or ``A:B:S`` with the meaning of a Python slice.

    >>> parse_frames("10:40"), parse_frames("::2")
    (slice(10, 40, None), slice(None, None, 2))
    """
    if frames is None or isinstance(frames, slice):
        return frames
    parts = frames.split(":")
    if not 2 <= len(parts) <= 3 or not all(re.fullmatch(r"\s*(-?\d+)?\s*", part) for part in parts):
        raise InputError(f"frames '{frames}' is not of the form A:B or A:B:STEP, such as 10:40")
    numbers = [int(part) if part.strip() else None for part in parts]
    if len(numbers) == 3 and numbers[2] == 0:
        raise InputError(f"frames '{frames}' has step 0: a step must not be zero")
    return slice(*numbers)


def parse_size(resize: str | float | Size, now: Size) -> Size:
    """Return the new (height, width) of a picture that is ``now`` so large.

    >>> parse_size("120x216", (240, 432)), parse_size("0.5", (240, 432)), parse_size((6, 8), (240, 432))
    ((120, 216), (120, 216), (6, 8))
    """
    wrong = InputError(f"resize {resize!r} is neither HEIGHTxWIDTH, such as 120x216, nor a factor, such as 0.5")
    if isinstance(resize, str):
        sides = re.fullmatch(r"\s*(\d+)\s*[x×]\s*(\d+)\s*", resize)
        try:
            resize = (int(sides[1]), int(sides[2])) if sides else float(resize)
        except ValueError:
            raise wrong from None
    if isinstance(resize, tuple | list):
        if len(resize) != 2 or not all(int(side) == side and side > 0 for side in resize):
            raise wrong
        return int(resize[0]), int(resize[1])
    if not 0 < resize < float("inf"):
        raise wrong
    return max(1, round(now[0] * resize)), max(1, round(now[1] * resize))


def parse_dtype(dtype: DTypeLike) -> np.dtype:
    """Return a dtype of numbers.

    >>> parse_dtype("float32")
    dtype('float32')
    """
    try:
        parsed = np.dtype(dtype)
    except TypeError:
        parsed = None
    if parsed is None or parsed.kind not in "biufc":
        raise InputError(f"dtype {dtype!r} is no type of numbers; use one such as float32 or float64")
    return parsed
