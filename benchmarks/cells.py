"""One cell of the benchmark: a run in a process of its own, its numbers written to a JSON file.

``python -m benchmarks.cells SPEC`` with SPEC a JSON object; `benchmarks.schedule` starts these. A long cell pauses now
and then: it writes a line and waits for one, so that others can run in between and noise hits all of them.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import cases, kernels, measure

Spec = dict[str, Any]
NORM: Spec = {"penalty": "nuclear"}  # what the literal algorithm minimises, and here all others, motqn too


def pause() -> None:
    """Let others run; no clock of a cell runs meanwhile."""
    print("pause", flush=True)
    sys.stdin.readline()


def data_of(spec: Spec) -> cases.Data:
    """Return the tensor that the cell is about."""
    dtype = np.dtype(spec.get("dtype", "float64"))
    if "shape" in spec:
        n3, n1, n2 = spec["shape"]
        generate = cases.spectrum_images if n1 == n2 == 32 else cases.scenes
        return cases.masked(generate((n3, n1, n2), np.random.default_rng(0)), spec["p"], dtype)
    return cases.load(spec["data"], spec["p"], spec.get("folder"), spec.get("quick", False), dtype)


def described(data: cases.Data) -> Spec:
    """Return what is said of the data in every cell."""
    return {"shape": data.y.shape, "source": data.source, "bytes64": data.y.size * 8}


def completion(spec: Spec) -> Spec:
    """Time qrank.complete as a user calls it, and its memory."""
    import qrank

    data = data_of(spec)
    rate = measure.gemm_rate(data.y.dtype)
    stamps: list[float] = []
    options = NORM | ({"max_steps": spec["max_steps"]} if spec.get("max_steps") else {})
    with measure.memory() as memory, warnings.catch_warnings():
        warnings.simplefilter("ignore", qrank.ConvergenceWarning)
        start = time.perf_counter()
        found = qrank.complete(
            data.y,
            data.observed,
            spec["method"],
            (1, 2),
            preset=spec.get("preset"),
            on_step=lambda record: stamps.append(time.perf_counter() - start),
            **options,
        )
        seconds = time.perf_counter() - start
    return described(data) | {
        "seconds": seconds,
        "stamps": stamps,  # wall time at the end of each step
        "steps": len(stamps),
        "status": found.status.name,
        "psnr": data.psnr(found.x),
        "memory": memory.above,
        "gemm": max(rate, measure.gemm_rate(data.y.dtype)),
        "rank": found.history[-1].rank,
    }


def profile(spec: Spec) -> Spec:
    """Take the default's steps under the ledger; the PSNR after each step, off the clock."""
    ledger = kernels.watch("qrank", more=("advance", "add_gram", "eigh_above", "axpy"))
    from qrank.kernels import lapack, threads
    from qrank.kernels.advance import advance
    from qrank.methods import METHODS
    from qrank.problem import Problem
    from qrank.run import Run

    kernels.name(advance, kernels.PASS, "advance")
    kernels.name(lapack.add_gram, kernels.PRODUCT, "syrk")
    kernels.name(lapack.axpy, kernels.VECTOR, "scaled sum")
    kernels.name(lapack.eigh_above, kernels.DECOMPOSITION, "eigh")
    data = data_of(spec)
    rate = measure.gemm_rate()
    ledger.workers = threads.count()
    run = Run(
        Problem.of(data.y, data.observed, (1, 2)), METHODS[spec["method"]].configured(spec.get("preset"), **NORM), 0
    )
    run.begin()
    beginning = run.seconds
    ledger.clear()
    with threads.own_threads():  # or BLAS's threads would spin on into the next step
        curve = [data.psnr(run.answer().reshape(data.y.shape), run.problem.scale) for _ in run]
    rows = ledger.rows()
    start = time.perf_counter()
    run.learned()
    return described(data) | {
        "curve": curve,
        "seconds": run.seconds - beginning,
        "init": beginning,
        "transform": time.perf_counter() - start,  # what complete() spends on the transform that it returns
        "kernels": rows,
        "gemm": max(rate, measure.gemm_rate()),
        "workers": ledger.workers,
    }


def pair(spec: Spec) -> Spec:
    """Alternate literal and package, step by step with the same settings, at several stages of the paper's run.

    At each stage the literal algorithm takes over the package's state, so both take the same steps; the largest
    difference of their X is relative to the largest known value. In between only the package runs, which gives the PSNR
    curve.
    """
    from qrank.methods import METHODS
    from qrank.problem import Problem
    from qrank.run import Run

    from . import literal

    data = data_of(spec)
    name, repeats, total = spec["method"], spec["literal_steps"], spec["steps"]
    last = max(1, total - repeats + 1)
    stages = sorted({round(v) for v in np.linspace(1, last, spec["stages"])})
    method = METHODS[name].configured("paper")
    settings = literal.settings_of(method)
    run = Run(Problem.of(data.y, data.observed, (1, 2)), method, 0)
    run.begin()
    ours = iter(run)
    largest = float(np.abs(data.y).max())
    theirs: literal.State | None = None
    at, ours_seconds, theirs_seconds, differences, rates, curve = [], [], [], [], [], []
    stage = 1
    for k in range(1, total + 1):
        if k in stages:
            if k > 1:
                pause()
            theirs, left, stage = literal.resume(run.problem, run.state), repeats, k
            rates.append(measure.gemm_rate())
        if theirs is not None:
            start = time.perf_counter()
            theirs = literal.step(name, data.y, data.observed, theirs, settings)
            theirs_seconds.append(time.perf_counter() - start)
        before = run.seconds
        next(ours)
        spent = run.seconds - before
        x = run.answer().reshape(data.y.shape)
        curve.append(data.psnr(x, run.problem.scale))
        if theirs is not None:
            at.append(stage)
            ours_seconds.append(spent)
            differences.append(float(np.abs(x * run.problem.scale - theirs.X).max()) / largest)
            left -= 1
            if left == 0:
                theirs = None
    return described(data) | {
        "at": at,  # the first step of the stage that each measured step belongs to
        "ours": ours_seconds,
        "literal": theirs_seconds,
        "difference": max(differences),
        "gemm": max(rates),
        "curve": curve,
        "steps": spec["steps"],
    }


def whole_literal(spec: Spec) -> Spec:
    """Run the literal algorithm: to its end with pauses, or a few steps for its memory."""
    from . import literal

    data = data_of(spec)
    breaks = {round(v) for v in np.linspace(0, spec["steps"], spec["pauses"] + 2)[1:-1]} if spec["full"] else set()
    stamps, curve, clock = [], [], 0.0
    measure.gemm_rate(seconds=0.1)  # BLAS has its buffers before memory is measured
    with measure.memory() as memory:
        start = time.perf_counter()
        for k, state in enumerate(literal.steps(spec["method"], data.y, data.observed), 1):
            clock += time.perf_counter() - start
            stamps.append(clock)
            if spec["full"]:
                curve.append(data.psnr(state.X))
            elif k == 2:
                break
            if k in breaks:
                pause()
            start = time.perf_counter()
    return described(data) | {
        "seconds": clock,
        "stamps": stamps,
        "curve": curve,
        "steps": len(stamps),
        "memory": memory.above,
        "full": spec["full"],
        "psnr": curve[-1] if curve else None,
    }


def rival(spec: Spec) -> Spec:
    """Run one of the packages that a user could pick instead."""
    from . import rivals

    data = data_of(spec)
    rivals.load(spec["rival"])
    measure.gemm_rate(seconds=0.1)
    with measure.memory() as memory:
        found = rivals.run(spec["rival"], data, spec["budget"])
    return described(data) | found | {"memory": memory.above}


def growth(spec: Spec) -> Spec:
    """Time the steps of a default run, and beside it the eigendecompositions that the slices need."""
    from qrank.kernels import threads

    found = completion(spec)
    stamps = found["stamps"]
    n3, n1, n2 = spec["shape"]
    side = min(n1, n2) if n1 * n2 > n3 else n1 * n2
    many = n3 if n1 * n2 > n3 else 1
    a = np.random.default_rng(0).standard_normal((many, side, side))
    a = a + a.swapaxes(1, 2)
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        if many > 1:
            threads.each(lambda s: np.linalg.eigh(a[s]), many, max(1, (1 << 16) // side**2))
        else:
            np.linalg.eigh(a[0])
        best = min(best, time.perf_counter() - start)
    each = np.diff(stamps)
    return found | {"step": float(np.mean(each)), "step_median": float(np.median(each)), "kernel": best}


def thread_counts(spec: Spec) -> Spec:
    """Complete with one BLAS thread and with all; compare the answers, and the settings before and after."""
    import threadpoolctl

    import qrank

    data = data_of(spec)
    before = measure.blas_threads()

    def answer(name: str, steps: int) -> np.ndarray:
        return qrank.complete(data.y, data.observed, name, (1, 2), max_steps=steps, **NORM).x

    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qrank.ConvergenceWarning)
        for name in ("vmtqn", "tnn", "motqn"):
            early, late = answer(name, 20), answer(name, 500)
            with threadpoolctl.threadpool_limits(1, "blas"):
                inside = measure.blas_threads()
                early_one, late_one = answer(name, 20), answer(name, 500)
                kept = measure.blas_threads() == inside
            difference = float(np.abs(early - early_one).max() / np.abs(data.y).max())
            decibels = abs(data.psnr(late) - data.psnr(late_one))
            found[name] = {"difference": difference, "decibels": decibels, "kept": kept}
    threads = max(n for _, n in before)
    return described(data) | {"methods": found, "left_as_found": measure.blas_threads() == before, "threads": threads}


KINDS: dict[str, Callable[[Spec], Spec]] = {
    "completion": completion,
    "profile": profile,
    "pair": pair,
    "literal": whole_literal,
    "rival": rival,
    "growth": growth,
    "threads": thread_counts,
}


def main() -> None:
    """Run the cell named on the command line."""
    spec: Spec = json.loads(sys.argv[1])
    try:
        found = KINDS[spec["kind"]](spec)
    except Exception as error:
        found = {"failed": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
    from qrank.study.store import RunStore  # only now: `profile` compiles the package in its own way

    path = Path(spec["out"])
    RunStore(path.parent).save(path.stem, {"spec": spec, **found})


if __name__ == "__main__":
    main()
