"""auto: not a model but a choice among all others, made by what they make of known entries that are hidden from them.

What is hidden looks like the holes (`choose/hide.py`); what is tried is in `choose/candidates.py`; how answers are weighed in
`choose/weigh.py`. `choose/auto.py` runs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import InputError, nearest
from ..fit import Exact, Fit, Noisy, Robust
from .base import Method
from .tqn import checked_outliers

EFFORTS = ("fast", "balanced", "best")


@dataclass(frozen=True, kw_only=True, eq=False)
class Auto(Method):
    """The best of the others for the data at hand, and their weighted sum where that is better.

    ``effort``: "fast" runs `views` and tries nothing; "balanced" tries what may win, on a part of the data where they are
    large; "best" takes more steps, more candidates and a larger part.
    """

    nearby: ClassVar[bool] = True
    revision: ClassVar[int] = 2
    name: ClassVar[str] = "auto"
    about: ClassVar[str] = "the best of the others, chosen and weighed by known entries that are hidden from them"

    effort: str = "balanced"  # or "fast", "best": how much is tried
    noise: float | None = None  # standard deviation of what is known; then `views` is run, and nothing tried
    outliers: Any = None  # True or "entries", "fibres": some known values are wrong; likewise

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("noise", above=0)
        object.__setattr__(self, "outliers", checked_outliers(self.outliers))
        if self.effort not in EFFORTS:
            raise InputError(f"there is no effort '{self.effort}'{nearest(str(self.effort), EFFORTS)}")

    @property
    def fit(self) -> Fit:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How the answer agrees with what is known."""
        if self.outliers is not None:
            return Robust(self.outliers, self.noise)
        return Exact() if self.noise is None else Noisy(float(self.noise))
