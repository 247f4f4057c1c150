"""auto for measurements that are no entries: candidates are tried without some of the measurements, and judged by those.

What a candidate makes of a hidden measurement is linear in its answer, so that answers are weighed by them as they are by hidden
entries (`weigh.weights`).
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from ..checkpoint import Journal
from ..fit import Measurement, first
from ..methods import METHODS, Auto
from ..problem import Problem
from ..result import Choice, OnStep, Status, Trial
from .candidates import Candidate
from .mixture import Mixture
from .runner import Runner, Stopped
from .weigh import weights

HIDDEN = 0.05  # of the measurements
FEWEST = 20  # that tell anything
MILD = "vmtqn, log-sum"  # as good as the nuclear norm or better on most of docs/measured.md, and tried beside others
TRIED = {
    "balanced": ("views", MILD, "tnn-c"),
    "best": ("views", MILD, "vmtqn", "motqn", "tnn", "tnn-c", "slicewise"),
}


def choose_measured(
    problem: Problem, auto: Auto, rng: np.random.Generator, on_step: OnStep | None, journal: Journal
) -> tuple[np.ndarray, Status, list, Choice]:
    """Return the answer of what predicts hidden measurements best, or of a weighted sum; under "fast" that of `views`."""
    begun = time.perf_counter()
    count = problem.measured.operator.count
    few = max(FEWEST, round(HIDDEN * count))
    trial = None
    share, errors = {"views": 1.0}, {}
    if auto.effort != "fast" and few <= count // 5:
        hidden = np.sort(rng.choice(count, few, replace=False))
        trial = Runner(_without(problem, hidden), rng, on_step, journal, auto)
        share, errors = _tried(trial, problem, hidden, auto, rng)
    final = Runner(problem, rng, on_step, journal, auto, 0 if trial is None else trial.steps)
    mixture = Mixture()
    try:
        if trial is not None and trial.stopped:
            raise Stopped
        for name, weight in share.items():
            if weight > 0:
                mixture.add(weight, final.run(_candidate(name, auto)).x, None)
    except Stopped:
        final.stopped = True
        for name in share if not mixture.weight else ():
            source = final if name in final.done or trial is None else trial
            if name in source.done:
                mixture.add(max(share[name], 1e-3), source.done[name].x, None)
    done = final.done or (trial.done if trial is not None else {})
    records = [record for one in done.values() for record in one.records]
    status = Status.INTERRUPTED if final.stopped else done[max(share, key=share.__getitem__)].status
    assert mixture.mean is not None
    return mixture.mean, status, records, _choice(trial, share, errors, few, time.perf_counter() - begun)


def _candidate(name: str, auto: Auto) -> Candidate:
    options: dict[str, Any] = {} if auto.noise is None else {"noise": auto.noise}
    if name == MILD:
        options["penalty"] = "log-sum:2"
    return Candidate(name, METHODS[name.split(",")[0]].configured(**options))


def _without(problem: Problem, hidden: np.ndarray) -> Problem:
    """Return the problem without some of its measurements."""
    psi, b, smooth = problem.measured
    kept = np.setdiff1d(np.arange(psi.count), hidden)
    part = Measurement(psi.rows(kept), b[kept], smooth)
    return replace(problem, y=first(*part, exact=False).astype(problem.y.dtype, copy=False), measured=part)


def _tried(
    trial: Runner, problem: Problem, hidden: np.ndarray, auto: Auto, rng: np.random.Generator
) -> tuple[dict[str, float], dict[str, float]]:
    """Run the candidates without the hidden measurements, and return their weights and errors."""
    psi, b, _ = problem.measured
    try:
        for name in TRIED[auto.effort]:
            trial.run(_candidate(name, auto))
    except Stopped:
        trial.stopped = True
    names = list(trial.done)
    seen = np.stack([psi.forward(trial.done[name].x)[hidden] for name in names], axis=1)
    errors = np.sqrt(np.square(seen - b[hidden][:, None]).mean(axis=0)) * problem.scale
    found = weights(seen, b[hidden], rng)
    return dict(zip(names, map(float, found), strict=True)), dict(zip(names, map(float, errors), strict=True))


def _choice(
    trial: Runner | None, share: dict[str, float], errors: dict[str, float], few: int, seconds: float
) -> Choice:
    if trial is None:
        return Choice((Trial("views", None, 1.0, seconds),), 0, "nothing was tried", seconds)
    trials = [Trial(name, errors[name], share[name], trial.done[name].seconds) for name in share]
    trials.sort(key=lambda one: (-one.weight, one.error or 0.0))
    best = min(one.error or 0.0 for one in trials if one.weight > 0)
    return Choice(tuple(trials), few, "the measurements", seconds, best)
