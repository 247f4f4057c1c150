"""inspect(): what is missing and how, how low the rank is under each transform, and which method to take."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..api import complete
from ..data import observed as draw
from ..errors import ConvergenceWarning, need
from ..metrics import rmse
from ..problem import Problem
from ..transforms import Cosine, Fourier, Identity, Matrix, Transform, pca
from ..transforms.wavelets import wavelet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIDE, DEPTH = 64, 96  # the piece on which methods are tried: at most so large a slice, and so many slices
HIDE = 0.5  # share hidden in the trial where nothing is missing
HOLD_OUT = 0.1  # share of the known entries hidden in the trial where something is missing
CLEARLY = 0.98  # another method is taken over the first if its error is below this part of the first one's
TRIED = {"learned": "vmtqn", "Fourier": "tnn", "cosine": "tnn-c", "wavelet": "ttnn", "identity": "slicewise"}


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
    trial: dict[str, float]  # method -> error on entries hidden from it
    method: str
    why: str

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
        found.append(f"method: {self.method}, because {self.why}")
        return found

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
    slice_axes: tuple[int, int] = (0, 1),
    *,
    rng: np.random.Generator | int | None = 0,
) -> Inspection:
    """Look at an array before it is completed.

    The method is chosen by trial: on a piece of the data some known entries are hidden, in the way in which entries are
    missing, and the method that errs least on them is taken; ``vmtqn`` unless another is clearly better.

    >>> found = inspect(np.add.outer(np.arange(12.0), np.arange(12.0))[:, :, None] * [1, 5, 2, 4, 3.0])
    >>> found.missing, found.spectra["learned"].rank99, found.method
    (0, 1, 'vmtqn')
    """
    rng = np.random.default_rng(rng)
    problem = Problem.of(y if isinstance(y, np.ndarray) else np.asarray(y), observed, slice_axes)
    layout, values = problem.layout, problem.stack
    known = problem.observed.reshape(layout.n3, *layout.slice_shape)
    seen = values[known]
    piece, seen_piece = _piece(values, known)
    trial, answers = _trial(piece, seen_piece, rng)
    complete_data = bool(known.all())
    if layout.n3 == 1:
        method, why = "slicewise", "there is only one slice, so that there is nothing to transform"
    else:
        method, why = _choice(trial, complete_data)
    basis, measured_on = values, "of the data"
    if not complete_data:
        size = " x ".join(map(str, (*piece.shape[1:], len(piece))))
        basis, measured_on = answers[method], f"of a piece {size} quickly completed by {method}"
        measured_on += "; the last digits depend on that method" if layout.n3 > 1 else ""
    empty, count = _empty(known)
    return Inspection(
        shape=layout.shape,
        slice_axes=layout.slice_axes,
        dtype=str(np.asarray(y).dtype),
        low=float(seen.min()) * problem.scale,
        high=float(seen.max()) * problem.scale,
        missing=int((~known).sum()),
        share=float((~known).mean()),
        pattern=_pattern(known, empty),
        empty=empty,
        of=count,
        spectra=_spectra(basis),
        measured_on=measured_on,
        trial={name: error * problem.scale for name, error in trial.items()},
        method=method,
        why=why,
    )


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


def _piece(values: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the middle of the stack, small enough to try methods on; the whole where the middle has no observation."""
    sides = zip(values.shape, (DEPTH, SIDE, SIDE), strict=True)
    cut = tuple(slice(start := max(0, n - most) // 2, start + most) for n, most in sides)
    if known[cut].sum() < 0.1 * known.mean() * known[cut].size or not values[cut].any():
        return values, known
    return np.where(known[cut], values[cut], 0), known[cut]


def _trial(piece: np.ndarray, known: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, float], dict]:
    """Return the error of each method on entries hidden from it, and what it made of the piece."""
    n3 = len(piece)
    if known.all():
        held = ~draw(known.shape, 1 - HIDE, "random", (1, 2), rng)
    else:
        fibres = known.any(axis=0).mean() < 0.5 + 0.5 * known.mean() and n3 > 1  # whole fibres are missing
        held = ~draw(known.shape, 1 - HOLD_OUT, "fibres" if fibres else "random", (1, 2), rng) & known
    left = known & ~held
    if not held.any() or not left.any():
        held, left = known, known
    errors, answers = {}, {}
    for method in TRIED.values() if n3 > 1 else ("slicewise",):
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            result = complete(piece, left, method, (1, 2), tol=1e-3, rng=rng)
        errors[method], answers[method] = rmse(result.x, piece, held), result.x
    return errors, answers


def _choice(trial: Mapping[str, float], complete_data: bool) -> tuple[str, str]:
    best = min(trial, key=lambda name: trial[name])
    method = best if trial[best] < CLEARLY * trial["vmtqn"] else "vmtqn"
    second = min((name for name in trial if name != method), key=lambda name: trial[name])
    size = max(trial[second], 1e-300)
    hid = f"{HIDE:.0%} of the entries" if complete_data else f"{HOLD_OUT:.0%} of the known entries"
    how = "erred least" if trial[method] <= trial[second] else "erred hardly more than the best"
    return method, f"with {hid} of a piece hidden it {how}: {trial[method] / size:.2f} of the error of {second}"


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
