"""The paper's algorithms as a careful NumPy user writes them: the yardstick of the benchmark.

All tensors of the paper's notation are kept (Y, X, E, Z, T, G and the last X and E), the unfolding and the slices
go through ``np.linalg.svd``, and the settings are the paper's. A tensor is a stack (n3, n1, n2), so that neither the
unfolding nor the slices need a transposed copy: nothing here is slow on purpose.

Algorithm 3's residual term T x_3 (I - Q Q^T) is left out: it is zero for Q = PCA(T) with r = min(n1 n2, n3) and for
every square Q, and computing it would only make this slower.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qrank.transforms import stiefel


@dataclass(frozen=True)
class Settings:
    """Those of the paper's experiments; K = 1. ``descents`` and ``go_on`` are the package's settings of MOTQN."""

    rho: float = 1.1
    mu0: float = 1e-4
    mu_max: float = 1e10
    eps: float = 1e-8
    descents: int = 1  # Cayley steps in a Q-update
    go_on: bool = False  # whether a Q-update may start from the last Q
    max_steps: int = 500


@dataclass(frozen=True, eq=False)
class State:
    """What the paper carries from one iteration to the next."""

    X: np.ndarray
    E: np.ndarray
    Z: np.ndarray
    mu: float
    Q: np.ndarray | None = None
    tau: float | None = None  # the last Cayley step, first guess of the next search
    residual: float = np.inf  # the largest of the three that the stopping rule looks at


def start(Y: np.ndarray, settings: Settings) -> State:
    """Return the state before the first step: everything zero."""
    return State(np.zeros_like(Y), np.zeros_like(Y), np.zeros_like(Y), settings.mu0)


def step(method: str, Y: np.ndarray, omega: np.ndarray, state: State, settings: Settings) -> State:
    """Run one iteration of Algorithm 2; Y is zero off omega."""
    mu = state.mu
    T = Y - state.E + state.Z / mu
    X, Q, tau = PROX[method](T, 1 / mu, state, settings)  # steps 1 and 2: Q, then X by Algorithm 3
    E = np.where(omega, 0.0, Y - X + state.Z / mu)  # step 3
    gap = Y - X - E
    Z = state.Z + mu * gap  # step 4
    residual = max(_largest(X - state.X), _largest(E - state.E), _largest(gap))  # step 6
    return State(X, E, Z, min(settings.rho * mu, settings.mu_max), Q, tau, residual)  # step 5


def steps(method: str, Y: np.ndarray, omega: np.ndarray, settings: Settings | None = None) -> Iterator[State]:
    """Run to the paper's stopping rule."""
    settings = settings or Settings()
    state = start(Y, settings)
    for _ in range(settings.max_steps):
        state = step(method, Y, omega, state, settings)
        yield state
        if state.residual <= settings.eps:
            return


def _largest(A: np.ndarray) -> float:
    return float(np.abs(A).max())


def _pca(T: np.ndarray) -> np.ndarray:
    """Return PCA(T, 3, r) with r = min(n1 n2, n3): the right singular vectors of T_(3), shape (n3, r)."""
    return np.linalg.svd(T.reshape(len(T), -1), full_matrices=False)[0]


def _shrink(G: np.ndarray, lam: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the slices with their singular values soft-thresholded, and the singular values before that."""
    U, S, Vh = np.linalg.svd(G, full_matrices=False)
    return (U * np.maximum(S - lam, 0)[:, None, :]) @ Vh, S


def _vmtqn(T: np.ndarray, lam: float, state: State, settings: Settings) -> tuple[np.ndarray, np.ndarray, None]:
    n3, n1, n2 = T.shape
    Q = _pca(T)
    G = (Q.T @ T.reshape(n3, -1)).reshape(-1, n1, n2)
    G, _ = _shrink(G, lam)
    return (Q @ G.reshape(len(G), -1)).reshape(T.shape), Q, None


def _tnn(T: np.ndarray, lam: float, state: State, settings: Settings) -> tuple[np.ndarray, None, None]:
    G = np.fft.fft(T, axis=0, norm="ortho")
    G, _ = _shrink(G, lam)
    return np.fft.ifft(G, axis=0, norm="ortho").real, None, None


def _motqn(T: np.ndarray, lam: float, state: State, settings: Settings) -> tuple[np.ndarray, np.ndarray, float]:
    """Descend the Moreau envelope of the Q-nuclear norm by Cayley steps, as ``qrank.priors.ManifoldDescent`` does.

    The curve search is the package's; the decompositions are dense SVDs. Q = V R with V = PCA(T) and R orthogonal,
    starting from V or, with ``go_on``, from the better of V and the last Q.
    """
    n3, n1, n2 = T.shape
    V = _pca(T)
    r = V.shape[1]
    base = V.T @ T.reshape(n3, -1)

    def value(R: np.ndarray) -> tuple[float, Any]:
        G = (R.T @ base).reshape(r, n1, n2)
        shrunk, S = _shrink(G, lam)
        huber = np.where(lam >= S, S * S / (2 * lam), S - lam / 2)
        return float(huber.sum()), (G, shrunk)

    def gradient(payload: Any) -> np.ndarray:
        G, shrunk = payload
        return base @ (G - shrunk).reshape(r, -1).T / lam

    R = np.eye(r)
    first = value(R)
    if settings.go_on and state.Q is not None:
        U, _, Vh = np.linalg.svd(V.T @ state.Q)
        last = U @ Vh
        if (at_last := value(last))[0] < first[0]:
            R, first = last, at_last
    found = stiefel.descend(value, gradient, R, first, settings.descents, state.tau)
    Q = V @ found.q
    _, shrunk = found.payload
    return (Q @ shrunk.reshape(r, -1)).reshape(T.shape), Q, found.tau


PROX = {"vmtqn": _vmtqn, "tnn": _tnn, "motqn": _motqn}


def settings_of(method: Any) -> Settings:
    """Return the settings of a configured method of the package."""
    return replace(
        Settings(),
        rho=method.rho,
        mu0=method.mu0 or Settings.mu0,
        mu_max=method.mu_max,
        eps=method.tol,
        descents=getattr(method, "descents", Settings.descents),
        go_on=getattr(method, "start", "pca") == "last",
        max_steps=method.max_steps,
    )


def resume(problem: Any, state: Any) -> State:
    """Return the state of the package, which is smaller, in the paper's notation and the data's unit.

    Off omega Z = 0 and E = -X; on it E = 0 and Z = mu (T - Y): see ``qrank.fit``.
    """
    Y, T, mu, omega = problem.stack, state.t, state.mu / problem.scale, problem.mask
    E = np.where(omega, 0.0, Y - T) * problem.scale
    Z = np.where(omega, T - Y, 0.0) * (problem.scale * mu)
    X = T * problem.scale
    X[omega] = np.concatenate(state.fit) * problem.scale
    if state.prior.q is None:  # nothing of the last Q is needed
        return State(X, E, Z, mu)
    return State(X, E, Z, mu, np.array(state.prior.q), state.prior.tau / problem.scale)
