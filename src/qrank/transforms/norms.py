"""Q-rank, Q-spectral and Q-nuclear norm, Q-singular values, multi-rank, TNN and SNN of an array, and the prox of the paper.

Arrays have shape (n1, n2, n3), or any shape with ``slice_axes`` naming the two axes of a frontal slice. ``Q`` is a
column-orthonormal matrix (n3, r) or a transform.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ..kernels.shrink import shrink
from ..penalties import Nuclear
from ..tensor import Layout, unfold
from .base import Transform, transform_of
from .fixed import Fourier


def _stack(x: Any, q: Any, slice_axes: tuple[int, int]) -> tuple[np.ndarray, Transform, Layout]:
    x = np.asarray(x)
    x = x.astype(float) if x.dtype.kind in "iub" else x
    layout = Layout.of(x.shape, slice_axes)
    transform = transform_of(q, layout.n3)
    return np.ascontiguousarray(layout.stack(x)), transform, layout


def q_singular_values(x: Any, Q: Any, slice_axes: tuple[int, int] = (0, 1)) -> np.ndarray:
    """Return the Q-singular values of X: those of each frontal slice of X x_3 Q, shape (r, min(n1, n2)), descending.

    >>> q_singular_values(np.ones((2, 2, 3)), np.eye(3)).round(6)
    array([[2., 0.],
           [2., 0.],
           [2., 0.]])
    """
    stack, transform, _ = _stack(x, Q, slice_axes)
    return transform.singular_values(stack)


def _tolerance(s: np.ndarray, layout_sizes: tuple[int, int]) -> float:
    return float(s.max(initial=0.0)) * max(layout_sizes) * float(np.finfo(s.dtype).eps)


def multi_rank(x: Any, Q: Any = None, slice_axes: tuple[int, int] = (0, 1), tol: float | None = None) -> np.ndarray:
    """Return the rank of each frontal slice of X x_3 Q, shape (r,); Q is Fourier by default (the tensor multi-rank).

    Values up to ``tol`` count as zero; by default that is rounding error relative to the largest of all slices.

    >>> multi_rank(np.ones((2, 2, 3)))
    array([1, 0, 0])
    """
    layout = Layout.of(np.shape(x), slice_axes)
    s = q_singular_values(x, Fourier(layout.n3) if Q is None else Q, slice_axes)
    return (s > (_tolerance(s, layout.slice_shape) if tol is None else tol)).sum(axis=1)


def q_rank(x: Any, Q: Any, slice_axes: tuple[int, int] = (0, 1), tol: float | None = None) -> int:
    """Return rank_Q(X), the sum of the ranks of the frontal slices of X x_3 Q (Definition 1).

    >>> q_rank(np.ones((2, 2, 3)), np.eye(3))
    3
    """
    return int(multi_rank(x, Q, slice_axes, tol).sum())


def q_nuclear_norm(x: Any, Q: Any, slice_axes: tuple[int, int] = (0, 1)) -> float:
    """Return ||X||_{Q,*}, the sum of all Q-singular values (Definition 2).

    >>> round(q_nuclear_norm(np.ones((2, 2, 3)), np.eye(3)), 9)
    6.0
    """
    return float(q_singular_values(x, Q, slice_axes).sum())


def q_spectral_norm(x: Any, Q: Any, slice_axes: tuple[int, int] = (0, 1)) -> float:
    """Return ||X||_{Q,sigma}, the largest Q-singular value (Definition 2), the dual norm of ||X||_{Q,*}.

    >>> round(q_spectral_norm(np.ones((2, 2, 3)), np.eye(3)), 9)
    2.0
    """
    return float(q_singular_values(x, Q, slice_axes).max())


def tensor_nuclear_norm(x: Any, slice_axes: tuple[int, int] = (0, 1)) -> float:
    """Return TNN, (1/n3) sum_i ||G^(i)||_* with G the unnormalised DFT of X along the third mode.

    >>> round(tensor_nuclear_norm(np.ones((2, 2, 3))), 9)
    2.0
    """
    n3 = Layout.of(np.shape(x), slice_axes).n3
    return q_nuclear_norm(x, Fourier(n3), slice_axes) / float(np.sqrt(n3))


def sum_of_nuclear_norms(x: Any) -> float:
    """Return SNN, the sum of the nuclear norms of all unfoldings.

    >>> round(sum_of_nuclear_norms(np.ones((2, 2, 2))), 6)
    8.485281
    """
    x = np.asarray(x, dtype=float)
    # The values of a wide matrix are those of the triangular factor of its transpose: exact, and the factor is small.
    factors = (np.linalg.qr(unfold(x, mode), mode="r") for mode in range(x.ndim))
    return float(sum(np.linalg.svd(r, compute_uv=False).sum() for r in factors))


def prox_q_nuclear(t: Any, Q: Any, lam: float, slice_axes: tuple[int, int] = (0, 1)) -> np.ndarray:
    """Return argmin_X lam ||X||_{Q,*} + 1/2 ||X - T||_F^2 for column-orthonormal Q (Algorithm 3).

    The part of T outside the span of Q is not penalised and stays: X = prox(T x_3 Q) x_3 Q^T + T x_3 (I - Q Q^T).

    >>> prox_q_nuclear(np.ones((1, 1, 2)), np.eye(2)[:, :1], 0.25)
    array([[[0.75, 1.  ]]])
    """
    if not lam >= 0:
        raise InputError(f"lam must not be negative, it is {lam}")
    stack, transform, layout = _stack(t, Q, slice_axes)
    g = transform.forward(stack)
    inside = transform.backward(g.copy())
    if lam > 0:
        shrink(g, lam, Nuclear(), transform.multiplicity)
    x = transform.backward(g)
    if transform.multiplicity is None and transform.r < transform.n3:
        x = x + (stack - inside)
    return np.ascontiguousarray(layout.outer(x))
