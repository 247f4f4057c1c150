"""A local Gaussian model: the blocks of an array are of some kinds, and each kind is a Gaussian law of low rank.

Blocks from all over the current fill X are parted into kinds by k-means of their leading principal scores. Each kind has the
law N(m, B B^T + e2 I): mean and leading eigenpairs (w, U) of its covariance, B = U sqrt(w - e2), and the noise e2, which is the
mean of the other eigenvalues, or so many times as much as makes the known entries of some blocks, each expected from the
others, most likely. (A fill is smoother than the truth: its own e2 trusts the known entries too much.) Then every block on
a grid of random offset is replaced by its expectation given its known entries, and

    X = sum of the blocks' means over their variances / sum of 1 / variance,        entry by entry

What is expected of an entry has a variance, too: that of the blocks which cover it, in the (harmonic) mean; their errors
are about the same errors, so that more blocks make it no smaller. See `kernels/posterior.py`.

After G. Yu, G. Sapiro, S. Mallat. Solving Inverse Problems with Piecewise Linear Estimators: From Gaussian Mixture Models to
Structured Sparsity. IEEE Transactions on Image Processing, 2012; with k-means for the kinds and e2 by leaving out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..kernels import threads
from ..kernels.cover import Cover
from ..kernels.lapack import eigh_above
from ..kernels.memory import Workspace
from ..kernels.posterior import Conditional, Gaussian, conditional, pairs
from ..kernels.products import keep_known
from .base import Prior, Proxed

SCORES = 12  # principal scores that tell the kinds apart
SAMPLE = 6000  # blocks that k-means is run on
LEARN = 30000  # blocks that the laws are learned from
LLOYD = 15  # steps of k-means
MEMBERS = 2  # blocks that a kind has at least, for each eigenpair: of fewer its law would be too sure of itself
TRIED = 16  # blocks of a kind on which its noise is found
NOISE = (1, 4, 16, 64)  # times the mean of the other eigenvalues
PIECE = 1 << 22  # bytes that a thread works in
GROUP = 1 << 22  # bytes of results before they are added up


class Expected(NamedTuple):
    """What the model makes of an array."""

    x: np.ndarray  # the expectation of every entry, known or not
    variance: np.ndarray
    error: float  # rms over the known entries of a block of how far they are from what the others say


@dataclass(frozen=True)
class Kinds:
    """The model: blocks of one shape, at most so many kinds of them, and so many eigenpairs of each."""

    block: tuple[int, ...]
    clusters: int
    eigenpairs: int
    s2: float = 0.0  # the variance of the noise in known values

    def expected(
        self,
        x: np.ndarray,
        y: np.ndarray,
        observed: np.ndarray,
        stride: tuple[int, ...],
        rng: np.random.Generator,
        out: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> Expected:
        """Return the expectation of every entry given the known values Y, under laws that are learned from the fill X.

        All arrays have one shape and are C-contiguous; ``out`` is memory for the expectation and the variance, the second
        of which may be that of x.

        >>> x = np.add.outer(np.arange(12.0), np.arange(15.0)) / 20
        >>> known = np.random.default_rng(0).random(x.shape) < 0.5
        >>> rough = np.where(known, x, x + 0.1)
        >>> found = Kinds((3, 3), 1, 4).expected(rough, x, known, (1, 1), np.random.default_rng(0))
        >>> bool(np.abs(found.x - x).mean() < np.abs(rough - x).mean() / 2)
        True
        """
        centres, laws = self.learned(x, y, observed, rng)
        cover = Cover.of(x.shape, self.block, stride, [int(rng.integers(s)) for s in stride])
        kind = centres.nearest(cover, x)
        total, weight = out or (np.empty_like(x), np.empty_like(x))
        total[...] = weight[...] = 0
        squares, known = 0.0, 0
        for k, law in enumerate(laws):
            for blocks, found in _conditionals(cover, y, observed, np.flatnonzero(kind == k), law):
                inverse = 1 / found.variance
                cover.add(total, blocks, found.mean * inverse)
                cover.add(weight, blocks, inverse)
                squares += float(np.square(found.error, dtype=float).sum())
                known += int(np.count_nonzero(found.error))
        total /= weight
        np.divide(1, weight, out=weight)
        cover.times_counts(weight)
        return Expected(total, weight, (squares / max(known, 1)) ** 0.5)

    def learned(
        self, x: np.ndarray, y: np.ndarray, observed: np.ndarray, rng: np.random.Generator
    ) -> tuple[Centres, list[Gaussian]]:
        """Return what tells the kinds of blocks apart, and the law of each."""
        cover = Cover.anywhere(x.shape, self.block, LEARN, rng)
        least = MEMBERS * min(self.eigenpairs, len(cover.inside))
        centres = Centres.of(cover, x, max(1, min(self.clusters, len(cover.corners) // (2 * least))), rng)
        size = np.bincount(centres.nearest(cover, x), minlength=len(centres.points))
        centres = centres._replace(points=centres.points[size >= min(least, size.max())])
        kind = centres.nearest(cover, x)
        members = [np.flatnonzero(kind == k) for k in range(len(centres.points))]
        tried = [rng.permutation(blocks)[:TRIED] for blocks in members]

        def work(s: slice) -> Gaussian:
            law = law_of(cover.read(x, members[s.start]), self.eigenpairs)._replace(s2=self.s2)
            return tuned(law, cover.read(y, tried[s.start]), cover.read(observed, tried[s.start]))

        return centres, threads.each(work, len(members), 1)


@dataclass(frozen=True, eq=False)
class Local(Prior):
    """The model as a prior beside others: X is what is expected given Y, whatever lam, and the state is its variance.

    That is made in the memory of T, and lasts until the next step; before the first there is none.
    """

    kinds: Kinds
    stride: tuple[int, ...]
    y: np.ndarray
    observed: np.ndarray

    def start(self, t: np.ndarray, work: Workspace) -> None:
        """Return that there is no variance yet."""

    def __call__(self, t: np.ndarray, lam: float, state: np.ndarray | None, work: Workspace) -> Proxed:
        """Return what is expected under laws that are learned from T, which is overwritten."""
        fill = t.reshape(self.y.shape)
        if self.kinds.s2 == 0:
            keep_known(fill, self.y, self.observed)
        out = work.array("spare", fill.shape, fill.dtype), fill
        x, variance, error = self.kinds.expected(fill, self.y, self.observed, self.stride, work.rng, out)
        return Proxed(x.reshape(t.shape), variance, error, 0, 0)


def _conditionals(
    cover: Cover, y: np.ndarray, observed: np.ndarray, blocks: np.ndarray, law: Gaussian
) -> Iterator[tuple[np.ndarray, Conditional]]:
    """Yield some blocks of one kind, and what is known of them, in an order that does not depend on the threads."""
    v = pairs(law.b)
    n, r = law.b.shape
    piece = max(1, PIECE // (24 * r * r + 40 * n))
    group = max(1, GROUP // (4 * n * y.itemsize * piece)) * piece
    for start in range(0, len(blocks), group):
        part = blocks[start : start + group]

        def work(s: slice, part: np.ndarray = part) -> tuple[np.ndarray, Conditional]:
            return part[s], conditional(law, v, cover.read(y, part[s]), cover.read(observed, part[s]))

        yield from threads.each(work, len(part), piece)


class Centres(NamedTuple):
    """What tells the kinds of blocks apart: which of some points is the nearest to its principal scores."""

    m: np.ndarray  # (n,)
    u: np.ndarray  # (n, SCORES)
    points: np.ndarray  # (K, SCORES)

    @classmethod
    def of(cls, cover: Cover, x: np.ndarray, clusters: int, rng: np.random.Generator) -> Centres:
        """Return the centres of k-means on a sample of blocks."""
        rows = cover.read(x, rng.permutation(len(cover.corners))[:SAMPLE])
        m = rows.mean(0)
        rows -= m
        u = _eigenpairs(rows, min(SCORES, *rows.shape))[1]
        return cls(m, u, k_means(rows @ u, clusters, rng))

    def nearest(self, cover: Cover, x: np.ndarray) -> np.ndarray:
        """Return the number of the nearest centre for every block."""

        def work(s: slice) -> np.ndarray:
            return _nearest((cover.read(x, s) - self.m) @ self.u, self.points)

        return np.concatenate(threads.each(work, len(cover.corners), max(1, PIECE // (16 * len(self.m)))))


def k_means(points: np.ndarray, clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Return the centres of k-means, at most so many as are asked for.

    >>> points = np.array([[0.0], [0.2], [5.0], [5.2]])
    >>> sorted(k_means(points, 2, np.random.default_rng(0)).round(3).reshape(-1).tolist())
    [0.1, 5.1]
    """
    centres = points[rng.integers(len(points))][None]
    gap = np.full(len(points), np.inf)
    for _ in range(clusters - 1):  # each further centre is drawn with the odds of its squared distance (k-means++)
        gap = np.minimum(gap, np.square(points - centres[-1], dtype=float).sum(1))
        odds = np.cumsum(gap)
        if not odds[-1] > 0:
            break
        drawn = min(int(np.searchsorted(odds, rng.random() * odds[-1], side="right")), len(points) - 1)
        centres = np.vstack([centres, points[drawn]])
    for _ in range(LLOYD):
        kind = _nearest(points, centres)
        size = np.bincount(kind, minlength=len(centres))[:, None]
        sums = np.stack([np.bincount(kind, column, len(centres)) for column in points.T], 1)
        centres = np.where(size > 0, sums / np.maximum(size, 1), centres).astype(points.dtype)
    return centres


def _nearest(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    return np.argmin(np.square(centres).sum(1) - 2 * (points @ centres.T), 1)


def law_of(rows: np.ndarray, eigenpairs: int) -> Gaussian:
    """Return the law of rows (P, n), which are overwritten: mean, leading eigenpairs, and the mean of the others as e2.

    >>> law = law_of(np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), 1)
    >>> law.m.tolist(), law.e2, np.abs(law.b.round(3)).tolist()
    ([0.0, 0.0], 0.5, [[1.225], [0.0]])
    """
    m = rows.mean(0)
    rows -= m
    n, limits = rows.shape[1], np.finfo(rows.dtype)
    whole = sum(float(np.square(row, dtype=float).sum()) for row in rows) / len(rows)
    w, u = _eigenpairs(rows, max(1, min(eigenpairs, n - 1, len(rows) - 1)))
    e2 = (whole - float(w.sum())) / max(1, n - len(w))
    e2 = max(e2, whole / n * 10 * float(limits.eps), float(limits.tiny) ** 0.5)
    return Gaussian(m, u * np.sqrt(np.maximum(w - e2, 0)).astype(rows.dtype), e2)


def tuned(law: Gaussian, y: np.ndarray, known: np.ndarray) -> Gaussian:
    """Return the law with so much noise that known entries of rows (P, n), each left out in turn, are most likely."""
    tried, many = law.e2 * np.array(NOISE, dtype=float), (len(NOISE), 1)
    known = np.tile(known, many)  # all at once, as V is as large as all else together
    each = law._replace(e2=np.repeat(tried, len(y))[:, None])
    found = conditional(each, pairs(law.b), np.tile(y, many), known)
    surprise = np.square(found.error, dtype=float) / found.expected + np.log(found.expected)
    total = np.where(known, surprise, 0).reshape(len(NOISE), -1).sum(axis=1)
    return law._replace(e2=float(tried[np.argmin(total)]))


def _eigenpairs(rows: np.ndarray, r: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the r largest eigenvalues of the second moment of rows, and its eigenvectors as columns."""
    if len(rows) < rows.shape[1]:
        w, b = eigh_above(rows @ rows.T, np.inf, r)
        u = rows.T @ b.T
        u /= np.maximum(np.sqrt(np.square(u).sum(0)), np.finfo(u.dtype).tiny)
    else:
        w, b = eigh_above(rows.T @ rows, np.inf, r)
        u = np.ascontiguousarray(b.T)
    return np.maximum(w, 0) / len(rows), u
