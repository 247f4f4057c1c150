"""How the answer agrees with what is known: one file a fit."""

from .base import Agreed, Fit
from .exact import Exact
from .measured import Measured, Measurement, least_norm
from .noisy import MILD, Noisy
from .operators import Operator, operator_of, seen_alone
from .robust import KINDS, Robust
from .smooth import first, smooth_axes

__all__ = [
    "KINDS",
    "MILD",
    "Agreed",
    "Exact",
    "Fit",
    "Measured",
    "Measurement",
    "Noisy",
    "Operator",
    "Robust",
    "first",
    "least_norm",
    "operator_of",
    "seen_alone",
    "smooth_axes",
]
