"""auto: tries candidates on known entries hidden from them, weighs their answers, and runs what has weight on everything."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..checkpoint import Journal
from ..methods import METHODS, Auto
from ..methods.auto import PART
from ..methods.joined import Joined
from ..methods.schedule import known_around
from ..methods.views import Views
from ..problem import Problem
from ..result import Choice, OnStep, Plan, Record, Status, Trial
from . import candidates
from .apart import best_of
from .candidates import Candidate
from .final import GAINS, finals, without_slight
from .hide import hidden
from .mixture import Mixture
from .part import part
from .runner import FEW, Runner, Stopped
from .signs import signs_of
from .told import known_range, lost_with_others, spread_of, told_error, were_hidden
from .weigh import PAYS, Spread, calibrated, clearly_better
from .weigh import weights as weighed

CHECKED = 20_000  # known entries of large data that are kept back from the last runs, at most 0.5 %, to tell how far these are off
SCATTERED = 0.8  # so much of what is known over all is known around missing entries that are scattered
BRIEF = 10  # steps of a run that was asked to end
NEAR = 1.35  # a simple fill whose error is below so many times the views' is worth starting from
ROUNDS = 3  # of patches alone, at most
HOPELESS = 1.03  # patches whose first round errs so much more than what they started from are stopped


@dataclass(frozen=True, eq=False)
class Chosen:
    """What `auto` found, scaled and of the problem's shape."""

    x: np.ndarray
    error: np.ndarray | None
    status: Status
    records: list[Record]
    choice: Choice
    judged: bool = True  # entries like those of which low rank says nothing were among the hidden ones


class Tried(NamedTuple):
    """What trying found out."""

    trial: Runner
    box: tuple[slice, ...] | None  # the part of the data that was tried on; None: all
    weights: dict[str, float]
    cut: bool  # answers are to be cut to the range of the known values
    spread: Spread
    choice: Choice
    judged: bool  # of entries of which low rank says nothing enough were hidden

    @property
    def names(self) -> list[str]:
        """The candidates that have weight."""
        return [name for name, weight in self.weights.items() if weight > 0]

    @property
    def single(self) -> bool:
        """Whether single precision was enough for what has weight; to be asked as long as the answers are there."""
        return all(self.trial.done[name].x.dtype == np.float32 for name in self.names)

    def filled(self, mixture: Mixture, problem: Problem) -> np.ndarray:
        """Return the mean of a mixture, cut if that pays, known entries as they are."""
        return mixture.filled(problem, known_range(problem) if self.cut else None, self.trial.limits.fit.exact)

    def of_trial(self) -> np.ndarray:
        """Return the weighted mean of the answers that were tried."""
        return self.filled(Mixture.of(self.weights, self.trial.done), self.trial.problem)


def tried(problem: Problem, auto: Auto, rng: np.random.Generator, on_step: OnStep | None, journal: Journal) -> Tried:
    """Try candidates on known entries that are hidden from them, and weigh them; when stopped, with those there are."""
    box = part(problem.observed, PART * (4 if auto.effort == "best" else 1), rng)
    region = problem if box is None else problem.part(box)
    trial = Runner(
        region.without(np.flatnonzero(hidden(region.observed, rng, region.ignored))), rng, on_step, journal, auto
    )
    try:
        _try_all(trial, auto.effort, auto.noise_level, thorough=box is None)
    except Stopped:
        trial.stopped = True
    return Tried(trial, box, *_weighed(trial, region, box is not None), were_hidden(trial.problem, auto))


def choose(problem: Problem, auto: Auto, rng: np.random.Generator, on_step: OnStep | None, journal: Journal) -> Chosen:
    """Complete a problem by what is best for it; the journal gives the runs."""
    begun = time.perf_counter() - journal.seconds
    if (names := kernels.of(problem.y).among) is not None:
        run, records, choice = best_of(problem, names, rng, on_step, journal)
        return Chosen(run.answer(), None, run.status, records, choice, judged=False)
    if auto.effort == "fast" or problem.count < FEW:
        return _fast(problem, rng, on_step, begun, journal, auto, simply=problem.count == 1)
    found = tried(problem, auto, rng, on_step, journal)
    trial, whole = found.trial, found.box is None
    kept = np.empty(0, int) if whole else _kept_back(problem, rng)
    seen = problem.without(kept, found.single) if len(kept) else problem
    final = Runner(seen, rng, None if trial.stopped else on_step, journal, auto, trial.steps)
    final.seconds = trial.seconds
    final.stopped = trial.stopped
    start = found.of_trial() if whole else None
    if not whole:
        trial.forget()
        trial.problem = problem  # of the part nothing more is asked
    apart, own = found.spread.factors[-2:]
    weights = found.weights
    if final.keeps_back:
        weights = without_slight(weights, {one.name: one.error or 0.0 for one in found.choice.trials}, trial)
    mixture, taken = finals(weights, trial, final, start, (float(apart), float(own)))
    source = final if mixture.weight else trial
    if source is trial:
        if not whole:
            return _fast(problem, rng, None, begun, journal, auto, steps=BRIEF, stopped=True)
        mixture = Mixture.of(found.weights, trial.done)
    x = found.filled(mixture, source.problem)
    spread = found.spread(signs_of(source.problem, x, mixture, auto.fit.exact), x.shape)
    del mixture
    at = source.problem.held_out
    if source is final and at is not None and final.keeps_back:
        spread = calibrated(spread, at, x.reshape(-1)[at] - source.problem.held_out_values, final.s2)
    blind = auto.undetermined(problem) & ~problem.settled
    judged = found.judged or not blind.any()
    error = told_error(problem, x, spread, blind, judged, final.s2)
    ready = [name for name in found.names if name in source.done]
    main = source.done[max(taken or ready, key=(taken or found.weights).__getitem__)]
    records = [record for one in source.done.values() for record in one.records]
    runs = tuple((name, one.method, one.candidate.after) for name, one in source.done.items())
    steps = tuple(len(one.records) for one in source.done.values())
    plan = Plan(runs, tuple(map(float, found.spread.factors)), judged, steps, source.steps)
    trials = (
        found.choice.trials
        if not taken
        else tuple(
            sorted((t._replace(weight=taken.get(t.name, 0.0)) for t in found.choice.trials), key=lambda t: -t.weight)
        )
    )
    choice = replace(found.choice, trials=trials, seconds=time.perf_counter() - begun, plan=plan)
    return Chosen(x, error, Status.INTERRUPTED if final.stopped else main.status, records, choice, judged)


def _kept_back(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """Return flat positions of a few known entries, all over the data, which tell how far the answer is off.

    Candidates were tried on a part of the data, and other parts may be smoother or rougher. Where missing entries hang
    together, scattered ones tell nothing of them, and none are kept back.
    """
    known = np.flatnonzero(problem.observed)
    if known_around(problem.mask) < SCATTERED * len(known) / problem.y.size:
        return known[:0]
    return np.sort(rng.choice(known, min(CHECKED, len(known) // 200), replace=False))


def _fast(
    problem: Problem,
    rng: Any,
    on_step: OnStep | None,
    begun: float,
    journal: Journal,
    auto: Auto,
    steps: int | None = None,
    stopped: bool = False,
    simply: bool = False,
) -> Chosen:
    """Return the mean over views with equal weights, or just the smooth fill; nothing is tried."""
    runner = Runner(problem, rng, on_step, journal, auto)
    name = "smooth" if simply else "views"
    candidate = Candidate(name, METHODS[name].configured(**({} if simply else {"steps": steps, "noise": auto.noise})))
    try:
        found = runner.run(candidate, doubted=False)
    except Stopped:
        found, stopped = runner.done[name], True
    seconds = time.perf_counter() - begun
    plan = Plan(((name, candidate.method, None),), steps=(len(found.records),))
    choice = Choice((Trial(name, None, 1.0, seconds),), 0, "nothing was tried", seconds, plan=plan)
    return Chosen(found.x, None, Status.INTERRUPTED if stopped else found.status, found.records, choice)


def _try_all(trial: Runner, effort: str, noise: float | None, thorough: bool) -> None:
    """Run all candidates on what is left known; those that start from a better answer come after it.

    Simple fills leave what is known as it is, so with noise they are not tried.
    """
    problem = trial.problem
    for candidate in candidates.simple(problem) if noise is None else []:
        found = trial.run(candidate)
        same = [o for o in trial.done.values() if o is not found and np.array_equal(o.x, found.x)]
        if same:
            del trial.done[candidate.name]
    fills = list(trial.done)
    first = candidates.views(problem, effort, noise)
    trial.run(first)
    for candidate in candidates.single(problem, effort, noise):
        trial.run(candidate)
    errors = {name: trial.held_out(one.x) for name, one in trial.done.items()}
    best, fill = first.name, min(fills, key=errors.__getitem__, default=None)
    if fill is not None and errors[fill] < NEAR * errors[best]:
        again = Candidate(f"views from {fill}", first.method, fill)
        trial.run(again, trial.done[fill].x)
        errors[again.name] = trial.held_out(trial.done[again.name].x)
        best = min((first.name, again.name), key=errors.__getitem__)
    views = trial.done[best].method
    assert isinstance(views, Views)
    for joined in candidates.joined(problem, best, views.depth, effort, noise, thorough):
        _try_patches(trial, joined, trial.done[best].x, HOPELESS * errors[best], noise)


def _try_patches(trial: Runner, joined: Candidate, start: np.ndarray, losing: float, noise: float | None) -> None:
    """Run the patches beside the views, and then alone, round after round as long as that pays."""
    method, before = joined.method, joined
    assert isinstance(method, Joined)
    found = trial.run(joined, start, losing)
    for k in range(1, ROUNDS + 1):
        error, one = trial.held_out(found.x), candidates.alone(joined, method, before, k, noise)
        found, before = trial.run(one, found.x, losing), one
        if trial.held_out(found.x) >= GAINS * error:
            return


def _weighed(trial: Runner, region: Problem, partly: bool) -> tuple[dict, bool, Spread, Choice]:
    """Return the weights by name, whether answers are to be cut to the known range, and how errors are told."""
    problem, names = trial.problem, list(trial.done)
    at, truth = problem.held_out, problem.held_out_values
    assert at is not None
    assert truth is not None
    seen = np.stack([trial.done[name].x.reshape(-1)[at] for name in names], axis=1)
    keep, found = _worth_weighing(trial, names, seen), np.zeros(len(names))
    found[keep] = weighed(seen[:, keep], truth, trial.rng, trial.s2)
    w = {name: float(weight) for name, weight in zip(names, found, strict=True)}
    low, high = known_range(problem)
    mean = seen @ np.array(list(w.values()))
    cut = bool(np.square(np.clip(mean, low, high) - truth).sum() < PAYS * np.square(mean - truth).sum())
    mean = np.clip(mean, low, high) if cut else mean
    spread = spread_of(trial, region, w, cut)
    errors = np.sqrt(np.square(seen - truth[:, None], dtype=float).mean(axis=0)) * problem.scale
    trials = [Trial(n, float(e), float(w[n]), trial.done[n].seconds) for n, e in zip(names, errors, strict=True)]
    trials.sort(key=lambda one: (-one.weight, one.error))
    where = "a part of the data" if partly else "the data"
    error = float(np.sqrt(np.square(mean - truth, dtype=float).mean())) * problem.scale
    return w, cut, spread, Choice(tuple(trials), len(at), where, 0.0, error, cut)


def _worth_weighing(trial: Runner, names: list[str], seen: np.ndarray) -> np.ndarray:
    """Return which candidates take part: all of them, unless what is missing hangs together.

    Nothing of a lost frame or of a sensor's day is known, and the few hidden ones do not tell much. So the plain choice, a
    simple fill or kriging, is left only for what is clearly better, frame by frame or day by day. Of a frame of which a little is
    known some of that is hidden, which is a fair sample of what is missing: then all take part.
    """
    problem, across = trial.problem, lost_with_others(trial.problem)
    at, truth = problem.held_out, problem.held_out_values
    assert at is not None
    assert truth is not None
    where = np.unravel_index(at, problem.y.shape)
    if "kriging" in names:
        empty = [np.count_nonzero(~problem.settled.any(axis=a)) * n for a, n in enumerate(problem.y.shape)]
        others = [axis for axis in range(problem.y.ndim) if axis != int(np.argmax(empty))]
        fibre = np.ravel_multi_index([where[a] for a in others], [problem.y.shape[a] for a in others])
        return clearly_better(seen, truth, names.index("kriging"), fibre)
    fills = [] if across is None else [names.index(o.name) for o in candidates.simple(problem) if o.name in names]
    if across is None or not fills:
        return np.ones(len(names), dtype=bool)
    axes = problem.layout.rest + problem.layout.slice_axes
    usual = f"interpolate along axis {axes[across]}"
    plain = min(fills, key=lambda k: (names[k] != usual, trial.held_out(trial.done[names[k]].x)))
    return clearly_better(seen, truth, plain, where[across])
