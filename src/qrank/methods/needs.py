"""What a run takes, told before it starts: memory from what the code allocates, time from the operations of its steps.

Bytes are those above the data, the mask and what is loaded: state, workspace, Gram matrices, scratch of the threads. Operations
are counted in those of a product of matrices: an eigendecomposition and a pass over memory count as many as a product would do
in their time. Where no formula would be honest, a method has a measured factor and says so.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..kernels import threads
from ..kernels.advance import PASSED
from ..kernels.decomposed import LARGE, LONG
from ..kernels.products import CACHED, DOUBLED, FEWEST
from ..kernels.spectral import SLICES
from ..kernels.unfoldings import DEPTH, UNFOLDED, Unfolding
from ..tensor import Layout

PASS = 60.0  # operations that a product does while a step passes over one entry
EIGEN, CALL = (
    14.0,
    4500.0,
)  # operations of an eigendecomposition: (EIGEN + CALL / n) n^3, the second for what is not BLAS's
CALLS = 3e7  # operations that a product does while a step calls what it calls, however small the array is
BLAS = 1.2e6  # bytes that BLAS keeps for a thread, as far as they are touched
USUAL = 85  # steps of a run whose mu grows by what is found
KEPT = 0.6  # share of the singular values that a step keeps, over a run


class Needs(NamedTuple):
    """What a run takes."""

    memory: float  # bytes
    flops: float  # of a step
    steps: float  # about

    def __add__(self, other: Needs) -> Needs:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return what both take in one run: of steps as many as the first.

        >>> Needs(1.0, 2.0, 50) + Needs(3.0, 1.0, 0)
        Needs(memory=4.0, flops=3.0, steps=50)
        """
        return Needs(self.memory + other.memory, self.flops + other.flops, self.steps)


class Size(NamedTuple):
    """The lengths that everything follows from; ``item`` is the bytes of a number."""

    n3: int
    n1: int
    n2: int
    item: int

    @classmethod
    def of(cls, layout: Layout, dtype: np.dtype) -> Size:
        """Return the size of a problem.

        >>> Size.of(Layout.of((5, 6, 7), (1, 2)), np.dtype("float32")).bytes
        840
        """
        return cls(layout.n3, *layout.slice_shape, np.dtype(dtype).itemsize)

    @property
    def entries(self) -> int:
        """How many numbers the array has."""
        return self.n3 * self.n1 * self.n2

    @property
    def bytes(self) -> int:
        """The bytes of the array in the type that is computed in."""
        return self.entries * self.item

    @property
    def short(self) -> int:
        """The shorter side of T_(3)."""
        return min(self.n3, self.n1 * self.n2)


def eigen(n: float) -> float:
    """Return the operations of the eigendecomposition of an n x n matrix."""
    return (EIGEN + CALL / max(n, 1)) * n**3


def growing(rho: float | None, max_steps: int, far: float = 14.0) -> float:
    """Return the steps of a run whose mu grows by rho a step, by e^far in all; None: by what is found.

    >>> growing(1.1, 500), growing(None, 20)
    (147.0, 20)
    """
    return min(max_steps, USUAL if rho is None else max_steps if rho <= 1 else round(far / math.log(rho)) * 1.0)


def shrinking(r: int, size: Size, split: bool = False) -> Needs:
    """Return what shrinking r slices takes (`kernels.shrink`); ``split``: complex ones, given by their parts."""
    short, long = sorted((size.n1, size.n2))
    if short >= LARGE:  # Gram matrix, LAPACK's work and vectors, coefficients
        numbers = 4 * short**2 + KEPT * short * long + short
        numbers = 12 * short**2 + (2 + 2 * (size.n1 > size.n2)) * short * long if split else numbers
    else:
        numbers = 3 * max(SLICES, min(short * long, LONG))
    flops = r * (short * short * long * (1 + 4 * KEPT) + eigen(short)) * (2.5 if split else 1)
    return Needs(threads.count() * (BLAS * (short >= LARGE) + numbers * size.item), flops, 0)


def multiplied(size: Size, pieces: int, numbers: int) -> float:
    """Return the bytes that products by Q take, a few columns at a time: so many pieces of so many numbers for each thread.

    With what BLAS keeps, unless shrinking has counted that.
    """
    numbers = min(size.entries, max(FEWEST * size.n3, numbers))
    return threads.count() * (BLAS * (min(size.n1, size.n2) < LARGE) + pieces * numbers * size.item)


def passes(size: Size) -> Needs:
    """Return what the pass from X to the next T takes (`kernels.advance`)."""
    numbers = 3 * min(PASSED, size.entries)
    return Needs(threads.count() * numbers * size.item, CALLS + PASS * size.entries, 0)


def learning(r: int, size: Size) -> Needs:
    """Return what principal directions of T_(3) and products by r of them take (`kernels.principal`)."""
    short, n, wide = size.short, size.entries, size.n1 * size.n2 <= size.n3
    # The Gram matrix; LAPACK works in the spare array where that has room for two more, and threads add up in it
    work = size.item * short**2 * (1 + max(0, 2 - n // short**2) + max(0, threads.count() - 1) * (n < 2 * short**2))
    products = 2 * n * short + (2 * n * short if wide else 4 * KEPT * n * min(r, size.n3))
    return Needs(work + multiplied(size, 0, 0), products + eigen(short), 0)


def returned(size: Size) -> float:
    """Return the bytes that principal directions of T_(3) take where they are made themselves (`kernels.principal.principal`).

    Of a wide T_(3) its columns are made orthonormal in place, by Cholesky from a Gram matrix or by reflections; in single
    precision U comes from a Gram matrix in double, which every thread adds up by itself.
    """
    square = size.short**2
    if size.n1 * size.n2 > size.n3:
        return 3 * size.item * square
    kept = 2 * size.item * square + threads.count() * BLAS  # SciPy's BLAS is another one than NumPy's
    if size.item == 8:
        return kept
    threaded = threads.count() * (square + DOUBLED * size.short)
    work = 2 * square * (size.entries // 2 < 2 * square)  # LAPACK's, where the memory of the result has no room for it
    return 8 * max(threaded, square + work) + kept


def unfolding(shape: tuple[int, ...], mode: int, item: int) -> Needs:
    """Return what shrinking one unfolding takes (`kernels.unfoldings`): Gram matrices of all threads, LAPACK's work, pieces."""
    seen, n, workers = Unfolding(shape, mode), math.prod(shape), threads.count()
    piece = min(n, max(UNFOLDED, DEPTH * seen.side))
    memory = ((workers + 1.3) * seen.side**2 + workers * piece) * item
    return Needs(memory, n * seen.side * (1 + 2 * (1 + KEPT)) + eigen(seen.side), 0)


def pieces(arrays: int, size: Size, work: float) -> Needs:
    """Return what passes over so many arrays, piece by piece, take (`kernels.products.sums`); work: operations an entry, measured."""
    numbers = arrays * min(CACHED, size.entries)
    return Needs(threads.count() * (BLAS + numbers * size.item), CALLS + work * size.entries, 0)


def measured(times: float, flops: float, steps: float, size: Size) -> Needs:
    """Return what was measured where no formula would be honest: so many times the array, so many operations an entry."""
    return Needs(times * size.bytes, flops * size.entries, steps)
