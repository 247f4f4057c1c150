"""complete(): checks the input, looks the method up, runs it, gives back in y's own kind."""

from __future__ import annotations

import os
import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np

from .. import kernels
from ..checkpoint import Checkpoint, Journal, Stopping
from ..errors import ConvergenceWarning, InputError
from ..methods import Method
from ..patches import Patches
from ..problem import Problem
from ..result import Completion, OnStep, Status
from ..tensor import Layout
from .answer import Answer, answered, from_nearby, undetermined
from .estimate import check_fits, estimated
from .inputs import (
    check_earlier,
    check_kind,
    check_on_step,
    checked_bounds,
    checkpoint_of,
    generator,
    method_of,
    usual_axes,
    with_level,
    within,
)
from .labels import along, as_given, axes_of, ignored_of, like_labels
from .progress import watching
from .start import started
from .tabular import arrangement
from .units import axis_of, on_one_scale


def complete(
    y: Any,
    observed: Any = None,
    method: str | Method = "auto",
    slice_axes: tuple[int | str, int | str] | None = None,
    *,
    ignore: Any = None,
    preset: str | None = None,
    on_step: OnStep | None = None,
    progress: bool = False,
    rng: np.random.Generator | int | None = 0,
    holdout: float = 0.0,
    patch: int = 0,
    bounds: tuple[float | None, float | None] | None = None,
    integer: bool = False,
    fold: str | int | None = None,
    units: int | str | None = None,
    index: Any = None,
    columns: Any = None,
    values: Any = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    every: float | None = None,
    earlier: Completion | None = None,
    **options: Any,
) -> Completion:
    """Fill the missing entries of a multi-way array.

    Parameters
    ----------
    y
        The array, of two or more axes; never changed. NaN in a float array, or the mask of a masked array, marks what is
        missing unless ``observed`` is given; so do, of an array of xarray, its attributes ``_FillValue`` and ``missing_value`` and
        rioxarray's nodata. A zero is a value like any other. Or a table, a ``DataFrame`` or ``Series`` of pandas or polars:
        its columns of numbers are filled, all others are carried along.
    observed
        Boolean, True where the value is known, of y's shape or broadcastable to it: (height, width) does for pictures and
        clips of that size, in colour or not. A labelled one goes along the axes of y that have its names.
    method
        A name from ``qrank.METHODS`` (``qrank methods`` lists them) or a configured method. "auto" tries several on known
        entries that are hidden from them; how hard, its option ``effort`` says: "fast", "balanced" or "best".
    slice_axes
        The two axes that form a frontal slice; all other axes together are the third mode. None: for "auto" the two
        that are most like the sides of a picture, for all other methods the first two. Of a labelled array by their names,
        too: ``("lat", "lon")``.
    ignore
        Boolean, True where an entry is neither known nor to be filled, land in a map of the sea: it comes back as it was given,
        says nothing of other entries, and is no hole. ``error`` is 0 there.
    preset
        ``"paper"`` sets exactly the paper's parameters and stopping rule; the default starts mu from the data and stops
        on relative residuals.
    on_step
        Called with the ``Record`` of every step; a true answer stops the run.
    progress
        Show where the run is: a live line in a terminal (where rich is installed), a widget in a notebook, a plain line every
        few seconds on stderr everywhere else. By default nothing is shown.
    rng
        For whatever is random: a NumPy generator or a seed; with the default, the same call gives the same answer. None
        draws afresh.
    holdout
        Share of the known entries to hide from the method and measure the error on (``Record.holdout``); they come back
        as they were given. Those without which nothing would be known of a slice, row or column are not hidden.
    patch
        Side of the squares that slices are cut into; 0: none. For a single picture under one of the paper's methods: 16
        is a good choice. The transform, that of the patches, is not returned.
    bounds
        The least and the largest value that a filled entry may have, either may be None. By default 8- and 16-bit
        pixels keep their range, and a table of which all known values are whole and none is negative is filled with
        none that is negative, for it holds counts; ``(None, None)`` sets no bounds.
    integer
        Round filled entries to whole numbers. Columns of a table that have an integer type are rounded in any case.
    fold
        Of a table, or a matrix, of times x sensors: the period by which rows are folded, so that (sensor, time of day, day)
        is completed. "day", "hour", "week", "1D", "12h", …, a number of rows, or "none". None guesses from the time stamps
        of a table: the day, the week for daily rows, the hour for shorter ones; ``result.folded`` is what was completed.
        Incomplete periods are padded with missing entries, which are cut off again.
    units
        The axis, by number or name, along which entries are quantities of their own (kelvin, pascal, counts): each is brought
        to mean 0 and standard deviation 1 for the run, and back. Of a table "own" or "same" for its columns; by default
        "own" where some column spreads ten times as much as another. What was tried is then told in standard deviations.
    index, columns, values
        Of a long table, a row an entry: the names of its columns of times, of sensors and of values. Entries without a row
        are missing; the answer has a row for each. ``index`` alone names the column that labels the rows of a wide table.
    checkpoint
        A file in which the run is kept while it lasts: the same call goes on where a run that was killed had got to, and its
        answer is that of one that was not, to the last bit with as many threads. Ctrl-C and SIGTERM then end the run after
        its step, and what there is is returned. The file is removed when the run is done. It is refused for other data,
        another method, other options or another version.
    every
        Seconds between two writes of the checkpoint at least (60, and never more than a twentieth of the time); 0: every
        step.
    earlier
        The result of an earlier run of the same method to go on from: of the same array with more known, or of one to which
        slices were appended at the end of one axis. A few steps do then (``Completion.update`` appends).
    **options
        Those of the method: ``effort``, ``tol``, ``max_steps``, ``rho``, ``mu0``, ``penalty``, ``update_every``, ``r``, …;
        ``noise``: the standard deviation of what is known, or "auto", which estimates it (``result.noise``);
        ``outliers``: some of it is wrong (``qrank.separate``).

    Returns
    -------
    Completion
        ``x`` has y's shape, kind and floating dtype (integers and bool become float64), known entries exactly as given; a
        table has its index, columns, names and dtypes;
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
    check_earlier(earlier)
    check_on_step(on_step)
    chosen, journal = method_of(method, preset, options), Journal(checkpoint_of(checkpoint, every))
    table = arrangement(y, observed, fold, index, columns, values)
    if table is not None:
        if ignore is not None:
            raise InputError("ignore is for arrays: of a table, fill the columns and rows that are wanted")
        table = table.needed(chosen.fit.exact)
        y, observed, bounds = table.array, table.observed, table.bounds(bounds)
    limits, about = checked_bounds(bounds, y, integer), (slice_axes, journal, rng, on_step, progress, holdout, patch)
    axis = axis_of(units, y, table, chosen.fit.exact, earlier)
    if axis is None:
        found = _completed(y, observed, ignore, chosen, *about, limits, integer, earlier)
    else:
        scaled, known, own = on_one_scale(y, observed, ignore, axis)
        found = own.answer(
            _completed(scaled, known, ignore, chosen, *about, (None, None), False, earlier), y, limits, integer
        )
    return found if table is None else table.back(found)


def _completed(
    y: Any,
    observed: Any,
    ignore: Any,
    chosen: Method,
    slice_axes: Any,
    journal: Journal,
    rng: np.random.Generator | int | None,
    on_step: OnStep | None,
    progress: bool,
    holdout: float,
    patch: int,
    limits: tuple[float | None, float | None],
    integer: bool,
    earlier: Completion | None,
) -> Completion:
    """Fill the missing entries of an array by a configured method."""
    kind, slice_axes = kernels.of(y), axes_of(slice_axes, y)
    check_kind(kind, chosen, y)
    known, ignored = ignored_of(ignore, y, kind, kind.known(y, along(observed, y)))
    if slice_axes is None:
        slice_axes = usual_axes(y, known, chosen, earlier)
    layout = Layout.of(known.shape, slice_axes)
    cut = Patches(layout, patch) if patch != 0 else None
    stack = layout if cut is None else Layout.of(cut.parted, cut.slice_axes)
    check_fits(kind, y, known, stack, chosen, bool(holdout), marked=observed is None)
    problem = whole = Problem.of(y, known, slice_axes).leaving(ignored)
    fixed, rng = rng is not None, generator(rng)
    chosen = with_level(chosen, problem, rng)
    if cut is not None:
        if earlier is not None:
            raise InputError("a run on patches cannot start from an earlier answer: leave out patch, or earlier")
        values, mask = kind.patched(cut, kind.values(y), 0), kind.patched(cut, known, False)
        problem = Problem.of(values, mask, cut.slice_axes)
        problem = problem if ignored is None else problem.leaving(cut.split(ignored, True))
    check_fits(kind, problem.y, known, stack, chosen, bool(holdout))  # now that it is known what had to be copied
    with journal:
        if chosen.fit.exact and whole.count == layout.size - whole.left_out:
            found = Answer(kernels.of(problem.y).copy(problem.y), Status.COMPLETE)
        else:
            more = [one for one in (None if earlier is None else earlier.x, ignored) if one is not None]
            journal.begin(problem, chosen, rng, fixed, patch, holdout, *more)
            seen = problem.hold_out(holdout, rng, chosen.undetermined) if holdout else problem
            found = _found(seen, chosen, earlier, rng, on_step, progress, journal)
            if found.status in (Status.STEP_LIMIT, Status.DIVERGED):
                warnings.warn(str(found.status), ConvergenceWarning, stacklevel=3)
        x, error = problem.unscaled(found.x), None if found.error is None else problem.unscaled(found.error)
        if cut is not None:
            x, error = cut.join(x), None if error is None else cut.join(error)
        blind = known & ~known if found.status is Status.COMPLETE else undetermined(chosen, problem, cut)
        if blind.any():
            x = from_nearby(x, blind, whole, chosen.nearby and found.judged)
        x = chosen.fit.restore(kind.typed(within(x, limits, integer), y), y, known)
        transform = found.transform if cut is None else None  # it is that of the patches
        x, shown = as_given(x, error, y, kind, ignored)
        if found.status is not Status.INTERRUPTED:
            journal.end()
    wrong = None if found.outliers is None else kind.like(kind.typed(problem.unscaled(found.outliers), y), y)
    blind = like_labels(blind, y)
    about = (chosen, transform, known, layout.slice_axes, shown, found.choice, blind, chosen.noise_level, wrong)
    return Completion(x, found.status, found.records, *about, ignored=ignored)


def _found(
    problem: Problem,
    method: Method,
    earlier: Completion | None,
    rng: Any,
    on_step: OnStep | None,
    progress: bool,
    journal: Journal,
) -> Answer:
    """Return the answer of a run, or of one that goes on from an earlier result; a signal ends one that is kept in a file."""
    choice = None
    if earlier is not None:
        problem, choice = started(problem, method, earlier, rng), earlier.choice
    with (
        watching(progress, method, on_step, _forecast(problem, method) if progress else None) as watched,
        nullcontext() if journal.checkpoint is None else Stopping() as stopping,
    ):
        watched = watched if stopping is None else stopping.watching(watched)
        return answered(problem, method, rng, watched, journal, choice)


def _forecast(problem: Problem, method: Method) -> float | None:
    """Return the seconds that a new run is expected to take, or None where that cannot be told."""
    if problem.start is not None or not isinstance(problem.y, np.ndarray):
        return None
    return estimated(problem.layout, problem.y.dtype, method, float(problem.observed.mean())).forecast
