"""How the answer agrees with what is known: one file a fit."""

from .base import Agreed, Fit
from .exact import Exact
from .measured import Measured, Measurement, least_norm
from .noisy import Noisy
from .operators import Operator, operator_of
from .robust import KINDS, Robust

__all__ = [
    "KINDS",
    "Agreed",
    "Exact",
    "Fit",
    "Measured",
    "Measurement",
    "Noisy",
    "Operator",
    "Robust",
    "least_norm",
    "operator_of",
]
