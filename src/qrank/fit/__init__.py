"""How the answer agrees with what is known: one file a fit."""

from .base import Agreed, Fit
from .exact import Exact
from .noisy import Noisy

__all__ = ["Agreed", "Exact", "Fit", "Noisy"]
