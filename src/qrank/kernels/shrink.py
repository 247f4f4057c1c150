"""Shrinking the slices of a stack, fast.

Shrinking a slice G = U S V^T means replacing S by prox(S). Three facts make that cheap:

1. **Screening.** sigma_1(G) <= ||G||_F, so a slice with ||G||_F <= lam vanishes: no decomposition is needed. Slices of noise
   have all singular values alike, and sigma_1 is far below ||G||_F: for them the norms of powers of the Gram matrix K are near it,
   sigma_1^4 <= ||K||_F^2 and sigma_1^8 <= ||K^2||_F^2, at the price of a product (`spectral.vanish`).
2. **Gram matrix.** For n1 <= n2, G G^T = U S^2 U^T and the result is U_k diag(prox(s)/s) U_k^T G with the k columns
   that survive: one n1 x n1 eigendecomposition, of which only these k vectors are made, and products, instead of an SVD
   of n1 x n2.
3. **Where squaring is safe.** The Gram matrix knows s^2 only to eps s_1^2, so s to eps s_1^2 / s. With s >= lam >=
   gram_safe s_1 that error is far below lam. Where lam is less, the rows of B, which are orthonormal whatever the Gram
   matrix has lost, are kept as directions, all of them, and s is taken from G itself: the lengths of the rows of B G.
   What is then taken from G = B^H (B G) is s - prox(s) of each row, lam at most, so that the mixture of directions whose
   values the Gram matrix cannot tell apart costs about min(lam, eps s_1^2 / lam): sqrt(eps) s_1 at the worst, and less
   and less as lam falls, which is where a run ends. (Of that eps, divide and conquer makes 0.4 to 13 at 200 rows: it
   depends on the version of LAPACK.)

Slices are independent, so threads share them out, each holding BLAS to one thread (`threads.each`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from . import threads
from .decomposed import LARGE, Shrinkage, Sums, shrink_large, shrink_parts, shrink_small
from .memory import scratch
from .spectral import SLICES, energies_of, transposed


class Shrunk(NamedTuple):
    """The shrunk stack, and what shrinking tells besides."""

    value: float  # sum of the penalty over the shrunk Q-singular values: ||X||_{Q,*} for the nuclear penalty
    envelope: float  # sum of the penalty's Moreau envelope over the Q-singular values before shrinking
    ranks: np.ndarray  # (r,) int: how many singular values of each slice survive
    g: Any = None  # (r, n1, n2): the shrunk stack

    @property
    def rank(self) -> int:
        """How many singular values survive in all."""
        return int(self.ranks.sum())

    @property
    def slices(self) -> int:
        """How many slices are not zero."""
        return int(np.count_nonzero(self.ranks))


def shrink(
    g: np.ndarray,
    lam: float,
    penalty: Shrinkage,
    multiplicity: np.ndarray | None = None,
    energies: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Shrunk:
    """Replace every slice U S V^T of the stack g (r, n1, n2) by U prox(S) V^T, in place.

    ``multiplicity`` (r,) says how many slices each one stands for (the conjugate pairs of a real Fourier transform). In a
    real stack, 0 says that a slice is the imaginary part of the one before. ``energies`` (r,) are the squared norms of the
    slices, where they are known. With ``weights`` (r,), slice i is shrunk with w_i lam, and counts w_i times.

    >>> from qrank.penalties import Nuclear
    >>> g = np.diag([3.0, 1.0])[None]
    >>> shrink(g, 2.0, Nuclear()).value, float(g[0, 0, 0].round(12))
    (1.0, 1.0)
    """
    r, n1, n2 = g.shape
    many = np.ones(r) if multiplicity is None else multiplicity
    given = 1.0 if weights is None else weights
    w = penalty.slice_weights(lambda: given * _nuclear_norms(g, many))
    w = weights if w is None else w * given
    if w is not None:
        # A prox is equivariant to scale: w_i lam does to a slice what lam does to the slice over w_i, times w_i, and w_i^2
        # turns value and envelope of the scaled slice into those of the slice itself.
        w = w.astype(np.real(g).dtype)
        g /= w[:, None, None]
        many, energies = many * w * w, None
    ranks = np.zeros(r, dtype=int)
    piece = max(1, SLICES // max(1, n1 * n2))

    def work(chosen: np.ndarray, split: bool) -> tuple[float, float]:
        part: Any
        if split and len(chosen) == 1 and min(n1, n2) >= LARGE:
            value, envelope, ranks[chosen] = shrink_parts(g[chosen[0] : chosen[0] + 2], lam, penalty)
            return float(many[chosen[0]] * value), float(many[chosen[0]] * envelope)
        if split:
            part = scratch("slices", (len(chosen), n1, n2), np.result_type(g, np.complex64))
            part.real, part.imag = g[chosen], g[chosen + 1]
        elif together := len(chosen) == chosen[-1] - chosen[0] + 1:  # consecutive slices are worked on where they lie
            part = g[chosen[0] : chosen[-1] + 1]
        else:
            part = g[chosen]
        energy = energies_of(part) if energies is None else energies[chosen]
        value, envelope, ranks[chosen] = _screened(part, lam, penalty, energy)
        if split:
            g[chosen], g[chosen + 1] = part.real, part.imag
        elif not together:
            g[chosen] = part
        return float(many[chosen] @ value), float(many[chosen] @ envelope)

    # Complex slices, which take longest, come first, so that no thread is left with one while the others have nothing to do.
    imaginary = np.append(many[1:] == 0, False)
    kinds = (np.flatnonzero(imaginary), True), (np.flatnonzero((many > 0) & ~imaginary), False)
    jobs = [(which[i : i + piece], split) for which, split in kinds for i in range(0, len(which), piece)]
    sums = threads.each(lambda s: work(*jobs[s.start]), len(jobs), 1)
    if w is not None:
        g *= w[:, None, None]
    return Shrunk(math.fsum(v for v, _ in sums), math.fsum(e for _, e in sums), ranks, g)


def _nuclear_norms(g: np.ndarray, multiplicity: np.ndarray) -> np.ndarray:
    """Return the nuclear norm of each slice of a stack; both parts of a complex slice have its norm."""

    def work(s: slice) -> np.ndarray:
        i = s.start
        if multiplicity[i] == 0:
            return np.zeros(1)
        a = (g[i] + 1j * g[i + 1])[None] if i + 1 < len(g) and multiplicity[i + 1] == 0 else g[s]
        a = a if a.shape[1] <= a.shape[2] else a.swapaxes(1, 2)
        return np.sqrt(np.maximum(np.linalg.eigvalsh(a @ transposed(a)), 0)).sum(axis=1)

    norms = np.concatenate(threads.each(work, len(g), 1))
    imaginary = np.flatnonzero(multiplicity == 0)
    norms[imaginary] = norms[imaginary - 1]
    return norms


def _screened(a: np.ndarray, lam: float, penalty: Shrinkage, energy: np.ndarray) -> Sums:
    """Shrink a few slices in place, those that vanish as a whole without a decomposition."""
    live = energy > lam * lam
    if live.all():
        a = a if a.shape[1] <= a.shape[2] else a.swapaxes(1, 2)
        if a.shape[1] < LARGE or a.dtype.char not in "fd":
            return shrink_small(a, lam, penalty)
        value, envelope, ranks = zip(*(shrink_large(one, lam, penalty) for one in a), strict=True)
        return np.array(value), np.array(envelope), np.array(ranks)
    a[~live] = 0
    # A vanished slice has all s <= lam, where every penalty's envelope is s^2 / (2 lam).
    value, envelope, ranks = np.zeros(len(a)), energy / (2 * lam), np.zeros(len(a), dtype=int)
    if live.any():
        part = a[live]
        value[live], envelope[live], ranks[live] = _screened(part, lam, penalty, energy[live])
        a[live] = part
    return value, envelope, ranks
