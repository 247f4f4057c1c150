"""Will it fit, and how long will it take? Told before a run starts, from what its method says that it needs."""

from __future__ import annotations

import math
import time
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..errors import TooLarge
from ..kernels import threads
from ..kernels.chunked.blocks import METHODS as BY_CHUNKS
from ..methods import Auto, Method
from ..run import in_single
from ..tensor import Layout
from ..text import duration, in_bytes

TRIED = 0.008  # seconds that the speed of products is measured for
SIDE = 384  # of the matrices that are multiplied
SMALL = 1 << 26  # bytes that every run may take: refusing them would protect nobody
LONG = 64  # a third mode from which on fewer columns of Q save something


class Estimate(NamedTuple):
    """What a run is expected to take."""

    memory: float  # bytes above what there is before the call, at the peak
    seconds: float  # not a number where that cannot be told

    def __str__(self) -> str:
        return f"about {in_bytes(_rounded(self.memory))} beside the data"

    @property
    def forecast(self) -> float | None:
        """The seconds, for scripts; None where they cannot be told."""
        return self.seconds if math.isfinite(self.seconds) else None

    @property
    def time(self) -> str:
        """The time in words, with no more digits than are meant.

        >>> Estimate(1e9, 43.7).time, Estimate(1e9, math.nan).time, Estimate(1e9, 0.4).time
        ('about 40 s', 'cannot be told before', 'about a second')
        """
        if not math.isfinite(self.seconds):
            return "cannot be told before"
        if self.seconds < 2:
            return "about a second"
        if self.seconds < 90:
            return f"about {_rounded(self.seconds, 1)} s"
        return f"about {duration(60 * max(2, _rounded(self.seconds / 60, 1))).removesuffix(' 00 s')}"


def _rounded(value: float, digits: int = 2) -> int:
    """Return a number with so many digits that are not zero."""
    return round(value if value < 10**digits else round(value, digits - 1 - math.floor(math.log10(value))))


def estimated(layout: Layout, dtype: Any, method: Method, p: float, copies: float = 0.0) -> Estimate:
    """Return what completing an array of this layout and type takes, of which a share p is known.

    ``copies`` are bytes that are taken before the run: of the array, where it cannot be worked on as it lies, and of its mask.

    >>> from qrank.methods import method_named
    >>> found = estimated(Layout.of((96, 128, 128), (1, 2)), np.float64, method_named("vmtqn").configured(), 0.5)
    >>> 2 < found.memory / (8 * 96 * 128 * 128) < 4
    True
    """
    dtype = np.dtype(dtype)
    needs, n = method.needs(layout, dtype, p), math.prod(layout.shape)
    moved = layout.rest + layout.slice_axes != tuple(range(len(layout.shape)))
    end = (
        n * dtype.itemsize * (1 + moved) + 3 * n
    )  # the answer in its own axes; what is determined, and temporary masks
    single = in_single(float(np.finfo(dtype).eps), n, method)
    return Estimate(
        copies + max(needs.memory, end), needs.flops * needs.steps / speed(np.dtype(np.float32) if single else dtype)
    )


def copied(layout: Layout, given: np.dtype, marked: bool) -> int:
    """Return the bytes that are taken of an array before a run; ``marked``: NaN says what is missing, there is no mask.

    >>> copied(Layout.of((2, 3, 4), (1, 2)), np.dtype(float), marked=False)
    0
    """
    n, moved = math.prod(layout.shape), layout.rest + layout.slice_axes != tuple(range(len(layout.shape)))
    single = given.kind == "f" and given.itemsize <= 4
    values = 0 if given in (np.float32, np.float64) else n * (4 if single else 8)
    return values + (n * (4 if single else 8) if moved or marked or values else 0) + n * moved + n * marked


def check_fits(
    kind: Any, y: Any, known: Any, layout: Layout, method: Method, holds_out: bool, marked: bool | None = None
) -> None:
    """Raise ``TooLarge`` if completing y takes more memory than is free where it lies, if that is known.

    ``marked``: NaN says what is missing in y, or a mask does; None: y is a problem's, and nothing is copied any more.

    >>> y = np.zeros((4, 5, 6))
    >>> from qrank import kernels
    >>> check_fits(kernels.of(y), y, y == 0, Layout.of(y.shape, (1, 2)), Auto(), holds_out=False)
    """
    free = kind.free_memory()
    if free is None:
        return
    p = np.count_nonzero(known) / max(1, known.size)
    if p == 1 and method.fit.exact:  # nothing is missing, and nothing is run
        return
    given = getattr(y, "dtype", np.dtype(float))
    dtype = np.dtype(np.float32 if given.kind == "f" and given.itemsize <= 4 else np.float64)
    copies = 0 if marked is None else copied(layout, given, marked)
    copies += holds_out * (dtype.itemsize + 1) * known.size
    memory = estimated(layout, dtype, method, p, copies).memory
    if memory > max(SMALL, free):
        raise TooLarge(too_large(memory, free, layout, dtype, method))


def too_large(memory: float, free: int, layout: Layout, dtype: np.dtype, method: Method) -> str:
    """Say that a run does not fit, and what would.

    >>> too_large(8e9, 1 << 30, Layout.of((500, 600, 700), (1, 2)), np.dtype(np.float32), Auto(effort="fast"))
    'completing 500 x 600 x 700 with auto takes about 8 GB of memory and 1.07 GB are free: work by chunks (a Dask array; qrank fill --memory); complete a part of it (fewer frames, a smaller size)'
    """
    advice = []
    if dtype != np.float32:
        advice.append("give it as float32, which takes half")
    if isinstance(method, Auto) and method.effort != "fast":
        advice.append("take effort='fast' or a method by name")
    if getattr(method, "r", 0) is None and layout.n3 > LONG:
        advice.append(f"limit the columns of Q (r=…; now {min(layout.n3, math.prod(layout.slice_shape))})")
    if isinstance(method, Auto) or (method.name in BY_CHUNKS and method.name != "views"):
        advice.append("work by chunks (a Dask array; qrank fill --memory)")
    advice.append("complete a part of it (fewer frames, a smaller size)")
    takes = f"takes about {in_bytes(_rounded(memory))} of memory and {in_bytes(free)} are free"
    size = " x ".join(map(str, layout.shape))
    return f"completing {size} with {method.name} {takes}: {'; '.join(advice)}"


def speed(dtype: Any) -> float:
    """Return the operations a second that a product of matrices of a type does here, the best of a few milliseconds.

    >>> speed(np.float32) > 1e6
    True
    """
    return _speed(np.dtype(dtype).char, threads.count())


@cache
def _speed(kind: str, workers: int) -> float:
    """Time one thread by its own clock, which stands while others have the core: shared machines are no slower for it."""
    a = np.ones((SIDE, SIDE), kind)
    out, best, until = np.empty_like(a), math.inf, time.thread_time() + TRIED
    with threads.blas_threads(1):
        np.matmul(a, a, out=out)  # BLAS makes its buffers
        while math.isinf(best) or time.thread_time() < until:
            start = time.thread_time()
            np.matmul(a, a, out=out)
            best = min(best, time.thread_time() - start)
    return workers * 2 * SIDE**3 / best
