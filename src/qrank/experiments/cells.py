"""One cell of an experiment: a method on a data set of which a share p is seen."""

from __future__ import annotations

import json
import math
import re
import time
import warnings
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..api import complete
from ..errors import ConvergenceWarning
from ..kernels import threads
from ..methods import METHODS, Method
from ..metrics import psnr
from ..problem import Problem
from ..result import OnStep
from ..run import Run
from ..text import duration
from ..version import versions
from . import sources

SLICES_SHOWN = (0.13, 0.38, 0.63, 0.88)  # which slices pictures show, as shares of n3


# of a CSV file, besides what names a cell, the hash of its data, and versions
COLUMNS = ("psnr", "psnr_missing", "psnr_uncut", "seconds", "steps", "status", "settings", "seed")


@dataclass(frozen=True)
class Cell:
    """What is run. ``options`` are those of the method, as JSON; ``r`` is the Q-rank of synthetic data."""

    data: str
    method: str
    p: float
    draw: int = 0
    options: str = "{}"
    r: int | None = None
    columns: ClassVar[tuple[str, ...]] = COLUMNS
    curve: bool = False  # record the PSNR after every step
    pictures: bool = False  # keep some slices

    @property
    def label(self) -> str:
        """The method with its options, as tables name it.

        >>> Cell("video", "vmtqn", 0.3, options='{"penalty": "log-sum"}').label
        'vmtqn, penalty log-sum'
        """
        return _label(self.method, self.options)

    @property
    def key(self) -> str:
        """The name of its files.

        >>> Cell("coil", "tnn", 0.2, 1).key
        'coil/tnn_p0.2_d1'
        """
        label = re.sub(r"[^\w.-]+", "-", self.label)
        return f"{self.data}/{label}" + ("" if self.r is None else f"_r{self.r}") + f"_p{self.p:g}_d{self.draw}"

    @property
    def plain(self) -> Cell:
        """The cell but for what is kept of it besides its numbers."""
        return replace(self, curve=False, pictures=False)

    def configured(self, truth: np.ndarray | None = None) -> Method:
        """Return the method with its options."""
        options = json.loads(self.options)
        preset = options.pop("preset", None)
        if self.method == "tqn-oracle":
            options["truth"] = truth
        return METHODS[self.method].configured(preset, **options)

    @property
    def settings(self) -> str:
        """What a kept cell must have been run with to be as good as a new one."""
        number = revision(self.method)
        return f"{self.configured()}" + (f", revision {number}" if number else "")

    @staticmethod
    def fingerprint(data: str, folder: Path | None) -> str | None:
        """Return what tells the data from others of that name, or say why they cannot be read; None: they are drawn."""
        return None if data in sources.SYNTHETIC else sources.fingerprint(sources.load(data, folder))

    def ready(self) -> None:
        """Say in a sentence what is missing to run it, if anything is; of the data `fingerprint` does."""

    def run(self, folder: Path | None, on_step: OnStep | None = None) -> Outcome:
        """Run it."""
        return run(self, folder, on_step)

    def told(self, numbers: dict[str, Any]) -> str:
        """Return what came out, in a line.

        >>> Cell("coil", "tnn", 0.2).told({"psnr": 21.5, "steps": 80, "seconds": 61.0})
        'coil, tnn at 0.2, draw 0: 21.50 dB, 80 steps, 1 min 01 s'
        """
        rank = "" if self.r is None else f", r = {self.r}"
        return (
            f"{self.data}{rank}, {self.label} at {self.p:g}, draw {self.draw}:"
            f" {numbers['psnr']:.2f} dB, {numbers['steps']} steps, {duration(numbers['seconds'])}"
        )

    def row(self, numbers: dict[str, Any]) -> dict[str, Any]:
        """Return the numbers as a flat row of a CSV file."""
        return {
            "data": self.data,
            "shape": "x".join(str(n) for n in numbers["shape"]),
            **{"method": self.label, "p": self.p, "draw": self.draw, "r": self.r},
            **{name: numbers[name] for name in self.columns},
            **{"data_hash": numbers["fingerprint"], "threads": numbers["threads"], **numbers["versions"]},
        }

    @staticmethod
    def place(row: dict[str, str]) -> tuple[str, ...]:
        """Return what names the cell of a row."""
        return row["data"], row["method"], f"{float(row['p']):g}", row["draw"], row["r"]

    def read(self, row: dict[str, str]) -> dict[str, Any]:
        """Return the numbers of a row that `row` made; pictures and curves are not in it."""
        return {
            "cell": asdict(self),
            "shape": [int(n) for n in row["shape"].split("x")],
            **{name: float(row[name]) for name in ("psnr", "psnr_uncut", "seconds")},
            "psnr_missing": float(row["psnr_missing"]) if row["psnr_missing"] else None,
            "seconds_in_all": float(row["seconds"]),
            **{name: int(row[name]) for name in ("steps", "seed", "threads")},
            **{name: row[name] for name in ("status", "settings")},
            **dict.fromkeys(("curve", "stamps")),
            "fingerprint": row["data_hash"],
            "versions": {name: row[name] for name in versions()},
        }


def revision(name: str) -> int:
    """Return a number that grows when a method's answers change: its own and those of what it builds on, `auto` on all.

    >>> revision("vmtqn"), revision("patches") > revision("views"), revision("auto") > revision("patches")
    (1, True, True)
    """
    if name == "auto":
        return sum(kind.revision for kind in METHODS.values())
    kind = METHODS[name]
    return kind.revision + (revision(kind.after) if kind.after else 0)


@cache
def _label(method: str, options: str) -> str:
    """Return what `Cell.label` does: of thousands of cells it is asked after each one of them."""
    return ", ".join([method, *(f"{name} {value}" for name, value in json.loads(options).items())])


@dataclass(eq=False)
class Outcome:
    """What came out: numbers, and where the cell asks for them slices (truth, what is seen as NaN, answer)."""

    numbers: dict[str, Any]
    pictures: dict[str, np.ndarray]


def observed(cell: Cell, shape: tuple[int, ...]) -> np.ndarray:
    """Return what is seen: every entry on its own with probability p."""
    return np.random.default_rng([cell.draw, 0]).random(shape) < cell.p


def run(cell: Cell, folder: Path | None, on_step: OnStep | None = None) -> Outcome:
    """Run a cell.

    >>> found = run(Cell("synthetic-20", "vmtqn", 0.8, r=2), None).numbers
    >>> found["psnr"] > 40, found["shape"]
    (True, [20, 20, 20])
    """
    truth = sources.truth(cell.data, folder, cell.r, cell.draw)
    known = observed(cell, truth.shape)
    method = cell.configured(truth)
    start = time.perf_counter()
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        if cell.curve:
            x, steps, status, curve = _followed(cell, truth, known, method, on_step)
        else:
            found = complete(truth, known, method, (1, 2), rng=cell.draw, on_step=on_step)
            x, steps, status, curve = found.x, [record.seconds for record in found.history], found.status.name, None
    seconds = time.perf_counter() - start
    shown = sources.shown(cell.data, x)
    numbers = {
        "cell": asdict(cell),
        "shape": list(truth.shape),
        "psnr": finite(psnr(shown, truth)),
        "psnr_missing": finite(psnr(shown, truth, ~known)) if not known.all() else None,
        "psnr_uncut": finite(psnr(x, truth)),
        "seconds": steps[-1] if steps else 0.0,
        "seconds_in_all": seconds,
        "steps": len(steps),
        "stamps": steps if cell.curve else None,  # seconds at the end of each step
        "curve": curve,
        "status": status,
        "settings": cell.settings,
        "fingerprint": sources.fingerprint(truth),
        "seed": cell.draw,
        "versions": versions(),
        "threads": threads.count(),
    }
    return Outcome(numbers, _pictures(truth, known, x) if cell.pictures else {})


def _followed(
    cell: Cell, truth: np.ndarray, known: np.ndarray, method: Method, on_step: OnStep | None
) -> tuple[np.ndarray, list[float], str, list[float]]:
    """Run a method step by step, with the PSNR after each; the clock stands while that is measured."""
    problem, stamps, curve, x = Problem.of(truth, known, (1, 2)), [], [], truth
    steps = Run(problem, method, cell.draw)
    for _, record in steps:
        x = method.fit.restore(problem.unscaled(steps.answer().copy()), truth, known)
        stamps.append(record.seconds)
        curve.append(finite(psnr(sources.shown(cell.data, x), truth)))
        if on_step is not None and on_step(record):
            break
    return x, stamps, steps.status.name, curve


def _pictures(truth: np.ndarray, known: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    at = [int(share * len(truth)) for share in SLICES_SHOWN]
    eight = lambda a: (np.clip(a[at], 0, 1) * 255).round().astype(np.uint8)  # noqa: E731
    return {"truth": eight(truth), "known": known[at], "x": eight(x)}


def finite(value: float) -> float:
    """Return a PSNR that JSON can hold: an exact answer counts as 400 dB, which no float64 arithmetic reaches."""
    return 400.0 if math.isinf(value) else float(value)
