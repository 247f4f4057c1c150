"""Which two axes are the sides of a picture: by names, by the shape and how smooth the data are, or by trying.

A trailing axis of 3 or 4 is colour. Of the others the two are taken that are most alike in length and smoothness. Where another
pair is nearly as much alike, each is tried: a part of the data is completed with some known entries hidden.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..choose import SHORT, part, planes
from ..errors import ConvergenceWarning
from ..files.loaded import plane_of_labels
from ..methods import METHODS
from ..problem import Problem
from ..run import Run
from .labels import names_of

UNSURE = 0.8  # a pair that has so much of the best one's score may be the better one
TRIED_ON = 30_000  # entries of the part of the data that pairs are tried on
HIDDEN = 0.1  # share of the known entries that is hidden from the trials
CLEARLY = 0.97  # another pair is taken if its error is less than this part of the first one's
STEPS = 40  # of a trial, at most


class Guess(NamedTuple):
    """The axes of a slice, and why these."""

    axes: tuple[int, int]
    why: str


def guessed_axes(y: Any, observed: Any = None, tries: bool = True) -> tuple[int, int]:
    """Return the two axes that are most like the sides of a picture, from labels, lengths and how smooth the data are.

    >>> rows, columns = np.mgrid[:30, :40] / 10
    >>> guessed_axes(np.random.default_rng(0).random((25, 1, 1)) * np.sin(rows + columns))
    (1, 2)
    """
    named = plane_of_labels(names_of(y), getattr(y, "coords", {})) if names_of(y) else None
    return guess(y, observed, tries=tries).axes if named is None else named


def guess(y: Any, observed: Any = None, names: Sequence[str] = (), tries: bool = True) -> Guess:
    """Return the axes of a slice, and why these, in words in which axes have these names; ``tries``: pairs may be tried.

    >>> rows, columns = np.mgrid[:30, :40] / 10
    >>> clip = np.random.default_rng(0).random((9, 1, 1, 1)) * np.sin(rows + columns)[..., None] * np.ones(3)
    >>> guess(clip).why
    '30 x 40 are most alike in length and smoothness; the last axis, of 3, is colour'
    """
    kind, shape = kernels.of(y), tuple(np.shape(y))
    y, observed = kind.glimpse(y, kind.known(y, observed))  # of what is not in memory, a part
    problem = Problem.of(y, observed)
    order = problem.layout.rest + problem.layout.slice_axes
    ranked = planes(shape, problem.smoothness[np.argsort(order)])
    colour = f"; the last axis, of {shape[-1]}, is colour" if len(shape) > 2 and shape[-1] in (3, SHORT) else ""
    near = [pair for score, pair in ranked if score >= UNSURE * ranked[0][0]]
    if len(near) == 1 or not tries or problem.count < 1 / HIDDEN or not isinstance(problem.y, np.ndarray):
        first = near[0]
        sides = " x ".join(str(shape[axis]) for axis in first)
        if len(shape) == 2:
            return Guess(first, "there are two axes")
        return Guess(first, f"{sides} are most alike in length and smoothness{colour}")
    errors = {pair: _error(y, observed, pair) for pair in near}
    best = min(errors, key=errors.__getitem__)
    best = best if errors[best] < CLEARLY * errors[near[0]] else near[0]
    called = {pair: " x ".join(names[axis] if names else str(axis) for axis in pair) for pair in near}
    others = ", ".join(f"{errors[pair]:.3g} for {called[pair]}" for pair in near if pair != best)
    return Guess(best, f"tried on hidden entries: RMSE {errors[best]:.3g} for {called[best]}, {others}{colour}")


def _error(y: Any, observed: Any, pair: tuple[int, int]) -> float:
    """Return how far a completion of a part of the data by slices of these axes is off on hidden entries."""
    problem, rng = Problem.of(y, observed, pair), np.random.default_rng(0)
    order = problem.layout.rest + problem.layout.slice_axes
    known = np.transpose(problem.observed, np.argsort(order))  # in the array's axes: the same entries for each pair
    box = part(known, TRIED_ON, rng) or (slice(None),) * known.ndim
    hidden = known[box] & (rng.random(known[box].shape) < HIDDEN)
    inner = problem.part(tuple(box[axis] for axis in order))
    seen = inner.without(np.flatnonzero(np.transpose(hidden, order)))
    run = Run(seen, METHODS["vmtqn"].configured(max_steps=STEPS))
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        return seen.held_out_error(run.finished()) or 0.0
