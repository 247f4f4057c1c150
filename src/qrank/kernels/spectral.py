"""Singular values of the slices of a stack in memory: their sizes, and how far a Gram matrix tells them."""

from __future__ import annotations

import math

import numpy as np

from . import threads

LONG = 10_000  # rows from here on are worth a call of BLAS
POWERS = 3  # of a Gram matrix whose norms are looked at: itself, its square and the square of that
SLICES = 1 << 16  # numbers in one thread's piece: fits the second-level cache together with its workspace


def gram_safe(dtype: np.dtype) -> float:
    """Return the least lam / s_1 at which the eigenvalues of a Gram matrix in this precision tell the singular values.

    >>> gram_safe(np.dtype("float64"))
    1e-06
    """
    return 1e-6 if np.dtype(dtype).itemsize >= 8 * (1 + np.dtype(dtype).kind.count("c")) else 1e-3


def tells(energy: float, lam: float, dtype: np.dtype) -> bool:
    """Return whether a Gram matrix with such a trace, s_1^2 at least, tells the singular values from lam on.

    >>> tells(1.0, 1e-5, np.dtype("float64")), tells(1.0, 1e-5, np.dtype("float32"))
    (True, False)
    """
    return lam * lam >= gram_safe(dtype) ** 2 * energy


def vanish(gram: np.ndarray, lam: float) -> np.ndarray:
    """Return of which Gram matrices (m, n, n) it is sure that no singular value of the slice is above lam.

    Let w be the eigenvalues of K = gram / lam^2. None is above 1 if ||K||_F^2 = sum w^2 is not, or the same of K^2 or K^4, which
    is nearer to the largest; one is above 1 if sum w^2 > sum w, or the same of the powers. Dividing first keeps the powers of what
    matters from over- and underflow.

    >>> vanish(np.stack([np.eye(9) / 4, np.diag([2.0] + 8 * [0.1])]), 1.0)
    array([ True, False])
    """
    level, numbers = float(lam * lam), np.finfo(gram.dtype)
    found = np.zeros(len(gram), dtype=bool)
    if not float(numbers.tiny) <= level <= float(numbers.max):
        return found
    level = np.real(gram).dtype.type(level)
    left = np.flatnonzero(
        np.trace(gram, axis1=1, axis2=2).real / len(gram[0]) <= level
    )  # so that no entry of K is above n
    k = gram[left] / level
    sums = np.trace(k, axis1=1, axis2=2).real
    for power in range(POWERS):
        if not len(left):
            break
        k = np.matmul(k, k) if power else k
        squares = energies_of(k)
        found[left[squares <= 1]] = True
        open_ = (squares > 1) & (squares <= sums)
        left, k, sums = left[open_], k[open_], squares[open_]
    return found


def energies(g: np.ndarray) -> np.ndarray:
    """Return the squared Frobenius norm of each slice of a stack (r, n1, n2).

    >>> energies(np.ones((2, 3, 5)))
    array([15., 15.])
    """
    piece = max(1, SLICES // max(1, g[:1].size))
    parts = threads.each(lambda s: energies_of(g[s]), len(g), piece)
    return np.concatenate(parts) if parts else np.zeros(0, np.real(g).dtype)


def energies_of(a: np.ndarray) -> np.ndarray:
    """Do what `energies` does, in this thread."""
    flat = a.reshape(len(a), -1)
    if np.iscomplexobj(flat):
        flat = flat.view(np.real(flat).dtype)
    if flat.shape[1] > LONG:  # BLAS is faster on long rows, a single call on short ones
        return np.array([np.vdot(one, one) for one in flat])  # `@` of vectors would hold up the other threads
    return np.einsum("ij,ij->i", flat, flat)


def transposed(a: np.ndarray) -> np.ndarray:
    """Return the conjugate transpose of each slice; a view where the slices are real."""
    return (a.conj() if np.iscomplexobj(a) else a).swapaxes(1, 2)


def singular_values(g: np.ndarray) -> np.ndarray:
    """Return the singular values of each slice of a stack (r, n1, n2), descending: shape (r, min(n1, n2)).

    >>> singular_values(np.diag([3.0, -4.0])[None])
    array([[4., 3.]])
    """
    piece = max(1, SLICES // max(1, g.shape[1] * g.shape[2]))
    parts = threads.each(lambda s: np.linalg.svd(g[s], compute_uv=False), len(g), piece)
    return np.concatenate(parts) if parts else np.zeros((0, min(g.shape[1:])), np.real(g).dtype)


def spectral_norm(g: np.ndarray, multiplicity: np.ndarray | None = None) -> float:
    """Return the largest singular value over the slices of a stack; ``multiplicity`` as in `shrink`.

    Slices are tried in the order of their Frobenius norms, which bound their spectral norms, until no other can win.

    >>> spectral_norm(np.stack([np.eye(3), 2 * np.eye(3)]))
    2.0
    """
    energy = energies(g)
    imaginary = np.flatnonzero(multiplicity == 0) if multiplicity is not None else np.zeros(0, int)
    energy[imaginary - 1] += energy[imaginary]
    energy[imaginary] = 0
    bounds, best = np.sqrt(energy), 0.0
    for i in np.argsort(bounds)[::-1]:
        if bounds[i] <= best:
            break
        a = g[i] + 1j * g[i + 1] if i + 1 in imaginary else g[i]
        a = a if a.shape[0] <= a.shape[1] else a.T
        best = max(best, math.sqrt(max(0.0, float(np.linalg.eigvalsh(a @ a.conj().T)[-1]))))
    return best
