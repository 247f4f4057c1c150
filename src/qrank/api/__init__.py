"""What users call: the input checked, the method looked up and run, the answer given back in the input's own kind."""

from .axes import Guess, guess, guessed_axes
from .complete import complete
from .estimate import Estimate, estimated
from .inputs import checked_bounds, generator
from .labels import along, axes_of, ignored_of, names_of
from .recover import recover
from .saved import load
from .separate import denoise, separate
from .tabular import arrangement
from .units import axis_of, in_deviations, on_one_scale
from .update import update

__all__ = [
    "Estimate",
    "Guess",
    "along",
    "arrangement",
    "axes_of",
    "axis_of",
    "checked_bounds",
    "complete",
    "denoise",
    "estimated",
    "generator",
    "guess",
    "guessed_axes",
    "ignored_of",
    "in_deviations",
    "load",
    "names_of",
    "on_one_scale",
    "recover",
    "separate",
    "update",
]
