"""Complete again and again, in one thread or in two; print what the process holds after the first round and after the last.

``python soak.py COUNT THREADS METHOD,METHOD,…``: two lines of JSON.
"""

import gc
import json
import os
import sys
import tempfile
import threading
import warnings

import numpy as np
import threadpoolctl

import qrank
import qrank.run

SHAPES = [(30, 28, 20), (20, 30, 28), (40, 21, 20)]  # 130 KB


def completions(count: int, methods: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    for k in range(count):
        shape = SHAPES[k % len(SHAPES)]
        x = np.einsum("ir,jr,kr->ijk", *(rng.random((n, 2)) for n in shape))
        y = np.where(rng.random(shape) < 0.6, x, np.nan).astype([np.float64, np.float32][k // 2 % 2])
        kept = {}
        if k % 5 == 0:
            kept = {"checkpoint": os.path.join(tempfile.gettempdir(), f"soak-{os.getpid()}-{seed}.ckpt"), "every": 0.01}
        with warnings.catch_warnings(action="ignore", category=qrank.ConvergenceWarning):
            qrank.complete(y, method=methods[k % len(methods)], max_steps=15, **kept)


def round_of(count: int, methods: list[str], workers: int) -> None:
    if workers == 1:
        return completions(count, methods, 0)
    both = [threading.Thread(target=completions, args=(count // workers, methods, seed)) for seed in range(workers)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    return None


def held() -> dict[str, int | list[int]]:
    """What the process has: memory in bytes, threads, open files, and the threads of BLAS."""
    gc.collect()
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {
        "memory": resident,
        "threads": len(os.listdir("/proc/self/task")),
        "files": len(os.listdir("/proc/self/fd")),
        "blas": [lib["num_threads"] for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"],
    }


def main(count: int, workers: int, methods: list[str]) -> None:
    qrank.run.ONE_THREAD = 1000  # so that small arrays are shared out, too
    round_of(max(12, 3 * len(methods)) * workers, methods, workers)
    print(json.dumps(held()), flush=True)
    round_of(count, methods, workers)
    print(json.dumps(held()), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split(","))
