"""New samples completed against what was learned of earlier ones: their mean and the directions in which they vary.

Samples are vectors x = m + P^T c + e, c ~ N(0, diag(v)), e ~ N(0, noise): P (r, n) the principal directions of the samples that
are there, v the variances along them. Of what is known of a new sample follows

    c = (P_O P_O^T / noise + diag(1 / v))^{-1} P_O (x_O - m_O) / noise,      x = m + P^T c.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LEFT_OUT = 1e-7  # singular values below this part of the largest are rounding
NOISE = 1e-3  # of the mean variance of an entry: errors of the answer add so much at least


class Subspace(NamedTuple):
    """What is kept of samples: it completes others."""

    mean: np.ndarray  # (n,)
    directions: np.ndarray  # (r, n), orthonormal rows
    variances: np.ndarray  # (r,), positive
    noise: float

    def completed(self, rows: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return what is expected of samples (k, n) everywhere, from their known entries; others are not looked at."""
        found = np.empty((len(rows), len(self.mean)))
        for i, (row, on) in enumerate(zip(rows, known, strict=True)):
            seen = self.directions[:, on]
            inner = seen @ seen.T + np.diag(self.noise / self.variances)
            c = np.linalg.solve(inner, seen @ (row[on] - self.mean[on]))
            found[i] = self.mean + c @ self.directions
        return found


def subspace_of(samples: np.ndarray, noise: float = NOISE) -> Subspace:
    """Return the subspace of samples (m, n); ``noise`` is a part of the mean variance of an entry.

    >>> x = np.outer(np.arange(1.0, 6), [1.0, 2.0, 4.0])
    >>> found = subspace_of(x)
    >>> found.completed(np.array([[4.0, 0, 0]]), np.array([[True, False, False]])).round()
    array([[ 4.,  8., 16.]])
    """
    samples = np.asarray(samples, dtype=float)
    mean = samples.mean(axis=0)
    away = samples - mean
    m, n = away.shape
    if m <= n:
        power, left = np.linalg.eigh(away @ away.T)
        keep = _kept(power)
        directions = left[:, keep].T @ away / np.sqrt(power[keep])[:, None]
    else:
        power, right = np.linalg.eigh(away.T @ away)
        keep = _kept(power)
        directions = right[:, keep].T
    total, variances = float(np.clip(power, 0, None).sum()) / m, power[keep] / m
    return Subspace(mean, directions, variances, noise * total / n or 1.0)


def _kept(power: np.ndarray) -> np.ndarray:
    """Return which eigenpairs, in ascending order, are more than rounding."""
    return np.flatnonzero(power > max(LEFT_OUT**2 * float(power[-1]), 0.0))
