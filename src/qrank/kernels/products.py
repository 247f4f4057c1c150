"""Products, transforms and passes over large arrays in memory, shared out in threads.

A stack T, (n3, n1, n2), is the matrix T_(3)^T, (n3, n1 n2), without a copy. Where a result may take the place of its argument,
it is made a few columns at a time: a column of the result needs that column of T only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft
import scipy.fftpack
import scipy.sparse

from . import threads
from .lapack import add_gram
from .memory import flat, scratch

DOUBLED = 256  # columns of a matrix that are taken into double precision together
DENSE, SPARSE = 1 << 18, 1 << 16  # numbers of a stack that are multiplied together in its own place,
FEWEST = 64  # or so many of its columns
CACHED = 1 << 15  # numbers of each array in a piece of `sums`: a handful of arrays stay in the second-level cache

_fft: Any = scipy.fft  # its stubs know only the dispatching protocol


def matmul(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return the product of two matrices, its columns shared out.

    >>> matmul(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))[1]
    array([3., 4.])
    """
    out = np.empty((a.shape[0], b.shape[1]), np.result_type(a, b)) if out is None else out
    a = a if a.flags.c_contiguous or a.flags.f_contiguous else np.ascontiguousarray(a)
    threads.each(lambda s: np.matmul(a, b[:, s], out=out[:, s]), b.shape[1], -(-b.shape[1] // threads.count()))
    return out


def gram(a: np.ndarray, out: np.ndarray | None = None, spare: np.ndarray | None = None) -> np.ndarray:
    """Return A A^T, the sum over A's columns shared out; ``spare`` is memory that may be used for what is to be added.

    >>> gram(np.array([[1.0, 2.0]]))
    array([[5.]])
    """
    n, length = a.shape
    piece = -(-length // threads.count())
    many = -(-length // piece)
    total = np.empty((n, n), a.dtype) if out is None else out
    size = (many - 1) * n * n
    rest = np.empty(size, a.dtype) if spare is None or spare.size < size else spare[:size]
    parts = [total, *rest.reshape(many - 1, n, n)]
    threads.each(lambda s: np.matmul(a[:, s], a[:, s].T, out=parts[s.start // piece]), length, piece)
    return added(parts)


def double_gram(a: np.ndarray) -> np.ndarray:
    """Return the upper triangle of A A^T of a matrix in single precision, in double: squaring there loses what is 3e-4 below the largest."""

    def work(s: slice) -> np.ndarray:
        total = np.zeros((len(a), len(a)))
        for start in range(s.start, s.stop, DOUBLED):
            part = a[:, start : min(start + DOUBLED, s.stop)].astype(np.float64)
            add_gram(part, total, first=start == s.start)
        return total

    return added(threads.each(work, a.shape[1], -(-a.shape[1] // threads.count())))


def added(parts: list[np.ndarray]) -> np.ndarray:
    """Return the sum of arrays, in the memory of the first.

    >>> added([np.ones(2), np.ones(2)])
    array([2., 2.])
    """
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def product(m: Any, t: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return T x_3 M^T, (k, n1, n2), for a matrix M (k, n3), dense or sparse; ``out`` may be T's own memory.

    >>> product(np.ones((1, 2)), np.ones((2, 3, 3)))[0, 0]
    array([2., 2., 2.])
    """
    columns = t.reshape(t.shape[0], math.prod(t.shape[1:]))
    m, sparse = m.astype(t.dtype, copy=False), scipy.sparse.issparse(m)
    out = np.empty((m.shape[0], *t.shape[1:]), t.dtype) if out is None else out
    made = out.reshape(m.shape[0], -1)
    if not sparse and not _same_memory(t, out):
        matmul(m, columns, out=made)
        return out

    def work(s: slice) -> None:
        if sparse:  # copies the columns by itself
            made[:, s] = m @ columns[:, s]
            return
        aside = scratch("columns", (len(columns), s.stop - s.start), t.dtype)
        aside[...] = columns[:, s]
        np.matmul(m, aside, out=made[:, s])

    threads.each(work, columns.shape[1], _columns(t, SPARSE if sparse else DENSE))
    return out


def _columns(t: np.ndarray, numbers: int = DENSE) -> int:
    """Return how many columns of a stack to take at a time: so many numbers, or a few rows of BLAS's."""
    return max(FEWEST, numbers // max(1, len(t)))


def slope(turn: np.ndarray, b: np.ndarray, prox: np.ndarray, v: np.ndarray | None = None) -> np.ndarray:
    """Return B (turn^T B - P)^T for matrices (n, N): turn^T B is made a few columns at a time, which costs less than keeping it.

    B is b, or v^T b where v is given: rows of falling size, each rounded on its own.
    """
    columns = max(512, (1 << 17) // len(b))

    def work(share: slice) -> np.ndarray:
        total = np.zeros((turn.shape[0], turn.shape[1]), b.dtype)
        for first in range(share.start, share.stop, columns):
            part = slice(first, min(first + columns, share.stop))
            base = b[:, part] if v is None else v.T @ b[:, part]
            g = np.matmul(turn.T, base, out=scratch("columns", (turn.shape[1], base.shape[1]), b.dtype))
            g -= prox[:, part]
            total += base @ g.T
        return total

    return added(threads.each(work, b.shape[1], -(-b.shape[1] // threads.count())))


def by_columns(transform: Callable[[np.ndarray], np.ndarray], t: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    """Transform the columns of a stack, a few at a time."""
    out = np.empty_like(t) if out is None else out
    columns, made = t.reshape(len(t), -1), out.reshape(len(out), -1)

    def work(s: slice) -> None:
        made[:, s] = transform(columns[:, s])

    threads.each(work, columns.shape[1], _columns(t))
    return out


def cosine(t: np.ndarray, out: np.ndarray | None = None, inverse: bool = False) -> np.ndarray:
    """Return the orthonormal DCT-II of a stack along its first axis, or its inverse."""
    dct = _fft.idct if inverse else _fft.dct
    return by_columns(lambda part: dct(part, type=2, axis=0, norm="ortho"), t, out)


def fourier(t: np.ndarray, out: np.ndarray | None = None, inverse: bool = False) -> np.ndarray:
    """Return the unitary DFT of a real stack in n3 real slices, Re 0, Re 1, Im 1, Re 2, Im 2, …, or its inverse.

    `scipy.fftpack` has that order of slices.
    """
    out = np.empty_like(t) if out is None else out
    columns, made = t.reshape(len(t), -1), out.reshape(len(out), -1)
    fft: Any = scipy.fftpack.irfft if inverse else scipy.fftpack.rfft  # the inverse divides by n3
    scale = t.dtype.type(math.sqrt(len(t)) if inverse else 1 / math.sqrt(len(t)))

    def work(s: slice) -> None:
        part = np.multiply(columns[:, s], scale, out=made[:, s])
        found = fft(part, axis=0, overwrite_x=True)
        if not _same_memory(found, part):
            part[...] = found

    threads.each(work, columns.shape[1], _columns(t))
    return out


def copy(t: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return a copy of T, in ``out`` if given; nothing is done where that is T itself."""
    if out is None:
        return t.copy()
    if not _same_memory(t, out):
        out[...] = t
    return out


def _same_memory(a: np.ndarray, b: np.ndarray) -> bool:
    return a.__array_interface__["data"] == b.__array_interface__["data"]


def sums(work: Callable[..., tuple[float, ...]], *arrays: np.ndarray) -> list[float]:
    """Call work on matching pieces of C-contiguous arrays of one size, in threads; return the sums of what it returns.

    >>> sums(lambda a, b: (float(a @ b), float(a @ a)), np.ones((2, 3)), np.full((2, 3), 2.0))
    [12.0, 6.0]
    """
    vectors = [flat(a) for a in arrays]
    parts = threads.each(lambda s: work(*(a[s] for a in vectors)), vectors[0].size, CACHED)
    return [math.fsum(numbers) for numbers in zip(*parts, strict=True)]


def keep_known(x: np.ndarray, y: np.ndarray, observed: np.ndarray) -> None:
    """Write y, which is 0 where nothing is known, over x where it is: six times as fast as a copy with a mask.

    >>> x = np.array([1.0, 2.0])
    >>> keep_known(x, np.array([0.0, 5.0]), np.array([False, True]))
    >>> x
    array([1., 5.])
    """
    x *= ~observed
    x += y
