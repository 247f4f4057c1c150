"""The default schedule of vmtqn against the paper's: ``python -m benchmarks.schedules`` writes docs/schedule.md.

Each finished run is kept in out/schedules.json, so that it can be stopped and started again; runs whose settings or revision have
changed are made anew. Where QRANK_DATA names a data folder, its arrays are run as well, made small under several masks and at full
size under one. Small arrays are run in two processes, those of full size one after the other with all threads.
``python -m benchmarks.schedules 'full size'`` runs the cases of one table only, ``--show`` writes the page of what is there.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import threadpoolctl

import qrank
from qrank.experiments import sources
from qrank.experiments.cells import revision
from qrank.experiments.field.scenes import hangzhou

from .kinds import KINDS, made, traffic

PAGE = Path(__file__).parent.parent / "docs" / "schedule.md"
KEPT = Path("out/schedules.json")
EXACT = 90.0  # dB from which on only the stopping rules differ
ALLOWED = 0.1  # dB
FRESH = 11  # the first draw of generated arrays: none from here on has chosen the schedule's numbers
FIRST = 1  # the first draw of masks of real arrays
RUNS: dict[str, dict[str, Any]] = {"paper": {"preset": "paper"}, "rho = 1.2": {"rho": 1.2}, "default": {}}
TABLES = {  # and how many arrays or masks are averaged, and which runs are compared
    "generated": (3, list(RUNS)),
    "real": (3, list(RUNS)),
    "full size": (1, ["paper", "default"]),
}
Made = tuple[np.ndarray, np.ndarray]  # a stack (n3, n1, n2) and what is known of it


class Case(NamedTuple):
    """A row of the page: its table, its name, the share that is known, and who makes a draw of it."""

    table: str
    name: str
    p: float
    make: Callable[[int], Made]

    @property
    def key(self) -> str:
        """What it is kept by."""
        return f"{self.table}: {self.name}"


def generated(name: str, draw: int) -> Made:
    """Return an array of a kind."""
    x, known = made(name, FRESH + draw)
    return np.moveaxis(x, 2, 0).copy(), np.moveaxis(known, 2, 0).copy()


def masked(read: Callable[[], np.ndarray], p: float, draw: int) -> Made:
    """Return an array under a random mask."""
    x = np.ascontiguousarray(read(), dtype=float)
    return x, np.random.default_rng(FIRST + draw).random(x.shape) < p


def hours() -> np.ndarray:
    """Return generated traffic counts in the size of two months."""
    return np.moveaxis(traffic((30, 30, 1464), np.random.default_rng(FRESH)), 2, 0)


def cases(folder: Path | None) -> Iterator[Case]:
    """Yield all rows; those of real arrays only where there is a data folder."""
    for name, kind in KINDS.items():
        yield Case("generated", name, kind.p, partial(generated, name))
    for r, p in ((5, 0.3), (10, 0.5), (20, 0.7)):
        read = partial(sources.truth, "synthetic-50", None, r, draw=1)
        yield Case("full size", f"the paper's synthetic tensor, rank {r}", p, partial(masked, read, p))
    yield Case("full size", "traffic counts (generated)", 0.3, partial(masked, hours, 0.3))
    if folder is None:
        return
    load, ways = partial(sources.load, folder=folder), partial(hangzhou, folder)
    real = [
        ("real", "CIFAR-10, 300 pictures", partial(load, "cifar-300"), (0.1, 0.3)),
        ("real", "COIL-20, every 4th pixel", partial(load, "coil-32"), (0.2, 0.5)),
        ("real", "clip with a change of scene, every 4th pixel", partial(load, "video-60"), (0.1, 0.3)),
        ("real", "clip with a still background, every 4th pixel", partial(load, "smooth-60"), (0.3,)),
        ("real", "balloons, every 4th pixel", partial(load, "balloons-32"), (0.1, 0.3)),
        ("real", "Hangzhou, passengers", ways, (0.3, 0.6)),
        ("real", "Hangzhou, days x stations", lambda: np.moveaxis(ways(), 2, 0), (0.3,)),
        ("full size", "COIL-20, every 2nd pixel", partial(load, "coil-64"), (0.2,)),
        ("full size", "balloons", partial(load, "balloons"), (0.1, 0.3)),
        ("full size", "clip with a change of scene", partial(load, "video"), (0.3,)),
        ("full size", "clip with a still background", partial(load, "smooth"), (0.3,)),
        ("full size", "CIFAR-10, 3000 pictures", partial(load, "cifar-3000"), (0.1,)),
        ("full size", "COIL-20", partial(load, "coil"), (0.2,)),
    ]
    for table, name, read, shares in real:
        for p in shares:
            yield Case(table, f"{name}, p = {p:g}", p, partial(masked, read, p))


def decibels(found: np.ndarray, x: np.ndarray, known: np.ndarray) -> float:
    """Return the PSNR of what was missing."""
    return float(-10 * np.log10(np.square((found - x)[~known]).mean() / np.ptp(x) ** 2))


def finished(one: dict[str, Any] | None, runs: list[str]) -> bool:
    """Return whether all runs of a case are there, made as they would be made today."""
    return one is not None and all(one["runs"].get(run, {}).get("settings") == settings(run) for run in runs)


def page(found: dict[str, Any], order: list[str]) -> str:
    """Return the page, from finished runs."""
    draws = TABLES["generated"][0]
    lines = [
        "# The default schedule against the paper's",
        "",
        "PSNR in dB of what was missing, and steps, of `vmtqn`: with the paper's settings, with a fixed rho = 1.2, and by default,"
        " where rho follows what is known and what a step has found (`methods/schedule.py`). The first table's arrays are"
        f" generated (`benchmarks/kinds.py`, draws {FRESH} to {FRESH + draws - 1}); the schedule's numbers were chosen on draws 0 to 5 of the"
        " same kinds, by their truth. The real arrays of the second table were looked at, too, while they were chosen, some under these masks:"
        " that table shows no more than that nothing is lost there. The third table's real arrays, at full size, chose nothing; its"
        " synthetic tensors are drawn anew, but draw 0 of the same three chose how slices that come whole are told (`whole`). Means of"
        f" {draws} draws in the first two tables, one draw in the third. Written by `python -m benchmarks.schedules`.",
        "",
    ]
    for table, (_, runs) in TABLES.items():
        rows = {key: found[key] for key in order if key.startswith(f"{table}: ") and finished(found.get(key), runs)}
        if not rows:
            continue
        lines += [
            f"| {table} | n1 x n2 x n3, p | " + " | ".join(runs) + " | default - paper |",
            "|---" * (len(runs) + 3) + "|",
        ]
        for key, one in rows.items():
            told = [f"{one['runs'][run]['psnr']:.2f} ({one['runs'][run]['steps']})" for run in runs]
            paper, default = (one["runs"][run]["psnr"] for run in ("paper", "default"))
            exact = min(paper, default) > EXACT
            gap = "exact" if exact else f"{default - paper:+.2f}"
            mark = "" if exact or default >= paper - ALLOWED else " **below**"
            lines.append(f"| {key.split(': ', 1)[1]} | {one['size']} | " + " | ".join(told) + f" | {gap}{mark} |")
        lines.append("")
    return "\n".join(lines)


def settings(run: str) -> str:
    """Return what a kept run must have been made with to be as good as a new one."""
    return f"{qrank.METHODS['vmtqn'].configured(**RUNS[run])}, revision {revision('vmtqn')}"


def measured(key: str, run: str, folder: Path | None) -> dict[str, Any]:
    """Make one run of a case, on all its draws."""
    case = next(one for one in cases(folder) if one.key == key)
    many = TABLES[case.table][0]
    psnr, steps, started, size = [], [], time.perf_counter(), ""
    with warnings.catch_warnings(action="ignore", category=qrank.ConvergenceWarning):
        for x, known in map(case.make, range(many)):
            n3, n1, n2 = x.shape
            size = f"{n1} x {n2} x {n3}, {case.p:g}"
            result = qrank.complete(x, known, "vmtqn", (1, 2), **RUNS[run])
            psnr.append(decibels(result.x, x, known))
            steps.append(len(result.history))
    seconds = (time.perf_counter() - started) / many
    mean = {"psnr": float(np.mean(psnr)), "steps": round(np.mean(steps)), "seconds": seconds}
    return {"size": size, **mean, "settings": settings(run)}


def in_processes(todo: list[tuple[str, str]], folder: Path | None) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Make runs in two processes with one thread each."""
    alone = (1,)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn"), threadpoolctl.threadpool_limits, alone) as pool:
        running = {pool.submit(measured, key, run, folder): (key, run) for key, run in todo}
        for future in as_completed(running):
            yield *running[future], future.result()


def main() -> None:
    """Run what is not there yet of the named tables, or of all, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.schedules", description=__doc__)
    parser.add_argument("tables", nargs="*", help=f"of: {', '.join(TABLES)}", metavar="TABLE")
    parser.add_argument("--show", action="store_true", help="run nothing: write the page of what is there")
    args = parser.parse_args()
    for name in args.tables:
        if name not in TABLES:
            parser.error(f"there is no table '{name}'; there are: {', '.join(TABLES)}")
    KEPT.parent.mkdir(exist_ok=True)
    found = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    named = os.environ.get("QRANK_DATA")
    folder = Path(named) if named else None
    order = [case.key for case in cases(folder)]
    wanted = [key for key in order if not args.tables or key.split(": ")[0] in args.tables]
    todo = [
        (key, run) for key in wanted for run in TABLES[key.split(": ")[0]][1] if not finished(found.get(key), [run])
    ]
    large = [one for one in todo if one[0].startswith("full size")]
    small = [one for one in todo if one not in large]
    here = ((key, run, measured(key, run, folder)) for key, run in large)
    for runs in () if args.show else (in_processes(small, folder), here):
        for key, run, numbers in runs:
            one = found.setdefault(key, {"runs": {}})
            one["size"] = numbers.pop("size")
            one["runs"][run] = numbers
            beside = KEPT.with_suffix(".new")
            beside.write_text(json.dumps(found, indent=1))
            beside.replace(KEPT)
            print(
                f"{key}, {run}: {numbers['psnr']:.2f} dB, {numbers['steps']} steps, {numbers['seconds']:.1f} s",
                flush=True,
            )
    PAGE.write_text(page(found, order))


if __name__ == "__main__":
    main()
