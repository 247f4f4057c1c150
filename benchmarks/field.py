"""Against the field: other programs on three data sets, and how soon qrank is as good as each of them ends.

Three kinds of cells: ``choice`` (a rival's settings, on hidden known entries), ``fit`` (a rival with them) and ``path`` (qrank,
with its error after every step). Masks are those of docs/accuracy.md. No clock runs while errors are measured.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl

from . import measure
from .common import Spec


@dataclass(frozen=True)
class Source:
    """A data set: what the field calls it, the share that is known, and what stands in where there is no data folder."""

    about: str
    scene: str
    p: float
    generated: str


DATA = {
    "clip": Source("HMDB51, change of scene", "video", 0.3, "generated-clip"),
    "balloons": Source("balloons, 31 bands", "balloons", 0.1, "generated-spectra"),
    "hangzhou": Source("Hangzhou metro", "hangzhou", 0.3, "generated-counts"),
}


@dataclass(frozen=True, eq=False)
class Target:
    """An array (n3, n1, n2) to fill; errors are RMSEs over ``judged``: of counts, as is usual, the missing ones that are not 0."""

    truth: np.ndarray
    known: np.ndarray
    y: np.ndarray
    judged: np.ndarray
    counts: bool

    def error(self, x: np.ndarray) -> float:
        """Return the RMSE of x."""
        squares, slices = 0.0, max(1, (1 << 20) // self.truth[0].size)
        for first in range(0, len(x), slices):
            some = slice(first, first + slices)
            miss = (x[some] - self.truth[some]) * self.judged[some]
            squares += float(np.vdot(miss, miss))
        return float(np.sqrt(squares / max(1, int(self.judged.sum()))))

    def told(self, error: float) -> str:
        """Return an error as it is usually given: of pictures the PSNR over all entries, of counts the RMSE."""
        if self.counts:
            return f"RMSE {error:.1f}"
        share = float(self.judged.mean())
        return f"{20 * np.log10(float(self.truth.max()) / max(error * share**0.5, 1e-300)):.2f} dB"


def target(spec: Spec) -> Target:
    """Return the array that a cell is about, read where the folder has it and generated otherwise."""
    import qrank
    from qrank.experiments.field import masks, scenes

    source = DATA[spec["data"]]
    name = source.generated if spec["quick"] else source.scene
    try:
        truth = scenes.load(name, Path(spec["folder"]) if spec["folder"] else None)
    except (qrank.FileError, qrank.MissingExtra, qrank.InputError):
        name = source.generated
        truth = scenes.load(name, None)
    scene = scenes.scene(name)
    known = masks.mask(scene, truth.shape, "random", source.p, 0)
    judged = ~known & (truth != 0) if scene.counts else ~known
    return Target(truth, known, np.where(known, truth, 0.0), judged, scene.counts)


def described(data: Target, spec: Spec) -> Spec:
    """Return what is said of the data in every cell."""
    source = DATA[spec["data"]]
    read = not spec["quick"] and data.truth.shape != _generated_shape(source)
    return {"shape": data.truth.shape, "source": "read" if read else "generated", "bytes64": data.y.size * 8}


def _generated_shape(source: Source) -> tuple[int, ...]:
    from qrank.experiments.field import scenes

    return scenes.load(source.generated, None).shape


def choice(spec: Spec) -> Spec:
    """Choose a rival's settings by hold-out; a trial is begun only while the budget lasts."""
    from . import rivals

    data = target(spec)
    rivals.load(spec["rival"])
    with threadpoolctl.threadpool_limits(1, "blas"):  # or threads that wait would count as work
        return described(data, spec) | rivals.chosen(spec["rival"], data.y, data.known, spec["budget"])


def fit(spec: Spec) -> Spec:
    """Run a rival with the settings that were chosen for it, and watch its error where its steps can be seen."""
    from . import rivals

    data = target(spec)
    rivals.load(spec["rival"])
    measure.gemm_rate(seconds=0.1)  # BLAS has its buffers before memory is measured
    stamps: list[float] = []
    errors: list[float] = []
    x, clock = None, 0.0
    with measure.memory() as memory:
        start = time.perf_counter()
        for x in rivals.fitted(spec["rival"], data.y, data.known, spec["chosen"]):
            clock += time.perf_counter() - start
            stamps.append(clock)
            errors.append(data.error(x))
            start = time.perf_counter()
        clock += time.perf_counter() - start
    assert x is not None
    return described(data, spec) | {
        "seconds": clock,
        "stamps": stamps,
        "errors": errors,
        "error": errors[-1],
        "told": data.told(errors[-1]),
        "memory": memory.above,
    }


def path(spec: Spec) -> Spec:
    """Take qrank's steps; after each, off the clock, the error that the answer would have if it were the last one.

    A stamp is the time from the array as the user has it to the answer after that step.
    """
    from qrank.methods import METHODS
    from qrank.problem import Problem
    from qrank.run import Run

    data = target(spec)
    measure.gemm_rate(seconds=0.1)
    start = time.perf_counter()
    problem = Problem.of(data.y, data.known, (1, 2))
    run = Run(problem, METHODS[spec["method"]].configured(**spec["options"]), 0)
    before = time.perf_counter() - start
    stamps, errors = [], []
    for _ in run:
        start = time.perf_counter()
        x = problem.unscaled(np.array(run.answer()))
        stamps.append(before + run.seconds + time.perf_counter() - start)
        errors.append(data.error(x))
    return described(data, spec) | {
        "seconds": stamps[-1],
        "stamps": stamps,
        "errors": errors,
        "error": errors[-1],
        "told": data.told(errors[-1]),
        "steps": len(stamps),
        "status": run.status.name,
    }


def reached(stamps: list[float], errors: list[float], error: float) -> float | None:
    """Return when an error was first as small as this one, or None.

    >>> reached([1.0, 2.0, 3.0], [9.0, 4.0, 5.0], 5.0), reached([1.0], [9.0], 5.0)
    (2.0, None)
    """
    return next((s for s, e in zip(stamps, errors, strict=True) if e <= error), None)


def best_of(paths: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the run of middle length."""
    return sorted(paths, key=lambda found: found["seconds"])[len(paths) // 2]
