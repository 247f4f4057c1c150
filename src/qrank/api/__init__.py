"""What users call: the input checked, the method looked up and run, the answer given back in the input's own kind."""

from .axes import Guess, guess, guessed_axes
from .complete import complete
from .inputs import checked_bounds
from .labels import along, axes_of, ignored_of, names_of
from .tabular import arrangement

__all__ = [
    "Guess",
    "along",
    "arrangement",
    "axes_of",
    "checked_bounds",
    "complete",
    "guess",
    "guessed_axes",
    "ignored_of",
    "names_of",
]
