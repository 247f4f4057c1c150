"""What a caller says of known values that are not exact, checked: noise and outliers."""

from __future__ import annotations

from typing import Any

from ..errors import InputError
from ..fit import KINDS
from .base import AUTO, check_number


def check_noise(noise: Any, outliers: str | None) -> None:
    """Say in a sentence that a level of noise is none.

    >>> check_noise(0.1, None), check_noise("auto", None)
    (None, None)
    """
    if noise == AUTO if isinstance(noise, str) else noise is None:
        if noise is not None and outliers is not None:
            raise InputError("noise='auto' cannot be told from outliers: give its standard deviation")
        return
    if isinstance(noise, str):
        raise InputError(f"noise must be a standard deviation above 0, or 'auto', not {noise!r}")
    check_number("noise", noise, above=0)


def checked_outliers(given: Any) -> str | None:
    """Return what kind of outliers is looked for, or None.

    >>> checked_outliers(True), checked_outliers("fibres"), checked_outliers(False)
    ('entries', 'fibres', None)
    """
    if given is None or given is False:
        return None
    if given is True:
        return "entries"
    if given not in KINDS:
        raise InputError(f"outliers must be True, {' or '.join(map(repr, KINDS))}, not {given!r}")
    return given
