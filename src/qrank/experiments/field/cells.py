"""One cell of the field: a method or a rival on a data set with a mask, and how near it came."""

from __future__ import annotations

import inspect
import json
import math
import re
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...api import complete
from ...errors import ConvergenceWarning, InputError, nearest, need
from ...kernels import threads
from ...methods import METHODS
from ...metrics import psnr, rmse, ssim
from ...result import OnStep
from ...tensor import Layout
from ...text import duration
from ...version import versions
from .. import sources
from ..cells import Cell, Outcome, finite
from . import rivals, scenes
from .masks import mask

WITHIN = 1.645  # standard errors: 90 % of a normal distribution
NUMBERS = ("psnr", "psnr_all", "rmse", "ssim", "worst", "covered", "known", "seconds")
TEXTS = ("status", "choice", "settings")
FAILED = "failed"  # instead of settings: the cell is run again when the grid is
LONGEST = 400  # letters of what a method says of its choice


@dataclass(frozen=True)
class FieldCell(Cell):
    """What is run: ``p`` is the share that the pattern leaves, ``draw`` the seed of the mask.

    >>> FieldCell("balloons", "auto", 0.1, options='{"effort": "balanced"}', pattern="random").key
    'balloons/random/auto-effort-balanced_p0.1_d0'
    """

    columns: ClassVar[tuple[str, ...]] = (*NUMBERS, "steps", *TEXTS, "seed")
    pattern: str = "random"

    @property
    def key(self) -> str:
        """The name of its files."""
        label = re.sub(r"[^\w.-]+", "-", self.label)
        return f"{self.data}/{self.pattern}/{label}_p{self.p:g}_d{self.draw}"

    @property
    def settings(self) -> str:
        """The method as it is configured, the choice with its options, or the rival."""
        if self.method in rivals.RIVALS:
            return rivals.RIVALS[self.method].about
        if self.method not in METHODS:
            return f"{self.method}({self.options})"
        return super().settings

    @staticmethod
    def fingerprint(data: str, folder: Path | None) -> str | None:
        """Return what tells the data from others of that name."""
        return sources.fingerprint(scenes.load(data, folder))

    def ready(self) -> None:
        """Say in a sentence what is missing to run it, if anything is."""
        check(self.method)

    def run(self, folder: Path | None, on_step: OnStep | None = None) -> Outcome:
        """Run it."""
        return run(self, folder, on_step)

    def told(self, numbers: dict[str, Any]) -> str:
        """Return what came out, in a line.

        >>> FieldCell("china", "telea", 0.9, pattern="text").told({"psnr": 21.5, "settings": "", "seconds": 61.0})
        'china, text at 0.9, draw 0, telea: 21.50 dB, 1 min 01 s'
        """
        came = f"RMSE {numbers['rmse']:.2f}" if scenes.scene(self.data).counts else f"{numbers['psnr']:.2f} dB"
        if numbers["settings"] == FAILED:
            came = numbers["status"]
        where = f"{self.data}, {self.pattern} at {self.p:g}, draw {self.draw}, {self.label}"
        return f"{where}: {came}, {duration(numbers['seconds'])}"

    def row(self, numbers: dict[str, Any]) -> dict[str, Any]:
        """Return the numbers as a flat row of a CSV file."""
        return {
            "data": self.data,
            "pattern": self.pattern,
            **{k: v for k, v in super().row(numbers).items() if k != "r"},
        }

    @staticmethod
    def place(row: dict[str, str]) -> tuple[str, ...]:
        """Return what names the cell of a row."""
        return row["data"], row["pattern"], row["method"], f"{float(row['p']):g}", row["draw"]

    def read(self, row: dict[str, str]) -> dict[str, Any]:
        """Return the numbers of a row that `row` made."""
        return {
            "cell": asdict(self),
            "shape": [int(n) for n in row["shape"].split("x")],
            **{name: float(row[name]) if row[name] else None for name in NUMBERS},
            "seconds_in_all": float(row["seconds"]),
            **{name: int(row[name]) for name in ("steps", "seed", "threads")},
            **{name: row[name] for name in TEXTS},
            "fingerprint": row["data_hash"],
            "versions": {name: row[name] for name in versions()},
        }


def chooses() -> bool:
    """Return whether `complete` can choose the method itself."""
    return "auto" in METHODS or "effort" in inspect.signature(complete).parameters


def check(method: str) -> None:
    """Say in a sentence if there is no such method, or if the package that a rival needs is not there.

    >>> check("vmtqn")
    """
    if method in rivals.RIVALS:
        if (module := rivals.RIVALS[method].module) is not None:
            need(module, "bench", rivals.RIVALS[method].about)
    elif method not in METHODS and not (method == "auto" and chooses()):
        raise InputError(f"unknown method '{method}'{nearest(method, [*METHODS, *rivals.RIVALS])}")


def run(cell: FieldCell, folder: Path | None, on_step: OnStep | None = None) -> Outcome:
    """Run a cell.

    >>> found = run(FieldCell("synthetic-20-r2", "vmtqn", 0.8), None).numbers
    >>> found["psnr"] > 40, found["covered"] is None
    (True, True)
    """
    scene, truth = scenes.scene(cell.data), scenes.load(cell.data, folder)
    known = mask(scene, truth.shape, cell.pattern, cell.p, cell.draw)
    start, worked = time.perf_counter(), time.process_time()
    settings = cell.settings
    try:
        x, error, steps, status, choice = _filled(cell, truth, known, scene, on_step)
    except Exception as problem:  # whatever a program stumbles over, the others are to be run
        x, error, steps, status = np.full(truth.shape, np.nan), None, 0, f"failed: {problem}".split("\n")[0]
        choice, settings = "", FAILED
    seconds, busy = time.perf_counter() - start, time.process_time() - worked
    x = x if scene.span is None else np.clip(x, *scene.span)
    where = ~known & (truth != 0) if scene.counts else ~known
    off = np.abs(x - truth)[~known]
    numbers = {
        "cell": asdict(cell),
        "shape": list(truth.shape),
        "known": float(known.mean()),
        "psnr": finite(psnr(x, truth, ~known)),
        "psnr_all": finite(psnr(x, truth)),
        "rmse": rmse(x, truth, where),
        "ssim": ssim(x, truth, scene.slice_axes) if _pictures(scene, truth) else None,
        "worst": _worst(x, truth, known, scene),
        "covered": None if error is None else float(np.mean(off <= WITHIN * error[~known])),
        "seconds": busy,  # of all threads: whatever else the machine did meanwhile is not in it
        "seconds_in_all": seconds,
        "steps": steps,
        "status": status,
        "choice": choice,
        "settings": settings,
        "fingerprint": sources.fingerprint(truth),
        "seed": cell.draw,
        "versions": versions(),
        "threads": threads.count(),
    }
    return Outcome(numbers, {})


def _filled(
    cell: FieldCell, truth: np.ndarray, known: np.ndarray, scene: scenes.Scene, on_step: OnStep | None
) -> tuple[np.ndarray, np.ndarray | None, int, str, str]:
    """Return the answer, its own estimate of its error, the number of steps, how it ended, and what was chosen."""
    if cell.method in rivals.RIVALS:
        x, choice = rivals.fill(cell.method, truth, known, scene)
        return x, None, 0, "DONE", choice
    options = json.loads(cell.options)
    if cell.method == "tqn-oracle":
        options["truth"] = truth
    y = np.where(known, truth, 0.0)  # nothing of the truth is handed over
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        found = complete(y, known, cell.method, scene.slice_axes, rng=0, on_step=on_step, **options)
    choice = " ".join(str(getattr(found, "choice", None) or "").split())
    return found.x, getattr(found, "error", None), len(found.history), found.status.name, choice[:LONGEST]


def _worst(x: np.ndarray, truth: np.ndarray, known: np.ndarray, scene: scenes.Scene) -> float:
    """Return the least PSNR of a slice with missing entries, over those: a black frame is some 8 dB."""
    layout, peak = Layout.of(truth.shape, scene.slice_axes), float(truth.max())
    off = np.where(known, 0.0, x - truth)
    squares = layout.stack(off * off).sum(axis=(1, 2))
    lost = layout.stack(~known).sum(axis=(1, 2))
    most = float((squares / np.maximum(lost, 1)).max())
    return 400.0 if most == 0 else 10 * math.log10(peak * peak / most)


def _pictures(scene: scenes.Scene, truth: np.ndarray) -> bool:
    """Return whether slices are pictures, of which SSIM says something."""
    return scene.span == (0.0, 1.0) and min(truth.shape[axis] for axis in scene.slice_axes) >= 7
