"""The default schedule of vmtqn against the paper's: ``python -m benchmarks.schedules`` writes docs/schedule.md.

Finished runs are kept in out/schedules.json; where QRANK_DATA names a data folder, its arrays, made small, are run as well.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import qrank
from qrank.experiments import sources
from qrank.experiments.field.scenes import hangzhou

from .kinds import KINDS, made

PAGE = Path(__file__).parent.parent / "docs" / "schedule.md"
KEPT = Path("out/schedules.json")
EXACT = 90.0  # dB from which on only the stopping rules differ
ALLOWED = 0.1  # dB
DRAWS = 3  # arrays of each kind, or masks of each real array, whose decibels are averaged
FRESH, FIRST = (
    11,
    1,
)  # the first draw of generated arrays, none of which chose the schedule's numbers, and of masks of real ones
RUNS: dict[str, dict[str, Any]] = {"paper": {"preset": "paper"}, "rho = 1.2": {"rho": 1.2}, "default": {}}


def real(folder: Path) -> dict[str, tuple[Callable[[], np.ndarray], tuple[float, ...]]]:
    """Return the real arrays (n3, n1, n2), small, and the shares that are known of them."""
    return {
        "CIFAR-10, 300 pictures": (lambda: sources.load("cifar-300", folder), (0.1, 0.3)),
        "COIL-20, every 4th pixel": (lambda: sources.load("coil-32", folder), (0.2, 0.5)),
        "clip with a change of scene, every 4th pixel": (lambda: sources.load("video-60", folder), (0.1, 0.3)),
        "clip with a still background, every 4th pixel": (lambda: sources.load("smooth-60", folder), (0.3,)),
        "balloons, every 4th pixel": (lambda: sources.load("balloons-32", folder), (0.1, 0.3)),
        "Hangzhou, passengers": (lambda: hangzhou(folder), (0.3, 0.6)),
        "Hangzhou, days x stations": (lambda: np.moveaxis(hangzhou(folder), 2, 0), (0.3,)),
    }


def cases() -> Iterator[tuple[str, str, Callable[[int], tuple[np.ndarray, np.ndarray]]]]:
    """Yield name, shape and share as text, and who makes a stack (n3, n1, n2) and its mask."""
    for name, kind in KINDS.items():

        def generated(draw: int, name: str = name) -> tuple[np.ndarray, np.ndarray]:
            x, known = made(name, draw)
            return np.moveaxis(x, 2, 0).copy(), np.moveaxis(known, 2, 0).copy()

        yield name, f"{' x '.join(map(str, kind.shape))}, {kind.p:g}", generated
    folder = os.environ.get("QRANK_DATA")
    for name, (read, shares) in real(Path(folder)).items() if folder else ():
        for p in shares:

            def measured(
                draw: int, read: Callable[[], np.ndarray] = read, p: float = p
            ) -> tuple[np.ndarray, np.ndarray]:
                x = np.ascontiguousarray(read(), dtype=float)
                return x, np.random.default_rng(draw).random(x.shape) < p

            yield f"{name}, p = {p:g}", f"{p:g}", measured


def decibels(found: np.ndarray, x: np.ndarray, known: np.ndarray) -> float:
    """Return the PSNR of what was missing."""
    return float(-10 * np.log10(np.square((found - x)[~known]).mean() / np.ptp(x) ** 2))


def page(found: dict[str, Any]) -> str:
    """Return the page, from finished runs."""
    lines = [
        "# The default schedule against the paper's",
        "",
        f"PSNR in dB of what was missing, mean of {DRAWS} draws, and steps, of `vmtqn`: with the paper's settings, with a fixed rho = 1.2, and by default,"
        " where rho follows what is known and what a step has found (`methods/schedule.py`). The first table's arrays are"
        f" generated (`benchmarks/kinds.py`, draws {FRESH} to {FRESH + DRAWS - 1}); the schedule's numbers were chosen on draws 0 to 5 of the"
        " same kinds, by their truth. The real arrays of the second table were looked at, too, while they were chosen, some under these masks:"
        " that table shows no more than that nothing is lost there. Written by `python -m benchmarks.schedules`.",
        "",
    ]
    for title, wanted in (("generated", True), ("real", False)):
        rows = {name: one for name, one in found.items() if (name in KINDS) == wanted and len(one["runs"]) == len(RUNS)}
        if not rows:
            continue
        lines += [
            f"| {title} | n1 x n2 x n3, p | " + " | ".join(RUNS) + " | default - paper |",
            "|---" * (len(RUNS) + 3) + "|",
        ]
        for name, one in rows.items():
            told = [f"{run['psnr']:.2f} ({run['steps']})" for run in one["runs"].values()]
            paper, default = (one["runs"][run]["psnr"] for run in ("paper", "default"))
            exact = min(paper, default) > EXACT
            gap = "exact" if exact else f"{default - paper:+.2f}"
            mark = "" if exact or default >= paper - ALLOWED else " **below**"
            lines.append(f"| {name} | {one['size']} | " + " | ".join(told) + f" | {gap}{mark} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Run what is not there yet, and write the page."""
    warnings.simplefilter("ignore", qrank.ConvergenceWarning)
    KEPT.parent.mkdir(exist_ok=True)
    found = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for name, size, make in cases():
        one = found.setdefault(name, {"size": size, "runs": {}})
        missing = [run for run in RUNS if run not in one["runs"]]
        if not missing:
            continue
        first = FRESH if name in KINDS else FIRST
        draws = [make(draw) for draw in range(first, first + DRAWS)]
        n3, n1, n2 = draws[0][0].shape
        one["size"] = f"{n1} x {n2} x {n3}, {size.split(', ')[-1]}"
        for run in missing:
            psnr, steps, started = [], [], time.perf_counter()
            for x, known in draws:
                result = qrank.complete(x, known, "vmtqn", (1, 2), **RUNS[run])
                psnr.append(decibels(result.x, x, known))
                steps.append(len(result.history))
            seconds = (time.perf_counter() - started) / DRAWS
            one["runs"][run] = {"psnr": float(np.mean(psnr)), "steps": round(np.mean(steps)), "seconds": seconds}
            KEPT.write_text(json.dumps(found))
        one["runs"] = {run: one["runs"][run] for run in RUNS}
        print(
            name,
            {run: (round(v["psnr"], 2), v["steps"], round(v["seconds"], 1)) for run, v in one["runs"].items()},
            flush=True,
        )
    PAGE.write_text(page(found))


if __name__ == "__main__":
    main()
