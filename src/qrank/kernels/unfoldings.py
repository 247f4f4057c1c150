"""All unfoldings of a d-way array: pieces that are views, and the shrinking of one unfolding.

X_(i) has the fibres of mode i as columns: n_i rows, one column for each position in the other modes. For nuclear norms
and factorisations neither the order of those columns nor a transposition matters, so an unfolding is never formed: with
X seen as (before, n_i, after), it is worked on in pieces of X's own memory,

first mode: columns of (n_1, after); last mode: rows of (before, n_d); a mode between them: matrices (n_i, after).

Shrinking takes two passes over these pieces, shared out in threads: one for the Gram matrix of the short side, one that
multiplies by U diag(1 - lam/s) U^T, of the singular values s > lam only, and hands each piece of the result, still in
cache, to what the method does with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from . import threads
from .lapack import add_gram, eigh_above
from .memory import scratch
from .products import added, matmul
from .spectral import gram_safe

UNFOLDED = 1 << 16  # numbers in a piece: with what is made from it, it fits the second-level cache
PARTS = 8  # least number of pieces
WIDTH = 128  # least number of rows or columns in a piece: BLAS is slow with fewer
DEPTH = 256  # of a product that is added to a Gram matrix: enough that it, not the adding, takes the time


class ShrunkUnfolding(NamedTuple):
    """What shrinking an unfolding tells besides the pieces of the result."""

    value: float  # nuclear norm of the result
    rank: int
    total: float  # sum of what the sink returned


class Piece(NamedTuple):
    """From an array to one of its pieces, a view."""

    unfolding: Unfolding
    s: slice

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the piece of x."""
        return self.cut(self.unfolding.view(x))

    def cut(self, view: np.ndarray) -> np.ndarray:
        """Return the piece of an array that has the form of a view, but another side."""
        return view[:, self.s] if self.unfolding.kind == "columns" else view[self.s]


Source = Callable[[Piece], np.ndarray]
Sink = Callable[[Piece, np.ndarray, np.ndarray], float]


@dataclass(frozen=True)
class Unfolding:
    """How an unfolding lies in the memory of an array of this shape; ``side`` is the side that all pieces have whole.

    >>> Unfolding((3, 4, 5), 1).view(np.zeros((3, 4, 5))).shape
    (3, 4, 5)
    """

    shape: tuple[int, ...]
    mode: int
    short: bool = True  # the side is the shorter one of the unfolding, not the mode's

    @cached_property
    def _parts(self) -> tuple[int, int, int]:
        before, after = math.prod(self.shape[: self.mode]), math.prod(self.shape[self.mode + 1 :])
        return before, self.shape[self.mode], after

    @cached_property
    def across(self) -> bool:
        """Whether the side is that of all other modes."""
        before, n, after = self._parts
        return self.short and n > before * after

    @cached_property
    def side(self) -> int:
        """Length of the side that all pieces have whole."""
        before, n, after = self._parts
        return before * after if self.across else n

    @cached_property
    def kind(self) -> str:
        """``"rows"``: a piece is (some, side); ``"columns"``: (side, some); ``"stack"``: (some, side, after)."""
        before, _, after = self._parts
        if self.across:
            return "columns" if after == 1 and before > 1 else "rows"
        return "columns" if before == 1 else "rows" if after == 1 else "stack"

    def view(self, x: np.ndarray) -> np.ndarray:
        """Return the array, C-contiguous, in the form of which pieces are cut."""
        before, n, after = self._parts
        if before == 1:
            return x.reshape(n, after)
        if after == 1:
            return x.reshape(before, n)
        whole = x.reshape(before, n, after)
        return whole.swapaxes(0, 1) if self.across else whole

    def __len__(self) -> int:
        return math.prod(self.shape) // self.side // (self._parts[2] if self.kind == "stack" else 1)

    def each(self, work: Callable[[Piece], Any]) -> list:
        """Call ``work(piece)`` on every piece in threads; ``piece(x)`` is that piece of x."""
        return threads.each(lambda s: work(Piece(self, s)), len(self), self._length)

    @property
    def _length(self) -> int:
        """How long a piece is."""
        one = math.prod(self.shape) // max(1, len(self))
        least = 1 if self.kind == "stack" else WIDTH
        return max(1, min(max(UNFOLDED // max(1, one), least), -(-len(self) // PARTS)))

    def flat(self, a: np.ndarray, name: str = "unfolded") -> np.ndarray:
        """Return a piece as a matrix, its side as columns ("rows") or as rows; a copy, in scratch, only if it must be."""
        if self.kind == "rows":
            return a.reshape(len(a), -1)
        if self.kind == "columns":
            return a
        b = scratch(name, (a.shape[1], len(a), a.shape[2]), a.dtype)
        np.copyto(b, a.swapaxes(0, 1))
        return b.reshape(len(b), -1)

    def gram(self, source: Source, dtype: np.dtype) -> np.ndarray:
        """Return the upper triangle of the Gram matrix of the side, of the array whose pieces the source makes."""
        one = math.prod(self.shape) // max(1, len(self))
        length = max(1, max(UNFOLDED, DEPTH * self.side) // max(1, one))

        def work(whole: slice) -> np.ndarray:
            total = np.zeros((self.side, self.side), dtype)
            for start in range(whole.start, whole.stop, length):
                a = self.flat(source(Piece(self, slice(start, min(start + length, whole.stop)))))
                a = a.astype(dtype, copy=False)
                add_gram(a.T if self.kind == "rows" else a, total, first=start == whole.start)
            return total

        return added(threads.each(work, len(self), -(-len(self) // threads.count())))

    def folded(self, rows: np.ndarray) -> np.ndarray:
        """Return a matrix (r, all columns of the unfolding) in the form of a view with side r, contiguous."""
        if self.kind == "rows":
            return np.ascontiguousarray(rows.T)
        if self.kind == "columns":
            return rows
        before, _, after = self._parts
        return np.ascontiguousarray(rows.reshape(len(rows), before, after).swapaxes(0, 1))

    def product(self, x: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Return X_(mode) F^T for a matrix F in the form of a view: shape (side, r)."""
        a = self.view(x)
        if self.kind == "rows":
            return matmul(a.T, factor)
        if self.kind == "columns":
            return matmul(a, factor.T)

        def work(part: slice) -> np.ndarray:
            total = np.zeros((self.side, factor.shape[1]), x.dtype)
            for start in range(part.start, part.stop, self._length):
                piece = slice(start, min(start + self._length, part.stop))
                total += self.flat(a[piece]) @ self.flat(factor[piece], "factor").T
            return total

        return added(threads.each(work, len(self), -(-len(self) // threads.count())))

    @property
    def axis(self) -> int:
        """The axis of a view that is the side."""
        return 0 if self.kind == "columns" else 1

    def multiply(self, left: np.ndarray, a: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return left A for a piece or view A whose side is as long as left's rows, in the same form."""
        if self.kind == "rows":
            return np.matmul(a.reshape(len(a), -1), left.T, out=out)
        return np.matmul(left, a, out=out)

    def shrink(self, lam: float, dtype: np.dtype, source: Source, sink: Sink) -> ShrunkUnfolding:
        """Find argmin_M  lam ||M_(mode)||_* + ||M - X||_F^2 / 2, of which neither X nor M needs an array.

        ``source(piece)`` returns a piece of X, a view or in scratch; ``sink(piece, m, a)`` is given that of M, in scratch, and
        that of X, and returns a number to be summed.

        >>> x = np.diag([3.0, 1.0])
        >>> unfolding = Unfolding(x.shape, 0)
        >>> unfolding.shrink(2.0, x.dtype, lambda piece: piece(x), lambda piece, m, a: float(m.sum())).value
        1.0
        """
        s, b = self._above(lam, dtype, source)
        factor = 1 - lam / s
        middle = None
        if s.size * 2 > self.side:  # one product with a square matrix costs less than two
            middle = matmul(b.T * factor, b).astype(dtype, copy=False)
        b = b.astype(dtype, copy=False)
        scaled = np.ascontiguousarray((b.T * factor).astype(dtype, copy=False))

        def work(piece: Piece) -> float:
            a = source(piece)
            m = scratch("shrunk", a.shape if self.kind != "rows" else (len(a), self.side), dtype)
            if middle is not None:
                self.multiply(middle, a, m)
            else:
                shape = (len(a), s.size) if self.kind == "rows" else (*a.shape[:-2], s.size, a.shape[-1])
                self.multiply(scaled, self.multiply(b, a, scratch("coefficients", shape, dtype)), m)
            return sink(piece, m.reshape(a.shape), a)

        return ShrunkUnfolding(float((s - lam).sum()), s.size, math.fsum(self.each(work)))

    def _above(self, lam: float, dtype: np.dtype, source: Source) -> tuple[np.ndarray, np.ndarray]:
        """Return the singular values above lam, ascending, and the singular vectors of the side as rows."""
        for precision in (dtype, np.dtype(np.float64)):
            gram = self.gram(source, precision)
            energy = float(np.trace(gram))
            if energy <= lam * lam:
                return np.zeros(0, gram.dtype), np.zeros((0, self.side), gram.dtype)
            w, b = eigh_above(gram, lam * lam)
            if not len(w) or lam >= gram_safe(precision) * math.sqrt(float(w[-1])):
                return np.sqrt(w), b
        _, s, vh = np.linalg.svd(self._triangle(source))
        last = int(np.count_nonzero(s > lam))
        return s[:last][::-1], np.ascontiguousarray(vh[:last][::-1])

    def _triangle(self, source: Source) -> np.ndarray:
        """Return R of a QR decomposition with the side as columns: the same singular values and vectors of the side, to full
        precision, in a square matrix. Pieces are added one after the other, so that nothing wide is ever decomposed.
        """
        r = np.zeros((0, self.side))
        length = max(1, self.side * len(self) * self.side // math.prod(self.shape))  # as many rows as r has, or more
        for start in range(0, len(self), length):
            a = self.flat(source(Piece(self, slice(start, min(start + length, len(self))))))
            stacked = np.concatenate([r, a if self.kind == "rows" else a.T])
            r = np.asarray(np.linalg.qr(stacked, mode="r"))
        return r


def accumulate(total: np.ndarray, part: np.ndarray, first: bool) -> None:
    """Add a part to a total, or begin it with the ``first``.

    >>> total = np.full(2, np.nan)
    >>> accumulate(total, np.ones(2), first=True)
    >>> accumulate(total, np.ones(2), first=False)
    >>> total
    array([2., 2.])
    """
    if first:
        total[...] = part
    else:
        total += part


def square(x: np.ndarray) -> float:
    """Return ||x||_F^2 of a piece in scratch.

    >>> square(np.ones((2, 3)))
    6.0
    """
    flat = x.reshape(-1)
    return float(flat @ flat)


def unfolding_norm(x: np.ndarray, mode: int) -> float:
    """Return the largest singular value of X_(mode), from the Gram matrix of its short side.

    >>> unfolding_norm(np.diag([3.0, -4.0]), 0)
    4.0
    """
    gram = Unfolding(x.shape, mode).gram(lambda piece: piece(x), x.dtype)
    return math.sqrt(max(float(np.linalg.eigvalsh(gram, UPLO="U")[-1]), 0.0))
