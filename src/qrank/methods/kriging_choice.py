"""What kriging does not get told, it finds by holding out whole known fibres: which axis is time, a, p, number of steps.

Every setting is run without the held-out fibres until Kt is learned, which is cheap; the two that predict them best go on,
and the best of their steps is taken. The held-out fibres are one in seven of the known ones, drawn so that no place
and no time loses all it has, unless that is what the holes are like: then whole times, or places, are held out. It is done
with FOLDS such draws at once, each run without its own: one alone is led by the luck of a few fibres.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, KindError
from ..kernels.memory import Workspace
from ..problem import Problem
from ..run import Run
from .base import Method
from .fibres import arranged, fibre_axes, known_fibres, restored

ENOUGH = 12  # known fibres without which there is nothing to choose by
SHARE = 1 / 7
FOLDS = 2
KEPT = 2  # settings that go on after Kt is learned
AT_MOST = 30  # steps of EM for Ks and Kt
ALL = 200  # steps of a trial, at most: more than there are
PATIENCE = 4  # steps without a held-out error that is better by the share WORTH
WORTH = 0.002
BEHIND = 0.01  # share by which the second setting may be worse than the first after the same steps


class Settings(NamedTuple):
    """How the array is seen, and the model's own settings."""

    a: float
    p: float
    steps: int
    order: tuple[int, ...]  # axes of the problem's y: places, times, fibre
    split: tuple[int, int]  # how many of them are places, times
    times: int  # the axis of the caller's array
    axis: tuple[int, ...]


def choose(method: Any, problem: Problem, work: Workspace) -> Settings:
    """Return the settings that are given, and of the others those that predict held-out fibres best."""
    outer = problem.layout.rest + problem.layout.slice_axes  # the caller's axis of each axis of y
    axis = _axes(method.axis, problem, outer)
    others = [i for i in outer if i not in axis]
    if method.times is not None and method.times % len(outer) not in others:
        raise InputError(f"times = {method.times} must be an axis of the array other than that of its fibres, {axis}")
    long = [i for i in sorted(others) if problem.layout.shape[i] > 1] or sorted(others)
    times = long[::-1] if method.times is None else [method.times % len(outer)]
    short = [i for i in times if problem.layout.shape[i] <= method.largest]
    seen = [_settings(method, i, axis, outer) for i in short or times]
    if method.times is not None or len(seen) == 1:
        seen = seen[:1]
    if len(seen) == 1 and None not in (method.a, method.p, method.steps):
        return seen[0]
    folds = [held_out(problem, seen[0], work.rng) for _ in range(FOLDS)]
    hidden = [one for one in folds if one is not None]
    return _best(method, seen, problem, hidden) if hidden else seen[0]


def _axes(given: Any, problem: Problem, outer: tuple[int, ...]) -> tuple[int, ...]:
    """Return the caller's axes that fibres lie along."""
    d = len(outer)
    if given is None:
        return tuple(sorted(outer[i] for i in fibre_axes(problem.observed)))
    axes = tuple(given) if isinstance(given, list | tuple) else (given,)
    if any(isinstance(i, bool) or not isinstance(i, int | np.integer) for i in axes):
        raise KindError(f"axis must be an axis or some axes of the array, not {given!r}")
    if any(not -d <= i < d for i in axes) or not 0 < len({i % d for i in axes}) < d:
        raise InputError(f"axis = {given} must be one or some, not all, of the axes 0 to {d - 1} of the array")
    return tuple(sorted({int(i) % d for i in axes}))


def _settings(method: Any, times: int, axis: tuple[int, ...], outer: tuple[int, ...]) -> Settings:
    """Return the settings with this axis as time; what is neither given nor chosen yet as it is usually good."""
    places = [i for i in sorted(outer) if i != times and i not in axis]
    order = tuple(outer.index(i) for i in (*places, times, *axis))
    a, p, steps = (usual if x is None else x for x, usual in ((method.a, 0.5), (method.p, 1.0), (method.steps, 5)))
    return Settings(float(a), float(p), int(steps), order, (len(places), 1), times, axis)


def held_out(problem: Problem, settings: Settings, rng: np.random.Generator) -> np.ndarray | None:
    """Return where entries are held out (y's shape): whole known fibres; None where there are too few."""
    on = arranged(problem.observed, settings.order, settings.split)
    known = known_fibres(on)
    if known.sum() < ENOUGH:
        return None
    lost, hidden = ~on.any(2), np.zeros_like(known)
    for along in (0, 1):  # whole times, whole places
        gone = np.all(lost, axis=along)
        if 2 * gone.sum() * known.shape[along] > max(1, lost.sum()) and (~gone).sum() >= 4:
            chosen = rng.choice(np.flatnonzero(~gone), max(1, round(SHARE * (~gone).sum())), replace=False)
            np.moveaxis(hidden, 1 - along, 0)[chosen] = True
            break
    else:
        left, most = known.copy(), max(1, round(SHARE * known.sum()))
        for s, t in rng.permutation(np.argwhere(known)):
            if hidden.sum() < most and left[s].sum() > 1 and left[:, t].sum() > 1:
                left[s, t], hidden[s, t] = False, True
    hidden &= known
    if not hidden.any() or not (known & ~hidden).any():
        return None
    return (
        restored(np.broadcast_to(hidden[:, :, None], on.shape), settings.order, problem.y.shape, bool)
        & problem.observed
    )


def _best(method: Method, seen: list[Settings], problem: Problem, hidden: list[np.ndarray]) -> Settings:
    """Return the best of all settings by their errors on the held-out entries of all folds."""
    without = [replace(problem, y=np.where(one, 0, problem.y), observed=problem.observed & ~one) for one in hidden]

    def trial(settings: Settings) -> tuple[float, Settings, Iterator[tuple[float, int]]]:
        errors = _errors(method, settings, problem.y, without, hidden)
        return next(errors, (math.inf, 0))[0], settings, errors  # none where a run diverged

    options: Any = method
    trials = [trial(one) for one in seen]  # first: which axis is time
    base = min(trials, key=lambda one: one[0])[1]
    trials = [one for one in trials if one[1] is base]
    for p in [1.0, 0.5] if options.p is None and problem.y.min() >= 0 else [base.p]:
        for a in [0.0, 0.5, 1.0] if options.a is None else [base.a]:
            if (a, p) != (base.a, base.p):
                trials.append(trial(base._replace(a=a, p=p)))
    best, chosen, pacemaker = math.inf, base, []
    for first, settings, errors in sorted(trials, key=lambda one: one[0])[:KEPT]:
        least, since, seen_errors = first, 0, []
        for error, steps in errors:
            seen_errors.append(error)
            if error < best:
                best, chosen = error, settings._replace(steps=steps)
            least, since = (error, 0) if error < (1 - WORTH) * least else (least, since + 1)
            behind = steps >= 2 and steps < len(pacemaker) and error > (1 + BEHIND) * pacemaker[steps]
            if options.steps is None and (since >= PATIENCE or behind):
                break
        pacemaker = pacemaker or seen_errors
    return chosen if options.steps is None else chosen._replace(steps=options.steps)


def _errors(
    method: Method, settings: Settings, truth: np.ndarray, without: list[Problem], hidden: list[np.ndarray]
) -> Iterator[tuple[float, int]]:
    """Yield the held-out error once Kt is learned, and after every step from there on, with the number of steps."""
    folds = [_squares(method, settings, truth, one, held) for one, held in zip(without, hidden, strict=True)]
    entries = sum(int(one.sum()) for one in hidden)
    for found in zip(*folds, strict=False):  # until the first of them has ended
        yield math.sqrt(sum(square for square, _ in found) / entries), max(learned for _, learned in found)


def _squares(
    method: Method, settings: Settings, truth: np.ndarray, without: Problem, hidden: np.ndarray
) -> Iterator[tuple[float, int]]:
    """Yield the squared errors of one fold, summed up, with the number of steps."""
    steps = AT_MOST if getattr(method, "steps", None) is None else min(settings.steps, AT_MOST)
    given = {"a": settings.a, "p": settings.p, "times": settings.times, "axis": settings.axis, "steps": steps}
    run = Run(without, replace(method, **given, max_steps=ALL), rng=0)
    for state, _ in run:
        if state.learned is None:
            continue
        yield float(np.square(run.answer()[hidden] - truth[hidden].astype(float)).sum()), state.learned
