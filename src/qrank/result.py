"""What comes out of a run: Step, Record, Status, Completion."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

PAGES: dict[
    str, Callable[..., Any]
] = {}  # who draws, keeps and continues a completion: higher rooms put themselves here


class Status(Enum):
    """How a run ended; the value is a sentence for the user.

    CONVERGED is said where all residuals are within the tolerance, the dual one within ten times it: a slower run would end
    at the same answer. SETTLED is said where the answer stands still because the schedule has ended (mu has grown so far that
    nothing moves): the usual end of methods whose answer is that of a path, and of those with a fixed number of steps.
    """

    CONVERGED = "The run converged: its stopping rule is met."
    SETTLED = "The run settled: its schedule has ended."
    STEP_LIMIT = "The run reached its limit of steps before the stopping rule was met; raise max_steps or tol."
    DIVERGED = "The run diverged: the iterate is not finite; start with a larger mu0 or a smaller rho."
    INTERRUPTED = "The run was stopped early; the answer is that of the last finished step."
    COMPLETE = "Nothing was missing: the array is returned as it was."

    def __str__(self) -> str:
        return self.value


class Step(NamedTuple):
    """What a method tells of one step; all in the scaled unit of the problem."""

    objective: float  # the value of what is minimised, at X
    primal: float  # how far X is from the known entries; relative, or absolute under the paper's rule
    dual: float  # the dual residual of the ADMM, relative; or how far X has moved for methods without a dual
    change: float  # how far X has moved; relative, or absolute under the paper's rule
    mu: float
    rank: int  # Q-rank of X, or the sum of the ranks of its unfoldings
    slices: int  # slices, or unfoldings, that are not zero
    learning: tuple[float, ...] = ()  # the learner's objective at its start and after every accepted step
    settled: bool = False  # the schedule ends with this step


@dataclass(frozen=True)
class Record:
    """One step of a run, in the data's unit.

    >>> Record(1, 0.5, 12.0, 0.1, 0.2, 0.1, 1e-3, 7, 3).rank
    7
    """

    step: int
    seconds: float  # since the start of the run
    objective: float
    primal: float
    dual: float
    change: float
    mu: float
    rank: int
    slices: int
    learning: tuple[float, ...] = ()
    holdout: float | None = None  # RMSE on the held-out known entries, where there are such
    run: str = ""  # the method, or the candidate of `auto`, whose step it is


class Trial(NamedTuple):
    """One candidate that was tried."""

    name: str
    error: float | None  # root mean square on what was hidden, in the data's unit; None: nothing was
    weight: float  # in the answer
    seconds: float


class Plan(NamedTuple):
    """What the last runs of `auto` were: enough to go on from its answer without trying anything again."""

    runs: tuple[tuple[str, Any, str | None], ...]  # in their order: name, method, and the name of what it started from
    factors: tuple[float, ...] = ()  # of the signs of how far entries are off; none: no error is told
    judged: bool = True  # what was hidden told of entries of which low rank says nothing, too
    steps: tuple[int, ...] = ()  # that each of the runs took
    total: int = 0  # of all runs, those that were tried as well


@dataclass(frozen=True)
class Choice:
    """What `auto` tried, and what it took.

    >>> print(Choice((Trial("views", 0.02, 0.7, 3.0), Trial("smooth", 0.05, 0.3, 0.1)), 500, "the data", 5.2, 0.019))
    2 candidates were tried on the data with 500 known entries hidden in the pattern of the holes; views (0.70), smooth (0.30) make the answer, which erred by 0.019 on them. 5.2 s in all.
    """

    trials: tuple[Trial, ...]  # those with most weight first
    hidden: int  # entries that were hidden
    tried_on: str
    seconds: float
    error: float | None = None  # of the weighted sum on what was hidden
    cut: bool = False  # whether the answer was cut to the range of the known values
    plan: Plan | None = field(default=None, repr=False, compare=False)

    def to_markdown(self) -> str:
        """Return the candidates as a table."""
        rows = ["| candidate | held-out RMSE | weight | seconds |", "|---|---|---|---|"]
        for name, error, weight, seconds in self.trials:
            told = "" if error is None else f"{error:.4g}"
            rows.append(f"| {name} | {told} | {weight:.2f} | {seconds:.1f} |")
        return "\n".join(rows)

    def __str__(self) -> str:
        if self.error is None:
            return f"{self.trials[0].name} was run; {self.tried_on}. {self.seconds:.1f} s in all."
        taken = ", ".join(f"{one.name} ({one.weight:.2f})" for one in self.trials if one.weight > 0)
        make = "make" if sum(one.weight > 0 for one in self.trials) > 1 else "is"
        cut = ", cut to the range of the known values" if self.cut else ""
        return (
            f"{len(self.trials)} candidates were tried on {self.tried_on} with {self.hidden} known entries hidden in the pattern of"
            f" the holes; {taken} {make} the answer{cut}, which erred by {self.error:.4g} on them. {self.seconds:.1f} s in all."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Completion:
    """The answer: the completed array, how the run went, and the transform it learned."""

    x: Any
    status: Status
    history: list[Record] = field(repr=False)
    method: Any  # the configured method
    transform: Any  # the transform that was learned, or None
    observed: np.ndarray = field(repr=False)  # True where the value was known, of x's shape
    slice_axes: tuple[int, int] = (0, 1)
    error: Any = field(default=None, repr=False)  # the standard error estimated for each entry, 0 where known; or None
    choice: Choice | None = field(default=None, repr=False)  # what `auto` tried and took
    undetermined: Any = field(default=None, repr=False)  # True where the model says nothing of a filled entry
    noise: float | None = None  # the standard deviation that what is known was taken to have; None: it was exact
    outliers: Any = field(default=None, repr=False)  # what was taken out of the known values as wrong, of x's shape
    ignored: np.ndarray | None = field(default=None, repr=False)  # True where an entry was left as it is; None: nowhere
    folded: Completion | None = field(default=None, repr=False)  # of a table: that of the array that was made of it
    units: Any = field(default=None, repr=False)  # mean and spread of quantities that were brought to one size; or None
    axes: tuple[str, ...] | None = None  # names of the axes of x, where a table tells them
    labels: Mapping[int, Sequence[str]] = field(default_factory=dict, repr=False)  # names of places along an axis

    @property
    def settled(self) -> np.ndarray:
        """True where nothing was to be filled: what was known, and what was ignored."""
        return self.observed if self.ignored is None else self.observed | self.ignored

    @property
    def seconds(self) -> float:
        """How long the run took."""
        return self.history[-1].seconds if self.history else 0.0

    @property
    def runs(self) -> dict[str, list[Record]]:
        """The records of each run that made the answer, by its name: the one with most weight first.

        A method by name is one run, or two where it starts from another's answer; under `auto` each candidate that has
        weight, and what it starts from, is one. What they minimise differs: their objectives cannot be compared.

        >>> steps = [Record(k, k / 10, 1.0, 0.1, 0.2, 0.1, 1e-3, 7, 3, run=name) for k, name in ((1, "views"), (2, "patches"))]
        >>> {name: len(records) for name, records in Completion(None, Status.SETTLED, steps, None, None, np.ones(1)).runs.items()}
        {'patches': 1, 'views': 1}
        """
        found: dict[str, list[Record]] = {}
        for record in self.history:
            found.setdefault(record.run, []).append(record)
        last_first = list(found)[::-1]  # what another starts from runs before it
        if self.choice is not None:
            weights = {trial.name: trial.weight for trial in self.choice.trials}
            last_first.sort(key=lambda name: -weights.get(name, 0))
        return {name: found[name] for name in last_first}

    def to_dict(self) -> dict[str, list]:
        """Return the history as columns, ready for a data frame."""
        rows = [asdict(record) for record in self.history]
        return {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}

    def update(self, new: Any, observed: Any = None, **options: Any) -> Completion:
        """Return the completion with new slices appended, from this answer on: see ``qrank.api.update``."""
        return PAGES["update"](self, new, observed, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it to an ``.npz`` file that ``qrank.load`` reads, as a whole or not at all; nothing is pickled.

        Labels, of xarray for instance, are not kept: x and error come back as plain arrays.
        """
        PAGES["save"](self, path)

    def report(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write the run as one HTML page with pictures, charts and numbers: see ``qrank.report.write_report``."""
        PAGES["report"](self.folded or self, path, **options)

    def __repr__(self) -> str:
        """Return three lines, not the whole array.

        >>> print(Completion(np.ones((2, 3)), Status.SETTLED, [], "tnn", None, np.eye(2, 3) > 0))
        Completion of a 2 x 3 array: 4 of 6 entries (66.7%) filled by tnn in 0.0 s
        The run settled: its schedule has ended.
        no error was estimated
        """
        filled, size = int(np.count_nonzero(~np.asarray(self.observed))), int(np.size(self.observed))
        name, shape = getattr(self.method, "name", self.method), " x ".join(map(str, np.shape(self.observed)))
        seconds = self.seconds if self.choice is None else self.choice.seconds
        told = "no error was estimated"
        if self.error is not None and filled:
            rms = float(np.sqrt(np.square(np.asarray(self.error), dtype=float).sum() / filled))
            told = f"standard error estimated for the filled entries: {rms:.3g} (root mean square)"
        share = f"{filled} of {size} entries ({filled / max(size, 1):.1%})"
        return f"Completion of a {shape} array: {share} filled by {name} in {seconds:.1f} s\n{self.status}\n{told}"

    def _repr_html_(self) -> str | None:
        return PAGES["fragment"](self.folded or self)


OnStep = Callable[[Record], Any]
