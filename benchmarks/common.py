"""What cells share: the data that a spec names, pauses, and a run as a user calls it."""

from __future__ import annotations

import math
import sys
import time
import warnings
from typing import Any

import numpy as np

from . import cases, measure

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
    """Time qrank.complete as a user calls it, and its memory; ``options`` are those of the method, the paper's norm by default."""
    import qrank

    data = data_of(spec)
    if spec.get("double"):
        in_double(spec["method"])
    rate = measure.gemm_rate(data.y.dtype)
    stamps: list[float] = []
    with measure.memory() as memory, warnings.catch_warnings():
        warnings.simplefilter("ignore", qrank.ConvergenceWarning)
        start = time.perf_counter()
        found = qrank.complete(
            data.y,
            data.observed,
            spec["method"],
            (1, 2),
            on_step=lambda record: stamps.append(time.perf_counter() - start),
            **spec.get("options", NORM),
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
        "package": qrank.__file__,
    }


def in_double(name: str) -> None:
    """Have a method compute in double precision throughout; for the rest of the process, and for comparison only."""
    from qrank.methods import METHODS

    METHODS[name].single = math.inf
