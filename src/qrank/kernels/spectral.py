"""The only place with an SVD: the slices of a stack are shrunk here, fast.

Shrinking a slice G = U S V^T means replacing S by prox(S). Three facts make that cheap:

1. **Screening.** sigma_1(G) <= ||G||_F, so a slice with ||G||_F <= lam vanishes: no decomposition is needed.
2. **Gram matrix.** For n1 <= n2, G G^T = U S^2 U^T and the result is U_k diag(prox(s)/s) U_k^T G with the k columns
   that survive: one n1 x n1 eigendecomposition, of which only these k vectors are made, and products, instead of an SVD
   of n1 x n2.
3. **Where squaring is safe.** The Gram matrix knows s^2 only to eps s_1^2, so s to eps s_1^2 / s. With s >= lam >=
   gram_safe s_1 that error is far below lam. Where lam is less, the rows of B, which are orthonormal whatever the Gram
   matrix has lost, are kept as directions, all of them, and s is taken from G itself: the lengths of the rows of B G.
   What is then taken from G = B^H (B G) is s - prox(s) of each row, lam at most, so that the mixture of directions whose
   values the Gram matrix cannot tell apart costs about min(lam, eps s_1^2 / lam): sqrt(eps) s_1 at the worst, and less
   and less as lam falls, which is where a run ends.

Slices are independent, so threads share them out, each holding BLAS to one thread (`threads.each`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..penalties import Grouped, Penalty
from . import dense, lapack, threads

LARGE = 100  # short sides from here on are worth a decomposition of their own, of the values that survive only
PIECE = 1 << 16  # numbers in one thread's piece: fits the second-level cache together with its workspace


def gram_safe(dtype: np.dtype) -> float:
    """Return the least lam / s_1 at which the eigenvalues of a Gram matrix in this precision tell the singular values.

    >>> gram_safe(np.dtype("float64"))
    1e-06
    """
    return 1e-6 if np.dtype(dtype).itemsize >= 8 * (1 + np.dtype(dtype).kind.count("c")) else 1e-3


class Shrunk(NamedTuple):
    """What shrinking a stack tells besides the stack itself."""

    value: float  # sum of the penalty over the shrunk Q-singular values: ||X||_{Q,*} for the nuclear penalty
    envelope: float  # sum of the penalty's Moreau envelope over the Q-singular values before shrinking
    ranks: np.ndarray  # (r,) int: how many singular values of each slice survive


def energies(g: np.ndarray) -> np.ndarray:
    """Return the squared Frobenius norm of each slice of a stack (r, n1, n2).

    >>> energies(np.ones((2, 3, 5)))
    array([15., 15.])
    """
    piece = max(1, PIECE // max(1, g[:1].size))
    parts = threads.each(lambda s: _energies(g[s]), len(g), piece)
    return np.concatenate(parts) if parts else np.zeros(0, np.real(g).dtype)


def _energies(a: np.ndarray) -> np.ndarray:
    flat = a.reshape(len(a), -1)
    if np.iscomplexobj(flat):
        flat = flat.view(np.real(flat).dtype)
    if flat.shape[1] > LARGE * LARGE:  # BLAS is faster on long rows, a single call on short ones
        return np.array([np.vdot(one, one) for one in flat])  # `@` of vectors would hold up the other threads
    return np.einsum("ij,ij->i", flat, flat)


def shrink(
    g: np.ndarray,
    lam: float,
    penalty: Penalty,
    weights: np.ndarray | None = None,
    energies: np.ndarray | None = None,
) -> Shrunk:
    """Replace every slice U S V^T of the stack g (r, n1, n2) by U prox(S) V^T, in place.

    ``weights`` (r,) says how many slices each one stands for (the conjugate pairs of a real Fourier transform). In a real
    stack, 0 says that a slice is the imaginary part of the one before. ``energies`` (r,) are the squared norms of the slices,
    where they are known.

    >>> from qrank.penalties import Nuclear
    >>> g = np.diag([3.0, 1.0])[None]
    >>> shrink(g, 2.0, Nuclear()).value, float(g[0, 0, 0].round(12))
    (1.0, 1.0)
    """
    r, n1, n2 = g.shape
    weights = np.ones(r) if weights is None else weights
    if isinstance(penalty, Grouped):
        return _shrink_grouped(g, lam, penalty, weights)
    ranks = np.zeros(r, dtype=int)
    piece = max(1, PIECE // max(1, n1 * n2))

    def work(chosen: np.ndarray, split: bool) -> tuple[float, float]:
        part: Any
        if split and len(chosen) == 1 and (found := _shrink_parts(g[chosen[0] : chosen[0] + 2], lam, penalty)):
            value, envelope, ranks[chosen] = found
            return float(weights[chosen[0]] * value), float(weights[chosen[0]] * envelope)
        if split:
            part = threads.scratch("slices", (len(chosen), n1, n2), np.result_type(g, np.complex64))
            part.real, part.imag = g[chosen], g[chosen + 1]
        elif whole := len(chosen) == chosen[-1] - chosen[0] + 1:  # consecutive slices are worked on where they lie
            part = g[chosen[0] : chosen[-1] + 1]
        else:
            part = g[chosen]
        value, envelope, ranks[chosen] = _screened(
            part, lam, penalty, _energies(part) if energies is None else energies[chosen]
        )
        if split:
            g[chosen], g[chosen + 1] = part.real, part.imag
        elif not whole:
            g[chosen] = part
        return float(weights[chosen] @ value), float(weights[chosen] @ envelope)

    # Complex slices, which take longest, come first, so that no thread is left with one while the others have nothing to do.
    imaginary = np.append(weights[1:] == 0, False)
    kinds = (np.flatnonzero(imaginary), True), (np.flatnonzero((weights > 0) & ~imaginary), False)
    jobs = [(which[i : i + piece], split) for which, split in kinds for i in range(0, len(which), piece)]
    sums = threads.each(lambda s: work(*jobs[s.start]), len(jobs), 1)
    return Shrunk(math.fsum(v for v, _ in sums), math.fsum(e for _, e in sums), ranks)


def _shrink_grouped(g: np.ndarray, lam: float, penalty: Grouped, weights: np.ndarray) -> Shrunk:
    """Shrink slice i by w_i lam. A prox is equivariant to scale, so that is what lam does to the slice over w_i, times w_i.

    w^2 turns value and envelope of the scaled slice into those of the slice itself.
    """
    w = penalty.weights(_nuclear_norms(g, weights)).astype(np.real(g).dtype)
    g /= w[:, None, None]
    shrunk = shrink(g, lam, penalty.within, weights * w * w)
    g *= w[:, None, None]
    return shrunk


def _nuclear_norms(g: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the nuclear norm of each slice of a stack; ``weights`` as in `shrink`, both parts of a slice have its norm."""

    def work(s: slice) -> np.ndarray:
        i = s.start
        a = (g[i] + 1j * g[i + 1])[None] if i + 1 < len(g) and weights[i + 1] == 0 else g[s]
        a = a if a.shape[1] <= a.shape[2] else a.swapaxes(1, 2)
        return np.sqrt(np.maximum(np.linalg.eigvalsh(a @ _t(a)), 0)).sum(axis=1)

    norms = np.concatenate(threads.each(lambda s: np.zeros(1) if weights[s.start] == 0 else work(s), len(g), 1))
    imaginary = np.flatnonzero(weights == 0)
    norms[imaginary] = norms[imaginary - 1]
    return norms


def _screened(
    a: np.ndarray, lam: float, penalty: Penalty, energy: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shrink a few slices in place, those that vanish as a whole without a decomposition."""
    live = energy > lam * lam
    if live.all():
        return _shrink_part(a if a.shape[1] <= a.shape[2] else a.swapaxes(1, 2), lam, penalty)
    a[~live] = 0
    # A vanished slice has all s <= lam, where every penalty's envelope is s^2 / (2 lam).
    value, envelope, ranks = np.zeros(len(a)), energy / (2 * lam), np.zeros(len(a), dtype=int)
    if live.any():
        part = a[live]
        value[live], envelope[live], ranks[live] = _screened(part, lam, penalty, energy[live])
        a[live] = part
    return value, envelope, ranks


def _shrink_part(a: np.ndarray, lam: float, penalty: Penalty) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shrink a few slices (m, n1, n2), n1 <= n2, in place; return penalty, envelope and rank of each."""
    if a.shape[1] < LARGE or a.dtype.char not in "fd":
        return _shrink_small(a, lam, penalty)
    return _joined([_shrink_large(one, lam, penalty) for one in a])


def _joined(parts: list) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    value, envelope, ranks = (np.concatenate(part) for part in zip(*parts, strict=True))
    return value, envelope, ranks


def _shrink_large(a: np.ndarray, lam: float, penalty: Penalty) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shrink one slice (n1, n2), n1 <= n2, in place, by the singular values above lam only."""
    n1, n2 = a.shape
    gram = threads.scratch("gram", (n1, n1), a.dtype)
    dense.add_gram(a, gram, first=True)
    energy = np.trace(gram, dtype=float)
    sure = told(energy, lam, a.dtype)
    w, b = dense.eigh_above(gram, lam * lam if sure else -np.inf)
    s = np.sqrt(np.maximum(w, 0))
    x = penalty.prox(s, lam)
    if sure:  # half of the factor on either side, where the matrix is smaller
        b *= np.sqrt(x / np.maximum(s, lam))[:, None]
    c = np.matmul(b, a, out=threads.scratch("coefficients", (len(w), n2), a.dtype))
    if not sure:
        s = _lengths(c)
        x = penalty.prox(s, lam)
        c *= (x / np.maximum(s, lam))[:, None]
    np.matmul(b.T, c, out=a)
    value, envelope = _sums(s[None], x[None], lam, penalty)
    # Where s <= lam every penalty's envelope is s^2 / (2 lam), which is at most lam / 2.
    rest = min(max(0.0, energy - float(w.sum(dtype=float))) / (2 * lam), (n1 - len(s)) * lam / 2)
    return value, envelope + rest, np.array([(x > 0).sum()])


def told(energy: float, lam: float, dtype: np.dtype) -> bool:
    """Return whether a Gram matrix with such a trace, s_1^2 at least, tells the singular values from lam on.

    >>> told(1.0, 1e-5, np.dtype("float64")), told(1.0, 1e-5, np.dtype("float32"))
    (True, False)
    """
    return lam * lam >= gram_safe(dtype) ** 2 * energy


def _lengths(c: Any) -> np.ndarray:
    """Return the lengths of the rows of each matrix of a stack."""
    square = np.einsum("...ij,...ij->...i", c.real, c.real)
    return np.sqrt(square + np.einsum("...ij,...ij->...i", c.imag, c.imag) if np.iscomplexobj(c) else square)


def _shrink_parts(pair: np.ndarray, lam: float, penalty: Penalty) -> tuple[float, float, int] | None:
    """Shrink one complex slice given by its parts (2, n1, n2), in place; None if it is small.

    A complex matrix B1 + i B2 acts on parts that stand one above the other as [[B1, -B2], [B2, B1]] does, so that all
    products are real ones, and the slice need not be copied together.
    """
    if min(pair.shape[1:]) < LARGE:
        return None
    energy = float(_energies(pair).sum(dtype=float))
    if energy <= lam * lam:
        pair[...] = 0
        return 0.0, energy / (2 * lam), 0
    wide = pair.shape[1] <= pair.shape[2]
    if wide:
        a = pair.reshape(-1, pair.shape[2])
    else:
        a = threads.scratch("slices", (2 * pair.shape[2], pair.shape[1]), pair.dtype)
        a.reshape(2, pair.shape[2], pair.shape[1])[...] = pair.swapaxes(1, 2)
    n1, n2 = len(a) // 2, a.shape[1]
    gram: Any = threads.scratch("gram", (1, n1, n1), np.result_type(a, np.complex64))
    blocks = threads.scratch("blocks", (2 * n1, 2 * n1), a.dtype)
    dense.add_gram(a, blocks, first=True)  # its upper triangle, which is what LAPACK reads of the Gram matrix, too
    with np.errstate(over="ignore", invalid="ignore"):  # LAPACK will say that it is not finite
        np.add(blocks[:n1, :n1], blocks[n1:, n1:], out=gram[0].real)
    np.subtract(blocks[:n1, n1:].T, blocks[:n1, n1:], out=gram[0].imag)
    sure = told(energy, lam, gram.dtype)
    w, b = lapack.eigh(gram, above=lam * lam if sure else -np.inf)
    k = b.shape[1]
    s = np.sqrt(np.maximum(w[0], 0))
    x = penalty.prox(s, lam)
    x[: n1 - k] = 0
    m = threads.scratch("parts", (2, k, 2, n1), a.dtype)
    factor = np.sqrt(x[n1 - k :] / np.maximum(s[n1 - k :], lam))[:, None] if sure else a.dtype.type(1)
    np.multiply(b[0].imag, factor, out=m[1, :, 0])
    np.multiply(b[0].real, factor, out=m[1, :, 1])
    m[0, :, 0] = m[1, :, 1]
    np.negative(m[1, :, 0], out=m[0, :, 1])
    turn = m.reshape(2 * k, 2 * n1)
    c = np.matmul(turn, a, out=threads.scratch("coefficients", (2 * k, n2), a.dtype))
    if not sure:
        s = np.hypot(_lengths(c[:k]), _lengths(c[k:]))
        x = penalty.prox(s, lam)
        c.reshape(2, k, n2)[...] *= (x / np.maximum(s, lam))[:, None]
    np.matmul(turn.T, c, out=a)
    if not wide:
        pair[...] = a.reshape(2, pair.shape[2], pair.shape[1]).swapaxes(1, 2)
    value, envelope = _sums(s[None], x[None], lam, penalty)
    return float(value[0]), float(envelope[0]), int((x > 0).sum())


def _shrink_small(a: np.ndarray, lam: float, penalty: Penalty) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    m, n1, n2 = a.shape
    gram = np.matmul(a, _t(a), out=threads.scratch("gram", (m, n1, n1), a.dtype))
    sure = told(float(np.trace(gram, axis1=1, axis2=2).real.max()), lam, a.dtype)
    w, b = lapack.eigh(gram, above=lam * lam if sure else -np.inf)  # G G^H = B^H diag(s^2) B; only s > lam
    first = n1 - b.shape[1]
    c = np.matmul(b, a, out=threads.scratch("coefficients", (m, n1 - first, n2), a.dtype))
    s = np.sqrt(np.maximum(w, 0)) if sure else _lengths(c)  # (m, n1)
    x = penalty.prox(s, lam)
    x[:, :first] = 0  # rounding of s^2 may differ from that of s where s = lam
    c *= (x[:, first:] / np.maximum(s[:, first:], lam))[:, :, None]
    np.matmul(_t(b), c, out=a)
    return *_sums(s, x, lam, penalty), (x > 0).sum(axis=1)


def _sums(s: np.ndarray, x: np.ndarray, lam: float, penalty: Penalty) -> tuple[np.ndarray, np.ndarray]:
    envelope = penalty.envelope(s, lam)
    return (envelope - (s - x) ** 2 / (2 * lam)).sum(axis=1), envelope.sum(axis=1)


def _t(a: np.ndarray) -> np.ndarray:
    """Return the conjugate transpose of each slice; a view where the slices are real."""
    return (a.conj() if np.iscomplexobj(a) else a).swapaxes(1, 2)


def singular_values(g: np.ndarray) -> np.ndarray:
    """Return the singular values of each slice of a stack (r, n1, n2), descending: shape (r, min(n1, n2)).

    >>> singular_values(np.diag([3.0, -4.0])[None])
    array([[4., 3.]])
    """
    piece = max(1, PIECE // max(1, g.shape[1] * g.shape[2]))
    parts = threads.each(lambda s: np.linalg.svd(g[s], compute_uv=False), len(g), piece)
    return np.concatenate(parts) if parts else np.zeros((0, min(g.shape[1:])), np.real(g).dtype)


def spectral_norm(g: np.ndarray) -> float:
    """Return the largest singular value over the slices of a stack.

    Slices are tried in the order of their Frobenius norms, which bound their spectral norms, until no other can win.

    >>> spectral_norm(np.stack([np.eye(3), 2 * np.eye(3)]))
    2.0
    """
    bounds = np.sqrt(energies(g))
    best = 0.0
    for i in np.argsort(bounds)[::-1]:
        if bounds[i] <= best:
            break
        a = g[i : i + 1] if g.shape[1] <= g.shape[2] else g[i : i + 1].swapaxes(1, 2)
        best = max(best, math.sqrt(max(0.0, float(np.linalg.eigvalsh((a @ _t(a))[0])[-1]))))
    return best
