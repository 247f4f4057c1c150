"""What users call: the input checked, the method looked up and run, the answer given back in the input's own kind."""

from .complete import complete
from .inputs import checked_bounds, guessed_axes
from .tabular import arrangement

__all__ = ["arrangement", "checked_bounds", "complete", "guessed_axes"]
