"""How good the estimates are that a run begins with: ``python -m benchmarks.estimate`` measures, and writes docs/estimate.md.

Every cell is a run in a process of its own. Of memory, three steps of every method on arrays of four forms (a step needs as much as
the next); of time, whole runs of the benchmark's kinds of data, in CPU seconds of one thread, which other programs on the machine
do not change, beside the forecast for one thread.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import qrank
from qrank.api import Estimate, estimated
from qrank.kernels import threads
from qrank.methods import METHODS, Method
from qrank.tensor import Layout

from . import cases
from .measure import memory
from .memory import array, asked

STEPS = 3
GROWING = ("tmac",)  # its ranks grow: whole runs
DIGITS = ("vmtqn", "motqn", "tnn", "tnn-c", "ttnn", "slicewise", "tqn")  # in single precision until X has more digits:
TOL = 1e-8  # with this tolerance in double from the first step, which takes more
METHODS_OF_MEMORY = (*DIGITS, "views", "silrtc", "halrtc", "latent", "tmac", "f-tnn", "smooth", "interpolate")
TYPES = ("float64", "float32")
WORKERS = (2, 1)  # threads
FORMS = ((48, 160, 240), (1800, 24, 24), (200, 96, 96), (60, 20, 2000))
RUNS = (  # method, data, shape
    ("vmtqn", "clip", (24, 120, 216)),
    ("tnn", "clip", (24, 120, 216)),
    ("motqn", "clip", (24, 120, 216)),
    ("slicewise", "clip", (24, 120, 216)),
    ("vmtqn", "clip", (48, 240, 432)),
    ("vmtqn", "coil", (216, 64, 64)),
    ("vmtqn", "cifar-3000", (1500, 24, 24)),
    ("views", "clip", (24, 60, 108)),
    ("auto", "clip", (24, 60, 108)),
    ("patches", "clip", (24, 60, 108)),
    ("joined", "clip", (24, 60, 108)),
    ("halrtc", "clip", (24, 60, 108)),
    ("silrtc", "clip", (24, 60, 108)),
    ("latent", "clip", (24, 60, 108)),
    ("tmac", "clip", (24, 60, 108)),
    ("f-tnn", "clip", (24, 60, 108)),
)
SECONDS = 900  # a cell at most
PAGE = Path(__file__).parent.parent / "docs" / "estimate.md"


def configured(name: str, shape: tuple[int, int, int], **options: Any) -> Method:
    """Return a method with what it does not run without; the paper's norm for motqn, as in the benchmark."""
    given = asked(name, np.zeros(shape)) | ({"penalty": "nuclear"} if name == "motqn" else {})
    return METHODS[name].configured(**given, **options)


def of_memory(name: str, shape: tuple[int, int, int], dtype: str) -> dict[str, float]:
    """Return the peak memory of a few steps, over the array's."""
    warnings.simplefilter("ignore", qrank.ConvergenceWarning)
    options: dict[str, Any] = {} if name in GROWING else {"max_steps": STEPS}
    if name in DIGITS:
        options["tol"] = TOL
    small, small_known = array((8, 12, 10), dtype)
    qrank.complete(small, small_known, configured(name, small.shape, **options), (1, 2))
    y, known = array(shape, dtype)
    method = configured(name, y.shape, **options)
    with memory() as used:
        qrank.complete(y, known, method, (1, 2))
    return {"times": used.above / y.nbytes}


def of_time(name: str, data: str, shape: tuple[int, int, int], dtype: str) -> dict[str, float]:
    """Return the CPU seconds of a whole run."""
    warnings.simplefilter("ignore")
    found = cases.masked(cases.DATA[data].generate(shape, np.random.default_rng(0)), 0.3, np.dtype(dtype))
    started = time.process_time()
    result = qrank.complete(found.y, found.observed, configured(name, shape), (1, 2))
    return {"cpu": time.process_time() - started, "steps": len(result.history)}


def expected(name: str, shape: tuple[int, int, int], dtype: str, p: float, workers: int) -> Estimate:
    """Return what is told before such a run."""
    with threads.own_threads(workers):
        return estimated(Layout.of(shape, (1, 2)), dtype, configured(name, shape), p)


def cells() -> dict[str, list[Any]]:
    """Return what is measured: the words of a cell, by its name."""
    found: dict[str, list[Any]] = {}
    for name in METHODS_OF_MEMORY:
        for shape in FORMS:
            for dtype in TYPES:
                for workers in WORKERS:
                    found[f"memory {name} {shape} {dtype} {workers}"] = [workers, "of_memory", name, shape, dtype]
    for name, data, shape in RUNS:
        found[f"time {name} {data} {shape} float32"] = [1, "of_time", name, data, shape, "float32"]
    return found


def cell(words: list[Any]) -> dict[str, float] | None:
    """Return what is measured in a process of its own; None where that takes too long."""
    workers, *rest = words
    env = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 20)}
    env |= {f"{library}_NUM_THREADS": str(workers) for library in ("OMP", "OPENBLAS")}
    command = [sys.executable, "-m", "benchmarks.estimate", json.dumps(rest)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=env, check=True)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout)


def page(found: dict[str, dict[str, float] | None]) -> str:
    """Return the page, from what was measured and what is estimated now."""
    tables, ratios = [], []
    for workers in WORKERS:
        rows = []
        for name in METHODS_OF_MEMORY:
            told = []
            for shape in FORMS:
                for dtype in TYPES:
                    one = found.get(f"memory {name} {shape} {dtype} {workers}")
                    size = math.prod(shape) * np.dtype(dtype).itemsize
                    times = expected(name, shape, dtype, 0.5, workers).memory / size
                    ratios += [times / one["times"]] if one else []
                    told.append(f"{times:.1f} / {one['times']:.1f}" if one else f"{times:.1f} / –")
            rows.append(f"| `{name}` | " + " | ".join(told) + " |")
        head = f"{workers} thread{'s' * (workers > 1)}"
        columns = " | ".join(f"{' x '.join(map(str, s))}, {d}" for s in FORMS for d in TYPES)
        tables += ["", f"| {head} | {columns} |", "|---|" + "---|" * (len(TYPES) * len(FORMS)), *rows]
    timed, factors = [], []
    for name, data, shape in RUNS:
        one = found.get(f"time {name} {data} {shape} float32")
        if one:
            forecast = expected(name, shape, "float32", 0.3, 1).seconds
            factors.append(forecast / one["cpu"])
            where = f"{data}, {' x '.join(map(str, shape))}"
            timed.append(f"| `{name}` | {where} | {forecast:.1f} | {one['cpu']:.1f} | {one['steps']} |")
    near = sum(0.75 <= ratio <= 1.25 for ratio in ratios)
    half = sum(0.5 <= factor <= 2 for factor in factors)
    lines = [
        "# What a run is expected to take",
        "",
        "Before a run starts, its memory and its time are estimated (`qrank/methods/needs.py`): memory from what the code"
        " allocates, time from the operations of a step over the speed of a product of matrices, which is measured for a few"
        " milliseconds, times the steps that are usual. What does not fit is refused. Here both are compared with what was"
        f" measured. Of memory, {near} of {len(ratios)} estimates are within 25 % of the peak, all are {min(ratios):.2f} to"
        f" {max(ratios):.2f} times it; of time, {half} of {len(factors)} forecasts are within a factor of 2, all are"
        f" {min(factors):.2f} to {max(factors):.2f} times the CPU seconds of one thread, which other programs on the machine do"
        " not change. `auto`, `joined`, `patches`, `smooth` and `interpolate` have measured factors; `kriging`, `similar` and"
        " `biharmonic` tell no time. The constants of both were fitted to these very runs, so other data will be further off. Written by `python -m benchmarks.estimate`.",
        "",
        f"**Memory** of {STEPS} steps: peak above the input over the array's bytes, estimated / measured."
        f" {', '.join(f'`{name}`' for name in DIGITS)} take their steps in single precision until X has more digits to be found;"
        f" here those of arrays in double begin in double (`tol={TOL:g}`), which is what a run takes at most. Of"
        f" {', '.join(f'`{name}`' for name in GROWING)}, whose ranks grow, whole runs.",
        *tables,
        "",
        "**Time** of whole runs, 30 % known, float32, one thread.",
        "",
        "| method | data | forecast, s | measured, CPU s | steps |",
        "|---|---|---|---|---|",
        *timed,
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure one cell where it is given, else all, and write the page."""
    if len(sys.argv) == 2:
        what, *words = json.loads(sys.argv[1])
        words = [tuple(word) if isinstance(word, list) else word for word in words]
        print(json.dumps({"of_memory": of_memory, "of_time": of_time}[what](*words)))
        return
    kept = Path("out/estimate.json")  # what is there already is not measured again
    kept.parent.mkdir(exist_ok=True)
    found = json.loads(kept.read_text()) if kept.exists() else {}
    for name, words in cells().items():
        if name not in found:
            found[name] = cell(words)
            kept.write_text(json.dumps(found))
            print(name, found[name], flush=True)
    PAGE.write_text(page(found))


if __name__ == "__main__":
    main()
