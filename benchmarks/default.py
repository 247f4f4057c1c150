"""What the default costs: ``python -m benchmarks.default --data DIR`` times it against `vmtqn` and writes docs/default.md.

On the data of docs/speed.md, in float64: `vmtqn`, `views` and `auto`, one after the other, each in a process of its own, and
the round again as often as asked. Every run is saved at once; started again, it goes on. ``--before CHECKOUT`` runs the `vmtqn` of another
version in turn with them: a method that got faster is a harder measure of what the default costs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from . import cases, measure

RATES = {case.data: case.p for case in cases.CASES.values()}  # of the six cases of docs/speed.md: four data sets
BEFORE = "before"  # vmtqn of another checkout
METHODS = ("vmtqn", BEFORE, "views", "auto")
TIMES = {"views": 2.0, "auto": 5.0}  # vmtqn's time, at most
MEMORY = {"views": 5.0, "auto": 5.0}  # times the data, at most
PAGE = Path(__file__).parent.parent / "docs" / "default.md"


def measured(data_set: str, method: str, folder: str | None, quick: bool) -> dict[str, Any]:
    """Return seconds, PSNR and memory of a run in this process."""
    import qrank

    warnings.simplefilter("ignore", qrank.ConvergenceWarning)
    data = cases.load(data_set, RATES[data_set], folder, quick)
    small = cases.load(data_set, RATES[data_set], None, quick=True)
    qrank.complete(small.y, small.observed, method, (1, 2))  # loads what is to be loaded
    with measure.memory() as used:
        start, worked = time.perf_counter(), time.process_time()
        found = qrank.complete(data.y, data.observed, method, (1, 2))
        seconds, worked = time.perf_counter() - start, time.process_time() - worked
    return {
        "seconds": seconds,
        "worked": worked,
        "load": os.getloadavg()[1],
        "psnr": data.psnr(found.x),
        "memory": used.above / data.y.nbytes,
        "steps": len(found.history),
        "source": data.source,
        "shape": data.y.shape,
        "machine": measure.machine(),
        "commit": _commit(),
    }


def _commit() -> str:
    """Return the commit of the version that runs."""
    import qrank

    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=Path(qrank.__file__).parent, capture_output=True
    )
    return found.stdout.decode().strip()


def page(found: dict[str, list[dict[str, Any]]]) -> str:
    """Return the page, from what was measured."""
    lines = [
        "# What the default costs",
        "",
        "Written by `python -m benchmarks.default`, not by hand: whole runs in float64 on the data of [speed.md](speed.md), each in"
        " a process of its own, one after the other in turn. PSNR is over all entries; memory is the peak of the process"
        " above the input over the tensor's bytes, of a run of its own in which freed arrays go back to the system at once, as for"
        " [memory.md](memory.md), which costs time; *held*: of the run that was timed, where the C library keeps some of them."
        " Of a machine that others use at the same time the seconds tell little, and those of the processors more: load is how many"
        " processes wanted one when the run ended. In brackets what is wanted at most: times `vmtqn`'s seconds, and times the data."
        " Where there is a `vmtqn` with a commit, it is that version's, run in turn: how many times its seconds a method takes stands behind"
        " the semicolon.",
        "",
        "| data | method | seconds | times vmtqn | processors' seconds | times vmtqn | load | dB | memory | held | runs |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for data_set, p in RATES.items():
        base, before = found.get(f"{data_set}/vmtqn"), found.get(f"{data_set}/{BEFORE}")
        for method in METHODS:
            runs = found.get(f"{data_set}/{method}")
            if not runs:
                continue
            columns = []
            for clock in ("seconds", "worked"):
                seconds = statistics.median(run[clock] for run in runs)
                columns.append(f"{seconds:.1f}")
                ratio = seconds / statistics.median(run[clock] for run in base) if base and method in TIMES else 0
                earlier = (
                    f"; {seconds / statistics.median(run[clock] for run in before):.1f}" if before and ratio else ""
                )
                columns.append(f"{ratio:.1f} ({TIMES[method]:g}){earlier}" if ratio else "")
            columns.append(f"{statistics.median(run['load'] for run in runs):.0f}")
            limit = f" ({MEMORY[method]:g})" if method in MEMORY else ""
            shape = " x ".join(map(str, runs[0]["shape"]))
            made = "" if runs[0]["source"] == "read" else ", generated"
            shown = f"`vmtqn` of {runs[0]['commit']}" if method == BEFORE else f"`{method}`"
            lines.append(
                f"| {data_set}, {shape}{made}, p = {p:g} | {shown} | {' | '.join(columns)}"
                f" | {runs[0]['psnr']:.2f} | {max(run['memory'] for run in runs):.1f}{limit}"
                f" | {max(run['held'] for run in runs):.1f} | {len(runs)} |"
            )
    return "\n".join(lines) + "\n"


def _said(command: list[str], env: dict[str, str]) -> dict[str, Any]:
    """Return what a run in a process of its own measured."""
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **env})
    return json.loads(done.stdout)


def main() -> None:
    """Measure one run where asked for one, else all that are wanted, and write the page."""
    parser = argparse.ArgumentParser("benchmarks.default", description=__doc__)
    parser.add_argument("what", nargs="*", help="data sets: " + ", ".join(RATES))
    parser.add_argument("--data", help="folder with the data sets (or QRANK_DATA); what it lacks is generated")
    parser.add_argument("--before", type=Path, help="another checkout, whose vmtqn is run, too")
    parser.add_argument("--runs", type=int, default=1, help="of each method on each data set")
    parser.add_argument("--quick", action="store_true", help="small tensors: does it all work? No page is written")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        data_set, method = args.one.replace(BEFORE, "vmtqn").split("/")
        print(json.dumps(measured(data_set, method, cases.folder(args.data), args.quick)))
        return
    kept = Path("out/default-quick.json" if args.quick else "out/default.json")
    kept.parent.mkdir(exist_ok=True)
    found: dict[str, list[dict[str, Any]]] = json.loads(kept.read_text()) if kept.exists() else {}
    more = [*(["--data", args.data] if args.data else []), *(["--quick"] if args.quick else [])]
    for k in range(args.runs):
        for data_set in args.what or RATES:
            for method in METHODS:
                name = f"{data_set}/{method}"
                if len(found.get(name, [])) > k or (method == BEFORE and args.before is None):
                    continue
                there = {"PYTHONPATH": str(args.before.resolve() / "src")} if method == BEFORE and args.before else {}
                command = [sys.executable, "-m", "benchmarks.default", "--one", name, *more]
                run, lean = (_said(command, {**there, **env}) for env in ({}, {"MALLOC_MMAP_THRESHOLD_": str(1 << 20)}))
                found.setdefault(name, []).append({**run, "memory": lean["memory"], "held": run["memory"]})
                kept.write_text(json.dumps(found))
                print(name, {key: value for key, value in found[name][-1].items() if key != "machine"}, flush=True)
    if not args.quick:
        PAGE.write_text(page(found))


if __name__ == "__main__":
    main()
