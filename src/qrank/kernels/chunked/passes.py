"""Passes over stacks in chunks: what each task does to its parts, by the kernels of arrays in memory, and what is made of it.

A function whose name ends in `_of` is a job: it is called in a task with the parts that it is to work on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import KindError
from .. import principal, products
from ..advance import Residuals, known_entries
from ..advance import advance as advance_in_memory
from ..lapack import add_gram
from ..shrink import Shrunk
from ..shrink import shrink as shrink_in_memory
from ..spectral import spectral_norm as spectral_norm_in_memory
from .blocks import Blocks
from .space import Part, parts_of
from .steps import Product

FIRST = 8  # slices that are looked at first for the largest singular value


def forced(a: Blocks) -> Blocks:
    """Return the same array with nothing left to be done when it is read."""
    if not a.steps:
        return a
    axis = 1 if a.whole == 0 else 0 if a.whole == 1 else a.axis
    parts = parts_along(a, axis)
    out = Blocks.new(a.space, a.shape, a.dtype, axis, parts)
    a.space.run(written_of, a.space.groups(parts), a, out)
    return out


def written_of(parts: list[Part], a: Blocks, out: Blocks) -> None:
    """Write what the steps of an array make."""
    for part in parts:
        out.put(part, a.part(out.axis, part))


def parts_along(a: Blocks, axis: int) -> list[Part]:
    """Return the parts along an axis for passes that read and make so much of an array."""
    height = max(a.stored[0], math.prod(a.shape) // a.stored[1])
    if axis == 1:
        return a.space.parts(1, height)
    parts = a.space.parts(0, a.stored[1])
    return parts if height == a.space.shape[0] else rows_of(a)


def rows_of(a: Blocks) -> list[Part]:
    """Return parts of the rows of an array of any height."""
    return parts_of(len(a), a.space.chunk // (a.stored[1] * a.dtype.itemsize))


# Of the unfolding.


def gram(t: Blocks, wide: bool) -> np.ndarray:
    """Return the upper triangle of T_(3)^T T_(3), or of T_(3) T_(3)^T where it is wide: summed up in a tree."""
    n = t.stored[1] if wide else len(t)
    t.space.fits(f"the Gram matrix of {n} x {n} with what decomposes it", 3 * n * n, t.dtype)
    axis = 0 if wide else 1
    return t.space.run(gram_of, t.space.groups(parts_along(t, axis), few=True), t, axis, n, added=True)


def gram_of(parts: list[Part], t: Blocks, axis: int, n: int) -> np.ndarray:
    """Return the Gram matrix of parts."""
    total = np.zeros((n, n), t.dtype)
    for part in parts:
        a = t.part(axis, part)
        add_gram(a.T if axis == 0 else a, total, first=False)
    return total


def short_side(t: Blocks, lam: float, r: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return the singular vectors of the shorter side of T_(3) above lam, as rows, their values, and whether these are sure."""
    n3, n1, n2 = t.shape
    wide = n1 * n2 <= n3
    rows, s, sure = principal.pairs(gram(t, wide), lam, r)
    if wide and not sure and (drowned := principal.drowned(s)).any():
        s[drowned] = lengths(t, rows[drowned].T)
    return rows, s, sure


def lengths(t: Blocks, u: np.ndarray) -> np.ndarray:
    """Return the lengths of the columns of T_(3)^T U."""
    squares = t.space.run(lengths_of, t.space.groups(parts_along(t, 0)), t, t.space.small(u), added=True)
    return np.maximum(np.sqrt(squares), np.finfo(t.dtype).tiny)


def lengths_of(parts: list[Part], t: Blocks, u: Any) -> np.ndarray:
    """Return the squared lengths of what parts of rows add."""
    u = u.get()
    found = (t.part(0, part) @ u for part in parts)
    return sum((np.einsum("ij,ij->j", a, a) for a in found), np.zeros(u.shape[1], u.dtype))


def principal_of(t: Blocks, r: int) -> tuple[np.ndarray, np.ndarray]:
    """Return PCA(T, 3, r), (n3, r), and the singular values."""
    if len(t) > t.stored[1]:
        raise KindError(
            "a third mode longer than a slice has entries makes a Q as large as the data, which is not kept for Dask"
            " arrays: take vmtqn with update_every=1, or other slice_axes"
        )
    s, rows = principal.eigenpairs(gram(t, wide=False))
    return np.ascontiguousarray(rows[:r].T), s[:r]


def product(m: Any, t: Blocks) -> Blocks:
    """Return T x_3 M^T: made when it is read."""
    if isinstance(m, np.ndarray):
        m = t.space.small(np.ascontiguousarray(m.astype(t.dtype, copy=False)))
        return t.then(Product(m), len(m.get()))
    return t.then(Product(m), m.shape[0])


def slope(turn: np.ndarray, b: Blocks, prox: Blocks, v: np.ndarray | None) -> np.ndarray:
    """Return B (turn^T B - P)^T, B = b or v^T b."""
    small = b.space.small
    groups = b.space.groups(parts_along(b, 1), few=True)
    return b.space.run(slope_of, groups, small(turn), b, prox, None if v is None else small(v), added=True)


def slope_of(parts: list[Part], turn: Any, b: Blocks, prox: Blocks, v: Any) -> np.ndarray:
    """Return what parts of columns add to the slope."""
    turn, v, total = turn.get(), None if v is None else v.get(), None
    for part in parts:
        found = products.slope(turn, b.part(1, part), prox.part(1, part), v)
        total = found if total is None else total + found
    assert total is not None
    return total


# Of slices.


def slices(g: Blocks, multiplicity: np.ndarray | None) -> list[Part]:
    """Return parts of the slices; both parts of a complex slice are in one."""
    parts = rows_of(g)
    if multiplicity is None:
        return parts
    edges = sorted({begin - int(multiplicity[begin] == 0) for begin, _ in parts} | {len(g)})
    return [(a, b) for a, b in zip(edges, edges[1:], strict=False) if a < b]


def shrink(g: Blocks, lam: float, penalty: Any, multiplicity: Any = None, energies: Any = None) -> Shrunk:
    """Shrink every slice: a task has whole slices."""
    if penalty.slice_weights(lambda: np.ones(2)) is not None:
        raise KindError("a penalty that weighs slices by all others is not there for Dask arrays: take another penalty")
    g = forced(g)
    parts = slices(g, multiplicity)
    out = Blocks.new(g.space, g.shape, g.dtype, 0, parts)
    found = g.space.run(shrink_of, g.space.groups(parts), g, out, lam, penalty, multiplicity, energies)
    value, envelope, ranks = zip(*(one for some in found for one in some), strict=True)
    return Shrunk(math.fsum(value), math.fsum(envelope), np.concatenate(ranks), out)


def shrink_of(
    parts: list[Part], g: Blocks, out: Blocks, lam: float, penalty: Any, multiplicity: Any, energies: Any
) -> list[tuple[float, float, np.ndarray]]:
    """Shrink the slices of parts."""
    told = []
    for part in parts:
        own = slice(*part)
        a = np.array(g.part(0, part)).reshape(-1, *g.shape[-2:])
        chosen = (None if numbers is None else numbers[own] for numbers in (multiplicity, energies))
        shrunk = shrink_in_memory(a, lam, penalty, *chosen)
        out.put(part, shrunk.g.reshape(len(a), -1))
        told.append((shrunk.value, shrunk.envelope, shrunk.ranks))
    return told


def spectral_norm(g: Blocks, multiplicity: np.ndarray | None = None, sizes: np.ndarray | None = None) -> float:
    """Return the largest singular value of all slices; ``sizes`` are their norms, falling, where these are known.

    Those bound the singular values: the few slices that can have the largest one are made, a few at a time.
    """
    if sizes is not None and isinstance(g.steps[-1], Product):
        best, first, last = 0.0, 0, FIRST
        before = g._but(steps=g.steps[:-1])
        while first < len(g) and sizes[first] > best:
            some = before.then(g.steps[-1].only(slice(first, last)), min(last, len(g)) - first)
            best, first, last = max(best, spectral_norm(some)), last, 2 * last
        return best
    g = forced(g)
    return max(g.space.run(spectral_norm_of, g.space.groups(slices(g, multiplicity)), g, multiplicity))


def spectral_norm_of(parts: list[Part], g: Blocks, multiplicity: np.ndarray | None) -> float:
    """Return the largest singular value of the slices of parts."""
    best = 0.0
    for part in parts:
        a = np.ascontiguousarray(g.part(0, part)).reshape(-1, *g.shape[-2:])
        best = max(best, spectral_norm_in_memory(a, None if multiplicity is None else multiplicity[slice(*part)]))
    return best


# Of entries.


def advance(
    t: Blocks,
    x: Blocks,
    y: Blocks,
    known: Blocks,
    ratio: float,
    last: list[Blocks] | None,
    relax: float,
    more: float,
) -> Residuals:
    """Make of X the next T, and sum up the residuals; X itself is made on the way, and not kept."""
    space = y.space
    axis = {0: 1, 1: 0, None: t.axis}[x.whole]
    parts = parts_along(t, axis)
    out = Blocks.new(space, t.shape, t.dtype, axis, parts)
    seen = Blocks.new(space, t.shape, t.dtype, axis, parts) if last is not None else None
    found = space.run(advance_of, space.groups(parts), t, x, y, known, ratio, relax, more, out, last and last[0], seen)
    if last is not None and seen is not None:
        last[0] = seen
    sums = np.array([one for some in found for one in some])
    primal, change, dual = (math.sqrt(math.fsum(column)) for column in (sums[:, :3] ** 2).T)
    return Residuals(primal, change, dual, float(sums[:, 3].max()), float(sums[:, 4].max()), out)


def advance_of(
    parts: list[Part],
    t: Blocks,
    x: Blocks,
    y: Blocks,
    known: Blocks,
    ratio: float,
    relax: float,
    more: float,
    out: Blocks,
    last: Blocks | None,
    seen: Blocks | None,
) -> list[Residuals]:
    """Make parts of the next T; the paper's rule needs X itself, too, which is written as ``seen``."""
    told = []
    for part in parts:
        made = x.part(out.axis, part)
        made = np.array(made) if not made.flags.writeable or not made.flags.c_contiguous else made
        before = None
        if seen is not None and last is not None:
            seen.put(part, made.copy())
            before = last.part(out.axis, part)
        rest = [np.ascontiguousarray(a.part(out.axis, part)) for a in (t, y, known)]
        before = None if before is None else known_entries(np.ascontiguousarray(before), rest[2])
        found = advance_in_memory(rest[0], made, rest[1], rest[2], ratio, before, relax, more)
        out.put(part, found.t)
        told.append(found[:5])
    return told
