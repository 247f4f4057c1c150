"""auto, from an earlier answer: what made that is run again, a few steps each; nothing is tried."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..checkpoint import Journal
from ..methods import Auto, Method
from ..methods.schedule import AGAIN_STEPS
from ..methods.views import Views
from ..problem import Problem
from ..result import Choice, OnStep, Plan, Status, Trial
from .auto import Chosen
from .candidates import SMALL, Candidate
from .mixture import Mixture
from .runner import Runner, Stopped
from .signs import signs_of
from .told import known_range, told_error
from .weigh import Spread

MOST = 9  # steps of all runs together: a new run takes 45 and more, for it tries `views` before it runs them
SHARE = 8  # of small arrays, of which a new run tries more, this part of the steps of the earlier one
FEWEST = 3  # of `views` among them


class Going(NamedTuple):
    """A run that goes on."""

    name: str
    method: Method  # as it goes on
    after: str | None  # the run whose answer it starts from; None: the earlier answer, or nothing


def steps_of_all(plan: Plan, entries: int) -> int:
    """Return in how many steps all runs together are to go on, of an array of so many entries.

    >>> plan = Plan((), total=160)
    >>> steps_of_all(plan, 100_000), steps_of_all(plan, 1_000_000)
    (20, 9)
    """
    return max(MOST, plan.total // SHARE) if entries <= SMALL else MOST


def going_on(plan: Plan, weights: dict[str, float], most: int) -> list[Going]:
    """Return the runs to go on with: those that the candidate with most weight needs, and of others what ``most`` steps have room for.

    What starts from a simple fill starts from the earlier answer instead. `views` get the steps that all others leave.
    """
    made = {name: (method, after, n) for (name, method, after), n in zip(plan.runs, plan.steps, strict=True)}
    free = {name for name, (method, _, _) in made.items() if isinstance(method, Views) and method.after is None}

    def before(name: str) -> str | None:
        after = made[name][1]
        return after if after in made and made[after][0].resumes else None

    def cost(name: str) -> int:
        method, _, n = made[name]
        return FEWEST if name in free else min(n, AGAIN_STEPS) if method.resumes else n

    taken: set[str] = set()
    for name in sorted((name for name in made if weights.get(name)), key=lambda name: -weights[name]) or list(made):
        more, one = set(), name
        while one is not None and one not in taken:
            more, one = more | {one}, before(one)
        if not taken or sum(map(cost, taken | more)) <= most:
            taken |= more
    room = FEWEST + max(0, most - sum(map(cost, taken))) // max(1, len(free & taken))
    if not plan.factors:  # nothing was tried, and a new run is a short one
        room = None
    return [
        Going(name, method.resumed(room) if name in free else method, before(name))
        for name, (method, _, _) in made.items()
        if name in taken
    ]


def resume(
    problem: Problem, auto: Auto, earlier: Choice, rng: np.random.Generator, on_step: OnStep | None, journal: Journal
) -> Chosen:
    """Complete a problem by what an earlier choice ran, with its weights, from ``problem.start``."""
    begun, plan, stopped = time.perf_counter() - journal.seconds, earlier.plan, False
    assert plan is not None
    runner = Runner(problem, rng, on_step, journal, auto)
    weights = {one.name: one.weight for one in earlier.trials}
    try:
        for name, method, after in going_on(plan, weights, steps_of_all(plan, problem.y.size)):
            if after in runner.done:  # it comes after what has brought the new entries in
                runner.run(Candidate(name, method, after), runner.done[after].x)
            else:
                runner.run(Candidate(name, method), problem.start if method.resumes else None)
    except Stopped:
        stopped = True
    weights = {name: weights.get(name, 0.0) for name in runner.done}
    if not any(weights.values()):  # stopped before anything that counts was done
        weights = dict.fromkeys(runner.done, 1.0)
    weights = {name: weight / sum(weights.values()) for name, weight in weights.items()}
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
    trials = [
        Trial(t.name, t.error, weights.get(t.name, 0.0), done[t.name].seconds if t.name in done else 0.0)
        for t in earlier.trials
    ]
    trials.sort(key=lambda one: -one.weight)
    choice = replace(earlier, trials=tuple(trials), seconds=time.perf_counter() - begun)
    return Chosen(x, error, Status.INTERRUPTED if stopped else main.status, records, choice, judged)
