"""The answer of a problem: a method run to its end, or what `auto` chooses, and what stands where neither says anything."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..checkpoint import Journal
from ..choose import choose, resume
from ..errors import UndeterminedWarning
from ..methods import METHODS, Auto, Method, method_named
from ..patches import Patches
from ..problem import Problem
from ..result import Choice, OnStep, Record, Status
from ..run import Run


class Answer(NamedTuple):
    """What comes out of a run, or of several: scaled, of the problem's shape."""

    x: Any
    status: Status
    records: list[Record] = []  # noqa: RUF012  never changed
    transform: Any = None
    error: Any = None
    choice: Choice | None = None
    outliers: Any = None  # what was taken out of the known values as wrong
    judged: bool = True  # `auto`: what is hidden told of entries of which low rank says nothing, too


def answered(
    problem: Problem,
    method: Method,
    rng: np.random.Generator,
    on_step: OnStep | None,
    journal: Journal,
    earlier: Choice | None = None,
) -> Answer:
    """Run a method, or what `auto` chooses, or has chosen earlier where the problem starts from an earlier answer.

    Where values may be wrong, `auto` is `views`.
    """
    if isinstance(method, Auto) and method.outliers is not None:
        limits = {"tol": method.tol, "max_steps": method.max_steps, "noise": method.noise, "outliers": method.outliers}
        method = METHODS["views"].configured(**limits)
    if isinstance(method, Auto):
        if problem.start is not None and earlier is not None:
            found = resume(problem, method, earlier, rng, on_step, journal)
        else:
            found = choose(problem, method, rng, on_step, journal)
        journal.flush()
        return Answer(found.x, found.status, found.records, None, found.error, found.choice, None, found.judged)
    run, records = _followed(problem, method, rng, on_step, journal, again=problem.start is not None)
    journal.flush()
    error = run.deviation()
    if error is not None and method.fit.exact:
        error = np.where(problem.observed, 0, error)
    x, transform = run.answer(), run.learned()
    outliers = method.outliers_of(problem, run.state)
    outliers = None if outliers is None else kernels.of(outliers).copy(outliers).reshape(problem.y.shape)
    return Answer(x, run.status, records, transform, error, outliers=outliers)


def _followed(
    problem: Problem, method: Method, rng: Any, on_step: OnStep | None, journal: Journal, again: bool
) -> tuple[Run, list[Record]]:
    """Return a run to its end, with its records, after the method whose answer it starts from."""
    records: list[Record] = []
    if method.after is not None:
        noise: dict[str, Any] = {} if method.noise_level is None else {"noise": method.noise_level}
        before = method_named(method.after).configured(**noise)
        first, records = _followed(problem, before, rng, on_step, journal, again)
        if first.status in (Status.DIVERGED, Status.INTERRUPTED):
            return first, records
        problem = replace(problem, start=first.answer().reshape(problem.y.shape))
    seconds, steps = sum(r.seconds for r in records[-1:]), len(records)

    def told(record: Record) -> Record:
        return replace(record, step=steps + record.step, seconds=seconds + record.seconds, run=method.name)

    run, earlier = journal.open(problem, method.resumed() if again else method, rng)
    records.extend(map(told, earlier))
    for record in journal.steps(run):
        records.append(told(record))
        if on_step is not None and on_step(records[-1]):
            journal.stop(run)
            break
    journal.finish(run)
    return run, records


def undetermined(method: Method, problem: Problem, cut: Patches | None) -> Any:
    """Return the missing entries of which the method says nothing, in the array's axes."""
    blind = method.undetermined(problem)
    blind = blind if problem.ignored is None else blind & ~problem.ignored
    blind = kernels.of(blind).outer(blind, problem.layout)
    return blind if cut is None else cut.join(blind)


def from_nearby(x: Any, blind: Any, problem: Problem, nearby: bool) -> Any:
    """Return x with something to stand on where the model says nothing, and say so."""
    how = "what was chosen takes them from the known entries nearby"
    if not kernels.of(problem.y).numpy and not kernels.of(x).assignable:
        how = "they are as the method left them, for arrays of this kind cannot be interpolated"
    elif not kernels.of(problem.y).numpy:
        x, how = (
            between(x, blind),
            "those of whole planes were interpolated between the planes beside them, others have the mean of all",
        )
    elif not nearby:
        filled = METHODS["interpolate"].configured()
        fill = problem.unscaled(np.array(Run(problem, filled).finished()).reshape(problem.y.shape))
        x, how = np.where(blind, fill, x), "they were interpolated along the smoothest axis"
    many = kernels.of(blind).count(blind)
    share = many / (problem.layout.size - problem.count)
    warnings.warn(
        f"{many} of the missing entries ({share:.1%}) lie in slices, rows or columns of which nothing is"
        f" known, or which no known entries link: low rank says nothing of them; {how} (result.undetermined)",
        UndeterminedWarning,
        stacklevel=4,
    )
    return x


def between(x: Any, blind: Any) -> Any:
    """Return x, an array of any kind that can be assigned to, with its blind planes on straight lines between those beside them.

    Axis by axis, so that an entry which lies in two such planes gets what the last one says, whose neighbours are filled by then. What
    is blind and in no such plane gets the mean of what is not.

    >>> x = np.outer(np.arange(1.0, 5), [1.0, 10, 100])
    >>> blind = np.zeros(x.shape, bool)
    >>> blind[1] = blind[:, 1] = True
    >>> between(x, blind)[1]
    array([  2., 101., 200.])
    """
    x[blind] = float((x * ~blind).sum() / (~blind).sum())
    for axis in range(x.ndim):
        others = tuple(k for k in range(x.ndim) if k != axis)
        lost = np.array(kernels.of(blind).host(blind.all(others)))
        there = np.flatnonzero(~lost)
        for k in np.flatnonzero(lost) if len(there) else ():
            above = int(np.searchsorted(there, k))
            low, high = int(there[max(above - 1, 0)]), int(there[min(above, len(there) - 1)])
            share = (k - low) / (high - low) if high > low else 0.0
            planes = [(slice(None),) * axis + (i,) for i in (int(k), low, high)]
            x[planes[0]] = (1 - share) * x[planes[1]] + share * x[planes[2]]
    return x
