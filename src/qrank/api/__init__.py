"""What users call: the input checked, the method looked up and run, the answer given back in the input's own kind."""

from .complete import complete
from .estimate import Estimate, estimated
from .inputs import checked_bounds, guessed_axes
from .recover import recover
from .saved import load
from .separate import denoise, separate
from .tabular import arrangement
from .update import update

__all__ = [
    "Estimate",
    "arrangement",
    "checked_bounds",
    "complete",
    "denoise",
    "estimated",
    "guessed_axes",
    "load",
    "recover",
    "separate",
    "update",
]
