"""recover(): an array from linear measurements of any kind, by the same priors and the same loop."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..checkpoint import Journal
from ..choose import plane
from ..choose.measured import choose_measured
from ..errors import ConvergenceWarning, InputError, KindError
from ..fit import Measurement, Operator, first, least_norm, operator_of, seen_alone, smooth_axes
from ..methods import METHODS, Auto, Method
from ..methods.views import Views
from ..problem import Problem
from ..result import Completion, OnStep, Status
from ..tensor import Layout
from .answer import Answer, answered
from .complete import complete
from .inputs import check_on_step, checked_bounds, generator, method_of
from .progress import watching

ALIKE = 1e-9  # numbers by which entries are seen that are equal but for rounding


def recover(
    measurements: Any,
    operator: Any,
    shape: tuple[int, ...] | None = None,
    *,
    slice_axes: tuple[int, int] | None = None,
    method: str | Method = "auto",
    preset: str | None = None,
    on_step: OnStep | None = None,
    progress: bool = False,
    rng: np.random.Generator | int | None = 0,
    bounds: tuple[float | None, float | None] | None = None,
    **options: Any,
) -> Completion:
    """Recover an array X from b = Psi X, for any linear Psi: sums, blurs, a mosaic, coded apertures, random projections.

    Parameters
    ----------
    measurements
        b, m numbers, of any shape; with a mask the array itself (anything where it is not measured), or its known values in order.
    operator
        Psi: a boolean mask of the array's shape; a matrix, dense or sparse, of shape (m, product of ``shape``); anything with
        ``shape``, ``matvec`` and ``rmatvec`` (SciPy's LinearOperator, PyLops); or two functions (forward, adjoint), from an array of
        ``shape`` to b and back. Its adjoint is tested.
    shape
        That of the array; taken from a mask, and from ``dims`` where the operator has them.
    slice_axes, method, preset, on_step, progress, rng, bounds
        As for ``qrank.complete``. Methods that need known entries are refused in a sentence.
    **options
        Those of the method; ``noise``: the standard deviation of the measurements' errors (none: they are exact).

    Returns
    -------
    Completion
        ``x`` has the shape, and agrees with what was measured (with ``noise``: nearly); ``observed`` is False everywhere, unless
        the operator sees entries one by one, in whatever form it is given: then the answer is that of ``complete``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.einsum("i,j,k->ijk", rng.random(8), rng.random(9), rng.random(6))
    >>> psi = rng.standard_normal((200, x.size)) / 20
    >>> found = recover(psi @ x.ravel(), psi, x.shape, method="vmtqn")
    >>> bool(np.abs(found.x - x).max() < 1e-3)
    True
    """
    if isinstance(operator, np.ndarray) and operator.dtype == bool:
        y = _masked(measurements, operator, shape)
        given: dict[str, Any] = {
            "preset": preset,
            "on_step": on_step,
            "progress": progress,
            "rng": rng,
            "bounds": bounds,
        }
        return complete(y, operator, method, slice_axes, **given, **options)
    chosen = method_of(method, preset, options)
    check_on_step(on_step)
    b = _numbers(measurements)
    psi = operator_of(operator, shape)
    if b.size != psi.count:
        raise InputError(f"the operator makes {psi.count} measurements, and {b.size} are given")
    entries = _entries(b, psi, chosen)
    if entries is not None:
        given = {"on_step": on_step, "progress": progress, "rng": rng, "bounds": bounds}
        return complete(entries.y, entries.observed, entries.method, slice_axes, **given)
    if not (chosen.measures or isinstance(chosen, Auto)):
        able = ", ".join(["auto", *(name for name, one in METHODS.items() if one.measures)])
        raise InputError(
            f"method '{chosen.name}' needs known entries and cannot use other measurements; these can: {able}"
        )
    if isinstance(getattr(chosen, "noise", None), str):
        raise InputError("noise='auto' needs known entries: give the standard deviation of other measurements' errors")
    ordered = isinstance(chosen, Auto) or (isinstance(chosen, Views) and chosen.ordered)
    problem = measured_problem(b, psi, slice_axes, chosen.noise_level is None, ordered)
    low, high = checked_bounds(bounds, problem.y)
    rng = generator(rng)
    with watching(progress, chosen, on_step) as watched:
        found = _recovered(problem, chosen, rng, watched)
    if found.status in (Status.STEP_LIMIT, Status.DIVERGED):
        warnings.warn(str(found.status), ConvergenceWarning, stacklevel=2)
    x = problem.unscaled(np.array(found.x).reshape(problem.y.shape))
    if low is not None or high is not None:
        x = np.clip(x, low, high)
    nothing = np.zeros(x.shape, dtype=bool)
    about = (nothing, problem.layout.slice_axes, None, found.choice, nothing, chosen.noise_level)
    return Completion(x, found.status, found.records, chosen, found.transform, *about)


def _recovered(problem: Problem, method: Method, rng: np.random.Generator, on_step: OnStep | None) -> Answer:
    """Run a method, or what `auto` chooses of those that take measurements."""
    if not isinstance(method, Auto):
        return answered(problem, method, rng, on_step, Journal())
    x, status, records, choice = choose_measured(problem, method, rng, on_step, Journal())
    return Answer(x, status, records, choice=choice)


class Entries(NamedTuple):
    """A problem of known entries."""

    y: np.ndarray
    observed: np.ndarray
    method: Method


def _entries(b: np.ndarray, psi: Operator, method: Method) -> Entries | None:
    """Return the known entries that measurements come to, if each is seen alone; None: they are of another kind.

    Noise of measurements is that of entries if all are seen alike, and is divided by what they are multiplied by.
    """
    d = seen_alone(psi) if np.isfinite(b).all() else None
    if d is None:
        return None
    seen, level = d > 0, method.noise_level
    if level is None:
        least_norm(psi, b)  # which refuses what contradicts itself
    elif np.ptp(d[seen]) > ALIKE * d.max():
        return None
    elif math.isfinite(level):  # else it is to be estimated
        method = replace(method, noise=level / math.sqrt(float(d[seen].mean())))  # pyright: ignore[reportCallIssue]
    y = np.divide(psi.adjoint(b), d, out=np.zeros(psi.shape), where=seen)
    return Entries(y.astype(b.dtype, copy=False), seen, method)


def measured_problem(
    b: np.ndarray, psi: Any, slice_axes: tuple[int, int] | None, exact: bool = True, ordered: bool = False
) -> Problem:
    """Return the problem of measurements: scaled by a power of two, its y the smallest array that agrees with them.

    ``ordered``: neighbours may tell of each other; where they do, y is a smooth array that agrees.
    """
    least = least_norm(psi, b, exact)
    smooth = smooth_axes(psi, b) if ordered else ()
    start = first(psi, b, smooth, exact) if smooth else least
    largest = float(np.abs(least).max())
    exponent = math.frexp(largest)[1] if largest > 0 else 0
    if slice_axes is None:
        usual = Problem.of(start)
        order = usual.layout.rest + usual.layout.slice_axes
        slice_axes = plane(psi.shape, usual.smoothness[np.argsort(order)])
    layout = Layout.of(psi.shape, slice_axes)
    inner = psi.seen(layout.inner, layout.outer, layout.inner_shape)
    y = np.ldexp(np.ascontiguousarray(layout.inner(start)), -exponent).astype(b.dtype, copy=False)
    order = layout.rest + layout.slice_axes
    measured = Measurement(inner, np.ldexp(b, -exponent), tuple(order.index(axis) for axis in smooth))
    return Problem(y, np.ones(y.shape, dtype=bool), exponent, layout, measured=measured)


def _numbers(measurements: Any) -> np.ndarray:
    b = np.asarray(measurements)
    if b.dtype.kind not in "fiu":
        raise KindError(f"measurements must be real numbers, not of type {b.dtype}")
    if b.size == 0:
        raise InputError("there are no measurements: there is nothing to recover from")
    single = b.dtype.kind == "f" and b.dtype.itemsize <= 4
    return b.reshape(-1).astype(np.float32 if single else np.float64)


def _masked(measurements: Any, mask: np.ndarray, shape: Any) -> Any:
    """Return the array of which the mask says what is known."""
    if shape is not None and tuple(shape) != mask.shape:
        raise InputError(f"the mask has shape {mask.shape}, and shape says {tuple(shape)}")
    given = np.shape(measurements)
    if given == mask.shape:
        return measurements
    known = int(np.count_nonzero(mask))
    if math.prod(given) != known:
        raise InputError(
            f"the mask of shape {mask.shape} knows {known} entries, and there are measurements of shape {given}"
        )
    b = _numbers(measurements)
    y = np.zeros(mask.shape, b.dtype)
    y[mask] = b
    return y
