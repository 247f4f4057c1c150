"""auto for arrays that are not in memory: the methods that such arrays can take are tried on a part that is."""

from __future__ import annotations

import time

import numpy as np

from .. import kernels
from ..checkpoint import Journal
from ..methods import METHODS, Method
from ..problem import Problem
from ..result import Choice, OnStep, Record, Trial
from ..run import Run
from ..tensor import Layout
from .hide import hidden


def best_of(
    problem: Problem, names: tuple[str, ...], rng: np.random.Generator, on_step: OnStep | None, journal: Journal
) -> tuple[Run, list[Record], Choice]:
    """Return the run of the method that errs least on entries hidden from it in a part, its records and what was tried."""
    begun, only = time.perf_counter(), kernels.of(problem.y).only
    part = glimpse(problem)

    def method_for(name: str) -> Method:
        return METHODS[name].configured(**only.get(name, {}))

    positions = np.flatnonzero(hidden(part.observed, rng))
    trials = []
    for name in names if len(positions) else names[:1]:
        start, error = time.perf_counter(), None
        if len(positions):
            seen = part.without(positions)
            error = seen.held_out_error(Run(seen, method_for(name)).finished())
        trials.append(Trial(name, error, 0.0, time.perf_counter() - start))
    trials.sort(key=lambda one: one.error or 0.0)
    trials[0] = trials[0]._replace(weight=1.0)
    run, records = journal.open(problem, method_for(trials[0].name), rng)
    for record in journal.steps(run):
        records.append(record)
        if on_step is not None and on_step(record):
            journal.stop(run)
            break
    journal.finish(run)
    spent = time.perf_counter() - begun
    return run, records, Choice(tuple(trials), len(positions), "a part of the data", spent, trials[0].error)


def glimpse(problem: Problem) -> Problem:
    """Return the problem of a part in memory, as a stack."""
    y, observed = kernels.of(problem.y).glimpse(problem.stack, problem.mask)
    return Problem(y, observed, problem.exponent, Layout(y.shape, (1, 2)))
