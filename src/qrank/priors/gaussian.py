"""A local Gaussian model: blocks of an array are of few kinds, and each kind is a Gaussian law of low rank.

Blocks on a grid of random offset are parted into K kinds by k-means of their leading principal scores; mean and covariance
of each kind are those of the current fill. Then every block is replaced by its expectation given its known entries,

    X = sum of the blocks' means over variance / sum of 1 / variance,        entry by entry

and what is expected of an entry has a variance, too. See `kernels/posterior.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..kernels import threads
from ..kernels.cover import Cover
from ..kernels.posterior import Conditional, Gaussian, conditional, pairs

SCORES = 12  # principal scores that tell the kinds apart
SAMPLE = 6000  # blocks that k-means and the principal directions are found on
LEARN = 30000  # blocks that the laws are learned from, at any place of the array
LLOYD = 15  # steps of k-means
MEMBERS = 2  # blocks that a kind has at least, for each eigenpair
TRIED = 50  # blocks of a kind on which its noise is found
NOISE = (1, 4, 16, 64)
LIK = True
PIECE = 1 << 24  # bytes that a piece of blocks works in
GROUP = 1 << 26  # bytes of results before they are added up


class Expected(NamedTuple):
    """What the model makes of an array."""

    x: np.ndarray  # the expectation of every entry
    variance: np.ndarray
    factor: float  # rms over the known entries of (error of what the others say) / its deviation
    error: float  # rms over the known entries of the error of what the others say


@dataclass(frozen=True)
class Kinds:
    """The options of the model."""

    block: tuple[int, ...]
    stride: tuple[int, ...]
    clusters: int
    eigenpairs: int

    def expected(self, x: np.ndarray, y: np.ndarray, observed: np.ndarray, rng: np.random.Generator) -> Expected:
        """Return the expectation of every entry given the known values Y, under laws learned from the fill X."""
        whole = tuple(1 for _ in x.shape)
        everywhere = Cover.of(x.shape, self.block, whole, (0,) * x.ndim).sample(LEARN, rng)
        centres, laws = self.learned(everywhere, x, y, observed, rng)
        cover = Cover.of(x.shape, self.block, self.stride, [int(rng.integers(s)) for s in self.stride])
        kind = centres.nearest(cover, x)
        total, weight = np.zeros_like(x), np.zeros_like(x)
        squares, errors, known = 0.0, 0.0, 0
        for k, law in enumerate(laws):
            for some, found in _conditionals(cover, y, observed, np.flatnonzero(kind == k), law):
                inverse = 1 / found.variance
                cover.add(total, some, found.mean * inverse)
                cover.add(weight, some, inverse)
                squares += float((np.square(found.error, dtype=float) / found.expected).sum())
                errors += float(np.square(found.error, dtype=float).sum())
                known += int(np.count_nonzero(found.error))
        total /= weight
        np.divide(cover.counts(x.dtype), weight, out=weight)
        return Expected(total, weight, (squares / max(known, 1)) ** 0.5, (errors / max(known, 1)) ** 0.5)

    def learned(self, cover, x, y, observed, rng: np.random.Generator) -> tuple[Centres, list[Gaussian]]:
        """Return what tells the kinds of blocks apart, and the law of each."""
        centres = Centres.of(cover, x, self.clusters, rng)
        kind = centres.nearest(cover, x)
        size = np.bincount(kind, minlength=len(centres.points))
        enough = size >= min(MEMBERS * self.eigenpairs, size.max())  # of fewer the law would be too sure of itself
        centres = centres._replace(points=centres.points[enough])
        kind = centres.nearest(cover, x)
        members = [np.flatnonzero(kind == k) for k in range(len(centres.points))]
        some = [rng.permutation(k)[:TRIED] for k in members]

        def work(s: slice) -> Gaussian:
            law = law_of(cover, x, members[s.start], self.eigenpairs)
            return tuned(law, cover.read(y, some[s.start]), cover.read(observed, some[s.start]))

        laws = threads.each(work, len(members), 1)
        return centres, laws


def _conditionals(cover: Cover, y: np.ndarray, observed: np.ndarray, blocks: np.ndarray, law: Gaussian):
    """Yield some blocks of one kind, and what is known of them, in an order that does not depend on the threads."""
    v = pairs(law.b)
    n, r = law.b.shape
    piece = max(1, PIECE // (24 * r * r + 24 * n))
    group = max(piece, GROUP // (16 * n) // piece * piece)
    for start in range(0, len(blocks), group):
        part = blocks[start : start + group]

        def work(s: slice, part: np.ndarray = part) -> tuple[np.ndarray, Conditional]:
            return part[s], conditional(law, v, cover.read(y, part[s]), cover.read(observed, part[s]))

        yield from threads.each(work, len(part), piece)


class Centres(NamedTuple):
    """What tells the kinds of blocks apart: the nearest of some points among the principal scores."""

    m: np.ndarray  # (n,)
    u: np.ndarray  # (n, SCORES)
    points: np.ndarray  # (K, SCORES)

    @classmethod
    def of(cls, cover: Cover, x: np.ndarray, clusters: int, rng: np.random.Generator) -> Centres:
        """Return the centres of k-means on a sample of blocks."""
        some = cover.sample(SAMPLE, rng)
        rows = some.read(x, np.arange(len(some.corners)))
        m = rows.mean(0)
        rows -= m
        u = _eigenpairs(rows, min(SCORES, *rows.shape))[1]
        return cls(m, u, k_means(rows @ u, clusters, rng))

    def nearest(self, cover: Cover, x: np.ndarray) -> np.ndarray:
        """Return the number of the nearest centre for every block."""

        def work(s: slice) -> np.ndarray:
            return _nearest((cover.read(x, np.arange(s.start, s.stop)) - self.m) @ self.u, self.points)

        return np.concatenate(threads.each(work, len(cover.corners), max(1, PIECE // (8 * len(self.m)))))


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


def law_of(cover: Cover, x: np.ndarray, blocks: np.ndarray, eigenpairs: int) -> Gaussian:
    """Return the Gaussian law of some blocks: their mean, leading eigenpairs of their covariance, the mean of the rest."""
    rows = cover.read(x, blocks)
    m = rows.mean(0)
    rows -= m
    n = rows.shape[1]
    whole = float(np.square(rows, dtype=float).sum()) / len(rows)
    w, u = _eigenpairs(rows, max(1, min(eigenpairs, n - 1, len(rows) - 1)))
    e2 = (whole - float(w.sum())) / (n - len(w)) if n > len(w) else 0.0
    e2 = max(e2, whole / n * 10 * float(np.finfo(x.dtype).eps), float(np.finfo(x.dtype).tiny) ** 0.5)
    return Gaussian(m, u * np.sqrt(np.maximum(w - e2, 0)).astype(x.dtype), e2)


def tuned(law: Gaussian, y: np.ndarray, known: np.ndarray) -> Gaussian:
    """Return the law with e2 so much larger that each known entry is expected best from the others."""
    v = pairs(law.b)
    best, least = law, np.inf
    for times in NOISE:
        one = law._replace(e2=law.e2 * times)
        found = conditional(one, v, y, known)
        if LIK:
            miss = float(((np.square(found.error,dtype=float)/found.expected+np.log(found.expected))*known).sum())
        else:
            miss = float(np.square(found.error, dtype=float).sum())
        if miss < least:
            best, least = one, miss
    return best


def _eigenpairs(rows: np.ndarray, r: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the r largest eigenvalues of the second moment of rows, and its eigenvectors as columns."""
    if len(rows) < rows.shape[1]:
        w, u = np.linalg.eigh(rows @ rows.T)
        u = rows.T @ u[:, -r:]
        u /= np.maximum(np.sqrt(np.square(u).sum(0)), np.finfo(u.dtype).tiny)
    else:
        w, u = np.linalg.eigh(rows.T @ rows)
        u = u[:, -r:]
    return np.maximum(w[-r:], 0) / len(rows), u
