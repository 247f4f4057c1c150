"""How good the estimates are that a run begins with: ``python -m benchmarks.estimate`` measures, and writes docs/estimate.md.

Every cell is a run in a process of its own. Of memory, three steps of every method on arrays of four forms (a step needs as much as
the next); of time, whole runs of the benchmark's kinds of data, in CPU seconds of one thread, which other programs on the machine
do not change, beside the forecast for one thread.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import qrank
from qrank.api import estimated
from qrank.methods import METHODS
from qrank.tensor import Layout

from . import cases
from .measure import memory
from .memory import array, asked

STEPS = 3
METHODS_OF_MEMORY = (
    *("vmtqn", "motqn", "tnn", "tnn-c", "ttnn", "slicewise", "tqn", "views", "silrtc", "halrtc", "latent", "tmac"),
    *("f-tnn", "smooth", "interpolate"),
)
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


def of_memory(name: str, shape: tuple[int, int, int], dtype: str) -> dict[str, float]:
    """Return peak memory of a few steps, as measured and as estimated, over the array's."""
    warnings.simplefilter("ignore", qrank.ConvergenceWarning)
    small, small_known = array((8, 12, 10), dtype)
    qrank.complete(small, small_known, name, (1, 2), max_steps=STEPS, **asked(name, small))
    y, known = array(shape, dtype)
    method = METHODS[name].configured(max_steps=STEPS, **asked(name, y))
    expected = estimated(Layout.of(shape, (1, 2)), dtype, method, 0.5).memory
    with memory() as used:
        qrank.complete(y, known, method, (1, 2))
    return {"measured": used.above / y.nbytes, "estimated": expected / y.nbytes}


def of_time(name: str, data: str, shape: tuple[int, int, int], dtype: str) -> dict[str, float]:
    """Return CPU seconds, and peak memory, of a whole run, as measured and as estimated."""
    warnings.simplefilter("ignore")
    found = cases.masked(cases.DATA[data].generate(shape, np.random.default_rng(0)), 0.3, np.dtype(dtype))
    method = METHODS[name].configured()
    expected = estimated(Layout.of(shape, (1, 2)), dtype, method, 0.3)
    started = time.process_time()
    with memory() as used:
        result = qrank.complete(found.y, found.observed, method, (1, 2))
    seconds = {"seconds": time.process_time() - started, "forecast": expected.seconds, "steps": len(result.history)}
    return seconds | {"measured": used.above / found.y.nbytes, "estimated": expected.memory / found.y.nbytes}


def cells() -> dict[str, list[Any]]:
    """Return what is measured: the words of a cell, by its name."""
    found: dict[str, list[Any]] = {}
    for name in METHODS_OF_MEMORY:
        for shape in FORMS:
            for dtype in ("float64", "float32"):
                found[f"memory {name} {shape} {dtype}"] = ["of_memory", name, shape, dtype]
    for name, data, shape in RUNS:
        found[f"time {name} {data} {shape} float32"] = ["of_time", name, data, shape, "float32"]
    return found


def cell(words: list[Any]) -> dict[str, float] | None:
    """Return what is measured in a process of its own; None where that takes too long."""
    threads = "1" if words[0] == "of_time" else "2"
    env = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(1 << 20), "OMP_NUM_THREADS": threads}
    command = [sys.executable, "-m", "benchmarks.estimate", json.dumps(words)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=env, check=True)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout)


def page(found: dict[str, dict[str, float] | None]) -> str:
    """Return the page, from what was measured."""
    small = min(1.0, *(one["estimated"] / one["measured"] for one in found.values() if one))
    large = max(1.0, *(one["estimated"] / one["measured"] for one in found.values() if one))
    timed = {name: one for name, one in found.items() if name.startswith("time") and one}
    ratios = [one["forecast"] / one["seconds"] for one in timed.values()]
    lines = [
        "# What a run is expected to take",
        "",
        "Before a run starts, its memory and its time are estimated (`qrank/methods/needs.py`): memory from what the code"
        " allocates, time from the operations of a step over the speed of a product of matrices, which is measured for a few"
        " milliseconds, times the steps that are usual. What does not fit is refused. Here both are compared with what was"
        f" measured. Of memory the estimate is {small:.2f} to {large:.2f} times the peak; of time the forecast is"
        f" {min(ratios, default=1):.2f} to {max(ratios, default=1):.2f} times the CPU seconds of one thread."
        " `auto`, `patches`, `smooth` and `interpolate` have measured factors, `kriging`, `similar` and `biharmonic` tell no"
        " time. Written by `python -m benchmarks.estimate`.",
        "",
        "**Memory**, peak above the input over the array's bytes: estimated / measured.",
        "",
        "| method | "
        + " | ".join(f"{' x '.join(map(str, s))}, {d}" for s in FORMS for d in ("float64", "float32"))
        + " |",
        "|---|" + "---|" * (2 * len(FORMS)),
    ]
    for name in METHODS_OF_MEMORY:
        row = [found.get(f"memory {name} {shape} {dtype}") for shape in FORMS for dtype in ("float64", "float32")]
        told = [f"{one['estimated']:.1f} / {one['measured']:.1f}" if one else "–" for one in row]
        lines.append(f"| `{name}` | " + " | ".join(told) + " |")
    lines += ["", "**Time** of whole runs, 30 % known, float32, one thread.", ""]
    lines += ["| method | data | forecast, s | measured, CPU s | steps | memory, estimated / measured |"]
    lines += ["|---|---|---|---|---|---|"]
    for name, data, shape in RUNS:
        one = found.get(f"time {name} {data} {shape} float32")
        if one:
            told = f"{one['forecast']:.1f} | {one['seconds']:.1f} | {one['steps']} | {one['estimated']:.1f} / {one['measured']:.1f}"
            lines.append(f"| `{name}` | {data}, {' x '.join(map(str, shape))} | {told} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure one cell where it is given, else all, and write the page."""
    if len(sys.argv) == 2:
        what, *words = json.loads(sys.argv[1])
        words = [tuple(word) if isinstance(word, list) else word for word in words]
        print(json.dumps({"of_memory": of_memory, "of_time": of_time}[what](*words)))
        return
    kept = Path("out/estimate.json")
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
