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
from typing import Any, NamedTuple, cast

import numpy as np

from . import threads
from .lapack import add_gram, eigh_above
from .memory import scratch
from .spectral import SLICES, energies_of, tells, transposed, vanish

LARGE = 64  # short sides from here on are worth a decomposition of their own, of the values that survive only
LONG = 4 * SLICES  # numbers from which on a slice is multiplied a few columns at a time


Shrinkage = Any  # what is done to singular values: see `qrank.penalties`, which stands above


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
            value, envelope, ranks[chosen] = _shrink_parts(g[chosen[0] : chosen[0] + 2], lam, penalty)
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


Sums = tuple[np.ndarray, np.ndarray, np.ndarray]  # penalty, envelope and rank of each of a few slices


def _screened(a: np.ndarray, lam: float, penalty: Shrinkage, energy: np.ndarray) -> Sums:
    """Shrink a few slices in place, those that vanish as a whole without a decomposition."""
    live = energy > lam * lam
    if live.all():
        a = a if a.shape[1] <= a.shape[2] else a.swapaxes(1, 2)
        if a.shape[1] < LARGE or a.dtype.char not in "fd":
            return _shrink_small(a, lam, penalty)
        value, envelope, ranks = zip(*(_shrink_large(one, lam, penalty) for one in a), strict=True)
        return np.array(value), np.array(envelope), np.array(ranks)
    a[~live] = 0
    # A vanished slice has all s <= lam, where every penalty's envelope is s^2 / (2 lam).
    value, envelope, ranks = np.zeros(len(a)), energy / (2 * lam), np.zeros(len(a), dtype=int)
    if live.any():
        part = a[live]
        value[live], envelope[live], ranks[live] = _screened(part, lam, penalty, energy[live])
        a[live] = part
    return value, envelope, ranks


def _shrink_small(a: np.ndarray, lam: float, penalty: Shrinkage) -> Sums:
    """Shrink a few slices (m, n1, n2), n1 <= n2, in place, together."""
    m, n1 = a.shape[:2]
    gram = np.matmul(a, transposed(a), out=scratch("gram", (m, n1, n1), a.dtype))
    energy = float(np.trace(gram, axis1=1, axis2=2).real.max())
    if not math.isfinite(energy):
        raise np.linalg.LinAlgError("the matrix is not finite")
    gone = vanish(gram, lam)
    if gone.any():
        value, envelope = np.zeros(m), np.trace(gram, axis1=1, axis2=2).real / (2 * lam)
        ranks, left = np.zeros(m, dtype=int), ~gone
        a[gone] = 0
        if left.any():
            part = a[left]
            value[left], envelope[left], ranks[left] = _decomposed(part, gram[left], energy, lam, penalty)
            a[left] = part
        return value, envelope, ranks
    return _decomposed(a, gram, energy, lam, penalty)


def _decomposed(a: np.ndarray, gram: np.ndarray, energy: float, lam: float, penalty: Shrinkage) -> Sums:
    """Shrink a few slices (m, n1, n2), n1 <= n2, in place, given their Gram matrices, of trace ``energy`` at most."""
    m, n1, n2 = a.shape
    sure = tells(energy, lam, a.dtype)
    w, v = np.linalg.eigh(gram)  # G G^H = V diag(s^2) V^H; only s > lam are wanted
    first = n1 - int((w > lam * lam).sum(axis=1).max(initial=0)) if sure else 0
    v = v[:, :, first:]
    if m == 1 and n1 * n2 > LONG and not np.iscomplexobj(a):
        return _shrink_long(a[0], lam, penalty, w[0], v[0], sure)
    c = np.matmul(transposed(v), a, out=scratch("coefficients", (m, n1 - first, n2), a.dtype))
    s = np.sqrt(np.maximum(w, 0)) if sure else _lengths(c)  # (m, n1)
    x = penalty.prox(s, lam)
    x[:, :first] = 0  # rounding of s^2 may differ from that of s where s = lam
    c *= (x[:, first:] / np.maximum(s[:, first:], lam))[:, :, None]
    np.matmul(v, c, out=a)
    envelope = penalty.envelope(s, lam)
    return (envelope - (s - x) ** 2 / (2 * lam)).sum(axis=1), envelope.sum(axis=1), (x > 0).sum(axis=1)


def _shrink_long(a: np.ndarray, lam: float, penalty: Shrinkage, w: np.ndarray, v: np.ndarray, sure: bool) -> Sums:
    """Shrink one long slice in place, given the eigenvalues w of its Gram matrix and the eigenvectors that are wanted.

    V^T G is as large as the slice, so a few columns of it are made at a time: where all of its rows are wanted, for their
    lengths, in the slice's own memory.
    """
    n1, n2 = a.shape
    first, columns = n1 - v.shape[1], max(1, SLICES // n1)
    pieces = [a[:, k : k + columns] for k in range(0, n2, columns)]

    def turned(piece: np.ndarray) -> np.ndarray:
        return np.matmul(v.T, piece, out=scratch("coefficients", (v.shape[1], piece.shape[1]), a.dtype))

    if sure:
        s = np.sqrt(np.maximum(w, 0))
    else:
        square = np.zeros(n1)
        for piece in pieces:
            piece[...] = turned(piece)
            square += np.einsum("ij,ij->i", piece, piece)
        s = np.sqrt(square).astype(a.dtype)
    x = penalty.prox(s, lam)
    x[:first] = 0  # rounding of s^2 may differ from that of s where s = lam
    factor = (x[first:] / np.maximum(s[first:], lam))[:, None]
    for piece in pieces:
        c = np.multiply(
            turned(piece) if sure else piece,
            factor,
            out=scratch("coefficients", (len(factor), piece.shape[1]), a.dtype),
        )
        np.matmul(v, c, out=piece)
    envelope = penalty.envelope(s, lam)
    value = (envelope - (s - x) ** 2 / (2 * lam)).sum()
    return np.array([value]), np.array([envelope.sum()]), np.array([(x > 0).sum()])


def _shrink_large(a: np.ndarray, lam: float, penalty: Shrinkage) -> tuple[float, float, int]:
    """Shrink one slice (n1, n2), n1 <= n2, in place, by the singular values above lam only."""
    n1, n2 = a.shape
    gram = scratch("gram", (n1, n1), a.dtype)
    add_gram(a, gram, first=True)
    energy = float(np.trace(gram, dtype=float))
    if _vanishes(gram, lam, energy):
        a[...] = 0
        return 0.0, energy / (2 * lam), 0
    sure = tells(energy, lam, a.dtype)
    w, b = eigh_above(gram, lam * lam if sure else -np.inf)
    s = np.sqrt(np.maximum(w, 0))
    if sure:  # half of the factor on either side, where the matrix is smaller
        b *= np.sqrt(penalty.prox(s, lam) / np.maximum(s, lam))[:, None]
    c = np.matmul(b, a, out=scratch("coefficients", (len(w), n2), a.dtype))
    if not sure:
        s = _lengths(c)
        c *= (penalty.prox(s, lam) / np.maximum(s, lam))[:, None]
    np.matmul(b.T, c, out=a)
    return _sums(s, lam, penalty, energy - float(w.sum(dtype=float)), n1 - len(w))


def _shrink_parts(pair: np.ndarray, lam: float, penalty: Shrinkage) -> tuple[float, float, int]:
    """Shrink one complex slice given by its parts (2, n1, n2), in place.

    A complex matrix B1 + i B2 acts on parts that stand one above the other as [[B1, -B2], [B2, B1]] does, so that all
    products are real ones, and the slice need not be copied together.
    """
    energy = float(energies_of(pair).sum(dtype=float))
    if energy <= lam * lam:
        pair[...] = 0
        return 0.0, energy / (2 * lam), 0
    wide = pair.shape[1] <= pair.shape[2]
    if wide:
        a = pair.reshape(-1, pair.shape[2])
    else:
        a = scratch("slices", (2 * pair.shape[2], pair.shape[1]), pair.dtype)
        a.reshape(2, pair.shape[2], pair.shape[1])[...] = pair.swapaxes(1, 2)
    n1, n2 = len(a) // 2, a.shape[1]
    gram: Any = scratch("gram", (n1, n1), np.result_type(a, np.complex64))
    blocks = scratch("blocks", (2 * n1, 2 * n1), a.dtype)
    add_gram(a, blocks, first=True)  # its upper triangle, which is what LAPACK reads of the Gram matrix, too
    with np.errstate(over="ignore", invalid="ignore"):  # LAPACK will say that it is not finite
        np.add(blocks[:n1, :n1], blocks[n1:, n1:], out=gram.real)
    np.subtract(blocks[:n1, n1:].T, blocks[:n1, n1:], out=gram.imag)
    if _vanishes(gram, lam, energy):
        pair[...] = 0
        return 0.0, energy / (2 * lam), 0
    sure = tells(energy, lam, gram.dtype)
    w, b = eigh_above(gram, lam * lam if sure else -np.inf)
    k, parts = len(w), cast(Any, b)
    s = np.sqrt(np.maximum(w, 0))
    factor = np.sqrt(penalty.prox(s, lam) / np.maximum(s, lam))[:, None] if sure else a.dtype.type(1)
    m = scratch("parts", (2, k, 2, n1), a.dtype)
    np.multiply(parts.imag, factor, out=m[1, :, 0])
    np.multiply(parts.real, factor, out=m[1, :, 1])
    m[0, :, 0] = m[1, :, 1]
    np.negative(m[1, :, 0], out=m[0, :, 1])
    turn = m.reshape(2 * k, 2 * n1)
    c = np.matmul(turn, a, out=scratch("coefficients", (2 * k, n2), a.dtype))
    if not sure:
        s = np.hypot(_lengths(c[:k]), _lengths(c[k:]))
        c.reshape(2, k, n2)[...] *= (penalty.prox(s, lam) / np.maximum(s, lam))[:, None]
    np.matmul(turn.T, c, out=a)
    if not wide:
        pair[...] = a.reshape(2, pair.shape[2], pair.shape[1]).swapaxes(1, 2)
    return _sums(s, lam, penalty, energy - float(w.sum(dtype=float)), n1 - k)


def _vanishes(gram: np.ndarray, lam: float, energy: float) -> bool:
    """Return whether it is sure that a slice vanishes, of whose Gram matrix the upper triangle is there."""
    if energy > len(gram) * lam * lam:
        return False
    return bool(vanish((np.triu(gram) + np.triu(gram, 1).conj().T)[None], lam)[0])


def _sums(s: np.ndarray, lam: float, penalty: Shrinkage, energy: float, others: int) -> tuple[float, float, int]:
    """Return penalty, envelope and rank of a slice from its values s, and the energy of so many others up to lam."""
    x, envelope = penalty.prox(s, lam), penalty.envelope(s, lam)
    # Where s <= lam every penalty's envelope is s^2 / (2 lam), which is at most lam / 2.
    rest = min(max(0.0, energy) / (2 * lam), others * lam / 2)
    value = float((envelope - (s - x) ** 2 / (2 * lam)).sum())
    return value, float(envelope.sum()) + rest, int((x > 0).sum())


def _lengths(c: Any) -> np.ndarray:
    """Return the lengths of the rows of each matrix of a stack."""
    square = np.einsum("...ij,...ij->...i", c.real, c.real)
    return np.sqrt(square + np.einsum("...ij,...ij->...i", c.imag, c.imag) if np.iscomplexobj(c) else square)
