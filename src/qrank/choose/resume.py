"""auto, from an earlier answer: what made that is run again, a few steps each; nothing is tried."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from ..checkpoint import Journal
from ..methods import Auto
from ..methods.schedule import AGAIN_STEPS
from ..problem import Problem
from ..result import Choice, OnStep, Plan, Status, Trial
from .auto import Chosen, known_range, told_error
from .candidates import Candidate
from .mixture import Mixture
from .runner import Runner, Stopped
from .signs import signs_of
from .weigh import Spread

SHARE = 12  # all runs together are to take at most this part of the steps of the earlier one, which may have tried more than a new one would,
FEWEST = 6  # and a run at least so many


def _room(plan: Plan, name: str) -> int | None:
    """Return in how many steps a run is to go on from the earlier answer; None: in as many as it takes by itself."""
    if not plan.steps:
        return None
    steps = {run[0]: n for run, n in zip(plan.runs, plan.steps, strict=True)}
    room = plan.total // SHARE - sum(min(n, AGAIN_STEPS) for one, n in steps.items() if one != name)
    return None if steps[name] <= room else max(FEWEST, room)


def resume(
    problem: Problem, auto: Auto, earlier: Choice, rng: np.random.Generator, on_step: OnStep | None, journal: Journal
) -> Chosen:
    """Complete a problem by what an earlier choice ran, with its weights, from ``problem.start``."""
    begun, plan, stopped = time.perf_counter() - journal.seconds, earlier.plan, False
    assert plan is not None
    runner = Runner(problem, rng, on_step, journal, auto)
    going_on = {name for name, method, _ in plan.runs if method.resumes}
    try:
        for name, method, after in plan.runs:
            if after in going_on and after in runner.done:  # it comes after what has brought the new entries in
                runner.run(Candidate(name, method, after), runner.done[after].x)
            else:
                # Where nothing was tried, a few steps must do.
                room = _room(plan, name) if plan.factors else FEWEST
                going = method if room is None else method.resumed(room)
                runner.run(Candidate(name, going), problem.start if method.resumes else None)
    except Stopped:
        stopped = True
    weights = {one.name: one.weight for one in earlier.trials if one.name in runner.done}
    if not any(weights.values()):  # stopped before anything that counts was done
        weights = dict.fromkeys(runner.done, 1.0)
    mixture = Mixture.of(weights, runner.done)
    x = mixture.filled(problem, known_range(problem) if earlier.cut else None, auto.fit.exact)
    blind = auto.undetermined(problem) & ~problem.observed
    judged, error = not blind.any() or plan.judged, None
    if plan.factors:
        spread = Spread(np.array(plan.factors))(signs_of(problem, x, mixture, auto.fit.exact), x.shape)
        error = told_error(problem, x, spread, blind, judged, runner.s2)
    done = {name: runner.done[name] for name, _, _ in plan.runs if name in runner.done}
    main = done[max(weights, key=weights.__getitem__)]
    records = [record for one in done.values() for record in one.records]
    trials = tuple(
        Trial(t.name, t.error, t.weight, done[t.name].seconds if t.name in done else 0.0) for t in earlier.trials
    )
    choice = replace(earlier, trials=trials, seconds=time.perf_counter() - begun)
    return Chosen(x, error, Status.INTERRUPTED if stopped else main.status, records, choice, judged)
