"""What a run by chunks is expected to take, said before it starts; and which slice axes would take less."""

from __future__ import annotations

import shutil
import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np

from ..api import Estimate
from ..api.estimate import speed
from ..kernels import threads
from ..methods import METHODS, Auto, Method
from ..tensor import Layout
from ..text import in_bytes

HALF = 0.5  # of what is usually known: how much it is, is not looked at before
RATE = 4e8  # bytes a second that a thread reads or writes of chunks, work on the way included: docs/scale.md
KEPT = 5.25  # times the data that chunks take at the worst
CHEAPER = 0.5  # slice axes that take less than this part of the operations are proposed


def dtype_of(dtype: np.dtype) -> np.dtype:
    """Return the type that chunks are computed in.

    >>> dtype_of(np.dtype(np.uint8))
    dtype('float32')
    """
    return np.dtype(np.float64 if dtype.kind == "f" and dtype.itemsize > 4 else np.float32)


def step_of(
    shape: tuple[int, ...], axes: tuple[int, int], method: Method, dtype: np.dtype
) -> tuple[float, float, float]:
    """Return the operations of a step, the bytes that it moves, and how many steps there are; `auto` counts as `vmtqn`."""
    layout = Layout.of(shape, axes)
    method = METHODS["vmtqn"].configured() if isinstance(method, Auto) else method
    needs, columns = method.needs(layout, dtype, HALF), getattr(method, "r", None) or layout.n3
    moved = (5 + 4 * min(1.0, columns / layout.n3)) * layout.size * dtype.itemsize + layout.size
    return needs.flops, moved, needs.steps


def expected(
    shape: tuple[int, ...],
    dtype: np.dtype,
    axes: tuple[int, int],
    method: Method,
    workers: int | None,
    memory: str | None,
) -> list[str]:
    """Return lines on memory, disk and time; ``workers`` None: the threads of this process."""
    dtype = dtype_of(dtype)
    flops, moved, steps = step_of(shape, axes, method, dtype)
    slots = workers or threads.count()
    seconds = steps * (flops / speed(dtype) * threads.count() + moved / RATE) / slots
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    limit = "as much as Dask allows" if memory is None else f"at most {memory}"
    where = (
        "in each of its processes"
        if workers is None and memory is None
        else f"in each of {workers} processes"
        if workers
        else "in all"
    )
    return [f"memory: {limit} {where}, for {in_bytes(size)} of data", f"time: {Estimate(0, seconds).time}"]


def scratch(shape: tuple[int, ...], dtype: np.dtype, folder: Path | None) -> str:
    """Return a line on the disk that chunks take."""
    size, place = dtype_of(dtype).itemsize * int(np.prod(shape, dtype=np.int64)), folder or Path(tempfile.gettempdir())
    return f"chunks: up to {in_bytes(int(KEPT * size))} in {place} ({in_bytes(shutil.disk_usage(place).free)} are free)"


def cheaper(shape: tuple[int, ...], dtype: np.dtype, axes: tuple[int, int], method: Method) -> str | None:
    """Return a proposal of slice axes with far fewer operations, or None.

    >>> cheaper((512, 512, 6000), np.dtype(np.float32), (0, 1), METHODS["vmtqn"].configured(r=40))
    'slices of axes 0,2 would take 10 % of the operations: --slice-axes 0,2'
    >>> cheaper((64, 64, 64), np.dtype(np.float32), (0, 1), METHODS["vmtqn"].configured())
    """
    found = {pair: step_of(shape, pair, method, dtype_of(dtype))[0] for pair in combinations(range(len(shape)), 2)}
    best, usual = min(found, key=found.__getitem__), (min(axes), max(axes))
    share = found[best] / found[usual]
    pair = ",".join(map(str, best))
    return (
        f"slices of axes {pair} would take {share:.0%} of the operations: --slice-axes {pair}".replace("%", " %")
        if share < CHEAPER
        else None
    )
