"""Large on one machine, in memory: ``python -m benchmarks.large`` completes 11160 x 288 x 28 in float32 and writes docs/large.md.

That is four weeks of five-minute counts at 11160 places, the size of the largest published traffic benchmark. Here it is generated,
so that the truth is known: every place has a daily profile of its own, a mixture of a few shapes that workdays and weekends
weigh differently, week after week; days differ in level, neighbouring times share a disturbance, and there is noise.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import qrank

from .measure import memory

SHAPE = (11160, 288, 28)  # places, times of a day, days
SHAPES = 12  # of profiles that places mix
MISSING = 0.3
NOISE = 0.05  # standard deviation, where the mean of the values is about 1
SECONDS, MEMORY = 360, 3  # at most, on two cores; times the data's
ROWS: list[tuple[str, tuple[int, int], dict[str, Any]]] = [
    ("slicewise", (1, 2), {}),
]
PAGE = Path(__file__).parent.parent / "docs" / "large.md"


def traffic(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """Return places x times x days in single precision: mixed profiles, weekly repetition, disturbed days, noise.

    >>> traffic((3, 288, 14), np.random.default_rng(0)).shape
    (3, 288, 14)
    """
    places, times, days = shape
    clock = np.linspace(0, 24, times, endpoint=False)
    peaks = rng.uniform(5, 21, SHAPES)
    width = rng.uniform(1, 4, SHAPES)
    profiles = np.exp(-(((clock[:, None] - peaks + 12) % 24 - 12) ** 2) / (2 * width**2))  # (times, SHAPES)
    week = rng.uniform(0.2, 1.2, (SHAPES, 7))
    week[:, 5:] *= rng.uniform(0.2, 1.0, (SHAPES, 2))
    daily = week[:, np.arange(days) % 7] * (1 + 0.1 * rng.standard_normal((SHAPES, days)))  # (SHAPES, days)
    basis = (profiles[:, None] * daily.T).reshape(times * days, SHAPES).astype(np.float32)
    mix = rng.dirichlet(np.full(SHAPES, 0.4), places) * rng.uniform(1, 4, (places, 1))
    x = np.empty(shape, np.float32)
    for first in range(0, places, 500):
        some = slice(first, min(first + 500, places))
        part = (mix[some].astype(np.float32) @ basis.T).reshape(-1, times, days)
        part *= 1 + 0.1 * rng.standard_normal(
            (len(part), 1, days), np.float32
        )  # a day of a place has a level of its own
        x[some] = part + np.float32(NOISE) * rng.standard_normal(part.shape, np.float32)
    return x


def profile_fills(y: np.ndarray, known: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what one would take without a model: the mean of a place at this time of the day, and at this time of the week."""
    days = np.arange(y.shape[2])
    for name, period in (("mean of the place at this time of day", 1), ("the same by day of the week", 7)):
        filled = np.empty_like(y)
        for first in range(period):
            same = days % period == first
            total, count = y[:, :, same].sum(2), np.count_nonzero(known[:, :, same], axis=2)
            mean = total / np.maximum(count, 1)
            if period > 1:
                mean = np.where(count > 0, mean, y.sum(2) / np.maximum(np.count_nonzero(known, axis=2), 1))
            filled[:, :, same] = mean[:, :, None]
        yield name, filled


def off(x: np.ndarray, truth: np.ndarray, known: np.ndarray) -> float:
    """Return the root mean square error over what is missing, place by place to need no memory."""
    squares = sum(float(np.square((a - b)[~c], dtype=float).sum()) for a, b, c in zip(x, truth, known, strict=True))
    return math.sqrt(squares / np.count_nonzero(~known))


def measured(name: str, axes: tuple[int, int], options: dict[str, Any], shape: tuple[int, int, int]) -> dict[str, Any]:
    """Complete the array in this process; return wall and CPU seconds, peak memory over the data's, and the error."""
    warnings.simplefilter("ignore", qrank.ConvergenceWarning)
    rng = np.random.default_rng(0)
    truth = traffic(shape, rng)
    known = rng.random(shape, np.float32) >= MISSING
    y = np.where(known, truth, np.float32(0))
    small = slice(20), slice(20), slice(20)
    qrank.complete(y[small], known[small], name, axes, **options)  # loads what is to be loaded
    wall, cpu = time.perf_counter(), time.process_time()
    with memory() as used:
        result = qrank.complete(y, known, name, axes, **options)
    found = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "times": used.above / y.nbytes}
    found |= {"steps": len(result.history), "status": result.status.name, "rmse": off(result.x, truth, known)}
    del result
    return found | {"fills": {fill: off(x, truth, known) for fill, x in profile_fills(y, known)}}


def page(found: dict[str, dict[str, Any]]) -> str:
    """Return the page, from what was measured."""
    places, times, days = SHAPE
    size = math.prod(SHAPE)
    lines = [
        "# Large, on one machine, in memory",
        "",
        f"{places} places x {times} times of a day x {days} days in float32, {size / 1e6:.0f} million cells,"
        f" {size * 4 / 1e6:.0f} MB, {MISSING:.0%} of them missing at random; generated (`benchmarks/large.py`): mixed daily"
        f" profiles, weekly repetition, days of their own level, and noise of {NOISE}, which no method can know and which is"
        " part of every error below. Wall and CPU seconds on"
        f" {os.cpu_count()} cores, which others may have used as well; memory is the peak above the input over the data's"
        f" bytes. Wanted: at most {SECONDS} s and {MEMORY} times. Written by `python -m benchmarks.large`.",
        "",
        "| | wall, s | CPU, s | steps | memory | RMSE |",
        "|---|---|---|---|---|---|",
    ]
    for name, one in found.items():
        times_, rmse = f"{one['times']:.2f}", f"{one['rmse']:.4f}"
        lines.append(f"| `{name}` | {one['wall']:.0f} | {one['cpu']:.0f} | {one['steps']} | {times_} | {rmse} |")
    fills = next(iter(found.values()))["fills"]
    lines += [f"| {name} | | | | | {rmse:.4f} |" for name, rmse in fills.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure one row where its number is given, else all, each in a process of its own, and write the page."""
    if len(sys.argv) == 2:
        print(json.dumps(measured(*ROWS[int(sys.argv[1])], SHAPE)))
        return
    kept = Path("out/large.json")
    kept.parent.mkdir(exist_ok=True)
    found = json.loads(kept.read_text()) if kept.exists() else {}
    for k, (name, axes, options) in enumerate(ROWS):
        call = ", ".join([repr(name), f"slice_axes={axes}", *(f"{key}={value!r}" for key, value in options.items())])
        if call not in found:
            env = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(1 << 20)}
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.large", str(k)], capture_output=True, text=True, check=True, env=env
            )
            found[call] = json.loads(done.stdout)
            kept.write_text(json.dumps(found))
            print(call, found[call], flush=True)
    PAGE.write_text(page(found))


if __name__ == "__main__":
    main()
