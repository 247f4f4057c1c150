"""Penalties on the Q-singular values: the nuclear norm of the paper, and non-convex ones that spare large values.

A penalty is a function g of one singular value, used with weight lam (= 1/mu in the ADMM). It is given by

* ``prox(s, lam)``      = argmin_x  lam g(x) + (x - s)^2 / 2,
* ``envelope(s, lam)``  = min_x     g(x) + (x - s)^2 / (2 lam),  the Moreau envelope, whose derivative in s is
  (s - prox(s, lam)) / lam.

Every penalty is normalised alike: **prox sets to zero exactly the s <= lam.** So lam means the same for all of them, a
slice whose norm is at most lam vanishes whatever the penalty, and everything is equivariant to the data's scale:
prox(c s, c lam) = c prox(s, lam). A non-convex penalty keeps that by taking its shape relative to lam; it is then the
family g_lam that is followed as lam shrinks. ``mild`` says whether the answer depends little on how fast it does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from . import kernels
from .errors import InputError, KindError, nearest


class Penalty:
    """What all penalties share; ``prox`` and ``envelope`` are theirs. A new one is listed in `PENALTIES`."""

    name: ClassVar[str]
    mild: Any = False

    def prox(self, s: np.ndarray, lam: float) -> np.ndarray:
        """Return argmin_x lam g(x) + (x - s)^2 / 2, for every s >= 0."""
        raise AssertionError(f"{type(self).__name__} defines no prox")

    def envelope(self, s: np.ndarray, lam: float) -> np.ndarray:
        """Return min_x g(x) + (x - s)^2 / (2 lam)."""
        raise AssertionError(f"{type(self).__name__} defines no envelope")

    def slice_weights(self, norms: Callable[[], np.ndarray]) -> np.ndarray | None:
        """Return w_i, by which slice i is shrunk with w_i lam, from the slices' nuclear norms; None: all are 1."""
        return None


@dataclass(frozen=True)
class Nuclear(Penalty):
    """The paper's choice, g(x) = x: prox is the soft threshold (s - lam)_+.

    >>> Nuclear().prox(np.array([3.0, 0.5]), 1.0)
    array([2., 0.])
    """

    name: ClassVar[str] = "nuclear"
    mild = True

    def prox(self, s: np.ndarray, lam: float) -> np.ndarray:
        """Return (s - lam)_+."""
        return kernels.of(s).xp.maximum(s - lam, 0)

    def envelope(self, s: np.ndarray, lam: float) -> np.ndarray:
        """Return the Huber function: s^2 / (2 lam) up to lam, s - lam / 2 beyond."""
        return kernels.of(s).xp.where(s <= lam, s * s / (2 * lam), s - lam / 2)


@dataclass(frozen=True)
class PShrinkage(Penalty):
    """p-shrinkage (Chartrand 2012): prox is (s - lam^(2-p) s^(p-1))_+; p = 1 is the soft threshold.

    >>> PShrinkage(p=0.5).prox(np.array([4.0, 1.0]), 1.0)
    array([3.5, 0. ])
    """

    p: float = 0.5
    name: ClassVar[str] = "p-shrinkage"

    def __post_init__(self) -> None:
        if not -5 <= self.p <= 1 or self.p == 0:
            raise InputError(f"p-shrinkage needs p in [-5, 1] and not 0, not {self.p}")

    def prox(self, s: np.ndarray, lam: float) -> np.ndarray:
        """Return (s - lam^(2-p) s^(p-1))_+."""
        xp = kernels.of(s).xp
        big = xp.maximum(s, lam)  # also keeps 0 from a negative power
        return xp.where(s > lam, s - lam * (big / lam) ** (self.p - 1), 0)

    def envelope(self, s: np.ndarray, lam: float) -> np.ndarray:
        """Integrate (s - prox) / lam from 0 to s."""
        xp = kernels.of(s).xp
        big = xp.maximum(s, lam)
        return xp.where(s <= lam, s * s / (2 * lam), lam / 2 + lam * ((big / lam) ** self.p - 1) / self.p)


@dataclass(frozen=True)
class LogSum(Penalty):
    """Log-sum, g(x) = e log(1 + x / e) with e = epsilon lam and epsilon >= 1, so that the prox is continuous.

    prox solves x - s + lam e / (e + x) = 0 for its larger root.

    >>> LogSum(epsilon=2.0).prox(np.array([10.0, 1.0]), 1.0).round(4)
    array([9.831, 0.   ])
    """

    epsilon: float = 5.0
    name: ClassVar[str] = "log-sum"

    def __post_init__(self) -> None:
        if not self.epsilon >= 1:
            raise InputError(f"log-sum needs epsilon of at least 1, not {self.epsilon}")

    @property
    def mild(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether values must be far above lam before they are spared."""
        return self.epsilon >= 20

    def prox(self, s: np.ndarray, lam: float) -> np.ndarray:
        """Return the larger root of x^2 + (e - s) x + e (lam - s) = 0, or 0 for s <= lam."""
        e, xp = self.epsilon * lam, kernels.of(s).xp
        root = xp.sqrt(xp.maximum((s + e) ** 2 - 4 * lam * e, 0))
        return xp.where(s > lam, xp.maximum((s - e + root) / 2, 0), 0)

    def envelope(self, s: np.ndarray, lam: float) -> np.ndarray:
        """Return g(x) + (x - s)^2 / (2 lam) at x = prox(s, lam)."""
        x, e = self.prox(s, lam), self.epsilon * lam
        return e * kernels.of(s).xp.log1p(x / e) + (x - s) ** 2 / (2 * lam)


@dataclass(frozen=True)
class Schatten(Penalty):
    """Schatten-p, g(x) = c x^p with 0 < p < 1 and c chosen so that exactly s <= lam go to zero.

    prox solves x + lam c p x^(p-1) = s for its larger root by a fixed-point iteration (generalised soft threshold,
    Zuo et al. 2013); it jumps from 0 to 2 (1-p) / (2-p) lam at s = lam.

    >>> Schatten(p=0.5).prox(np.array([9.0, 1.0]), 1.0).round(3)
    array([8.909, 0.   ])
    """

    p: float = 0.8
    name: ClassVar[str] = "schatten"

    def __post_init__(self) -> None:
        if not 0 < self.p < 1:
            raise InputError(f"schatten needs p between 0 and 1, not {self.p}")

    def _weight(self, lam: float) -> float:
        # At s = lam the values at 0 and at the jump x = 2(1-p)/(2-p) lam agree: c = x^(1-p) / (2 (1-p)) in units of lam.
        jump = 2 * (1 - self.p) / (2 - self.p)
        return jump ** (1 - self.p) * jump / (2 * (1 - self.p)) * lam ** (1 - self.p)

    def prox(self, s: np.ndarray, lam: float) -> np.ndarray:
        """Return the larger root of x + lam c p x^(p-1) = s, or 0 for s <= lam."""
        pull = lam * self._weight(lam) * self.p
        xp = kernels.of(s).xp
        x = big = xp.maximum(s, lam)
        for _ in range(12):  # contracts by at most p / 2 a pass near the jump, much faster above it
            x = big - pull * x ** (self.p - 1)
        return xp.where(s > lam, x, 0)

    def envelope(self, s: np.ndarray, lam: float) -> np.ndarray:
        """Return c x^p + (x - s)^2 / (2 lam) at x = prox(s, lam)."""
        x = self.prox(s, lam)
        return self._weight(lam) * x**self.p + (x - s) ** 2 / (2 * lam)


@dataclass(frozen=True)
class Grouped(Penalty):
    """Log-sum within each slice, and sparing strong slices as well: a concave function of the slices' nuclear norms n_i.

    sum_i n_i^(1 - power) is bounded from above by its tangent, sum_i w_i n_i with w_i falling like n_i^(-power), and that
    is what a step shrinks by: slice i with lam w_i, w_i = (n_max / n_i)^power, n_i of the slices of T x_3 Q. What is
    weak in all of a slice is mostly what the holes have left there, and goes first.

    >>> Grouped().weights(np.array([16.0, 1.0])).round(4)
    array([1.    , 1.5157])
    """

    power: float = 0.15
    within: LogSum = LogSum()
    name: ClassVar[str] = "grouped"

    def __post_init__(self) -> None:
        if not 0 <= self.power < 1:
            raise InputError(f"grouped needs a power from 0 to below 1, not {self.power}")

    def weights(self, norms: np.ndarray) -> np.ndarray:
        """Return w_i >= 1 for the nuclear norms of the slices."""
        xp, most = kernels.of(norms).xp, float(norms.max()) if len(norms) else 0.0
        return (most / xp.maximum(norms, 1e-6 * most)) ** self.power if most > 0 else xp.ones_like(norms)

    def slice_weights(self, norms: Callable[[], np.ndarray]) -> np.ndarray | None:
        """Return w_i >= 1."""
        return self.weights(norms())

    def prox(self, s: np.ndarray, lam: float) -> np.ndarray:
        """Return the prox of log-sum."""
        return self.within.prox(s, lam)

    def envelope(self, s: np.ndarray, lam: float) -> np.ndarray:
        """Return the envelope of log-sum."""
        return self.within.envelope(s, lam)


PENALTIES: dict[str, type[Penalty]] = {kind.name: kind for kind in (Nuclear, PShrinkage, LogSum, Schatten, Grouped)}


def penalty_named(given: str | Penalty) -> Penalty:
    """Return a penalty from its name, with its parameter after a colon if wanted: ``"p-shrinkage:0.3"``.

    >>> penalty_named("p-shrinkage:0.3")
    PShrinkage(p=0.3)
    """
    if isinstance(given, Penalty):
        return given
    if not isinstance(given, str):
        raise KindError(f"penalty must be a name or a penalty object, not {type(given).__name__}")
    name, colon, parameter = given.partition(":")
    if name not in PENALTIES:
        raise InputError(f"unknown penalty '{name}'{nearest(name, PENALTIES)}")
    kind: Any = PENALTIES[name]
    if not colon:
        return kind()
    if not fields(kind):
        raise InputError(f"penalty '{name}' has no parameter, but '{parameter}' was given")
    try:
        options: dict[str, Any] = {fields(kind)[0].name: float(parameter)}
        return kind(**options)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"the parameter of penalty '{name}' must be a number, not '{parameter}'") from None
