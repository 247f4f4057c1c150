"""The paper's experiments: every table and figure as a grid of cells, beside the paper's own numbers.

``sources`` reads the data sets, ``cells`` runs one cell, ``grid`` runs many and keeps them, ``plans`` says which cells make
an experiment, and ``tables``, ``figures`` and ``page`` show what came out. ``paper.json`` holds the paper's figures, the only
numbers that were typed in. ``field`` is the comparison on real data that the paper does not have.
"""

from . import field
from .grid import Store, run
from .page import write
from .plans import PLANS, Size

__all__ = ["PLANS", "Size", "Store", "field", "run", "write"]
