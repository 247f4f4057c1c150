"""Thin plates through the known entries of slices: biharmonic inpainting.

    min_X  sum (d_rr X)^2 + 2 (d_rc X)^2 + (d_cc X)^2   s.t.  X = Y where known

with second differences d_rr, d_cc along rows and columns and the mixed one d_rc, wherever all entries that they need lie inside
the slice (the plate's natural boundary). In the holes bilaplacian(X) = 0; slopes go on into them, unlike in a Gaussian mean.
Slices do not know each other; those with the same holes are solved together.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from .smoothing import smooth_fill

DIRECT = 30_000  # missing entries of a slice up to which the equations are factorised
STEPS = 300  # of conjugate gradients beyond that, from the smooth fill
TIE = 1e-9  # of a plain Laplacian: makes the equations regular where fewer than three entries are known


def thin_plate(y: np.ndarray, observed: np.ndarray, tension: float = TIE) -> np.ndarray:
    """Return stacks (..., n1, n2) with thin plates in the holes of every slice; slices without known entries as they are.

    ``tension`` is the weight of the squared first differences beside the second ones: a large one makes of the plate a
    membrane (harmonic inpainting), which never leaves the range of what is known around the hole.

    >>> x = np.add.outer(np.arange(8.0), 2 * np.arange(9.0))[None]  # a plane
    >>> known = np.random.default_rng(0).random(x.shape) < 0.3
    >>> bool(np.abs(thin_plate(np.where(known, x, 0), known) - x).max() < 1e-5)
    True
    """
    n1, n2 = y.shape[-2:]
    x, known = y.reshape(-1, n1 * n2).copy(), observed.reshape(-1, n1 * n2)
    equations = bending(n1, n2, tension)
    for alike in _same(known):
        here = known[alike[0]]
        if here.any() and not here.all():
            x[alike] = _solved(equations, x[alike], here, (n1, n2))
    return x.reshape(y.shape)


def bending(n1: int, n2: int, tension: float = TIE) -> sparse.csr_array:
    """Return the matrix of the plate's energy, (n1 n2, n1 n2): X^T A X is the sum above.

    >>> a = bending(5, 6)
    >>> bool(np.abs(a @ np.arange(30)).max() < 1e-6)
    True
    """
    first1, first2 = _differences(n1, 1), _differences(n2, 1)
    one1, one2 = sparse.eye_array(n1), sparse.eye_array(n2)
    parts = [
        (1.0, sparse.kron(_differences(n1, 2), one2)),
        (1.0, sparse.kron(one1, _differences(n2, 2))),
        (2.0, sparse.kron(first1, first2)),
        (tension, sparse.kron(first1, one2)),
        (tension, sparse.kron(one1, first2)),
    ]
    return sparse.csr_array(sum(weight * (part.T @ part) for weight, part in parts))


def _differences(n: int, order: int) -> sparse.csr_array:
    """Return the matrix of first or second differences of n values, (n - order, n)."""
    steps = (-1.0, 1.0) if order == 1 else (1.0, -2.0, 1.0)
    rows = n - order
    if rows <= 0:
        return sparse.csr_array((0, n))
    return sparse.csr_array(sum(step * sparse.eye_array(rows, n, k=k) for k, step in enumerate(steps)))


def _same(known: np.ndarray) -> list[list[int]]:
    """Return the numbers of the rows, those that are equal together."""
    groups: dict[bytes, list[int]] = {}
    for i, row in enumerate(known):
        groups.setdefault(np.packbits(row).tobytes(), []).append(i)
    return list(groups.values())


def _solved(equations: sparse.csr_array, y: np.ndarray, known: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return slices (k, n1 n2) with the same holes, filled."""
    missing = np.flatnonzero(~known)
    rows = equations[missing]
    a, b = rows[:, missing], -(rows @ np.where(known, y, 0).T.astype(float))
    x = y.copy()
    if len(missing) <= DIRECT:
        factors = linalg.splu(
            sparse.csc_matrix(a), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
        x[:, missing] = factors.solve(b).T
        return x
    scaled = sparse.diags_array(1 / a.diagonal())
    for one, right in zip(x, b.T, strict=True):
        start = smooth_fill(one.reshape(shape), known.reshape(shape)).reshape(-1)[missing]
        one[missing] = linalg.cg(a, right, x0=start.astype(float), maxiter=STEPS, rtol=1e-6, M=scaled)[0]
    return x
