"""PCA of the third mode of any array."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..tensor import Layout


def pca(x: np.ndarray, r: int | None = None, slice_axes: tuple[int, int] = (0, 1)) -> np.ndarray:
    """Return PCA(X, 3, r): the first r right singular vectors of X_(3), shape (n3, r); r = min(n1 n2, n3) by default.

    It minimises ||X_(3) Q||_{2,1} over column-orthonormal Q with X_(3) Q Q^T = X_(3) (Theorem 2).

    >>> pca(np.random.default_rng(0).standard_normal((4, 5, 6)), 3).shape
    (6, 3)
    """
    layout = Layout.of(np.shape(x), slice_axes)
    r = check_r(r, layout)
    flat = layout.stack(np.asarray(x, dtype=float)).reshape(layout.n3, -1)
    return np.linalg.svd(flat, full_matrices=False)[0][:, :r]


def check_r(r: int | None, layout: Layout) -> int:
    """Return the number of columns of Q, or say which numbers can be.

    >>> check_r(None, Layout.of((4, 5, 60), (0, 1)))
    20
    """
    n1, n2 = layout.slice_shape
    most = min(n1 * n2, layout.n3)
    if r is None:
        return most
    if not 1 <= r <= most or int(r) != r:
        raise InputError(f"r must be a whole number from 1 to min(n1 n2, n3) = {most}, not {r}")
    return int(r)
