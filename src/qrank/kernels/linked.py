"""Which rows and columns of a mask hang together: those that no chain of known entries links say nothing of each other."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components


def apart(known: np.ndarray) -> np.ndarray | None:
    """Return the entries of a mask (n, m) whose row and column no chain of known entries links; None if there are none.

    Known entries lie in blocks then, and changing the sign of all rows and columns of one block changes no known entry and no
    singular value, but the sign of these: all that low rank can tell of them is 0.

    >>> apart(np.array([[True, False, False], [True, True, False], [False, False, True]]))
    array([[False, False,  True],
           [False, False,  True],
           [ True,  True, False]])
    >>> apart(np.array([[True, False], [True, True]])) is None
    True
    """
    for one in (known, known.T):
        if one.all(axis=1).any() and one.any(axis=1).all():  # a full row links all columns: no graph is needed
            return None
    n, m = known.shape
    rows, columns = np.nonzero(known)
    graph = scipy.sparse.coo_matrix((np.ones(len(rows), np.int8), (rows, n + columns)), (n + m, n + m))
    many, block = connected_components(graph, directed=False)
    return None if many == 1 else block[:n, None] != block[None, n:]
