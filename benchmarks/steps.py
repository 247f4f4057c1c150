"""Cells that watch a run step by step: beside the literal algorithm, and where its time goes."""

from __future__ import annotations

import time

import numpy as np

from . import flops, kernels, measure
from .common import NORM, Spec, data_of, described, pause


def profile(spec: Spec) -> Spec:
    """Take the default's steps under the ledger; the PSNR after each step, off the clock."""
    ledger = kernels.watch("qrank", more=("advance", "add_gram", "eigh_above", "axpy"))
    from qrank.kernels import lapack, threads
    from qrank.kernels.advance import advance
    from qrank.methods import METHODS
    from qrank.problem import Problem
    from qrank.run import Run, is_single

    kernels.name(advance, kernels.PASS, "advance")
    kernels.name(lapack.add_gram, kernels.PRODUCT, "syrk")
    kernels.name(lapack.axpy, kernels.VECTOR, "scaled sum")
    kernels.name(lapack.eigh_above, kernels.DECOMPOSITION, "eigh")
    data = data_of(spec)
    ledger.workers = threads.count()
    run = Run(Problem.of(data.y, data.observed, (1, 2)), METHODS[spec["method"]].configured(**NORM), 0)
    run.begin()
    beginning = run.seconds
    ledger.clear()
    curve, operations, single = [], [], []
    with threads.own_threads():  # or BLAS's threads would spin on into the next step
        for state, record in run:
            curve.append(data.psnr(run.answer().reshape(data.y.shape), run.problem.scale))
            operations.append(flops.run(spec["method"], data.y.shape, [record]))
            single.append(is_single(state))
    rows = ledger.rows()
    rate = {kind: measure.gemm_rate(kind) for kind in ("float64", "float32")}
    start = time.perf_counter()
    run.learned()
    return described(data) | {
        "curve": curve,
        "flops": operations,  # that each step must do
        "single": single,  # whether it is in single precision
        "seconds": run.seconds - beginning,
        "init": beginning,
        "transform": time.perf_counter() - start,  # what complete() spends on the transform that it returns
        "kernels": rows,
        "gemm": rate["float64"],
        "gemm32": rate["float32"],
        "workers": ledger.workers,
    }


def pair(spec: Spec) -> Spec:
    """Alternate literal and package, step by step with the same settings, at stages of the paper's run, to its end.

    At each stage the literal algorithm takes over the package's state, so both take the same steps; the largest
    difference of their X is relative to the largest known value. In between only the package runs, which gives the PSNR
    curve. With ``through`` the run is left after so many steps, its end unknown.
    """
    from qrank.methods import METHODS
    from qrank.problem import Problem
    from qrank.result import Status
    from qrank.run import Run

    from . import literal

    data = data_of(spec)
    name, repeats = spec["method"], spec["literal_steps"]
    method = METHODS[name].configured("paper")
    settings = literal.settings_of(method)
    run = Run(Problem.of(data.y, data.observed, (1, 2)), method, 0)
    run.begin()
    ours = iter(run)
    largest = float(np.abs(data.y).max())
    theirs, left, stage = None, 0, 1
    at, ours_seconds, theirs_seconds, differences, rates, curve = [], [], [], [], [], []
    for k in range(1, (spec["through"] or method.max_steps) + 1):
        if (k - 1) % spec["every"] == 0:
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
        if run.status is not Status.INTERRUPTED:
            break
    return described(data) | {
        "at": at,  # the first step of the stage that each measured step belongs to
        "ours": ours_seconds,
        "literal": theirs_seconds,
        "difference": max(differences),
        "gemm": max(rates),
        "curve": curve,
        "steps": len(curve),
        "seconds": run.seconds,
        "status": run.status.name,
    }


def whole_literal(spec: Spec) -> Spec:
    """Run the literal algorithm to its end, with pauses."""
    from . import literal

    data = data_of(spec)
    stamps, curve, clock = [], [], 0.0
    measure.gemm_rate(seconds=0.1)  # BLAS has its buffers before memory is measured
    with measure.memory() as memory:
        start = time.perf_counter()
        for k, state in enumerate(literal.steps(spec["method"], data.y, data.observed), 1):
            clock += time.perf_counter() - start
            stamps.append(clock)
            curve.append(data.psnr(state.X))
            if k % spec["every"] == 0:
                pause()
            start = time.perf_counter()
    return described(data) | {
        "seconds": clock,
        "stamps": stamps,
        "curve": curve,
        "steps": len(stamps),
        "memory": memory.above,
        "psnr": curve[-1],
    }
