"""Passes over stacks in chunks that give back numbers only: sums over all entries."""

from __future__ import annotations

import math

import numpy as np

from .blocks import Blocks
from .passes import parts_along
from .space import Part


def norm(t: Blocks) -> float:
    """Return ||T||_F."""
    return math.sqrt(math.fsum(t.space.run(squares_of, t.space.groups(parts_along(t, t.axis)), t)))


def squares_of(parts: list[Part], t: Blocks) -> float:
    """Return the sum of the squares of parts."""
    found = (np.ascontiguousarray(t.part(t.axis, part)) for part in parts)
    return math.fsum(float(np.vdot(a, a)) for a in found)


def spread(y: Blocks, known: Blocks) -> float:
    """Return the standard deviation of what is known; its size where all is equal, 1 where all is 0."""
    found = y.space.run(moments_of, y.space.groups(parts_along(y, y.axis)), y, known)
    count, mean, square = (np.array(numbers) for numbers in zip(*(one for some in found for one in some), strict=True))
    middle = math.fsum(count * mean) / math.fsum(count)
    return math.sqrt(math.fsum(square + count * (mean - middle) ** 2) / math.fsum(count)) or abs(middle) or 1.0


def moments_of(parts: list[Part], y: Blocks, known: Blocks) -> list[tuple[int, float, float]]:
    """Return how many entries of parts are known, their mean, and the sum of their squares about it."""
    told = []
    for part in parts:
        numbers = y.part(y.axis, part)[known.part(y.axis, part)]
        mean = float(numbers.mean(dtype=float)) if numbers.size else 0.0
        told.append((numbers.size, mean, float(np.square(numbers - mean, dtype=float).sum())))
    return told


def digest(a: Blocks) -> int:
    """Return a number that depends on every bit and its place, and not on how the array is cut into chunks."""
    groups = a.space.groups(parts_along(a, a.axis))
    return sum(a.space.run(digest_of, groups, a)) % (1 << 64)


def digest_of(parts: list[Part], a: Blocks) -> int:
    """Return what parts add to the digest: of each entry, its bits mixed with its place."""
    total = 0
    for part in parts:
        first = part[0] * (a.stored[1] if a.axis == 0 else 1)
        for i, row in enumerate(np.ascontiguousarray(a.part(a.axis, part))):
            bits = row.view(f"u{a.dtype.itemsize}").astype(np.uint64)
            start = first + i * a.stored[1]
            with np.errstate(over="ignore"):
                bits ^= np.arange(start, start + len(bits), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
                bits *= np.uint64(0xBF58476D1CE4E5B9)
                bits ^= bits >> np.uint64(31)
                bits *= np.uint64(0x94D049BB133111EB)
                total += int(bits.sum(dtype=np.uint64))
    return total
