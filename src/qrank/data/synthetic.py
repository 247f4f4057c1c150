"""The paper's synthetic tensors."""

from __future__ import annotations

import math

import numpy as np

from ..errors import InputError
from ..transforms import pca


def low_q_rank(
    shape: tuple[int, int, int] = (50, 50, 50), r: int = 5, rng: np.random.Generator | int | None = None
) -> np.ndarray:
    """Return the paper's synthetic tensor M x_3 W W^T: M has N(0, 1/n3) entries, W = PCA(M, 3, r); smooth nowhere.

    >>> x = low_q_rank((10, 12, 8), r=3, rng=0)
    >>> x.shape, int(np.linalg.matrix_rank(x.reshape(-1, 8)))
    ((10, 12, 8), 3)
    """
    if len(shape) != 3 or not 1 <= r <= min(shape[2], shape[0] * shape[1]):
        raise InputError(
            f"r must lie between 1 and the length of the third mode, and the shape be n1, n2, n3: {shape}, {r}"
        )
    m = np.random.default_rng(rng).normal(0, math.sqrt(1 / shape[2]), shape)
    w = pca(m, r)
    return m @ w @ w.T
