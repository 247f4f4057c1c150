"""A Gaussian field over places and times with a Kronecker covariance: its likelihood, one step of EM, its posterior.

Coefficient c of the fibre at place s and time t is F_c[s, t] plus noise, with covariances

    cov F_c = alpha_c Ks o Kt,   noise sigma_c I,   V_c = alpha_c M + sigma_c I,   M_ij = Ks[s_i, s_j] Kt[t_i, t_j]

over the known fibres i = (s_i, t_i). One eigendecomposition M = E diag(m) E' serves all c. Places may be put into groups
between which Ks is zero: M then falls into blocks, one for each group.

E. V. Bonilla, K. M. A. Chai, C. K. I. Williams. Multi-task Gaussian Process Prediction. NeurIPS, 2007 (the model);
A. P. Dempster, N. M. Laird, D. B. Rubin. Maximum Likelihood from Incomplete Data via the EM Algorithm. JRSS B, 1977.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

RATIOS = np.geomspace(1e-8, 1e4, 121)  # where sigma_c / alpha_c is looked for, besides near its last value
NEAR = np.array([0.95, 1.0, 1.05])
TINY = 1e-12  # relative; below it an eigenvalue is rounding
FLOOR = 1e-100  # of alpha, where all is zero


class Known(NamedTuple):
    """The known fibres: coefficients (n, C), their places and times (n,), and the group of every place (S,)."""

    d: np.ndarray
    s: np.ndarray
    t: np.ndarray
    group: np.ndarray


class Covariances(NamedTuple):
    """What is learned: Ks (S, S), Kt (T, T), alpha and sigma (C,)."""

    ks: np.ndarray
    kt: np.ndarray
    alpha: np.ndarray
    sigma: np.ndarray


class Block(NamedTuple):
    """The known fibres of one group, and the eigenpairs of their M."""

    i: np.ndarray
    m: np.ndarray
    e: np.ndarray


def blocks(k: Covariances, known: Known) -> Iterator[Block]:
    """Yield the blocks of M, decomposed.

    >>> k = Covariances(np.eye(2), np.ones((3, 3)), np.ones(1), np.ones(1))
    >>> known = Known(np.ones((3, 1)), np.array([0, 0, 1]), np.array([0, 1, 2]), np.array([0, 1]))
    >>> [block.m.round(9).tolist() for block in blocks(k, known)]
    [[0.0, 2.0], [1.0]]
    """
    of = known.group[known.s]
    order = np.argsort(of, kind="stable")
    for i in np.split(order, np.flatnonzero(np.diff(of[order])) + 1):
        s, t = known.s[i], known.t[i]
        m, e = np.linalg.eigh(k.ks[s][:, s] * k.kt[t][:, t])
        yield Block(i, np.maximum(m, 0), e)


def likeliest(m: np.ndarray, g2: np.ndarray, ratio: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the alpha_c and sigma_c of greatest likelihood for the squared coefficients g2 (n, C) in M's eigenbasis.

    For a ratio r = sigma/alpha the best alpha is mean_i g2_i / (m_i + r): what is left is a search over r, on a grid and
    near the last ratio, so that the likelihood never falls.

    >>> alpha, sigma = likeliest(np.array([1.0, 0.0] * 50), np.array([[5.0], [1.0]] * 50), None)
    >>> bool(abs(alpha[0] - 4) < 0.5), bool(abs(sigma[0] - 1) < 0.1)
    (True, True)
    """
    n, c = g2.shape
    shift = m[:, None] + RATIOS
    q = g2.T @ (1 / shift) / n  # (C, ratios)
    tried, logs = np.broadcast_to(RATIOS, q.shape), np.broadcast_to(np.log(shift).mean(0), q.shape)
    if ratio is not None:
        near = [_profile(m, g2, ratio * factor) for factor in NEAR]
        q = np.column_stack([q, *(one[0] for one in near)])
        logs = np.column_stack([logs, *(one[1] for one in near)])
        tried = np.column_stack([tried, *(ratio * factor for factor in NEAR)])
    best = np.arange(c), np.argmin(np.log(np.maximum(q, np.finfo(float).tiny)) + logs, axis=1)
    alpha = np.maximum(q[best], FLOOR)
    return alpha, alpha * tried[best]


def _profile(m: np.ndarray, g2: np.ndarray, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shift = m[:, None] + ratio
    return (g2 / shift).mean(0), np.log(shift).mean(0)


class Stepped(NamedTuple):
    """One step of EM: the covariances it was made from, with their best alpha and sigma, and the next Ks and Kt."""

    fitted: Covariances
    beta: np.ndarray  # (n, C), P_c D_c under the fitted ones
    value: float  # their log-likelihood, but for its constant
    ks: np.ndarray
    kt: np.ndarray


def step(k: Covariances, known: Known, common: bool, places: bool, prior: float = 1.0) -> Stepped:
    """Make one step of EM.

    ``common``: one alpha and one sigma for all coefficients; ``places``: Ks is learned, too. With P_c = V_c^-1,
    beta_c = P_c D_c and W = sum_c alpha_c (beta_c beta_c' - P_c):

        alpha, sigma = those of greatest likelihood, given Ks and Kt                                           (E-a)
        Kt <- Kt + Kt agg_t(W o Ks) Kt / (S C)                                                                 (E-t)
        Ks <- Ks tr(Kt'^-1 Kt)/T + Ks agg_s(W o Kt Kt'^-1 Kt) Ks / (T C),   Kt' the new Kt                     (E-s)

    agg_t sums over the fibres of each pair of times, agg_s over those of each pair of places. Both are scaled to mean
    diagonal 1, which alpha takes up in the next step. The likelihood never falls if ``prior`` is 0; else each new K is
    mixed with one of equal variances and equal covariances, its own means, as if by ``prior`` times its size observations
    more (S C of Kt, T C of Ks are there).
    """
    parts = list(blocks(k, known))
    g = [part.e.T @ known.d[part.i] for part in parts]
    m, g2 = np.concatenate([part.m for part in parts]), np.concatenate(g) ** 2
    alpha, sigma = k.alpha, k.sigma
    ratio = sigma / alpha
    if common:
        alpha, sigma = (np.repeat(one, len(alpha)) for one in likeliest(m, g2.mean(1)[:, None], ratio[:1]))
    else:
        alpha, sigma = likeliest(m, g2, ratio)  # (E-a)
    beta = np.empty_like(known.d)
    weights = [_weights(part, one, alpha, sigma, beta) for part, one in zip(parts, g, strict=True)]
    v = m[:, None] * alpha + sigma
    value = -0.5 * float(np.log(v).sum() + (g2 / v).sum())
    ks, kt, c = k.ks, k.kt, known.d.shape[1]
    summed = sum(_sums(w, ks, known.s[p.i], known.t[p.i], len(kt)) for p, w in zip(parts, weights, strict=True))
    new_t = _mixed(kt + kt @ summed @ kt / (len(ks) * c), len(ks) * c, prior)  # (E-t)
    if places:
        solved = np.linalg.solve(new_t + TINY * np.trace(new_t) / len(kt) * np.eye(len(kt)), kt)
        turned = kt @ solved
        summed = sum(_sums(w, turned, known.t[p.i], known.s[p.i], len(ks)) for p, w in zip(parts, weights, strict=True))
        new_s = ks * (np.trace(solved) / len(kt)) + ks @ summed @ ks / (len(kt) * c)
        ks = _unit(_mixed(new_s, len(kt) * c, prior, known.group))  # (E-s)
    return Stepped(Covariances(k.ks, kt, alpha, sigma), beta, value, ks, _unit(new_t))


def _weights(part: Block, g: np.ndarray, alpha: np.ndarray, sigma: np.ndarray, all_beta: np.ndarray) -> np.ndarray:
    """Return W = sum_c alpha_c (beta_c beta_c' - P_c) of a block (n, n), and write its beta_c."""
    v = part.m[:, None] * alpha + sigma
    all_beta[part.i] = beta = part.e @ (g / v)
    return (beta * alpha) @ beta.T - (part.e * (alpha / v).sum(1)) @ part.e.T


def _sums(w: np.ndarray, k: np.ndarray, of: np.ndarray, over: np.ndarray, size: int) -> np.ndarray:
    """Return the sums of W o K[of, of] over the fibres of each pair of what `over` names (size, size)."""
    named = sparse.csr_matrix((np.ones(len(over)), (over, np.arange(len(over)))), (size, len(over)))
    return named @ np.ascontiguousarray((named @ (w * k[of][:, of])).T)


def _mixed(k: np.ndarray, count: int, prior: float, group: np.ndarray | None = None) -> np.ndarray:
    """Return K, learned from ``count`` observations, with those of the prior."""
    n = len(k)
    same = np.ones((n, n), bool) if group is None else group[:, None] == group
    pairs = int(same.sum()) - n
    if not pairs:
        return k
    own = np.trace(k) / n
    between = (float(k[same].sum()) - n * own) / pairs
    usual = np.where(same, between, 0) + (own - between) * np.eye(n)
    share = prior * n / (count + prior * n)
    return (1 - share) * k + share * usual


def _unit(k: np.ndarray) -> np.ndarray:
    """Return K, symmetric to the last bit, with mean diagonal 1."""
    k = (k + k.T) / 2
    return k / (np.trace(k) / len(k) or 1.0)


def mean(k: Covariances, known: Known, beta: np.ndarray) -> np.ndarray:
    """Return the posterior mean of all coefficients (S, T, C): F_c = alpha_c Ks A_c Kt, A_c the beta_c on their grid.

    >>> k = Covariances(np.eye(1), np.array([[1, 0.5], [0.5, 1]]), np.ones(1), np.ones(1))
    >>> known = Known(np.array([[4.0]]), np.array([0]), np.array([0]), np.array([0]))
    >>> mean(k, known, np.array([[2.0]]))[0, :, 0]
    array([2., 1.])
    """
    a = np.zeros((len(k.ks), len(k.kt), len(k.alpha)))
    a[known.s, known.t] = beta
    return np.matmul(k.kt, (k.ks @ a.reshape(len(a), -1)).reshape(a.shape)) * k.alpha


def variance(k: Covariances, known: Known, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the posterior variance of F (S, T, C), without noise; and for known fibres, each given all others but
    itself, the mean and the variance of its coefficients (n, C), with noise: D - beta / diag P and 1 / diag P.

    >>> k = Covariances(np.eye(1), np.array([[1, 0.5], [0.5, 1]]), np.ones(1), np.ones(1))
    >>> known = Known(np.array([[4.0]]), np.array([0]), np.array([0]), np.array([0]))
    >>> [one.ravel().tolist() for one in variance(k, known, np.array([[2.0]]))]
    [[0.5, 0.875], [0.0], [2.0]]
    """
    out = (np.diag(k.ks)[:, None] * np.diag(k.kt))[:, :, None] * k.alpha
    alone = np.empty_like(known.d)
    for i, m, e in blocks(k, known):
        s, t = known.s[i], known.t[i]
        p = 1 / (m[:, None] * k.alpha + k.sigma)
        alone[i] = 1 / ((e * e) @ p)
        for place in np.flatnonzero(known.group == known.group[s[0]]):
            seen = (k.ks[place, s] * k.kt[:, t]) @ e  # (T, n)
            out[place] -= (seen * seen) @ p * k.alpha**2
    return np.maximum(out, 0), known.d - beta * alone, alone
