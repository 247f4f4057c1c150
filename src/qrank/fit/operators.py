"""Linear measurements: whatever a caller calls an operator, as a pair of functions on arrays, checked before it is believed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import scipy.sparse

from ..errors import InputError, KindError

PROBES = 3  # random vectors that an operator is looked at with
LEAST = 1e-70  # what an operator makes must be so large, and not larger than one over it: its square is squared
TOO_FAR = (
    "the operator makes numbers of size {:.3g}, whose squares are none: divide it and the measurements by a number"
)
EMPTY = 1e-12  # of the largest of the numbers by which entries are seen; those with less are not seen
ALIKE = (
    100.0  # so many times the rounding of the type, times the root of its size, may two numbers differ that are equal
)


@dataclass(frozen=True, eq=False)
class Operator:
    """Psi, from arrays of ``shape`` to vectors of ``count`` numbers.

    ``tight`` is c where Psi Psi^T = c I, else None; ``gain`` the root mean square of what Psi makes of a unit vector that it sees.

    >>> psi = operator_of(np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]]), (1, 3))
    >>> psi.forward(np.array([[1.0, 2.0, 3.0]])), psi.tight
    (array([ 3., -1.]), 2.0)
    """

    shape: tuple[int, ...]
    count: int
    forward: Callable[[Any], Any] = field(repr=False)
    adjoint: Callable[[Any], Any] = field(repr=False)
    tight: float | None = None
    gain: float = 1.0

    def rows(self, kept: np.ndarray) -> Operator:
        """Return the measurements at some positions alone; of a tight operator they are so, too.

        >>> operator_of(np.eye(4), (2, 2)).rows(np.array([0, 3])).forward(np.arange(4.0).reshape(2, 2))
        array([0., 3.])
        """

        def adjoint(v: np.ndarray) -> np.ndarray:
            whole = np.zeros(self.count, v.dtype)
            whole[kept] = v
            return self.adjoint(whole)

        return Operator(self.shape, len(kept), lambda x: self.forward(x)[kept], adjoint, self.tight, self.gain)

    def seen(self, arranged: Callable[[Any], Any], back: Callable[[Any], Any], shape: tuple[int, ...]) -> Operator:
        """Return the same for arrays whose axes are in another order: ``back`` gives them in Psi's own."""
        forward, adjoint = self.forward, self.adjoint
        return Operator(
            shape,
            self.count,
            lambda x: forward(back(x)),
            lambda v: np.ascontiguousarray(arranged(adjoint(v))),
            self.tight,
            self.gain,
        )


def operator_of(given: Any, shape: tuple[int, ...] | None = None, rng: Any = 0) -> Operator:
    """Return what is given as an operator, after the adjoint test: <Psi x, v> = <x, Psi^T v> for random x and v.

    It may be a matrix, dense or sparse, (m, product of the shape); anything with ``shape``, ``matvec`` and ``rmatvec`` (SciPy's
    LinearOperator; PyLops, whose ``dims`` are the shape); or a pair of functions (forward, adjoint), which needs ``shape``.
    """
    if isinstance(given, Operator):
        return given
    forward, adjoint, own = _functions(given)
    shape = _checked_shape(shape if shape is not None else own, given)
    size = math.prod(shape)
    columns = getattr(given, "shape", (None, size))[1]
    if columns != size:
        raise InputError(
            f"the operator takes {columns} numbers, and an array of shape {shape} has {size}: give its shape"
        )
    rng = np.random.default_rng(rng)
    first = _called(forward, rng.standard_normal(shape), "forward function")
    found = Operator(
        shape,
        first.size,
        lambda x: _vector(forward(x), first.size, "the operator"),
        lambda v: _vector(adjoint(v), size, "its adjoint").reshape(shape),
    )
    _test_adjoint(found, rng)
    return _probed(found, rng)


def seen_alone(psi: Operator) -> np.ndarray | None:
    """Return the diagonal d of Psi^T Psi, of the operator's shape, where it has nothing beside it; None: it has.

    Then every entry is known by itself or not at all: X is Psi^T b / d where d > 0. That is so of a mask, with any signs and weights,
    and of repeated measurements of the same entries.

    >>> d = seen_alone(operator_of(np.array([[0.0, -2.0, 0.0], [1.0, 0.0, 0.0]]), (1, 3)))
    >>> None if d is None else d.tolist(), seen_alone(operator_of(np.ones((1, 3)), (1, 3)))
    ([[1.0, 4.0, 0.0]], None)
    """
    rng = np.random.default_rng(0)
    d = np.array(psi.adjoint(psi.forward(np.ones(psi.shape))), dtype=float)
    d[np.abs(d) <= EMPTY * np.abs(d).max()] = 0.0
    if (d < 0).any():
        return None
    for _ in range(PROBES):
        x = rng.standard_normal(psi.shape)
        found = psi.adjoint(psi.forward(x))
        eps = np.finfo(found.dtype).eps if found.dtype.kind == "f" else np.finfo(float).eps
        if np.linalg.norm(found - d * x) > ALIKE * eps * np.linalg.norm(d * x):
            return None
    return d


def _functions(given: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any], Any]:
    """Return forward on an array, the adjoint on a vector, and the shape that the operator itself tells, or None."""
    if isinstance(given, tuple | list) and len(given) == 2 and all(callable(one) for one in given):
        return given[0], given[1], None
    given = cast(Any, given)
    if all(hasattr(given, name) for name in ("shape", "matvec", "rmatvec")):
        return lambda x: given.matvec(x.reshape(-1)), given.rmatvec, getattr(given, "dims", None)
    if scipy.sparse.issparse(given) or isinstance(given, np.ndarray):
        if given.ndim != 2 or given.dtype.kind not in "fiu":
            raise KindError(
                f"an operator given as a matrix has two axes and real numbers, not {given.ndim} and {given.dtype}"
            )
        turned: Any = given.T
        if scipy.sparse.issparse(given):
            turned = turned.tocsr()
        return lambda x: given @ x.reshape(-1), lambda v: turned @ v, None
    raise KindError(
        "an operator is a boolean mask, a matrix, something with shape, matvec and rmatvec, or two functions, forward and"
        f" adjoint; not {type(given).__name__}"
    )


def _checked_shape(shape: Any, given: Any) -> tuple[int, ...]:
    if shape is None:
        raise InputError("shape is needed: that of the array that was measured")
    try:
        shape = tuple(int(n) for n in shape)
    except (TypeError, ValueError):
        raise InputError(f"shape must be the lengths of the axes, not {shape!r}") from None
    if len(shape) < 2 or min(shape) < 1:
        raise InputError(f"shape must be that of an array of two or more axes, none of length 0, not {shape}")
    return shape


def _called(function: Callable[[Any], Any], x: np.ndarray, what: str) -> np.ndarray:
    try:
        found = np.asarray(function(x))
    except Exception as error:
        raise InputError(f"the operator's {what} fails on an array of shape {x.shape}: {error}") from error
    if found.dtype.kind not in "fiub" or found.size == 0:
        raise KindError(f"the operator's {what} must give real numbers, not {found.size} of type {found.dtype}")
    return found


def _vector(found: Any, size: int, what: str) -> np.ndarray:
    found = np.asarray(found)
    if found.size != size:
        raise InputError(f"{what} gave {found.size} numbers, and {size} were expected")
    return found.reshape(-1)


def _test_adjoint(psi: Operator, rng: np.random.Generator) -> None:
    """Refuse what is no pair of adjoints, with the two numbers that ought to be equal."""
    x, v = rng.standard_normal(psi.shape), rng.standard_normal(psi.count)
    y, back = psi.forward(x), psi.adjoint(v)
    if not (np.isfinite(y).all() and np.isfinite(back).all()):
        raise InputError("the operator gives values that are not finite")
    largest = [float(np.abs(made).max()) for made in (y, back) if made.any()]
    if any(not LEAST < one < 1 / LEAST for one in largest):
        raise InputError(TOO_FAR.format(max(largest)))
    one, other = float(y @ v), float(np.vdot(x, back))
    size = float(np.linalg.norm(y) * np.linalg.norm(v) + np.linalg.norm(x) * np.linalg.norm(back))
    eps = max(np.finfo(a.dtype).eps if a.dtype.kind == "f" else np.finfo(float).eps for a in (y, back))
    if abs(one - other) > ALIKE * eps * size:
        raise InputError(
            f"the adjoint is none: <Psi x, v> = {one:.9g} and <x, Psi^T v> = {other:.9g} ought to be equal for random x and v"
        )


def _probed(psi: Operator, rng: np.random.Generator) -> Operator:
    """Find out whether Psi Psi^T is a multiple of the identity: then it is so for a few random vectors, and on average."""
    gains, tight = [], True
    for _ in range(PROBES):
        v = rng.standard_normal(psi.count)
        w = psi.forward(psi.adjoint(v))
        c = float(v @ w) / float(v @ v)
        eps = np.finfo(w.dtype).eps if w.dtype.kind == "f" else np.finfo(float).eps
        tight &= bool(np.linalg.norm(w - c * v) <= ALIKE * eps * math.sqrt(psi.count) * np.linalg.norm(w))
        gains.append(c)
    c = float(np.mean(gains))
    if not math.isfinite(c):
        raise InputError(TOO_FAR.format(c))
    if c == 0:
        raise InputError("the operator measures nothing: Psi Psi^T is zero")
    tight &= max(gains) - min(gains) <= 1e-6 * c
    rounded = round(c) if abs(c - round(c)) < 1e-9 * c else c
    return Operator(psi.shape, psi.count, psi.forward, psi.adjoint, float(rounded) if tight else None, math.sqrt(c))
