"""complete(): checks the input, looks the method up, runs it, gives back in y's own kind."""

from __future__ import annotations

import os
import warnings
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from . import kernels
from .checkpoint import Checkpoint, Journal, Stopping
from .choose import choose, plane
from .errors import ConvergenceWarning, InputError, KindError, UndeterminedWarning
from .methods import METHODS, Auto, Method, method_named
from .patches import Patches
from .problem import Problem
from .result import Choice, Completion, OnStep, Record, Status
from .run import Run


def complete(
    y: Any,
    observed: Any = None,
    method: str | Method = "auto",
    slice_axes: tuple[int, int] | None = None,
    *,
    preset: str | None = None,
    on_step: OnStep | None = None,
    rng: np.random.Generator | int | None = 0,
    holdout: float = 0.0,
    patch: int = 0,
    bounds: tuple[float | None, float | None] | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    every: float | None = None,
    **options: Any,
) -> Completion:
    """Fill the missing entries of a multi-way array.

    Parameters
    ----------
    y
        The array, of two or more axes; never changed. NaN in a float array, or the mask of a masked array, marks what is
        missing unless ``observed`` is given. A zero is a value like any other.
    observed
        Boolean, True where the value is known, of y's shape or broadcastable to it.
    method
        A name from ``qrank.METHODS`` (``qrank methods`` lists them) or a configured method. "auto" tries several on known
        entries that are hidden from them; how hard, its option ``effort`` says: "fast", "balanced" or "best".
    slice_axes
        The two axes that form a frontal slice; all other axes together are the third mode. None: for "auto" the two
        that are most like the sides of a picture, for all other methods the first two.
    preset
        ``"paper"`` sets exactly the paper's parameters and stopping rule; the default starts mu from the data and stops
        on relative residuals.
    on_step
        Called with the :class:`Record` of every step; a true answer stops the run.
    rng
        For whatever is random: a NumPy generator or a seed; with the default, the same call gives the same answer. None
        draws afresh.
    holdout
        Share of the known entries to hide from the method and measure the error on (``Record.holdout``); they come back
        as they were given.
    patch
        Side of the squares that slices are cut into; 0: none. For a single picture under one of the paper's methods: 16
        is a good choice. The transform, that of the patches, is not returned.
    bounds
        The least and the largest value that a filled entry may have, either may be None. By default 8- and 16-bit
        pixels keep their range.
    checkpoint
        A file in which the run is kept while it lasts: the same call goes on where a run that was killed had got to, and its
        answer is that of one that was not, to the last bit with as many threads. Ctrl-C and SIGTERM then end the run after
        its step, and what there is is returned. The file is removed when the run is done. It is refused for other data,
        another method, other options or another version.
    every
        Seconds between two writes of the checkpoint at least (60, and never more than a twentieth of the time); 0: every
        step.
    **options
        Those of the method: ``effort``, ``tol``, ``max_steps``, ``rho``, ``mu0``, ``penalty``, ``update_every``, ``r``, …

    Returns
    -------
    Completion
        ``x`` has y's shape, kind and floating dtype (integers and bool become float64), known entries exactly as given;
        ``error`` the standard error estimated for each filled entry, ``choice`` what "auto" tried and took.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 20 * 8))
    >>> x = x.reshape(20, 20, 8)
    >>> y = np.where(rng.random(x.shape) < 0.7, x, np.nan)
    >>> result = complete(y)
    >>> bool(np.abs(result.x - x).max() < 1e-2), result.choice.trials[0].name
    (True, 'views')
    """
    chosen, journal = _method(method, preset, options), Journal(_checkpoint(checkpoint, every))
    kind = kernels.of(y)
    known = kind.known(y, observed)
    if slice_axes is None:
        slice_axes = guessed_axes(y, known) if isinstance(chosen, Auto) else (0, 1)
    problem = Problem.of(y, known, slice_axes)
    layout = problem.layout
    cut = Patches(layout, patch) if patch != 0 else None
    fixed, rng = rng is not None, np.random.default_rng(rng)
    if cut is not None:
        problem = Problem.of(cut.split(kind.values(y), 0), cut.split(known, False), cut.slice_axes)
    with journal:
        if chosen.fit.exact and known.all():
            found = Answer(problem.y.copy(), Status.COMPLETE)
        else:
            journal.begin(problem, chosen, rng, fixed, patch, holdout)
            seen = problem.hold_out(holdout, rng) if holdout else problem
            with nullcontext() if journal.checkpoint is None else Stopping() as stopping:
                found = answered(
                    seen, chosen, rng, on_step if stopping is None else stopping.watching(on_step), journal
                )
            if found.status in (Status.STEP_LIMIT, Status.DIVERGED):
                warnings.warn(str(found.status), ConvergenceWarning, stacklevel=2)
        x, error = problem.unscaled(found.x), None if found.error is None else problem.unscaled(found.error)
        if cut is not None:
            x, error = cut.join(x), None if error is None else cut.join(error)
        low, high = checked_bounds(bounds, y)
        if low is not None or high is not None:
            x = np.clip(x, low, high)
        blind = (
            np.zeros(known.shape, dtype=bool)
            if found.status is Status.COMPLETE
            else _undetermined(chosen, problem, cut)
        )
        if blind.any():
            x = _from_nearby(x, blind, Problem.of(y, known, slice_axes), chosen.nearby and found.judged)
        x = chosen.fit.restore(kind.typed(x, y), y, known)
        transform = found.transform if cut is None else None  # it is that of the patches
        shown = None if error is None else kind.like(kind.typed(error, y), y)
        if found.status is not Status.INTERRUPTED:
            journal.end()
    about = (chosen, transform, known, layout.slice_axes, shown, found.choice, blind)
    return Completion(kind.like(x, y), found.status, found.records, *about)


def _undetermined(method: Method, problem: Problem, cut: Patches | None) -> np.ndarray:
    """Return the missing entries of which the method says nothing, in the array's axes."""
    blind = method.undetermined(problem) & ~problem.observed
    if cut is not None:
        return cut.join(problem.layout.outer(blind))
    return np.ascontiguousarray(problem.layout.outer(blind))


def _from_nearby(x: Any, blind: np.ndarray, problem: Problem, nearby: bool) -> Any:
    """Return x with something to stand on where the model says nothing, and say so."""
    how = "what was chosen takes them from the known entries nearby"
    if not isinstance(problem.y, np.ndarray):
        how = "they are as the method left them, for arrays of this kind cannot be interpolated"
    elif not nearby:
        filled = METHODS["interpolate"].configured()
        fill = problem.unscaled(np.array(Run(problem, filled).finished()).reshape(problem.y.shape))
        x, how = np.where(blind, fill, x), "they were interpolated along the smoothest axis"
    share = np.count_nonzero(blind) / np.count_nonzero(~problem.observed)
    warnings.warn(
        f"{np.count_nonzero(blind)} of the missing entries ({share:.1%}) lie in slices, rows or columns of which nothing is"
        f" known: low rank says nothing of them; {how} (result.undetermined)",
        UndeterminedWarning,
        stacklevel=3,
    )
    return x


def guessed_axes(y: Any, observed: Any = None) -> tuple[int, int]:
    """Return the two axes that are most like the sides of a picture, from their lengths and how smooth the data are.

    >>> rows, columns = np.mgrid[:30, :40] / 10
    >>> guessed_axes(np.random.default_rng(0).random((25, 1, 1)) * np.sin(rows + columns))
    (1, 2)
    """
    problem = Problem.of(y, observed)
    order = problem.layout.rest + problem.layout.slice_axes
    return plane(problem.layout.shape, problem.smoothness[np.argsort(order)])


def checked_bounds(bounds: Any, y: Any) -> tuple[float | None, float | None]:
    """Return the least and the largest value that an answer may have; by default the range of 8- and 16-bit pixels.

    >>> checked_bounds(None, np.zeros(3, np.uint8)), checked_bounds((0, None), np.zeros(3))
    ((0.0, 255.0), (0.0, None))
    """
    if bounds is None:
        dtype = str(getattr(y, "dtype", ""))
        return (0.0, 2.0 ** int(dtype[4:]) - 1) if dtype in ("uint8", "uint16") else (None, None)
    try:
        low, high = (None if value is None else float(value) for value in bounds)
    except (TypeError, ValueError):
        raise InputError(
            f"bounds must be the least and the largest value, or None for one of them, not {bounds!r}"
        ) from None
    if low is not None and high is not None and not low < high:
        raise InputError(f"bounds must be two numbers, the smaller first, not {bounds!r}")
    return low, high


class Answer(NamedTuple):
    """What comes out of a run, or of several: scaled, of the problem's shape."""

    x: Any
    status: Status
    records: list[Record] = []  # noqa: RUF012  never changed
    transform: Any = None
    error: Any = None
    choice: Choice | None = None
    judged: bool = True  # `auto`: what is hidden told of entries of which low rank says nothing, too


def answered(
    problem: Problem, method: Method, rng: np.random.Generator, on_step: OnStep | None, journal: Journal
) -> Answer:
    """Run a method, or what `auto` chooses."""
    if isinstance(method, Auto):
        found = choose(problem, method, rng, on_step, journal)
        journal.flush()
        return Answer(found.x, found.status, found.records, None, found.error, found.choice, found.judged)
    run, records = _followed(problem, method, rng, on_step, journal)
    journal.flush()
    error = run.deviation()
    if error is not None:
        error = np.where(problem.observed, 0, error)
    x, transform = run.answer(), run.learned()
    return Answer(x, run.status, records, transform, error)


def _followed(
    problem: Problem, method: Method, rng: Any, on_step: OnStep | None, journal: Journal
) -> tuple[Run, list[Record]]:
    """Return a run to its end, with its records, after the method whose answer it starts from."""
    records: list[Record] = []
    if method.after is not None and problem.start is None:
        first, records = _followed(problem, method_named(method.after).configured(), rng, on_step, journal)
        if first.status in (Status.DIVERGED, Status.INTERRUPTED):
            return first, records
        problem = replace(problem, start=first.answer().reshape(problem.y.shape))
    seconds, steps = sum(r.seconds for r in records[-1:]), len(records)

    def told(record: Record) -> Record:
        return replace(record, step=steps + record.step, seconds=seconds + record.seconds, run=method.name)

    run, earlier = journal.open(problem, method, rng)
    records.extend(map(told, earlier))
    for record in journal.steps(run):
        records.append(told(record))
        if on_step is not None and on_step(records[-1]):
            journal.stop(run)
            break
    journal.finish(run)
    return run, records


def _checkpoint(given: str | os.PathLike[str] | Checkpoint | None, every: float | None) -> Checkpoint | None:
    if isinstance(given, Checkpoint) or given is None:
        if every is not None:
            raise InputError("every says how often a checkpoint is written: name its file, checkpoint='run.ckpt'")
        return given
    return Checkpoint(given) if every is None else Checkpoint(given, every)


def _method(method: str | Method, preset: str | None, options: dict[str, Any]) -> Method:
    if isinstance(method, Method):
        if preset is not None or options:
            raise InputError("a configured method has its options already: give them when configuring it")
        return method
    if not isinstance(method, str):
        raise KindError(f"method must be a name or a configured method, not {type(method).__name__}")
    return method_named(method).configured(preset, **options)
