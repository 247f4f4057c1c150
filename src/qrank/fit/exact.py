"""What is known is exact.

**Exact**, f = 0 where W = Y on Omega, is (28)-(30) of the paper, on a state that is smaller than its notation. In its
letters, T = Y - E + Z/mu, and

* off Omega:  E = -X and Z = 0 exactly after every step, so the next T is X itself;
* on Omega:   E = 0 and Z_k = Z_{k-1} + mu (Y - X) = mu (T - X), so the next T is Y + (mu / mu') (T - X).

So T and Y are the whole state: E, Z and the previous X need no arrays of their own. Over-relaxed by a (Eckstein and Bertsekas
1992), E and Z are made of X + a (X - Y + E) instead of X: off Omega the next T is X + a (X - T), and Z grows by (1 + a) mu (Y - X).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from .. import kernels
from ..kernels.memory import Workspace
from ..problem import Problem
from .base import Agreed, Fit


@dataclass(frozen=True)
class Exact(Fit):
    """X = Y on Omega. ``absolute``: the residuals of the paper's rule, largest entries in the data's unit.

    ``relax``: off Omega the next T is X + relax (X - T), so that what is known spreads in fewer steps. ``more``: by how much more
    than mu (Y - X) the multiplier grows.
    """

    exact: ClassVar[bool] = True
    absolute: bool = False
    relax: float = 0.0
    more: float = 0.0

    def beyond(self, relax: float, more: float) -> Exact:
        """Return the fit over-relaxed by so much, unless it goes beyond X already or follows the paper's rule."""
        return self if self.relax or self.absolute else replace(self, relax=relax, more=more)

    def start(self, problem: Problem, t: Any) -> Any:
        """Start from Z = 0. The state is X on Omega, at first 0, for the paper's rule only."""
        return kernels.of(t).known_entries(0 * t, problem.mask) if self.absolute else None

    def __call__(
        self, problem: Problem, t: Any, x: Any, lam: float, lam_next: float, state: Any, work: Workspace
    ) -> Agreed:
        """Make of X the next T; the memory of the last T is then the spare one."""
        r = kernels.of(t).advance(t, x, problem.stack, problem.mask, lam_next / lam, state, self.relax, self.more)
        work.lend("spare", t)
        dual = r.change / max(r.dual, 1e-300)
        if self.absolute:
            return Agreed(r.t, state, r.primal_max * problem.scale, dual, r.change_max * problem.scale)
        return Agreed(r.t, state, r.primal / problem.size, dual, r.change / problem.size)

    def answer(self, problem: Problem, t: Any, state: Any, work: Workspace) -> Any:
        """Return T off Omega; on Omega Y, where X itself is not kept."""
        x = kernels.of(t).copy(t, out=work.array("spare", t.shape, t.dtype))
        if state is None:
            return kernels.of(t).keep(x, problem.stack, problem.mask)
        return kernels.of(t).put_known(x, problem.mask, state)

    def restore(self, x: Any, given: Any, known: Any) -> Any:
        """Return x with every known entry exactly as it was given."""
        return kernels.of(given).keep(x, given, known)
