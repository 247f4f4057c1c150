"""QNorm: the penalty of the Q-singular values, under a fixed or a learned Q.

    X = argmin_X  lam sum_i g(sigma_i(X x_3 Q)) + 1/2 ||X - T||_F^2,    X in the span of Q            (27), Algorithm 3

is Q^T prox_g Q: G = T x_3 Q, every slice of it shrunk, and back. Where Q has fewer columns than rows, X is confined to its
span (the paper's section on the influence of r); Algorithm 3's residual term, `qrank.prox_q_nuclear`, would leave
everything else unpenalised. Who chooses Q is a *learner*: nobody (here), `variance.py` or `descent.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..kernels.memory import Workspace
from ..penalties import Penalty
from ..transforms import Matrix, Transform
from .base import Prior, Proxed


class QState(NamedTuple):
    """What a step hands to the next."""

    k: int = 0  # steps done
    q: Any = None  # (n3, r): the last Q, where it is needed again
    tau: float = 0.0  # the last accepted step of a descent
    rest: int = 0  # updates of Q before the next descent


def prox_under(q: Transform, t: np.ndarray, lam: float, penalty: Penalty, state: QState, work: Workspace) -> Proxed:
    """Return X under a given Q; G is made in the spare array, and X in its place."""
    q = q.packed
    g = q.forward(t, out=work.array("spare", (q.r, *t.shape[1:]), t.dtype))
    shrunk = kernels.of(g).shrink(g, lam, penalty, q.multiplicity)
    x = q.backward(shrunk.g, out=work.array("spare", t.shape, t.dtype))
    return Proxed(x, state, shrunk.value, q.counted(shrunk.ranks), q.counted(shrunk.ranks > 0))


class Learner:
    """Chooses a Q of r columns for T, and shrinks under it."""

    r: int

    def start(self, t: np.ndarray, work: Workspace) -> QState:
        """Return the state before the first step."""
        return QState()

    def size(self, t: np.ndarray, state: QState, work: Workspace) -> float:
        """Return the largest singular value under the transform that a run starts from, T's own principal directions."""
        return kernels.of(t).spectral_norm(kernels.of(t).under_principal(t, self.r))

    def prox(self, t: np.ndarray, lam: float, penalty: Penalty, state: QState, work: Workspace) -> Proxed:
        """Return X under the Q of its choice."""
        raise AssertionError(f"{type(self).__name__} defines no prox")

    def transform(self, x: np.ndarray, spare: np.ndarray, state: QState, work: Workspace) -> Transform | None:
        """Return the transform that the run ended with: the last Q that was kept."""
        return None if state.q is None else Matrix(state.q)


@dataclass(frozen=True, eq=False)
class Fixed(Learner):
    """A fixed transform is a learned one whose learner does nothing; a function makes it when the run starts."""

    given: Transform | Callable[[np.random.Generator], Matrix]

    def start(self, t: np.ndarray, work: Workspace) -> QState:
        """Return the state, which keeps the transform if it had to be made."""
        return (
            QState()
            if isinstance(self.given, Transform)
            else QState(q=kernels.of(t).brought(self.given(work.rng).matrix))
        )

    def size(self, t: np.ndarray, state: QState, work: Workspace) -> float:
        """Return the largest singular value under the transform."""
        q = self.transform(t, t, state, work).packed
        return kernels.of(t).spectral_norm(q.forward(t), q.multiplicity)

    def prox(self, t: np.ndarray, lam: float, penalty: Penalty, state: QState, work: Workspace) -> Proxed:
        """Return X under the transform."""
        return prox_under(self.transform(t, t, state, work), t, lam, penalty, state, work)

    def transform(self, x: np.ndarray, spare: np.ndarray, state: QState, work: Workspace) -> Transform:
        """Return the transform itself."""
        return self.given if isinstance(self.given, Transform) else Matrix(state.q)


@dataclass(frozen=True, eq=False)
class QNorm(Prior):
    """The prior of the paper: a learner and a penalty; Q is chosen anew in every K-th step."""

    learner: Learner
    penalty: Penalty
    update_every: int = 1  # the paper's K

    def start(self, t: np.ndarray, work: Workspace) -> QState:
        """Return the learner's state before the first step."""
        return self.learner.start(t, work)

    def size(self, t: np.ndarray, state: QState, work: Workspace) -> float:
        """Return the largest singular value under the transform that a run starts from."""
        return self.learner.size(t, state, work)

    def __call__(self, t: np.ndarray, lam: float, state: QState, work: Workspace) -> Proxed:
        """Return X; in steps k with k mod K = K - 1, and in the first, under a new Q."""
        k = state.k + 1
        if k == 1 or k % self.update_every == self.update_every - 1:
            found = self.learner.prox(t, lam, self.penalty, state, work)
        else:
            found = prox_under(Matrix(state.q), t, lam, self.penalty, state, work)
        return found._replace(state=found.state._replace(k=k))

    def transform(self, x: np.ndarray, spare: np.ndarray, state: QState, work: Workspace) -> Transform | None:
        """Return the transform that the run ended with."""
        return self.learner.transform(x, spare, state, work)
