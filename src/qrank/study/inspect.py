"""inspect(): what is missing and how, how low the rank is under each transform, and which method to take."""

from __future__ import annotations

import html
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .. import kernels
from ..api import along, arrangement, axes_of, axis_of, generator, guessed_axes, ignored_of, in_deviations, on_one_scale
from ..api.progress import watching
from ..checkpoint import Journal
from ..choose import FEW, tried
from ..choose.auto import Tried
from ..errors import ConvergenceWarning, need
from ..methods import Auto
from ..problem import Problem
from ..result import Choice
from ..text import duration
from ..transforms import Cosine, Fourier, Identity, Matrix, Transform, pca
from ..transforms.wavelets import wavelet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HIDE = 0.5  # share hidden in the trial where nothing is missing


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The Q-singular values under one transform, and two numbers that say how fast they fall."""

    values: np.ndarray = field(repr=False)  # descending
    rank99: int  # how many hold 99 % of the energy
    nuclear: float  # their sum, relative to that under the identity


@dataclass(frozen=True, eq=False)
class Inspection:
    """What :func:`inspect` found."""

    shape: tuple[int, ...]
    slice_axes: tuple[int, int]
    dtype: str
    low: float  # smallest and largest known value
    high: float
    missing: int
    share: float
    pattern: str  # a phrase
    empty: dict[str, int]  # fibres, rows, columns and slices without any observation
    of: dict[str, int]  # how many there are of each
    spectra: dict[str, Spectrum] = field(repr=False)
    measured_on: str
    choice: Choice | None  # what `auto` would try and take; None where nothing could be hidden

    def lines(self) -> list[str]:
        """Return all of it as lines to read."""
        found = [
            f"shape {' x '.join(map(str, self.shape))}, {self.dtype}, values from {self.low:.6g} to {self.high:.6g}",
            f"missing {self.missing} of {math.prod(self.shape)} entries ({self.share:.1%}): {self.pattern}",
        ]
        for name, count in self.empty.items():
            if count:
                helpless = "" if name == "fibres" else f": low rank alone cannot fill these {name}"
                found.append(f"{count} of {self.of[name]} {name} have no observation{helpless}")
        found.append(f"Q-singular values ({self.measured_on}):")
        for name, spectrum in self.spectra.items():
            energy = f"  {name:<9} {spectrum.rank99:>6} hold 99% of the energy"
            found.append(f"{energy}; nuclear norm {spectrum.nuclear:.3f} of the identity's")
        if self.choice is None:
            return [*found, "too little is known to try methods on"]
        found.append("candidates, their error on hidden entries, their weight in auto:")
        for one in self.choice.trials:
            found.append(f"  {one.name:<40} {one.error:>10.4g} {one.weight:>6.2f} {duration(one.seconds):>8}")
        return [*found, str(self.choice)]

    def _repr_html_(self) -> str:
        """Return the lines for a notebook, the candidates as a table."""
        trials = () if self.choice is None else self.choice.trials
        lines = self.lines()
        if trials:
            begin = next(k for k, line in enumerate(lines) if line.startswith("candidates, "))
            lines = lines[:begin] + lines[begin + 1 + len(trials) :]
        told = f"<pre>{html.escape(chr(10).join(lines))}</pre>"
        if not trials:
            return told
        rows = "".join(
            f"<tr><th>{html.escape(one.name)}</th><td>{'' if one.error is None else f'{one.error:.4g}'}</td>"
            f"<td>{one.weight:.2f}</td><td>{duration(one.seconds)}</td></tr>"
            for one in trials
        )
        head = "<tr><th>candidate</th><th>error on hidden entries</th><th>weight</th><th>time</th></tr>"
        return f"{told}<table><thead>{head}</thead><tbody>{rows}</tbody></table>"

    @property
    def method(self) -> str:
        """The candidate with most weight."""
        return "auto" if self.choice is None else self.choice.trials[0].name

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the Q-singular values under each transform; needs matplotlib."""
        if ax is None:
            figures = need("matplotlib.figure", "report", "plotting spectra")
            ax = cast("Axes", figures.Figure(figsize=(7, 4.5), layout="constrained").add_subplot())
        for name, spectrum in self.spectra.items():
            top = spectrum.values / (spectrum.values[0] or 1.0)
            keep = np.unique(np.geomspace(1, len(top), 400).astype(int)) - 1
            ax.loglog(keep + 1, np.maximum(top[keep], 1e-8), label=name)
        ax.set(xlabel="Q-singular value, counted", ylabel="relative to the largest", title=self.measured_on)
        ax.grid(alpha=0.3)
        ax.legend()
        return ax


def inspect(
    y: Any,
    observed: Any = None,
    slice_axes: tuple[int | str, int | str] | None = None,
    *,
    ignore: Any = None,
    rng: np.random.Generator | int | None = 0,
    progress: bool = False,
    fold: str | int | None = None,
    units: int | str | None = None,
    index: Any = None,
    columns: Any = None,
    values: Any = None,
) -> Inspection:
    """Look at an array before it is completed: what is missing, how low its rank is, what `auto` would take.

    It does what `complete` with method "auto" does before its last run. Of an array of which nothing is missing, half is
    hidden first. Of tables, and with ``fold`` and ``units``, it looks at what `complete` would make of them, padding and all.
    Masks and axes are given as to `complete`, and ``progress``; what is ignored is not counted as missing.

    >>> found = inspect(np.add.outer(np.arange(12.0), np.arange(12.0))[:, :, None] * [1, 5, 2, 4, 3.0])
    >>> found.missing, found.spectra["learned"].rank99
    (0, 1)
    """
    rng = generator(rng)
    table = arrangement(y, observed, fold, index, columns, values)
    if table is not None:
        y, observed = table.array, table.observed
    dtype, axes, quantities = getattr(y, "dtype", None), axes_of(slice_axes, y), axis_of(units, y, table, True, None)
    problem = given = _problem(y, observed, ignore, axes)
    if quantities is not None:
        problem = _problem(*on_one_scale(y, observed, ignore, quantities)[:2], ignore, axes)
    layout, stack = problem.layout, problem.stack
    known = problem.observed.reshape(layout.n3, *layout.slice_shape)
    seen = stack[known]
    settled = problem.settled.reshape(known.shape)
    whole = bool(settled.all())
    shown = (
        problem.without(np.flatnonzero(problem.observed & (rng.random(problem.y.shape) < HIDE))) if whole else problem
    )
    basis, measured_on, choice = stack, "of the data", None
    if shown.count >= FEW:
        found = _tried(replace(shown, held_out=None, held_out_values=None), rng, progress)
        choice = replace(found.choice, seconds=sum(one.seconds for one in found.choice.trials))
        choice = choice if quantities is None else in_deviations(choice)
        if not known.all():
            filled = found.of_trial()
            basis = filled.reshape(-1, *filled.shape[-2:])
            where = "a part of the data" if found.box is not None else "the data"
            measured_on = f"of {where} as quickly completed; the last digits depend on the method"
    elif not known.all():
        basis = np.where(known, stack, seen.mean())
    empty, count = _empty(settled)
    return Inspection(
        shape=layout.shape,
        slice_axes=layout.slice_axes,
        dtype=str(dtype or problem.y.dtype),
        low=float(given.y[given.observed].min()) * given.scale,
        high=float(given.y[given.observed].max()) * given.scale,
        missing=int((~settled).sum()),
        share=float((~settled).mean()),
        pattern=_pattern(settled, empty),
        empty=empty,
        of=count,
        spectra=_spectra(basis),
        measured_on=measured_on,
        choice=choice,
    )


def _tried(problem: Problem, rng: np.random.Generator, progress: bool) -> Tried:
    """Try what `auto` would try."""
    with (
        warnings.catch_warnings(action="ignore", category=ConvergenceWarning),
        watching(progress, Auto(), None) as on_step,
    ):
        return tried(problem, Auto(), rng, on_step, Journal(None))


def _problem(y: Any, observed: Any, ignore: Any, axes: Any) -> Problem:
    """Return what is known of an array, and what of it is ignored; axes that are not given are guessed."""
    kind = kernels.of(y)
    known, ignored = ignored_of(ignore, y, kind, kind.known(y, along(observed, y)))
    return Problem.of(y, known, guessed_axes(y, known) if axes is None else axes).leaving(ignored)


def _empty(known: np.ndarray) -> tuple[dict[str, int], dict[str, int]]:
    """Count the fibres of the third mode, the rows and columns of slices, and the slices, that have no observation."""
    n3, n1, n2 = known.shape
    seen = np.asarray(known.any(axis=(1, 2)))
    rows = ~known.any(axis=2) & seen[:, None]  # those of empty slices are not counted twice
    columns = ~known.any(axis=1) & seen[:, None]
    empty = {"fibres": ~known.any(axis=0), "rows": rows, "columns": columns, "slices": ~seen}
    of = {"fibres": n1 * n2, "rows": n3 * n1, "columns": n3 * n2, "slices": n3}
    return {name: int(where.sum()) for name, where in empty.items()}, of


def _pattern(known: np.ndarray, empty: Mapping[str, int]) -> str:
    missing = ~known
    total = int(missing.sum())
    if not total:
        return "nothing is missing"
    n3, n1, n2 = known.shape
    if empty["slices"] * n1 * n2 > 0.5 * total:
        return "mostly whole slices"
    if n3 > 1 and empty["fibres"] * n3 > 0.5 * total:
        return "mostly whole fibres, the same places in every slice"
    # Scattered at random, a neighbour of a missing entry is missing no more often than any other entry.
    pairs = missing[:, :, 1:] & missing[:, :, :-1]
    share = total / known.size
    together = float(pairs.sum()) / max(1, int(missing[:, :, 1:].sum()))
    if share < 0.95 and together > share + 0.5 * (1 - share):
        return "in blocks or lines: where an entry is missing its neighbour mostly is, too"
    return "scattered over the slices"


def _spectra(stack: np.ndarray) -> dict[str, Spectrum]:
    n3 = len(stack)
    named: dict[str, Transform] = {
        "learned": Matrix(pca(stack, slice_axes=(1, 2))),
        "Fourier": Fourier(n3),
        "cosine": Cosine(n3),
        "wavelet": wavelet(n3),
        "identity": Identity(n3),
    }
    stack = np.ascontiguousarray(stack)
    found = {name: np.sort(q.singular_values(stack), axis=None)[::-1] for name, q in named.items()}
    unit = float(found["identity"].sum()) or 1.0
    return {name: Spectrum(s, _rank99(s), float(s.sum()) / unit) for name, s in found.items()}


def _rank99(s: np.ndarray) -> int:
    energy = np.cumsum(np.square(s, dtype=float))
    return int(np.searchsorted(energy, 0.99 * energy[-1])) + 1 if energy[-1] else 0
