"""Runs of candidates on one problem: every step is told, and what came out is kept."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from .. import kernels
from ..checkpoint import Journal
from ..methods import Auto, Method
from ..problem import Problem
from ..result import OnStep, Record, Status
from ..run import Run
from .candidates import Candidate
from .weigh import OWN

FEW = 16  # known entries of which none can be spared


class Stopped(Exception):
    """The caller has seen enough."""


@dataclass(eq=False)
class Outcome:
    """What a run of a candidate left."""

    candidate: Candidate
    method: Method  # as a run of all that is known would take it
    x: np.ndarray  # of the problem's shape, scaled
    doubt: np.ndarray | None  # a sign of how far each entry may be off
    status: Status
    seconds: float
    records: list[Record]


@dataclass(eq=False)
class Runner:
    """Runs candidates on one problem, tells of every step, and keeps what came out."""

    problem: Problem
    rng: np.random.Generator
    on_step: OnStep | None
    journal: Journal
    limits: Auto
    steps: int = 0
    stopped: bool = False
    seconds: float = 0.0  # of all runs before the one under way
    done: dict[str, Outcome] = field(default_factory=dict)

    def run(
        self, candidate: Candidate, start: np.ndarray | None = None, losing: float = np.inf, doubted: bool = True
    ) -> Outcome:
        """Run a candidate to its end, or until its held-out error is above ``losing``; ``doubted``: its doubt is wanted."""
        begun = time.perf_counter()
        run, earlier = self.journal.open(self.problem.starting(start), self._limited(candidate.method), self.rng)
        del start  # the run lets go of it, too, once it has begun
        begun -= run.seconds
        records = [self._told(record, candidate) for record in earlier]
        for record in self.journal.steps(run):
            records.append(self._told(record, candidate))
            if self.on_step is not None and self.on_step(records[-1]):
                self.journal.stop(run)
                self._keep(candidate, run, begun, records, doubted)
                raise Stopped
            if record.holdout is not None and self.beyond_noise(record.holdout) > losing:
                break
        self.journal.finish(run)
        return self._keep(candidate, run, begun, records, doubted)

    def _limited(self, method: Method) -> Method:
        """Return a method with the limit of steps, and where it is not the default the tolerance, that `auto` was given."""
        tol = method.tol if self.limits.tol == Auto.tol else self.limits.tol
        steps = min(method.max_steps, self.limits.max_steps)
        return method if (tol, steps) == (method.tol, method.max_steps) else replace(method, tol=tol, max_steps=steps)

    def _told(self, record: Record, candidate: Candidate) -> Record:
        self.steps += 1
        return replace(record, step=self.steps, seconds=self.seconds + record.seconds, run=candidate.name)

    def _keep(self, candidate: Candidate, run: Run, begun: float, records: list[Record], doubted: bool) -> Outcome:
        self.seconds += run.seconds
        method = candidate.method.as_found(self.problem, run.state)
        kind = kernels.of(self.problem.y)
        doubt = run.doubt() if doubted else None  # first: both are made in the run's memory, and the answer stays there
        x = run.answer().reshape(self.problem.y.shape)
        found = Outcome(candidate, method, x, doubt, run.status, time.perf_counter() - begun, records)
        if bool(kind.xp.isfinite(x).all()):
            self.done[candidate.name] = found
        return found

    def forget(self, names: Iterable[str] | None = None) -> None:
        """Let go of the answers of some candidates, or of all; which methods were run stays."""
        for name in self.done if names is None else names:
            self.done[name].x, self.done[name].doubt = np.empty(0), None

    @property
    def s2(self) -> float:
        """The variance of the noise in the known values, scaled; 0: they are exact."""
        return self.problem.variance(self.limits.noise_level)

    @property
    def keeps_back(self) -> bool:
        """Whether there are enough entries that the runs do not see to tell anything."""
        return self.problem.held_out is not None and len(self.problem.held_out) >= FEW

    def held_out(self, x: np.ndarray) -> float:
        """Return the error on the hidden entries."""
        return self.beyond_noise(self.problem.held_out_error(x) or 0.0)

    def beyond_noise(self, error: float) -> float:
        """Return what is left of an error on hidden entries, which are noisy themselves: of that no answer knows anything."""
        level = self.limits.noise_level
        if level is None or error == 0:
            return error
        return error * math.sqrt(max(1 - min(level / error, 1.0) ** 2, OWN))  # squares of 1e300 are no numbers
