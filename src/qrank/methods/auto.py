"""auto: not a model but a choice among all others, made by what they make of known entries that are hidden from them.

What is hidden looks like the holes (`choose/hide.py`); what is tried is in `choose/candidates.py`; how answers are weighed in
`choose/weigh.py`. `choose/auto.py` runs it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError, nearest
from ..fit import Exact, Fit, Noisy, Robust
from ..tensor import Layout
from .base import Method
from .doubts import check_noise, checked_outliers
from .joined import Joined
from .needs import Needs
from .views import Views

EFFORTS = ("fast", "balanced", "best")
PART = 1_200_000  # entries of the part that candidates are tried on, at most
# Measured on the clip and CIFAR-10 of docs/default.md and the arrays of docs/memory.md: bytes for an entry of the part that candidates
# are tried on, for an entry of all of it in the last runs, and what either takes besides; and what the runs cost in those of `views`,
# of candidates on all of the data, on a part of it, and of the last ones
TRIED, LAST, ROOM = 90.0, 33.0, 1.5e7
WHOLE, PARTLY, THEN = 9, 5, 3


def sides(shape: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Return the sides of the part of so many entries at most that candidates are tried on: the longest are halved.

    >>> sides((48, 160, 240), 1_200_000)
    (48, 160, 120)
    """
    found = list(shape)
    while math.prod(found) > most:
        longest = found.index(max(found))
        found[longest] = -(-found[longest] // 2)
    return tuple(found)


@dataclass(frozen=True, kw_only=True, eq=False)
class Auto(Method):
    """The best of the others for the data at hand, and their weighted sum where that is better.

    ``effort``: "fast" runs `views` and tries nothing; "balanced" tries what may win, on a part of the data where they are
    large; "best" takes more steps, more candidates and a larger part.
    """

    nearby: ClassVar[bool] = True
    single: ClassVar[float] = 0  # as `views`
    revision: ClassVar[int] = 4
    name: ClassVar[str] = "auto"
    about: ClassVar[str] = "the best of the others, chosen and weighed by known entries that are hidden from them"

    effort: str = "balanced"  # or "fast", "best": how much is tried
    noise: Any = None  # standard deviation of what is known, or "auto"; None: it is exact
    outliers: Any = None  # True or "entries", "fibres": some known values are wrong; then `views` alone is run

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "outliers", checked_outliers(self.outliers))
        check_noise(self.noise, self.outliers)
        if self.effort not in EFFORTS:
            raise InputError(f"there is no effort '{self.effort}'{nearest(str(self.effort), EFFORTS)}")

    def needs(self, layout: Layout, dtype: np.dtype, p: float) -> Needs:
        """Return what `views` takes, or, where others are tried, what was measured: which win is not known before the run."""
        fast = Views(noise=self.noise, max_steps=self.max_steps).needs(layout, dtype, p)
        if self.effort == "fast":
            return fast
        more, n = 4 if self.effort == "best" else 1, math.prod(layout.shape)
        part = math.prod(sides(layout.inner_shape, PART * more))
        memory = max(ROOM + max(TRIED * part, LAST * n), Joined(noise=self.noise).needs(layout, dtype, p).memory)
        tried = (WHOLE if part == n else PARTLY * part / n) + THEN
        return Needs(max(fast.memory, memory), fast.flops, tried * more * fast.steps)

    @property
    def numpy_only(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether it tries anything: much of what it tries, and how it hides and weighs, is written on NumPy."""
        return self.effort != "fast"

    @property
    def fit(self) -> Fit:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How the answer agrees with what is known."""
        if self.outliers is not None:
            return Robust(self.outliers, self.noise_level)
        return Exact() if self.noise_level is None else Noisy(self.noise_level)
