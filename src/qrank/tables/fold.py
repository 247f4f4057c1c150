"""A table of sensors over time folded by its period: (column, time of day, day), and back."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from ..text import duration

SECOND = 10**9  # time stamps count nanoseconds
HOUR, DAY, WEEK = 3600 * SECOND, 86400 * SECOND, 7 * 86400 * SECOND
UNITS = {"s": SECOND, "sec": SECOND, "second": SECOND, "min": 60 * SECOND, "minute": 60 * SECOND}
UNITS |= {"h": HOUR, "hour": HOUR, "d": DAY, "day": DAY, "w": WEEK, "week": WEEK}
NAMES = {HOUR: "hour", DAY: "day", WEEK: "week"}
MONDAY = 4 * DAY  # from the beginning of time stamps, a Thursday, to the first Monday
FEWEST = 3  # periods, without which nothing repeats itself
SPARSEST = 8  # times the rows that the folded table may have room for: beyond, time stamps are no grid with gaps
HOW = "a period such as day, hour, week or 12h, a number of rows, or none"


@dataclass(frozen=True, eq=False)
class Fold:
    """Which row is which time of which period; times and periods of which there is no row at all are left out.

    >>> fold = Fold.of(3, rows=7)  # two periods of three rows, and one of which only the first is there
    >>> x = np.arange(14.0).reshape(7, 2)
    >>> fold.folded(x)[1]  # the second column: time within the period x period
    array([[ 1.,  7., 13.],
           [ 3.,  9., nan],
           [ 5., 11., nan]])
    >>> bool((fold.unfolded(fold.folded(x)) == x).all())
    True
    """

    phase: np.ndarray  # of every row: its time within the period, and its period
    turn: np.ndarray
    axes: tuple[str, str, str]
    said: str  # what was folded how, in words

    @classmethod
    def of(cls, fold: str | int | None, rows: int, stamps: np.ndarray | None = None) -> Fold | None:
        """Return how a table is folded, None for not at all; ``fold=None`` guesses from the time stamps of its rows.

        ``fold`` is a number of rows, or a period such as "day", "hour", "week", "1D", "12h"; "none" leaves the table.

        >>> hours = np.datetime64("2024-01-01T00", "ns") + np.arange(90) * np.timedelta64(1, "h")
        >>> print(Fold.of(None, 90, hours).said)
        rows of 1 h are folded by the day: 24 times of day x 4 days, 6 of them without a row
        >>> Fold.of("none", 90, hours) is None
        True
        """
        if isinstance(fold, str) and fold.strip().lower() == "none":
            return None
        if isinstance(fold, str) and re.fullmatch(r"\s*\d+\s*", fold):
            fold = int(fold)
        if isinstance(fold, int | np.integer) and not isinstance(fold, bool):
            return _by_rows(int(fold), rows)
        if fold is not None and not isinstance(fold, str):
            raise InputError(f"fold is {HOW}, not {fold!r}")
        if stamps is None:
            if fold is None:
                return None
            raise InputError(f"fold '{fold}' needs rows with time stamps, and there are none: give a number of rows")
        period = None if fold is None else length_of(fold)
        at, step = _grid(stamps, asked=fold is not None)
        if step == 0:
            return None
        period = _guess(at, step) if period is None else period
        return None if period is None else _by_time(at, step, period, asked=fold is not None)

    @property
    def shape(self) -> tuple[int, int]:
        """How many times within the period, and how many periods."""
        return int(self.phase.max()) + 1, int(self.turn.max()) + 1

    def folded(self, x: np.ndarray, empty: float = np.nan) -> np.ndarray:
        """Return rows x columns as columns x time within the period x period, ``empty`` where there is no row."""
        out = np.full((x.shape[1], *self.shape), empty, dtype=x.dtype)
        out[:, self.phase, self.turn] = x.T
        return out

    def unfolded(self, x: np.ndarray) -> np.ndarray:
        """Undo :meth:`folded`: rows x columns."""
        return np.ascontiguousarray(x[:, self.phase, self.turn].T)


def length_of(period: str) -> int:
    """Return the length of a period in nanoseconds.

    >>> length_of("day") == length_of("1D") == length_of("24 h"), length_of("weeks") // length_of("1D")
    (True, 7)
    """
    found = re.fullmatch(r"\s*(\d{0,6})\s*(s|[a-z]+?s?)\s*", period.lower())
    unit = None if found is None else UNITS.get(found[2], UNITS.get(found[2].removesuffix("s")))
    if found is None or unit is None or int(found[1] or 1) == 0:
        raise InputError(f"fold '{period}' is not {HOW}")
    return int(found[1] or 1) * unit


def _by_rows(period: int, rows: int) -> Fold:
    if not 2 <= period <= rows // 2:
        raise InputError(f"fold {period} is not a number of rows from 2 to half of the {rows} that there are")
    at = np.arange(rows)
    fold = Fold(at % period, at // period, ("column", "row of period", "period"), "")
    return replace(fold, said=f"every {period} rows are a period: {_sizes(fold)}")


def _grid(stamps: np.ndarray, asked: bool) -> tuple[np.ndarray, int]:
    """Return the stamps in nanoseconds and their step; a step of 0: they are on no grid, and none was asked for."""
    at = np.sort(stamps.astype("datetime64[ns]"))
    gaps = np.diff(at.astype(np.int64))
    if np.isnat(at).any():
        why = "are not all there"
    elif not len(gaps):
        why = "are too few"
    elif (gaps == 0).any():
        why = f"are not all different: {str(at[np.argmin(gaps)]).rstrip('0').rstrip('.')} occurs twice"
    elif (gaps % gaps.min()).any():
        why = "are not regular: their gaps are not whole multiples of the smallest one"
    else:
        return stamps.astype("datetime64[ns]").astype(np.int64), int(gaps.min())
    if asked:
        raise InputError(f"the table cannot be folded by time, for its time stamps {why}; fold by a number of rows")
    return np.zeros(0, np.int64), 0


def _guess(at: np.ndarray, step: int) -> int | None:
    """Return the day for what is measured several times a day, the week for days, the hour where there are a few of them."""
    span = int(at.max() - at.min()) + step
    for period in (DAY, WEEK, HOUR):
        if period % step == 0 and period >= 4 * step and span >= FEWEST * period:
            return period
    return None


def _by_time(at: np.ndarray, step: int, period: int, asked: bool) -> Fold | None:
    name = NAMES.get(period, duration(period / SECOND))
    start = MONDAY if period == WEEK else 0
    phases, phase = np.unique((at - start) % period // step, return_inverse=True)
    turns, turn = np.unique((at - start) // period, return_inverse=True)
    if period % step or period < 2 * step:
        why = f"that is not a multiple of its step, {_step(step)}"
    elif len(turns) < 2:
        why = "it spans less than two of them"
    elif len(phases) * len(turns) > SPARSEST * len(at):
        why = "most of its rows would be missing on a regular grid"
    else:
        fold = Fold(phase, turn, ("column", f"time of {name}", name), "")
        return replace(fold, said=f"rows of {_step(step)} are folded by the {name}: {_sizes(fold)}")
    if asked:
        raise InputError(f"the table cannot be folded by the {name}: {why}")
    return None


def _step(step: int) -> str:
    units = ((DAY, "d"), (HOUR, "h"), (60 * SECOND, "min"), (SECOND, "s"), (1, "ns"))
    return next(f"{step // length} {unit}" for length, unit in units if step % length == 0)


def _sizes(fold: Fold) -> str:
    times, turns = fold.shape
    first, _, rest = fold.axes[1].partition(" ")
    padding = times * turns - len(fold.phase)
    return f"{times} {first}s {rest} x {turns} {fold.axes[2]}s" + (
        f", {padding} of them without a row" if padding else ""
    )
