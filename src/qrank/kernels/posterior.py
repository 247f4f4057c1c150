"""Many Gaussian vectors of one law, each known in part: what the known entries say of the others, and how surely.

    x ~ N(m, B B^T + e2 I),  B (n, r);   o: the known entries of x
    A = B_o^T B_o + e2 I,  z = A^-1 B_o^T (y_o - m_o),  mean = m + B z,  variance = e2 + e2 diag(B A^-1 B^T)

Where the known entries bring noise of variance s2, y = x + noise, A and the spread of z have e2 + s2 in the place of e2; and a known entry
keeps the share k = e2 / (e2 + s2) of what it is off from m + B z: its mean is m + B z + k (y - m - B z), and its variance
(1 - k) e2 + (1 - k)^2 (e2 + s2) diag(B A^-1 B^T).

With V the products of the columns of B two by two, (n, r (r+1)/2), all A are the one product (known) V, and all variances
the one product (A^-1) V^T: some 2 n r^2 operations a vector at the speed of large products of matrices. The inverses
between them are made in double precision.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

SMALL = 8  # matrices that LAPACK inverts


class Gaussian(NamedTuple):
    """A law of vectors of length n: N(m, B B^T + e2 I), of which known entries are seen with noise of variance s2."""

    m: np.ndarray  # (n,)
    b: np.ndarray  # (n, r)
    e2: Any  # a number, or (P, 1), one for each of P vectors
    s2: float = 0.0


class Conditional(NamedTuple):
    """What is known of a number of vectors."""

    mean: np.ndarray  # (P, n)
    variance: np.ndarray  # (P, n)
    error: np.ndarray  # (P, n): where known, how far the entry is from what the others say of it; else 0
    expected: np.ndarray  # (P, n): where known, the variance that the law gives to this error


def pairs(b: np.ndarray) -> np.ndarray:
    """Return the products of the columns of B two by two, (n, r (r+1)/2).

    >>> pairs(np.array([[1.0, 2.0], [3.0, 5.0]])).tolist()
    [[1.0, 2.0, 4.0], [9.0, 15.0, 25.0]]
    """
    n, r = b.shape
    found, at = np.empty((n, r * (r + 1) // 2), b.dtype), 0
    for k in range(r):
        np.multiply(b[:, [k]], b[:, k:], out=found[:, at : at + r - k])
        at += r - k
    return found


def inverses(a: np.ndarray) -> np.ndarray:
    """Return the inverses of symmetric positive definite matrices (P, r, r), half by half.

    [P Q; Q^T S]^-1 = [P^-1 + W T W^T, -W T; -T W^T, T] with W = P^-1 Q, T = (S - Q^T W)^-1: all but the smallest are products.

    >>> inverses(np.diag(np.arange(1.0, 11))[None])[0].diagonal().round(3).tolist()
    [1.0, 0.5, 0.333, 0.25, 0.2, 0.167, 0.143, 0.125, 0.111, 0.1]
    """
    r = a.shape[-1]
    if r <= SMALL:
        return np.linalg.inv(a)
    h = r // 2
    p = inverses(a[:, :h, :h])
    w = p @ a[:, :h, h:]
    out = np.empty_like(a)
    out[:, h:, h:] = t = inverses(a[:, h:, h:] - a[:, h:, :h] @ w)
    out[:, :h, h:] = wt = -(w @ t)
    out[:, h:, :h] = wt.swapaxes(1, 2)
    out[:, :h, :h] = p - wt @ w.swapaxes(1, 2)
    return out


def conditional(law: Gaussian, v: np.ndarray, y: np.ndarray, known: np.ndarray) -> Conditional:
    """Return mean and variance of vectors (P, n) given their known entries; V = pairs(B).

    >>> law = Gaussian(np.zeros(2), np.array([[1.0], [1.0]]), 0.5)
    >>> found = conditional(law, pairs(law.b), np.array([[3.0, 0.0]]), np.array([[True, False]]))
    >>> found.mean.round(3).tolist(), found.variance.round(3).tolist()
    ([[2.0, 2.0]], [[0.833, 0.833]])
    >>> noisy = conditional(law._replace(s2=0.5), pairs(law.b), np.array([[3.0, 0.0]]), np.array([[True, False]]))
    >>> noisy.mean.round(3).tolist(), noisy.variance.round(3).tolist()  # 1.5 = 3 Cov(x_1, y_1) / Var(y_1)
    ([[2.25, 1.5]], [[0.375, 1.0]])
    """
    m, b, s2 = law.m, law.b, law.s2
    e2 = np.asarray(law.e2, b.dtype)
    apart_2 = e2 + b.dtype.type(s2)  # of a known entry from m + B z
    r, eps = b.shape[1], float(np.finfo(b.dtype).eps)
    first, second = np.triu_indices(r)
    square = np.empty((r, r), int)  # where in a triangle the entries of the square are
    square[first, second] = square[second, first] = np.arange(len(first))
    weight = known.astype(b.dtype)
    a = (weight @ v).take(square.reshape(-1), 1).reshape(-1, r, r).astype(float)
    diagonal = np.einsum("pkk->pk", a)
    diagonal *= 1 + 4 * eps  # what rounding may have taken away
    diagonal += apart_2
    inverse = inverses(a)
    apart = (y - m) * weight
    z = _times(inverse, apart @ b)
    z += _times(inverse, (apart - (z @ b.T) * weight) @ b - apart_2 * z)  # refined: A is of the data's precision
    double = np.where(first == second, 1, 2) * inverse.reshape(-1, r * r).take(first * r + second, 1)
    spread = double.astype(b.dtype) @ v.T  # diag(B A^-1 B^T)
    np.clip(spread, 0, None, out=spread)
    mean = z @ b.T
    left_out = 1 / np.maximum(1 - spread, math.sqrt(eps))  # with H = B_o A^-1 B_o^T: (y - mean) / (1 - H_jj)
    error = (apart - mean) * weight * left_out
    left_out *= apart_2
    if s2 > 0:
        mean += weight * (e2 / apart_2) * (apart - mean)
        lost = np.maximum(s2 / apart_2, eps * eps)  # 1 - k, which would be 0 where k is rounded to 1
        lost = np.where(known, lost, b.dtype.type(1))
        spread *= apart_2 * lost * lost
        spread += e2 * lost
    else:
        spread += 1
        spread *= e2
    mean += m
    return Conditional(mean, spread, error, left_out)


def _times(inverse: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return (inverse @ rows.astype(float)[:, :, None])[:, :, 0].astype(rows.dtype)
