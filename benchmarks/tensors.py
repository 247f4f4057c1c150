"""NumPy's kind of array against torch's, on the CPU: ``python -m benchmarks.tensors`` measures it and writes the tables of docs/torch.md.

The clip of the paper (240 x 432 x 48; generated where there is no data folder), a few steps of each method from the beginning,
NumPy and torch in turns so that what else the machine does falls on both. The shrinkage by products alone, which devices other than a
CPU use, is timed beside the one by eigendecompositions.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import qrank
from qrank import kernels
from qrank.kernels.device.products_only import shrunk_by_products
from qrank.penalties import Nuclear

from .cases import folder, load

ROUNDS = 3
PAGE = Path(__file__).parent.parent / "docs" / "torch.md"


def seconds(work: Callable[[], Any]) -> float:
    """Return how long a call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def best(*works: Callable[[], Any], rounds: int = ROUNDS) -> list[float]:
    """Return the shortest times of several calls, made in turns."""
    times = [[seconds(work) for work in works] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]


def methods(data: Any, steps: int, rounds: int) -> Iterator[str]:
    """Yield a table of a step of both kinds, and how far their answers are apart."""
    yield "| method | type | NumPy, s a step | torch, s a step | torch / NumPy | apart |"
    yield "|---|---|---|---|---|---|"
    for dtype in (np.float64, np.float32):
        y = data.y.astype(dtype)
        tensor = torch.from_numpy(y)
        for method in ("vmtqn", "tnn"):
            found: dict[str, Any] = {}

            def host(method: str = method, y: np.ndarray = y, found: dict = found) -> None:
                found["numpy"] = qrank.complete(y, data.observed, method, (1, 2), max_steps=steps).x

            def device(method: str = method, tensor: Any = tensor, found: dict = found) -> None:
                found["torch"] = qrank.complete(tensor, data.observed, method, (1, 2), max_steps=steps).x.numpy()

            a, b = best(host, device, rounds=rounds)
            apart = np.abs(found["numpy"] - found["torch"]).max() / np.abs(found["numpy"]).max()
            yield f"| `{method}` | {np.dtype(dtype)} | {a / steps:.3f} | {b / steps:.3f} | {b / a:.2f} | {apart:.0e} |"


def slices(rounds: int) -> Iterator[str]:
    """Yield a table of what shrinking 12 slices of a clip's size takes in one thread by eigendecompositions and by products, at three thresholds."""
    yield "| type | lam / s_1 | eigenvectors, s | products, s | ratio | apart, in lam |"
    yield "|---|---|---|---|---|---|"
    torch.set_num_threads(1)  # as in a run, whose threads take slices
    rng = np.random.default_rng(0)
    fall = 1 / (1 + np.arange(432.0)) ** 0.7
    for dtype in (torch.float64, torch.float32):
        g = torch.from_numpy(rng.standard_normal((12, 240, 432)) * fall).to(dtype)
        largest = float(torch.linalg.matrix_norm(g[0], 2))
        for share in (0.3, 0.1, 0.01):
            lam, apart = share * largest, list[Any]()
            a, b = best(
                lambda g=g, lam=lam, apart=apart: apart.append(kernels.of(g)._by_eigenvectors(g, lam, Nuclear())[0]),
                lambda g=g, lam=lam, apart=apart: apart.append(shrunk_by_products(kernels.of(g).xp, g, lam)[0]),
                rounds=rounds,
            )
            off = float(abs(apart[0] - apart[1]).max()) / lam
            yield f"| {dtype} | {share} | {a:.2f} | {b:.2f} | {b / a:.1f} | {off:.0e} |"


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder of the data sets; by default QRANK_DATA")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--quick", action="store_true", help="a small clip, to see that it runs")
    given = parser.parse_args()
    warnings.simplefilter("ignore", qrank.ConvergenceWarning)
    data = load("clip", 0.3, folder(given.data), given.quick)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads; clip {data.source}, {given.steps} steps\n")
    text = PAGE.read_text()
    for name, rows in (("methods", methods(data, given.steps, given.rounds)), ("slices", slices(given.rounds))):
        table = []
        for row in rows:
            print(row, flush=True)
            table.append(row)
        begin = f"<!-- {name} -->\n"
        before, _, rest = text.partition(begin)
        text = before + begin + "\n".join(table) + "\n" + rest[rest.index("<!-- end -->") :]
    if not given.quick:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
