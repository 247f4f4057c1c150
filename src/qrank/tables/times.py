"""Times as people write them, read as time stamps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

DATES = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d %b %Y", "%d-%b-%Y")
CLOCKS = (" %H:%M", " %H:%M:%S", "T%H:%M:%S", "", " %I:%M %p", " %I:%M:%S %p")
LIKE_TIME = re.compile(r"\d{1,4}[-/. ]\w{1,3}[-/. ]\d{1,4}([ T].*)?")


def stamps(cells: Sequence[str]) -> np.ndarray | None:
    """Return texts as datetime64[ns], NaT for empty ones; None where they are no times.

    Where day and month could be either, what gives rows in order, at the most even steps, is taken.

    >>> stamps(["2024-01-01 00:00", "2024-01-01T01:00:00"])
    array(['2024-01-01T00:00:00.000000000', '2024-01-01T01:00:00.000000000'],
          dtype='datetime64[ns]')
    >>> stamps(["02/01/2024", "03/01/2024", "04/01/2024"])[1].astype("datetime64[D]")
    np.datetime64('2024-01-03')
    >>> stamps(["a", "b"]) is None
    True
    """
    texts = [text for text in cells if text]
    if not texts or not all(LIKE_TIME.fullmatch(text) for text in (texts[0], texts[-1])):
        return None
    found = [
        times for times in (_iso(cells), *(_in_form(cells, texts[0], form) for form in _forms())) if times is not None
    ]
    return min(found, key=_unevenness) if found else None


def _forms() -> list[str]:
    return [date + clock for date in DATES for clock in CLOCKS]


def _iso(cells: Sequence[str]) -> np.ndarray | None:
    try:
        times = [datetime.fromisoformat(text) if text else None for text in cells]
    except ValueError:
        return None
    first = next(time for time in times if time is not None)
    if first.tzinfo is not None:  # all in the clock of the first
        if not all(time is None or time.tzinfo is not None for time in times):
            return None
        times = [None if time is None else time.astimezone(first.tzinfo).replace(tzinfo=None) for time in times]
    elif any(time is not None and time.tzinfo is not None for time in times):
        return None
    return _of(times)


def _in_form(cells: Sequence[str], first: str, form: str) -> np.ndarray | None:
    try:
        datetime.strptime(first, form)  # most forms end here
        return _of([datetime.strptime(text, form) if text else None for text in cells])
    except ValueError:
        return None


def _of(times: Sequence[datetime | None]) -> np.ndarray | None:
    begin = datetime(1970, 1, 1)
    parts = [None if time is None else time.replace(tzinfo=UTC) - begin.replace(tzinfo=UTC) for time in times]
    if any(part is not None and abs(part.days) > 100_000 for part in parts):  # years that nanoseconds do not reach
        return None
    nano = [
        np.iinfo(np.int64).min if p is None else ((p.days * 86400 + p.seconds) * 10**6 + p.microseconds) * 1000
        for p in parts
    ]
    return np.array(nano, dtype=np.int64).view("datetime64[ns]")


def _unevenness(times: np.ndarray) -> tuple[int, int]:
    gaps = np.diff(times[~np.isnat(times)]).astype(np.int64)
    return int((gaps <= 0).sum()), len(np.unique(gaps))
