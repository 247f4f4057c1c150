"""The instruments: peak memory above the start, the machine's GEMM rate, BLAS threads, and a run's numbers in short."""

from __future__ import annotations

import contextlib
import platform
import resource
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl

WITHIN = 0.05  # dB: how near the final PSNR counts as final


class Memory:
    """The peak of the resident memory inside a block above that at its start, in bytes."""

    above: int = 0


@contextlib.contextmanager
def memory() -> Iterator[Memory]:
    """Measure the peak of a block; exact on Linux, elsewhere that of the whole process so far."""
    found = Memory()
    before = _reset()
    yield found
    found.above = max(0, _peak() - before)


def _reset() -> int:
    """Start the kernel's high-water mark anew where that can be done; return the resident bytes."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    return _peak()


def _peak() -> int:
    with contextlib.suppress(OSError):
        return _status("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")


def gemm_rate(dtype: Any = float, seconds: float = 0.6, n: int = 2000) -> float:
    """Return what a product of square matrices reaches now, in GFLOP/s: the best of a few."""
    a = np.random.default_rng(0).standard_normal((n, n)).astype(dtype)
    out = np.empty_like(a)
    best, until = 0.0, time.perf_counter() + seconds
    while best == 0.0 or time.perf_counter() < until:
        start = time.perf_counter()
        np.matmul(a, a, out=out)
        best = max(best, 2 * n**3 / (time.perf_counter() - start) / 1e9)
    return best


def blas_threads() -> list[tuple[str, int]]:
    """Return the BLAS libraries that are loaded and the threads that each may use."""
    found = threadpoolctl.threadpool_info()
    return sorted((Path(lib["filepath"]).name, lib["num_threads"]) for lib in found if lib["user_api"] == "blas")


def time_to_quality(seconds: list[float], psnr: list[float], within: float = WITHIN) -> float:
    """Return when the PSNR came within 0.05 dB of its final value for good.

    >>> time_to_quality([1.0, 2.0, 3.0, 4.0], [20.0, 29.98, 10.0, 30.0])
    4.0
    """
    at = len(psnr) - 1
    while at > 0 and abs(psnr[at - 1] - psnr[-1]) <= within:
        at -= 1
    return seconds[at]


def machine() -> dict[str, Any]:
    """Return what a reader must know to place the numbers."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
        else:
            cpu = platform.processor()
        return {"cpu": cpu, "python": platform.python_version(), "numpy": np.__version__, "blas": blas_threads()}
    return {"cpu": platform.processor(), "python": platform.python_version(), "numpy": np.__version__}


def middle(values: list[float]) -> float:
    """Return the median, or NaN of nothing."""
    return statistics.median(values) if values else float("nan")


def stages(at: list[int], values: list[float]) -> tuple[list[int], list[float]]:
    """Return the stages and the median of the values of each: one slow step says nothing about its neighbours.

    >>> stages([1, 1, 1, 9], [1.0, 50.0, 2.0, 4.0])
    ([1, 9], [2.0, 4.0])
    """
    first = sorted(set(at))
    return first, [middle([v for a, v in zip(at, values, strict=True) if a == stage]) for stage in first]


def between(at: list[int], values: list[float], steps: int) -> list[float]:
    """Return a value for each of the steps 1 ... steps, on straight lines between those measured.

    >>> between([1, 3], [10.0, 30.0], 4)
    [10.0, 20.0, 30.0, 30.0]
    """
    return [float(v) for v in np.interp(np.arange(1, steps + 1), at, values)]
