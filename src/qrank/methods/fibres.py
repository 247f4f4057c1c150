"""Fibres of an array as points of a grid of places and times: which axis they lie along, their basis, the holes in them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

MOST = 64  # coefficients of a fibre that are modelled
LEFT = 1e-6  # share of the energy that may be left to the rest
WHOLE = 0.5  # share of its entries with which a fibre counts as known
ROUNDS = 3  # of filling the holes in fibres and learning their basis anew
SOME = 256  # fibres that are conditioned at once


def fibre_axes(observed: np.ndarray) -> tuple[int, ...]:
    """Return the axes along which most missing entries lie in wholly missing fibres; more than one from four axes on.

    Among equals the longest; two axes at least (one of a matrix) are left to be places and times.

    >>> known = np.ones((4, 5, 6), bool)
    >>> known[1, 2] = False
    >>> fibre_axes(known)
    (2,)
    """
    missing, d = max(1, int((~observed).sum())), observed.ndim

    def share(axes: tuple[int, ...]) -> float:
        return int((~observed.any(axis=axes)).sum()) * math.prod(observed.shape[i] for i in axes) / missing

    best = max(range(d), key=lambda i: (round(share((i,)), 6), observed.shape[i]))
    found, floor = (best,), 0.9 * share((best,))
    while floor > 0 and len(found) < d - 2:
        more = {i: share((*found, i)) for i in range(d) if i not in found}
        i = max(more, key=more.__getitem__)
        if more[i] < floor:
            break
        found = (*found, i)
    return tuple(sorted(found))


class Fibres(NamedTuple):
    """The known fibres, transformed, and what turns them back."""

    d: np.ndarray  # (n, C) coefficients
    s: np.ndarray  # (n,) places
    t: np.ndarray  # (n,) times
    basis: np.ndarray  # (B, C), orthonormal columns
    rest: np.ndarray  # (B,) variance that the basis leaves over
    level: np.ndarray  # (S,) what the fibres of a place are divided by


def known_fibres(on: np.ndarray) -> np.ndarray:
    """Return which fibres of on (S, T, B) count as known (S, T): half of their entries are, or as many as are usual.

    >>> known_fibres(np.array([[[True, True], [True, False], [False, False]]]))
    array([[ True,  True, False]])
    """
    share = on.mean(2)
    some = share[share > 0]
    return (share > 0) & (share >= (WHOLE if (some >= WHOLE).mean() > 0.1 else np.median(some)))


def fibres(values: np.ndarray, on: np.ndarray, known: np.ndarray, a: float, p: float) -> Fibres:
    """Return the known fibres of values (S, T, B): y^p, divided by (rms of the known of the place)^a, in their own basis."""
    y = np.where(on, values, 0.0) ** p if p != 1 else np.where(on, values, 0.0)
    count = on.sum((1, 2))
    power = (y * y).sum((1, 2)) / np.maximum(count, 1)
    usual = power[count > 0].mean() or 1.0
    power[(count == 0) | (power < 1e-12 * usual)] = usual  # a place that is not known, or is zero, is one like all
    level = power ** (a / 2)
    s, t = np.nonzero(known)
    v, there = y[s, t] / level[s][:, None], on[s, t]
    if not there.all():
        v = filled(v, there)
    basis, rest, _ = principal(v)
    return Fibres(v @ basis, s, t, basis, rest, level)


def principal(v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the leading eigenvectors of the second moment of the rows of v, what they leave over, and the eigenvalues."""
    n, b = v.shape
    if b <= n:
        w, u = np.linalg.eigh(v.T @ v / n)
    else:
        w, e = np.linalg.eigh(v @ v.T / n)
        u = v.T @ (e / np.sqrt(np.maximum(w, 1e-14 * max(w[-1], 1e-300)) * n))
    w, u = np.maximum(w[::-1], 0), u[:, ::-1]
    left = w.sum() - np.cumsum(w)
    c = max(1, min(MOST, int((left > LEFT * w.sum()).sum()) + 1, int((w > 1e-12 * w[0]).sum())))
    u = np.ascontiguousarray(u[:, :c])  # as it is after a state was written and read
    return u, np.maximum((v * v).mean(0) - ((u * u) * w[:c]).sum(1), 0), w[:c]


def filled(v: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Return the fibres v (n, B) with their holes filled by the mean fibre, then by their own covariance."""
    mean = (v * there).sum(0) / np.maximum(there.sum(0), 1)
    size = (v * mean * there).sum(1) / np.maximum((mean * mean * there).sum(1), np.finfo(float).tiny)
    x = np.where(there, v, size[:, None] * mean)
    for _ in range(ROUNDS):
        basis, rest, w = principal(x)
        one = np.broadcast_to(w, (len(v), len(w)))
        x = np.where(there, v, conditioned(v, there, np.zeros_like(one), one, basis, rest)[0])
    return x


def conditioned(
    v: np.ndarray, there: np.ndarray, mean: np.ndarray, variance: np.ndarray, basis: np.ndarray, rest: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance (n, B) of fibres U z + e, given their known entries v where ``there``.

    z has independent coefficients with the given mean and variance (n, C), e has variance ``rest`` (B,).

    >>> x, _ = conditioned(
    ...     np.ones((1, 2)), np.array([[True, False]]), np.zeros((1, 1)), np.ones((1, 1)), np.ones((2, 1)), np.zeros(2)
    ... )
    >>> x.round(3)
    array([[1., 1.]])
    """
    floor = 1e-9 * (float(variance.sum(1).mean()) / len(basis)) or 1.0
    e, x, out = np.maximum(rest, floor), np.empty_like(v), np.empty_like(v)
    c = basis.shape[1]
    pairs = (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), -1)
    for lo in range(0, len(v), SOME):
        part = slice(lo, lo + SOME)
        root = np.sqrt(variance[part])
        o = there[part] / e
        a = root[:, :, None] * (o @ pairs).reshape(-1, c, c) * root[:, None, :] + np.eye(c)
        miss = o * (v[part] - mean[part] @ basis.T)
        inverse = np.linalg.inv(a)
        z = mean[part] + root * np.einsum("ncd,nd->nc", inverse, root * (miss @ basis))
        x[part] = z @ basis.T
        turned = np.einsum("bc,ncd->nbd", basis, root[:, :, None] * inverse * root[:, None, :], optimize=True)
        out[part] = np.einsum("nbd,bd->nb", turned, basis) + e
    return x, out


def turned_back(mean: np.ndarray, variance: np.ndarray, level: np.ndarray, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of (level y)^(1/p) for Gaussian y (S, T, B), negative values counted as 0.

    >>> mean, deviation = turned_back(np.full((1, 1, 1), 3.0), np.ones((1, 1, 1)), np.ones(1), 0.5)
    >>> mean.round(3).item(), deviation.round(2).item()  # E y^2 = 9 + 1
    (10.0, 6.16)
    """
    mean, deviation = mean * level[:, None, None], np.sqrt(variance) * level[:, None, None]
    if p == 1:
        return mean, deviation
    first, second = np.zeros_like(mean), np.zeros_like(mean)
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        y = np.maximum(mean + node * deviation, 0) ** (1 / p)
        first += weight * y
        second += weight * y * y
    return first, np.sqrt(np.maximum(second - first * first, 0))


def arranged(x: np.ndarray, order: tuple[int, ...], split: tuple[int, int]) -> np.ndarray:
    """Return x as (places, times, fibre): its axes in this order, cut after the first split[0] and the next split[1] axes.

    >>> arranged(np.zeros((2, 3, 4, 5)), (3, 0, 1, 2), (2, 1)).shape
    (10, 3, 4)
    """
    x, (i, j) = np.transpose(x, order), split
    return x.reshape(math.prod(x.shape[:i]), math.prod(x.shape[i : i + j]), -1)


def restored(x: np.ndarray, order: tuple[int, ...], shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Undo :func:`arranged`: x in the axes of an array of this shape.

    >>> x = np.arange(24.0).reshape(2, 3, 4)
    >>> bool((restored(arranged(x, (2, 0, 1), (1, 1)), (2, 0, 1), x.shape, float) == x).all())
    True
    """
    return np.ascontiguousarray(np.transpose(x.reshape([shape[i] for i in order]), np.argsort(order)), dtype)
