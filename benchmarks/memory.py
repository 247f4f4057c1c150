"""What every method needs of memory: ``python -m benchmarks.memory`` measures it and writes docs/memory.md.

Each method runs in a process of its own, after a small run that loads what is to be loaded. What is measured is the peak of the
resident memory above that before the call (LAPACK's work arrays are seen by nothing else), over the bytes of the array.
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
from qrank.methods import METHODS

from .measure import memory

SHAPES = {"cube": (96, 128, 128), "long": (2700, 24, 24)}  # frames, then the axes of a slice
SMALLER = {"cube": (48, 64, 64), "long": (600, 20, 20)}  # for those that are slow on the others
SLOW = ("kriging", "similar", "biharmonic")
STEPS = 6  # the peak is that of a step, and every step needs the same
PROMISED = {"views": 5, "vmtqn": 4, "tnn": 4, "halrtc": 4, "silrtc": 4, "f-tnn": 8}
SECONDS = 1800
PAGE = Path(__file__).parent.parent / "docs" / "memory.md"


def array(shape: tuple[int, ...], dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return smooth waves of low rank with some noise, zero where missing, and a random mask that knows half."""
    rng = np.random.default_rng(0)
    x = 0.1 * rng.standard_normal(shape)
    for _ in range(6):
        waves = [np.sin(rng.uniform(1, 9) * np.arange(n) / n + rng.uniform(0, 6)) for n in shape]
        x += np.einsum("i,j,k->ijk", *waves)
    known = rng.random(shape) < 0.5
    return np.where(known, x, 0).astype(dtype), known


def asked(name: str, y: np.ndarray) -> dict[str, Any]:
    """Return the options without which a method does not run."""
    n3 = y.shape[0]
    if name in ("tqn", "tnn-linear"):
        return {"q": np.linalg.qr(np.random.default_rng(1).standard_normal((n3, n3)))[0]}
    return {"truth": y} if name == "tqn-oracle" else {}


def measured(name: str, shape: tuple[int, ...], dtype: str) -> dict[str, float]:
    """Return peak memory over the array's, and the seconds, of a run in this process."""
    warnings.simplefilter("ignore", qrank.ConvergenceWarning)
    steps = {"max_steps": STEPS}
    small, small_known = array((8, 12, 10), dtype)
    qrank.complete(small, small_known, name, (1, 2), **steps, **asked(name, small))
    y, known = array(shape, dtype)
    options = asked(name, y)
    started = time.perf_counter()
    with memory() as used:
        result = qrank.complete(y, known, name, (1, 2), **steps, **options)
    seconds = time.perf_counter() - started
    return {"times": used.above / y.nbytes, "seconds": seconds, "steps": len(result.history)}


def cell(name: str, shape: str, dtype: str) -> dict[str, float] | None:
    """Return what is measured in a process of its own; None where that takes too long."""
    command = [sys.executable, "-m", "benchmarks.memory", name, shape, dtype]
    # Arrays that are freed before the call must go back to the system, else those of the call take their place unseen.
    env = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(1 << 20)}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, cwd=Path(__file__).parent.parent, env=env
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def page(found: dict[str, dict[str, dict[str, float] | None]]) -> str:
    """Return the page, from what was measured."""
    columns = list(next(iter(found.values())))
    lines = [
        "# What a method needs of memory",
        "",
        "Peak of the resident memory above that before the call, over the bytes of the array that is completed: the answer,"
        " which every method makes, is 1 of it. The array is zero where it is missing, its mask is given, and its slice axes"
        " are the last; where NaN marks what is missing or the axes are in another order, a copy, 1, comes on top. In brackets what is promised at most. Written by"
        f" `python -m benchmarks.memory`, {STEPS} steps each (of `auto`: of each of its runs), one thread. "
        + ", ".join(f"`{name}`" for name in SLOW)
        + " are slow: theirs are "
        + " and ".join(" x ".join(map(str, shape)) for shape in SMALLER.values())
        + ". `auto`, `joined` and `patches` need room for their laws of blocks, which for arrays as small as these is most of it.",
        "",
        "| method | " + " | ".join(columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    for name, row in found.items():
        promise = f" ({PROMISED[name]})" if name in PROMISED else ""
        told = (f"over {SECONDS} s" if one is None else f"{one['times']:.1f}{promise}" for one in row.values())
        lines.append(f"| `{name}` | " + " | ".join(told) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure one cell where its name is given, else all, and write the page."""
    if len(sys.argv) == 4:
        shapes = SMALLER if sys.argv[1] in SLOW else SHAPES
        print(json.dumps(measured(sys.argv[1], shapes[sys.argv[2]], sys.argv[3])))
        return
    kept = Path("out/memory.json")
    kept.parent.mkdir(exist_ok=True)
    found = json.loads(kept.read_text()) if kept.exists() else {}
    for name in METHODS:
        for shape in SHAPES:
            for dtype in ("float64",):
                column = f"{' x '.join(map(str, SHAPES[shape]))}, {dtype}"
                if column not in found.setdefault(name, {}):
                    found[name][column] = cell(name, shape, dtype)
                    kept.write_text(json.dumps(found))
                    print(name, column, found[name][column], flush=True)
    PAGE.write_text(page(found))


if __name__ == "__main__":
    main()
