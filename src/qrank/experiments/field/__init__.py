"""The field: every method of the package, and what one would take instead, on real data with the holes of real damage.

``scenes`` reads the data, ``masks`` draws what is seen, ``rivals`` are other programs, ``cells`` runs one cell, ``plan`` says
which cells there are, ``quoted`` takes those that the paper's experiments have, and ``page`` shows what came out. ``targets.json`` holds the figures to reach.
"""

from .cells import FieldCell
from .page import write
from .plan import planned
from .quoted import quote

__all__ = ["FieldCell", "planned", "quote", "write"]
