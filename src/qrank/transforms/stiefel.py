"""Descent on the Stiefel manifold {Q : Q^T Q = I} along Cayley curves (Wen and Yin 2013; Algorithm 1 of the paper).

This module knows nothing of tensors. P is the Euclidean gradient of f at Q; the curve

    Q(tau) = (I + tau/2 A)^{-1} (I - tau/2 A) Q,    A = P Q^T - Q P^T                                   (25)

stays on the manifold and has Q'(0) = -A Q. For f along it, f'(0) = <P, -A Q> = -1/2 ||A||_F^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from .. import kernels

Payload = TypeVar("Payload")

SLOPE = 1e-4  # Armijo: a step must gain at least this share of what the slope promises
SHORTEN = 0.25  # what a refused step is multiplied by
NOISE = 10  # units of rounding of P below which A, a difference of two like it, says nothing
TRIES = 12  # refused steps in a row after which Q counts as stationary


def tangent(q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the skew-symmetric A = P Q^T - Q P^T, shape (n, n), for Q and P of shape (n, r).

    >>> q = np.eye(3)
    >>> a = tangent(q, np.arange(9.0).reshape(3, 3))
    >>> bool((a == -a.T).all())
    True
    """
    pq = p @ q.T
    return pq - pq.T


def cayley(q: np.ndarray, a: np.ndarray, tau: float) -> np.ndarray:
    """Return the point Q(tau) of the Cayley curve through Q with direction A.

    >>> a = np.array([[0.0, 2.0], [-2.0, 0.0]])
    >>> cayley(np.eye(2), a, 1.0).round(6)
    array([[ 0., -1.],
           [ 1.,  0.]])
    """
    return kernels.of(q).cayley(q, (tau / 2) * a)


def norm_bound(a: np.ndarray) -> float:
    """Return an upper bound of ||A||_2 that costs one pass: sqrt(||A||_1 ||A||_inf).

    >>> norm_bound(np.diag([3.0, 4.0]))
    4.0
    """
    size = abs(a)
    return math.sqrt(float(size.sum(axis=0).max()) * float(size.sum(axis=1).max()))


def printed_step(q: np.ndarray, p: np.ndarray, a: np.ndarray) -> float:
    """Return the paper's tau* = min(2/||A||, tau~) from its estimates of g'(0) and g''(0).

    It drops the curvature of f itself, so that f may well rise: :func:`descend` does not use it.

    >>> printed_step(np.eye(2), np.zeros((2, 2)), np.zeros((2, 2)))
    0.0
    """
    size = norm_bound(a)
    if size == 0:
        return 0.0
    aq = a @ q
    vdot = kernels.of(q).xp.vdot
    first, second = -float(vdot(p, aq)), float(vdot(p, a @ aq))
    return float(min(0.99 * 2 / size, -first / second if second > 0 else 1 / size))


class Descent(NamedTuple, Generic[Payload]):
    """Where :func:`descend` ended."""

    q: np.ndarray
    payload: Payload  # what `value` returned at q besides f(q)
    values: list[float]  # f at the start and after every accepted step: strictly decreasing
    tau: float  # the last accepted step size, a good first guess for a neighbouring problem


def descend(
    value: Callable[[np.ndarray], tuple[float, Payload]],
    gradient: Callable[[Payload], np.ndarray],
    q: np.ndarray,
    start: tuple[float, Payload] | None = None,
    steps: int = 1,
    tau: float | None = None,
) -> Descent[Payload]:
    """Take up to ``steps`` Cayley steps that each decrease f; trial lengths by Barzilai and Borwein, then backtracking.

    ``value(q)`` returns f(q) and a payload; ``gradient(payload)`` returns the Euclidean gradient at that q. ``start`` is
    ``value(q)`` where it is known already.

    >>> m = np.diag([1.0, 2.0, 3.0])
    >>> found = descend(lambda q: (-float(np.trace(m @ q)), q), lambda q: -m, np.eye(3)[[1, 0, 2]], steps=50)
    >>> bool(abs(found.values[-1]) > 5.99)  # the reflection cannot be left, but is turned to the smallest entry
    False
    >>> all(b < a for a, b in zip(found.values, found.values[1:]))
    True
    """
    f, payload = start if start is not None else value(q)
    values = [f]
    last: tuple[np.ndarray, np.ndarray] | None = None
    tau, vdot, eps = tau or 0.0, kernels.of(q).xp.vdot, kernels.of(q).eps(q)
    for _ in range(steps):
        p = gradient(payload)
        a = tangent(q, p)
        slope = 0.5 * float(vdot(a, a))
        size = norm_bound(a)
        if not (math.isfinite(slope) and slope > (NOISE * eps) ** 2 * float(vdot(p, p))):
            break  # stationary but for rounding
        direction = a @ q
        if last is not None:
            ds, dy = q - last[0], direction - last[1]
            tau = float(vdot(ds, ds)) / max(abs(float(vdot(ds, dy))), 1e-300)
        elif tau == 0.0:
            tau = 1 / size
        tau = min(tau, 2 / size)
        for _ in range(TRIES):
            if tau * slope <= eps * abs(f):  # less than f could show in its precision
                return Descent(q, payload, values, tau / SHORTEN)  # the next descent may try a little more
            trial = cayley(q, a, tau)
            f_trial, payload_trial = value(trial)
            if f_trial <= f - SLOPE * tau * slope and f_trial < f:
                break
            tau *= SHORTEN
        else:
            break
        last = q, direction
        q, f, payload = trial, f_trial, payload_trial
        values.append(f)
    return Descent(q, payload, values, tau)
