"""Where a run starts that goes on from an earlier answer: that answer, and what new slices are like beside it.

A new slice is filled in two ways: from the directions in which the earlier slices vary (`kernels.against`), with what that leaves
smoothed into it, and from the known entries nearby, the earlier slices being known; `views` looks at the new slices and those of
the earlier ones that are most like them instead. A few known entries that are hidden from both tell how much of each is taken.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import InputError
from ..kernels.against import subspace_of
from ..kernels.smoothing import smooth_fill
from ..methods import METHODS, Auto, Method
from ..methods.gaussian import GaussianPatches
from ..methods.views import Views
from ..problem import Problem
from ..result import Completion
from ..run import Run
from ..tensor import Layout

MOST = 200  # earlier slices, the last ones, that new ones are compared with
NEARBY, LAST = 12, 2  # earlier slices at least that are looked at beside new ones; how many of these are the last
PIECE = 64  # earlier slices that are compared at a time
HIDDEN, TELLING = (
    0.05,
    200,
)  # share of the known entries of new slices that tell which fill is nearer; how many at least
UNLIKE = 0.5  # fills that miss by more than this part of the standard deviation are not worth starting from
FEW = 20  # hidden entries that tell nothing
STEPS = 16  # of `views` on new slices and few others


def started(problem: Problem, method: Method, start: Completion, rng: np.random.Generator) -> Problem:
    """Return the problem with an earlier answer to start from, new slices at the end of one axis filled.

    Where these are not like the earlier ones, so that neither way of filling them comes near what is hidden, there is nothing to
    go on from: the problem is returned as it is, and the run is a new one.
    """
    _check(problem, method, start)
    layout, old = problem.layout, np.ma.getdata(np.asanyarray(start.x))
    longer = [axis for axis, (n, m) in enumerate(zip(old.shape, layout.shape, strict=True)) if n != m]
    inner = Layout.of(old.shape, layout.slice_axes).inner(old)
    old = np.ldexp(inner.astype(problem.y.dtype), -problem.exponent)
    if longer:
        along = (layout.rest + layout.slice_axes).index(longer[0])
        thorough = isinstance(method, Auto | Views | GaussianPatches)
        new = _filled(problem, old, along, thorough, rng)
        if new is None:
            return problem
        old = np.concatenate([old, new], axis=along)
    return replace(problem, start=np.ascontiguousarray(old))


def _check(problem: Problem, method: Method, start: Completion) -> None:
    """Say in a sentence why a run cannot start from what is given."""
    if not isinstance(problem.y, np.ndarray):
        raise InputError(f"a run starts from an earlier one for NumPy arrays only, not {type(problem.y).__name__}")
    if isinstance(method, Auto):
        if start.choice is None or start.choice.plan is None:
            raise InputError("method 'auto' goes on from a result of 'auto' only: name the method of the earlier run")
    elif not method.resumes:
        raise InputError(f"method '{method.name}' cannot go on from an earlier answer")
    old, shape = np.shape(start.x), problem.layout.shape
    longer = sum(n != m for n, m in zip(old, shape, strict=False))
    if len(old) != len(shape) or longer > 1 or any(n > m for n, m in zip(old, shape, strict=True)):
        raise InputError(
            f"the earlier answer has shape {old}, the array {shape}: it may be longer at the end of one axis, and no more"
        )


def _filled(
    problem: Problem, old: np.ndarray, along: int, thorough: bool, rng: np.random.Generator
) -> np.ndarray | None:
    """Return the new slices, scaled, slices last, filled, or None; ``along`` is the axis at whose end they are."""
    y, known = (np.moveaxis(a, along, 0) for a in (problem.y, problem.observed))
    old = np.moveaxis(old, along, 0)
    n = len(old)
    part = min(max(HIDDEN, TELLING / max(np.count_nonzero(known[n:]), 1)), 0.3)
    hidden = known[n:] & (rng.random(known[n:].shape) < part)
    seen, y = known[n:] & ~hidden, y[n:]
    if not seen.any():
        return np.moveaxis(np.repeat(old[-1:], len(y), axis=0), 0, along)
    first, second = _by_directions(old, y, seen), _by_nearby(problem, old, y, seen, along, rng if thorough else None)
    share = 0.5
    if np.count_nonzero(hidden) >= FEW:
        apart, miss = (a[hidden].astype(float) - second[hidden] for a in (first, y))
        share = float(np.clip(apart @ miss / max(float(apart @ apart), 1e-300), 0, 1))
        if np.sqrt(np.square(miss - share * apart).mean()) > UNLIKE * max(y[hidden].std(dtype=float), 1e-9):
            return None
    found = np.where(known[n:], y, share * first + (1 - share) * second).astype(problem.y.dtype)
    return np.moveaxis(found, 0, along)


def _by_directions(old: np.ndarray, y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return new slices from the directions in which the earlier ones vary, what is left of what is known smoothed in."""
    flat = subspace_of(old[-MOST:].reshape(len(old[-MOST:]), -1)).completed(
        y.reshape(len(y), -1), known.reshape(len(y), -1)
    )
    found = flat.reshape(y.shape)
    left = np.where(known, y - found, 0)
    return found + np.stack(
        [smooth_fill(one, on) if on.any() else 0 * one for one, on in zip(left, known, strict=True)]
    )


def _by_nearby(
    problem: Problem,
    old: np.ndarray,
    y: np.ndarray,
    known: np.ndarray,
    along: int,
    rng: np.random.Generator | None,
) -> np.ndarray:
    """Return new slices from the entries around them, those like them being known in full; by `views` if there is an rng."""
    few = old[_like(old, y, known, max(NEARBY, len(y)))]
    values = np.moveaxis(np.concatenate([few, np.where(known, y, 0)]), 0, along)
    there = np.moveaxis(np.concatenate([np.ones(few.shape, bool), known]), 0, along)
    values, there = np.ascontiguousarray(values), np.ascontiguousarray(there)
    if rng is not None:
        axes = (problem.y.ndim - 2, problem.y.ndim - 1)
        alone = Problem(values, there, 0, Layout.of(values.shape, axes))
        found = np.array(Run(alone, METHODS["views"].configured(steps=STEPS), rng).finished()).reshape(values.shape)
    else:
        found = smooth_fill(values, there)
    return np.moveaxis(found, along, 0)[len(few) :]


def _like(old: np.ndarray, y: np.ndarray, known: np.ndarray, count: int) -> np.ndarray:
    """Return in their order the earlier slices (m, ...) to look at beside new ones (k, ...): the last, and the nearest to any of these.

    The distance of two is that at the entries which are known of the new one.
    """
    on = known.reshape(len(y), -1).astype(old.dtype)
    rows = np.where(known, y, 0).reshape(len(y), -1)
    away = np.concatenate(  # and the same for all earlier ones
        [
            np.square(flat) @ on.T - 2 * flat @ rows.T
            for flat in (old[k : k + PIECE].reshape(-1, on.shape[1]) for k in range(0, len(old), PIECE))
        ]
    )
    nearest = np.argsort(away, axis=0).ravel()  # of each new slice the nearest, then of each the second
    return np.sort(list(dict.fromkeys([*range(max(0, len(old) - LAST), len(old)), *nearest.tolist()]))[:count])
