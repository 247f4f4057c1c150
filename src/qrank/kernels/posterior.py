"""Many Gaussian vectors of one law, each known in part: what the known entries say of the others, and how surely.

    x ~ N(m, B B^T + e2 I),  B (n, r);   o: the known entries of x
    A = B_o^T B_o + e2 I,  z = A^-1 B_o^T (y_o - m_o),  mean = m + B z,  variance = e2 + e2 diag(B A^-1 B^T)

With V the products of the columns of B two by two, (n, r (r+1)/2), all A are the one product (known) V, and all variances
the one product (A^-1) V^T: some 2 n r^2 operations a vector at the speed of large products of matrices. The inverses
between them are made in double precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Gaussian(NamedTuple):
    """A law of vectors of length n: N(m, B B^T + e2 I)."""

    m: np.ndarray  # (n,)
    b: np.ndarray  # (n, r)
    e2: float


class Conditional(NamedTuple):
    """What is known of a number of vectors."""

    mean: np.ndarray  # (P, n)
    variance: np.ndarray  # (P, n)
    left_out: np.ndarray  # (P, n): where known, what the others know of the entry, its error over its deviation; else 0


def pairs(b: np.ndarray) -> np.ndarray:
    """Return the products of the columns of B two by two, (n, r (r+1)/2).

    >>> pairs(np.array([[1.0, 2.0], [3.0, 5.0]])).tolist()
    [[1.0, 2.0, 4.0], [9.0, 15.0, 25.0]]
    """
    first, second = np.triu_indices(b.shape[1])
    return b[:, first] * b[:, second]


def conditional(law: Gaussian, v: np.ndarray, y: np.ndarray, known: np.ndarray) -> Conditional:
    """Return mean and variance of vectors (P, n) given their known entries; V = pairs(B).

    >>> law = Gaussian(np.zeros(2), np.array([[1.0], [1.0]]), 0.5)
    >>> found = conditional(law, pairs(law.b), np.array([[3.0, 0.0]]), np.array([[True, False]]))
    >>> found.mean.round(3).tolist(), found.variance.round(3).tolist()
    ([[2.0, 2.0]], [[0.833, 0.833]])
    """
    m, b, e2 = law
    r = b.shape[1]
    first, second = np.triu_indices(r)
    weight = known.astype(b.dtype)
    flat = weight @ v
    a = np.empty((len(y), r, r))
    a[:, first, second] = flat
    a[:, second, first] = flat
    a[:, range(r), range(r)] *= 1 + 4 * np.finfo(b.dtype).eps  # what rounding may have taken away
    a[:, range(r), range(r)] += e2
    inverse = np.linalg.inv(a)
    apart = (y - m) * weight
    z = (inverse @ (apart @ b).astype(float)[:, :, None])[:, :, 0]
    z = z.astype(b.dtype)
    short = (apart - (z @ b.T) * weight) @ b - e2 * z  # refined once: A's products are in the data's precision
    z += (inverse @ short.astype(float)[:, :, None])[:, :, 0].astype(b.dtype)
    flat = np.where(first == second, 1, 2) * inverse[:, first, second]
    spread = flat.astype(b.dtype) @ v.T  # diag(B A^-1 B^T)
    np.clip(spread, 0, None, out=spread)
    mean = z @ b.T
    left = (apart - mean) * weight / np.sqrt(e2 * np.maximum(1 - spread, np.finfo(b.dtype).eps ** 0.5))
    mean += m
    spread += 1
    spread *= e2
    return Conditional(mean, spread, left)
