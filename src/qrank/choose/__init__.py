"""What `auto` does: hides known entries that look like the holes, tries candidates on them, weighs, and runs what has weight."""

from .auto import Tried as Tried
from .auto import choose as choose
from .auto import tried as tried
from .candidates import SHORT as SHORT
from .candidates import plane as plane
from .candidates import planes as planes
from .part import part as part
from .resume import resume as resume
from .runner import FEW as FEW
