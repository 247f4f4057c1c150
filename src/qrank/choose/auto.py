"""auto: tries candidates on known entries hidden from them, weighs their answers, and runs what has weight on everything."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..methods import METHODS, Auto, Method
from ..methods.views import Views
from ..problem import Problem
from ..result import Choice, OnStep, Record, Status, Trial
from ..run import Run
from . import candidates
from .candidates import Candidate
from .hide import hidden
from .signs import signs_of
from .weigh import Spread, weights

PART = 1_200_000  # entries of the part that candidates are tried on
NEAR = 1.35  # a simple fill whose error is below so many times the views' is worth starting from
HOPELESS = 1.03  # patches whose first round errs so much more than what they started from are stopped


class Stopped(Exception):
    """The caller has seen enough."""


@dataclass(eq=False)
class Outcome:
    """What a run of a candidate left."""

    candidate: Candidate
    method: Method  # as a run of all that is known would take it
    x: np.ndarray  # of the problem's shape, scaled
    deviation: np.ndarray | None
    status: Status
    seconds: float
    records: list[Record]


@dataclass(frozen=True, eq=False)
class Chosen:
    """What `auto` found, scaled and of the problem's shape."""

    x: np.ndarray
    error: np.ndarray | None
    status: Status
    records: list[Record]
    choice: Choice


@dataclass(eq=False)
class Runner:
    """Runs candidates on one problem, tells of every step, and keeps what came out."""

    problem: Problem
    rng: np.random.Generator
    on_step: OnStep | None
    begun: float
    steps: int = 0
    done: dict[str, Outcome] = field(default_factory=dict)

    def run(self, candidate: Candidate, start: np.ndarray | None = None, losing: float = np.inf) -> Outcome:
        """Run a candidate to its end, or until its held-out error is above ``losing`` after its first step."""
        begun, records = time.perf_counter(), []
        problem = replace(self.problem, start=start)
        run = Run(problem, candidate.method, self.rng)
        for _, record in run:
            self.steps += 1
            records.append(replace(record, step=self.steps, seconds=time.perf_counter() - self.begun))
            if self.on_step is not None and self.on_step(records[-1]):
                self._keep(candidate, run, begun, records)
                raise Stopped
            if record.holdout is not None and record.holdout > losing:
                break
        return self._keep(candidate, run, begun, records)

    def _keep(self, candidate: Candidate, run: Run, begun: float, records: list[Record]) -> Outcome:
        method = candidate.method
        if isinstance(method, Views) and method.judged:
            method = method.as_judged(self.problem, run.state)
        x = np.array(run.answer()).reshape(self.problem.y.shape)
        deviation = run.deviation()
        found = Outcome(candidate, method, x, deviation, run.status, time.perf_counter() - begun, records)
        if np.isfinite(x).all():
            self.done[candidate.name] = found
        return found

    def held_out(self, x: np.ndarray) -> float:
        """Return the error on the hidden entries."""
        return self.problem.held_out_error(x) or 0.0


def choose(problem: Problem, auto: Auto, rng: np.random.Generator, on_step: OnStep | None) -> Chosen:
    """Complete a problem by what is best for it."""
    begun = time.perf_counter()
    if auto.effort == "fast":
        return _fast(problem, rng, on_step, begun)
    box = part(problem.observed, PART * (4 if auto.effort == "best" else 1), rng)
    region = problem if box is None else problem.part(box)
    tried = region.without(np.flatnonzero(hidden(region.observed, rng)))
    if not len(tried.held_out if tried.held_out is not None else ()):  # one known entry: nothing can be tried
        return _fast(problem, rng, on_step, begun, simply="smooth")
    trial = Runner(tried, rng, on_step, begun)
    try:
        _try_all(trial, auto.effort)
    except Stopped:
        if box is not None or not trial.done:
            return _fast(problem, rng, None, begun, steps=10, stopped=True)
    w, cut, spread, choice = _weighed(trial, rng, box is not None)
    names = [name for name in trial.done if w[name] > 0]
    mixed = sum(w[name] * trial.done[name].x for name in names) if box is None else None
    final = Runner(problem, rng, on_step, begun, trial.steps)
    status = Status.INTERRUPTED
    try:
        for name in names:
            _final(name, trial, final, mixed)
        status = final.done[max(names, key=lambda name: w[name])].status
    except Stopped:
        pass
    ready = {name: w[name] for name in names if name in final.done}
    source, ready = (final, ready) if ready else (trial, {name: w[name] for name in names})
    if source is trial and box is not None:
        return _fast(problem, rng, None, begun, steps=10, stopped=True)
    x = _sum(ready, source, cut)
    error = spread(signs_of(problem, x, {name: (v, source.done[name]) for name, v in ready.items()}))
    error = np.where(problem.observed, 0, error).astype(problem.y.dtype)
    records = [record for one in final.done.values() for record in one.records]
    choice = replace(choice, seconds=time.perf_counter() - begun)
    return Chosen(x, error, status, records or [r for one in trial.done.values() for r in one.records], choice)


def _fast(
    problem: Problem,
    rng: Any,
    on_step: OnStep | None,
    begun: float,
    steps: int = 36,
    stopped: bool = False,
    simply: str = "",
) -> Chosen:
    """Return the mean over views with equal weights, or a simple fill, nothing tried."""
    runner, name = Runner(problem, rng, on_step, begun), simply or "views"
    options: dict[str, Any] = {} if simply else {"steps": steps}
    candidate = Candidate(name, METHODS[name].configured(**options))
    try:
        found = runner.run(candidate)
    except Stopped:
        found, stopped = runner.done[name], True
    seconds = time.perf_counter() - begun
    choice = Choice((Trial(name, None, 1.0, seconds),), 0, "nothing was tried", seconds)
    return Chosen(found.x, None, Status.INTERRUPTED if stopped else found.status, found.records, choice)


def _try_all(trial: Runner, effort: str) -> None:
    """Run all candidates on what is left known; those that start from a better answer come after it."""
    problem = trial.problem
    for candidate in candidates.simple(problem):
        trial.run(candidate)
    fill = min(trial.done, key=lambda name: trial.held_out(trial.done[name].x))
    first = candidates.views(problem, effort)
    trial.run(first)
    for candidate in candidates.single(problem, effort):
        trial.run(candidate)
    errors = {name: trial.held_out(one.x) for name, one in trial.done.items()}
    starts = [first.name]
    if errors[fill] < NEAR * errors[first.name]:
        again = Candidate(f"views from {fill}", first.method, fill)
        trial.run(again, trial.done[fill].x)
        errors[again.name] = trial.held_out(trial.done[again.name].x)
        starts = [min((first.name, again.name), key=errors.__getitem__)]
    for name in starts:
        for candidate in candidates.patches(problem, name, effort):
            trial.run(candidate, trial.done[name].x, HOPELESS * errors[name])


def _weighed(trial: Runner, rng: np.random.Generator, partly: bool) -> tuple[dict, bool, Spread, Choice]:
    """Return the weights by name, whether answers are to be cut to the known range, and how errors are told."""
    problem, names = trial.problem, list(trial.done)
    at, truth = problem.held_out, problem.held_out_values
    assert at is not None
    assert truth is not None
    seen = np.stack([trial.done[name].x.reshape(-1)[at] for name in names], axis=1)
    w = dict(zip(names, weights(seen, truth, rng), strict=True))
    low, high = known_range(problem)
    mean = seen @ np.array(list(w.values()))
    cut = bool(np.square(np.clip(mean, low, high) - truth).sum() < np.square(mean - truth).sum())
    mean = np.clip(mean, low, high) if cut else mean
    chosen = {name: (v, trial.done[name]) for name, v in w.items() if v > 0}
    signs = signs_of(problem, _sum({name: v for name, v in w.items() if v > 0}, trial, cut), chosen)
    at_hidden = np.stack([np.broadcast_to(sign, problem.y.shape).reshape(-1)[at] for sign in signs], axis=1)
    spread = Spread.learned(at_hidden, mean - truth)
    errors = np.sqrt(np.square(seen - truth[:, None], dtype=float).mean(axis=0)) * problem.scale
    trials = [Trial(n, float(e), float(w[n]), trial.done[n].seconds) for n, e in zip(names, errors, strict=True)]
    trials.sort(key=lambda one: (-one.weight, one.error))
    where = "a part of the data" if partly else "the data"
    error = float(np.sqrt(np.square(mean - truth, dtype=float).mean())) * problem.scale
    return w, cut, spread, Choice(tuple(trials), len(at), where, 0.0, error, cut)


def _final(name: str, trial: Runner, final: Runner, start: np.ndarray | None) -> np.ndarray:
    """Return the answer of a candidate on all that is known, after those that it starts from."""
    if name in final.done:
        return final.done[name].x
    tried = trial.done[name]
    if tried.candidate.after is not None:
        start = _final(tried.candidate.after, trial, final, start)
    elif not isinstance(tried.method, Views):
        start = None
    return final.run(Candidate(name, tried.method, tried.candidate.after), start).x


def _sum(w: dict[str, float], source: Runner, cut: bool) -> np.ndarray:
    """Return the weighted sum of answers, known entries as they are."""
    problem, total = source.problem, sum(w.values())
    x = np.zeros_like(problem.y)
    for name, weight in w.items():
        x += (weight / total) * source.done[name].x
    if cut:
        np.clip(x, *known_range(problem), out=x)
    np.copyto(x, problem.y, where=problem.observed)
    return x


def known_range(problem: Problem) -> tuple[float, float]:
    """Return the least and the largest known value, scaled."""
    known = problem.y[problem.observed]
    return float(known.min()), float(known.max())


def part(observed: np.ndarray, most: int, rng: np.random.Generator) -> tuple[slice, ...] | None:
    """Return a box of about so many entries whose share of known entries is that of the whole; None: all of it."""
    sides = list(observed.shape)
    while np.prod(sides) > most:
        longest = int(np.argmax(sides))
        sides[longest] = -(-sides[longest] // 2)
    if sides == list(observed.shape):
        return None
    share, best, least = observed.mean(), None, np.inf
    for k in range(6):
        room = [n - side for n, side in zip(observed.shape, sides, strict=True)]
        begin = [r // 2 if k == 0 else int(rng.integers(r + 1)) for r in room]
        box = tuple(slice(b, b + side) for b, side in zip(begin, sides, strict=True))
        apart = abs(observed[box].mean() - share)
        if apart < least and observed[box].any() and not observed[box].all():
            best, least = box, apart
    return best
