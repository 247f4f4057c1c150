"""What `auto` does: hides known entries that look like the holes, tries candidates on them, weighs, and runs what has weight."""

from .auto import choose as choose
from .candidates import plane as plane
