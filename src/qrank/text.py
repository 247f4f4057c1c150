"""Numbers, shares and times as people read them."""

from __future__ import annotations

import math


def number(value: float, digits: int = 4) -> str:
    """Write a number for reading.

    >>> number(0.000012345), number(1234567.0), number(float("inf")), number(12.0)
    ('1.234e-05', '1,234,567', '∞', '12')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if math.isfinite(value) and value == int(value):
        return f"{int(value):,}" if abs(value) < 1e15 else f"{value:.{digits}g}"
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:.{digits}g}"


def duration(seconds: float) -> str:
    """Write a time for reading.

    >>> duration(0.0421), duration(12.34), duration(754), duration(7260)
    ('42 ms', '12.3 s', '12 min 34 s', '2 h 01 min')
    """
    if round(1000 * seconds) < 1000:
        return f"{1000 * seconds:.0f} ms"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, left = divmod(minutes, 60)
    return f"{hours} h {left:02d} min" if hours else f"{minutes} min {rest:02d} s"


def in_bytes(size: int) -> str:
    """Write a number of bytes for reading.

    >>> in_bytes(69), in_bytes(1400), in_bytes(8_300_000_000)
    ('69 bytes', '1.4 kB', '8.3 GB')
    """
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}" if size < 1000 * unit else f"{size / unit:.1e} {name}"
    return f"{size} bytes"


def share(part: int, whole: int) -> str:
    """Write a share in percent; a few of many are never rounded to none or to all.

    >>> share(7, 10), share(1, 10**6), share(0, 5)
    ('70.0 %', '0.0001 %', '0.0 %')
    """
    percent = 100 * part / max(1, whole)
    if 0 < percent < 0.05:
        return f"{percent:.1g} %"
    return f"{percent:.1f} %" if percent <= 99.95 or part == whole else f"{percent:.6g} %"
