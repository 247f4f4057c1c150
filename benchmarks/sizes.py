"""Cells about sizes and threads: how a step grows, and that the number of threads changes no answer."""

from __future__ import annotations

import time
import warnings

import numpy as np

from . import cases, measure
from .common import NORM, Spec, completion, data_of, described


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

    thin = slice(None, None, spec["thinned"])
    data = data_of(spec)
    data = cases.masked(np.ascontiguousarray(data.truth[:, thin, thin]), spec["p"], source=data.source)
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
