"""A transform of a third mode that has become longer: new slices were appended."""

from __future__ import annotations

import numpy as np

from .base import Matrix, Transform

RIDGE = 1e-6  # of the mean square of the directions, so that few known entries decide nothing


def extended(q: Transform, stack: np.ndarray, known: np.ndarray) -> Matrix:
    """Return q for a longer third mode: a stack (n3, n1, n2), filled, whose first slices are those of q.

    The rows of Q are what earlier slices are made of: T_(3) = Q G. A new slice is told by its known entries in terms of G, which
    gives Q a row; what it has of its own gets a column. Q, longer by both, is made orthonormal again.

    >>> x = np.ones((4, 5, 5)) * np.arange(1.0, 5)[:, None, None]
    >>> q = np.arange(1.0, 4)[:, None] / np.sqrt(14)
    >>> extended(Matrix(q), x, x > 0).apply(x, (1, 2))[0, 0].round(4)  # a shared direction holds all of it
    array([5.4772, 0.    ])
    """
    matrix, n = np.real(q.matrix), q.n3
    rows, on = stack.reshape(len(stack), -1).astype(float), known.reshape(len(stack), -1)
    g = matrix.T @ rows[:n]
    told = []
    for row, there in zip(rows[n:], on[n:], strict=True):
        seen = g[:, there]
        inner = seen @ seen.T
        inner += (RIDGE * float(np.trace(inner)) / len(inner) or 1.0) * np.eye(len(inner))
        told.append(np.linalg.solve(inner, seen @ row[there]))
    k, r = len(told), matrix.shape[1]
    longer = np.block([[matrix, np.zeros((n, k))], [np.array(told).reshape(k, r), np.eye(k)]])
    basis, upper = np.linalg.qr(longer)
    return Matrix(basis * np.where(np.diag(upper) < 0, -1.0, 1.0))
