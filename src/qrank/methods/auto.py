"""auto: not a model but a choice among all others, made by what they make of known entries that are hidden from them.

What is hidden looks like the holes (`choose/hide.py`); what is tried is in `choose/candidates.py`; how answers are weighed in
`choose/weigh.py`. `choose/auto.py` runs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import InputError, nearest
from ..fit import Exact, Fit, Noisy
from .base import Method

EFFORTS = ("fast", "balanced", "best")


@dataclass(frozen=True, kw_only=True, eq=False)
class Auto(Method):
    """The best of the others for the data at hand, and their weighted sum where that is better.

    ``effort``: "fast" runs `views` and tries nothing; "balanced" tries what may win, on a part of the data where they are
    large; "best" takes more steps, more candidates and a larger part.
    """

    nearby: ClassVar[bool] = True
    revision: ClassVar[int] = 1
    name: ClassVar[str] = "auto"
    about: ClassVar[str] = "the best of the others, chosen and weighed by known entries that are hidden from them"

    effort: str = "balanced"
    noise: float | None = None  # standard deviation of what is known; then `views` is run, and nothing tried

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("noise", above=0)
        if self.effort not in EFFORTS:
            raise InputError(f"there is no effort '{self.effort}'{nearest(str(self.effort), EFFORTS)}")

    @property
    def numpy_only(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether it tries anything: much of what it tries, and how it hides and weighs, is written on NumPy."""
        return self.effort != "fast" and self.noise is None

    @property
    def fit(self) -> Fit:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How the answer agrees with what is known."""
        return Exact() if self.noise is None else Noisy(float(self.noise))
