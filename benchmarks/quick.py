"""Did something get slower? ``python -m benchmarks.quick`` says so in a few minutes, by its exit code, too: ``make bench-quick``.

On small generated tensors, all in one process and in turn, so that the machine's own speed cancels: how many times as fast a step is as the
literal one with the same settings; how many literal steps a whole default run is worth; and what a step of each fit and the default cost over
the plain ones. Each ratio is compared with the stored one (`quick.json`): 1 where any is worse by more than the tolerance.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from . import cases, fits, literal, measure
from .common import NORM

REFERENCE = Path(__file__).with_name("quick.json")
TOLERANCE = 0.25  # a ratio that is worse by this share counts as slower; repeated runs differ by up to 0.1
SHAPES = {"clip": (32, 120, 160), "wide": (3000, 20, 20)}
PAIRS = {
    "vmtqn clip": ("vmtqn", "clip"),
    "vmtqn wide": ("vmtqn", "wide"),
    "tnn clip": ("tnn", "clip"),
    "motqn clip": ("motqn", "clip"),
}
STAGES = (20, 60, 100)  # steps of the paper's run after which literal ones are measured
ROUNDS = 3

Ratios = dict[str, float]  # larger is better, in all of them


def small(kind: str) -> cases.Data:
    """Return a generated tensor of which 30 % are seen."""
    generate = cases.scenes if kind == "clip" else cases.spectrum_images
    return cases.masked(generate(SHAPES[kind], np.random.default_rng(0)), 0.3)


def of_steps(method: str, data: cases.Data) -> tuple[float, float]:
    """Return literal / qrank for the same steps of the paper's run, and the seconds of a literal step.

    At each stage both take steps from the same state in turn; the quickest of each counts.
    """
    from qrank.methods import METHODS
    from qrank.problem import Problem
    from qrank.run import Run

    configured = METHODS[method].configured("paper")
    settings = literal.settings_of(configured)
    run = Run(Problem.of(data.y, data.observed, (1, 2)), configured, 0)
    steps = iter(run)
    ours, theirs = 0.0, 0.0
    for _ in range(STAGES[0]):
        next(steps)
    for at in STAGES:
        while run.k < at:
            next(steps)
        state, spent = literal.resume(run.problem, run.state), []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            state = literal.step(method, data.y, data.observed, state, settings)
            between, before = time.perf_counter(), run.seconds
            next(steps)
            spent.append((between - start, run.seconds - before))
        theirs, ours = theirs + min(a for a, _ in spent), ours + min(b for _, b in spent)
    return theirs / ours, theirs / len(STAGES)


def of_runs(step: float, data: cases.Data) -> Ratios:
    """Return 100 literal steps over a default run of vmtqn, and vmtqn's time over that of `views` and of `auto`."""
    import qrank

    best: dict[str, float] = {}
    for k in range(ROUNDS):
        for method in ("vmtqn", "views", *(("auto",) if k == 0 else ())):
            start = time.perf_counter()
            qrank.complete(data.y, data.observed, method, (1, 2), **(NORM if method == "vmtqn" else {}))
            best[method] = min(best.get(method, np.inf), time.perf_counter() - start)
    return {
        "100 literal steps / run of vmtqn": 100 * step / best["vmtqn"],
        "run of vmtqn / run of views": best["vmtqn"] / best["views"],
        "run of vmtqn / run of auto": best["vmtqn"] / best["auto"],
    }


def of_fits(data: cases.Data) -> Ratios:
    """Return a masked step over one of each other fit."""
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, run in fits.runs_of(data.y, data.observed, "vmtqn").items():
            stamps = [time.perf_counter()]
            run(lambda record, stamps=stamps: stamps.append(time.perf_counter()))
            best[name] = min(best.get(name, np.inf), float(np.diff(stamps)[1:].mean()))
    return {f"masked step / step with {name}": best["exact"] / best[name] for name in best if name != "exact"}


def measured() -> Ratios:
    """Measure everything."""
    measure.gemm_rate(seconds=0.5)  # wakes the processor up
    data = {kind: small(kind) for kind in SHAPES}
    ratios, step = {}, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (method, kind) in PAIRS.items():
            ratio, literal_step = of_steps(method, data[kind])
            ratios[f"literal / qrank, a step: {name}"] = ratio
            step = literal_step if name == "vmtqn clip" else step
        return ratios | of_runs(step, data["clip"]) | of_fits(data["clip"])


def verdict(found: Ratios, stored: Ratios, tolerance: float = TOLERANCE) -> tuple[list[str], list[str]]:
    """Return a table, and the names of what is slower than it was.

    >>> verdict({"a": 2.0, "b": 5.0}, {"a": 4.0, "b": 5.0})[1]
    ['a']
    """
    lines, slower = [], []
    for name, value in found.items():
        if name not in stored:
            lines.append(f"{name:<45} {value:7.2f}   not stored yet")
            continue
        change = value / stored[name] - 1
        said = "SLOWER" if change < -tolerance else "faster" if change > tolerance else ""
        slower += [name] if change < -tolerance else []
        lines.append(f"{name:<45} {value:7.2f}   stored {stored[name]:7.2f}   {change:+5.0%}  {said}".rstrip())
    return lines, slower


def main() -> int:
    """Measure, compare, and say what is slower."""
    parser = argparse.ArgumentParser("benchmarks.quick", description=__doc__)
    parser.add_argument(
        "--reference", type=Path, default=REFERENCE, help="the stored ratios to compare with, or to write"
    )
    parser.add_argument("--store", action="store_true", help="store what is measured instead of comparing")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="share by which a ratio may be worse (0.25)")
    args = parser.parse_args()
    if not (args.store or args.reference.exists()):
        parser.error(f"there is no {args.reference}: --store makes it, on the version to compare with")
    started = time.perf_counter()
    found = measured()
    about: dict[str, Any] = measure.machine()
    where = {key: about[key] for key in ("cpu", "numpy")}
    if args.store:
        args.reference.write_text(json.dumps({"machine": where, "ratios": found}, indent=1) + "\n", encoding="utf-8")
        print(f"{len(found)} ratios stored in {args.reference.name}")
        return 0
    stored = json.loads(args.reference.read_text(encoding="utf-8"))
    lines, slower = verdict(found, stored["ratios"], args.tolerance)
    print("\n".join(lines))
    if stored["machine"] != where:
        print(
            f"The stored ratios are of {stored['machine']}: store your own from the commit before, --store --reference FILE."
        )
    if slower:
        print(f"Slower by more than {args.tolerance:.0%}: {'; '.join(slower)}.")
    else:
        print(f"Nothing is slower than it was, within {args.tolerance:.0%} ({time.perf_counter() - started:.0f} s).")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
