"""How many floating-point operations a step must do: what a run reached is that over its time, and a large product's is the limit.

Textbook counts of the plain algorithm on the shorter sides, whatever tricks spare of it. Passes over single entries count as nothing: their
time is lost. n = n1 n2 is the longer side of T_(3) (n3 long) as long as it is tall; k of its directions and q singular values of their slices
survive.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


def eigen(n: float, kept: float) -> float:
    """Return the operations of an n x n symmetric eigendecomposition of which so many vectors are wanted.

    4/3 n^3 to tridiagonal form, n^2 4/3 for each vector by divide and conquer and 2 n^2 to turn it back: 14/3 n^3 for all.

    >>> eigen(3, 3)
    126.0
    """
    return 4 / 3 * n**3 + 10 / 3 * n**2 * kept


def shrinking(n1: int, n2: int, slices: float, rank: float) -> float:
    """Return those of shrinking so many slices (n1, n2), of which so many singular values survive in all.

    Of each the Gram matrix of the short side, its eigenvectors above lam, and two products by them.

    >>> shrinking(2, 3, 1, 0), shrinking(2, 3, 1, 1) - shrinking(2, 3, 1, 0) - eigen(2, 1) + eigen(2, 0)
    (22.666666666666664, 24.0)
    """
    short, long = sorted((n1, n2))
    return slices * (short * short * long + eigen(short, 0)) + rank * (4 * short * long + 10 / 3 * short**2)


def step(method: str, shape: tuple[int, int, int], slices: float, rank: float, accepted: int = 1) -> float:
    """Return those of a step of vmtqn, tnn or motqn on (n3, n1, n2) after which X has so many slices and singular values.

    - vmtqn: Gram matrix of the shorter side of T_(3), its eigenvectors above lam, G = T x_3 Q, its slices, X = G x_3 Q^T. Of
      a wide T_(3) G is the eigenvectors themselves, scaled, and X = (G diag(1/s) U^T) T_(3), or by Q, whichever is less.
    - tnn: a Fourier transform and its inverse; of a real array half of the slices, complex, at four times the operations.
    - motqn: all directions; G and its slices at the start and after each ``accepted`` step, for which a gradient is taken; X.

    >>> shape = 48, 240, 432
    >>> [round(step(name, shape, 48, 48 * 60) / 1e9, 1) for name in ("vmtqn", "tnn", "motqn")]
    [5.0, 7.8, 9.8]
    """
    n3, n1, n2 = shape
    n = n1 * n2
    inner = shrinking(n1, n2, slices, rank)
    if method == "tnn":
        return 2 * 2.5 * n * n3 * math.log2(max(2, n3)) + 2 * inner
    if method == "motqn":
        r = min(n3, n)
        turned, gradient = 2 * r * n3 * n + inner, 2 * r * n3 * n + 4 * r**3
        return min(n3, n) * n3 * n + eigen(r, r) + (1 + accepted) * turned + accepted * gradient + 2 * slices * n3 * n
    if method != "vmtqn":
        raise ValueError(f"the operations of a step of {method} are not counted here")
    if n3 < n:
        return n3 * n3 * n + eigen(n3, slices) + 4 * slices * n3 * n + inner
    back = min(2 * n * n * slices + 2 * n * n * n3, 4 * slices * n * n3)
    return n * n * n3 + eigen(n, slices) + inner + back


def run(method: str, shape: tuple[int, int, int], history: Iterable[Any]) -> float:
    """Return those of all steps of a run, from its records (`qrank.Completion.history`)."""
    return sum(step(method, shape, r.slices, r.rank, max(0, len(r.learning) - 1)) for r in history)
