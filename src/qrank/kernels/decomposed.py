"""Slices shrunk in place by decompositions: a few small ones together, a long one, a large one, both parts of a complex one.

`shrink.py` shares slices out and has the facts that this rests on.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from .lapack import add_gram, eigh_above
from .memory import scratch
from .spectral import SLICES, energies_of, tells, transposed, vanish

LARGE = 64  # short sides from here on are worth a decomposition of their own, of the values that survive only
LONG = 4 * SLICES  # numbers from which on a slice is multiplied a few columns at a time

Shrinkage = Any  # what is done to singular values: see `qrank.penalties`, which stands above
Sums = tuple[np.ndarray, np.ndarray, np.ndarray]  # penalty, envelope and rank of each of a few slices


def shrink_small(a: np.ndarray, lam: float, penalty: Shrinkage) -> Sums:
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


def shrink_large(a: np.ndarray, lam: float, penalty: Shrinkage) -> tuple[float, float, int]:
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


def shrink_parts(pair: np.ndarray, lam: float, penalty: Shrinkage) -> tuple[float, float, int]:
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
