"""HaLRTC and LRTC-TNN as their papers print them: what people take for low-rank tensor completion today.

J. Liu, P. Musialski, P. Wonka, J. Ye. Tensor Completion for Estimating Missing Values in Visual Data. PAMI, 2013: Algorithm 4.
X. Chen, J. Yang, L. Sun. A Nonconvex Low-Rank Tensor Completion Model for Spatiotemporal Traffic Data Imputation.
Transportation Research C, 2020: ADMM with truncated nuclear norms of the unfoldings.

Both keep a copy of X and a multiplier for each of the three unfoldings, and all weights alpha_i are 1/3. Nothing is slow on
purpose: a wide unfolding is decomposed by its Gram matrix, as the authors' programs do. The coupling rho is fixed in the
printed algorithms; here it may grow by a factor a step, as their programs let it, for a fixed one takes far longer to the
same answer. How it starts is said in the data's own scale: the first threshold alpha / rho is a share of the largest singular value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

Shrink = Callable[[np.ndarray], np.ndarray]  # of singular values, largest first


def unfold(x: np.ndarray, i: int) -> np.ndarray:
    """Return X_(i): the i-th axis first, all others behind it as one."""
    return np.moveaxis(x, i, 0).reshape(x.shape[i], -1)


def fold(matrix: np.ndarray, i: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return the tensor of which this is the i-th unfolding.

    >>> x = np.arange(24.0).reshape(2, 3, 4)
    >>> all((fold(unfold(x, i), i, x.shape) == x).all() for i in range(3))
    True
    """
    rest = [n for axis, n in enumerate(shape) if axis != i]
    return np.moveaxis(matrix.reshape(shape[i], *rest), 0, i)


def shrunk(matrix: np.ndarray, shrink: Shrink) -> np.ndarray:
    """Return U shrink(S) V^T of a matrix U S V^T.

    >>> a = np.random.default_rng(0).standard_normal((3, 9))
    >>> u, s, vh = np.linalg.svd(a, full_matrices=False)
    >>> bool(np.allclose(shrunk(a, lambda s: np.maximum(s - 1, 0)), (u * np.maximum(s - 1, 0)) @ vh))
    True
    """
    m, n = matrix.shape
    if m > 2 * n:
        return shrunk(matrix.T, shrink).T
    if 2 * m >= n:
        u, s, vh = np.linalg.svd(matrix, full_matrices=False)
        return (u * shrink(s)) @ vh
    squares, u = np.linalg.eigh(matrix @ matrix.T)
    s = np.sqrt(np.maximum(squares[::-1], 0))
    u = u[:, ::-1]
    keep = s > 1e-12 * s[0]
    u, s = u[:, keep], s[keep]
    after = shrink(s)
    some = after > 0
    u = u[:, some]
    return (u * (after[some] / s[some])) @ (u.T @ matrix)


def first_rho(y: np.ndarray, share: float) -> float:
    """Return the rho whose threshold is this share of the largest singular value of the zero-filled unfoldings."""
    largest = max(np.linalg.norm(unfold(y, i) @ unfold(y, i).T, 2) for i in range(y.ndim)) ** 0.5
    return 1 / (y.ndim * share * float(largest))


def halrtc(
    y: np.ndarray, known: np.ndarray, share: float, growth: float, steps: int, tol: float
) -> Iterator[np.ndarray]:
    """Run Algorithm 4 of Liu et al.; yield X after each step, until it moves by less than tol of the data's norm.

    M_i = fold_i(D_{alpha_i / rho}((X + Y_i / rho)_(i)));  X = mean_i (M_i - Y_i / rho) off Omega;  Y_i = Y_i - rho (M_i - X).
    """
    d, rho, norm = y.ndim, first_rho(y, share), float(np.linalg.norm(y))
    x = np.where(known, y, 0.0)
    multipliers = [np.zeros_like(y) for _ in range(d)]
    for _ in range(steps):
        lam = 1 / (d * rho)
        copies = []
        for i, multiplier in enumerate(multipliers):
            matrix = shrunk(unfold(x + multiplier / rho, i), lambda s, lam=lam: np.maximum(s - lam, 0))
            copies.append(fold(matrix, i, y.shape))
        mean = sum(m - multiplier / rho for m, multiplier in zip(copies, multipliers, strict=True)) / d
        before, x = x, np.where(known, y, mean)
        for m, multiplier in zip(copies, multipliers, strict=True):
            multiplier -= rho * (m - x)
        yield x
        if np.linalg.norm(x - before) < tol * norm:
            return
        rho *= growth


def lrtc_tnn(
    y: np.ndarray, known: np.ndarray, theta: float, share: float, growth: float, steps: int, tol: float
) -> Iterator[np.ndarray]:
    """Run the ADMM of Chen, Yang and Sun; yield the estimate after each step, until it moves by less than tol.

    The r_i = ceil(theta min(n_i, prod of the others)) largest singular values of an unfolding are not shrunk:

        X_i = fold_i(D_{r_i, alpha_i / rho}((M - T_i / rho)_(i)))                          others are shrunk by alpha_i / rho
        M   = mean_i (X_i + T_i / rho) off Omega, Y on Omega
        T_i = T_i + rho (X_i - M)

    The estimate is sum_i alpha_i X_i, on Omega as given.
    """
    d, rho, norm = y.ndim, first_rho(y, share), float(np.linalg.norm(y))
    ranks = [math.ceil(theta * min(n, y.size // n)) for n in y.shape]
    m = np.where(known, y, 0.0)
    multipliers = [np.zeros_like(y) for _ in range(d)]
    before = m
    for _ in range(steps):
        lam = 1 / (d * rho)
        copies = []
        for i, (multiplier, r) in enumerate(zip(multipliers, ranks, strict=True)):
            truncated = lambda s, lam=lam, r=r: np.concatenate([s[:r], np.maximum(s[r:] - lam, 0)])  # noqa: E731
            copies.append(fold(shrunk(unfold(m - multiplier / rho, i), truncated), i, y.shape))
        m = np.where(known, y, sum(x + t / rho for x, t in zip(copies, multipliers, strict=True)) / d)
        for x, multiplier in zip(copies, multipliers, strict=True):
            multiplier += rho * (x - m)
        estimate = sum(copies) / d
        yield np.where(known, y, estimate)
        if np.linalg.norm(estimate - before) < tol * norm:
            return
        before = estimate
        rho *= growth
