"""complete(): checks the input, looks the method up, runs it, gives back in y's own kind."""

from __future__ import annotations

import os
import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np

from .. import kernels
from ..checkpoint import Checkpoint, Journal, Stopping
from ..errors import ConvergenceWarning
from ..methods import Auto, Method
from ..patches import Patches
from ..problem import Problem
from ..result import Completion, OnStep, Status
from .answer import Answer, answered, from_nearby, undetermined
from .inputs import checked_bounds, checkpoint_of, guessed_axes, method_of


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
    chosen, journal = method_of(method, preset, options), Journal(checkpoint_of(checkpoint, every))
    kind = kernels.of(y)
    known = kind.known(y, observed)
    if slice_axes is None:
        slice_axes = guessed_axes(y, known) if isinstance(chosen, Auto) else (0, 1)
    problem = Problem.of(y, known, slice_axes)
    layout = problem.layout
    cut = Patches(layout, patch) if patch != 0 else None
    fixed, rng = rng is not None, np.random.default_rng(rng)
    if cut is not None:
        values, mask = kind.patched(cut, kind.values(y), 0), kind.patched(cut, known, False)
        whole, problem = problem, Problem.of(values, mask, cut.slice_axes)
    else:
        whole = problem
    with journal:
        if chosen.fit.exact and whole.count == layout.size:
            found = Answer(kernels.of(problem.y).copy(problem.y), Status.COMPLETE)
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
        blind = ~known if found.status is Status.COMPLETE else undetermined(chosen, problem, cut)
        if blind.any():
            x = from_nearby(x, blind, whole, chosen.nearby and found.judged)
        x = chosen.fit.restore(kind.typed(x, y), y, known)
        transform = found.transform if cut is None else None  # it is that of the patches
        shown = None if error is None else kind.like(kind.typed(error, y), y)
        if found.status is not Status.INTERRUPTED:
            journal.end()
    about = (chosen, transform, known, layout.slice_axes, shown, found.choice, blind)
    return Completion(kind.like(x, y), found.status, found.records, *about)
