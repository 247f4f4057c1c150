"""The prox of the nuclear norm by matrix products alone, for devices on which small eigendecompositions are slow.

For A = G G^H and thresholds lam, U max(S - lam, 0) V^H = F G with

    F = I - M^{-1/2},   M = max(Z, I) = (Z + I + |Z - I|) / 2,   Z = A / lam^2,   |B| = B sign(B)

so two matrix functions are all that is needed, and both are iterations of products: x -> x q(x^2) takes every number of [-1, 1] to its
sign, and the same q, applied to Y and its inverse together, gives the inverse root (Higham, Functions of Matrices, 2008, ch. 5, 6). A
quintic q multiplies small x by 3.4 a time; five cubic steps then converge. Values s near lam, whose sign is not resolved, do no
harm: the prox is continuous there. torch's batched `eigh` runs slice by slice on most devices, while products of many slices are
one call that fills them. On a CPU eigendecompositions are faster (docs/torch.md).
"""

from __future__ import annotations

import math
from typing import Any

QUINTIC = (3.4445, -4.7750, 2.0315)  # x q(x^2) with the largest slope at 0 of those that stay within 0.7 and 1.2
CUBIC = (1.5, -0.5, 0.0)  # Newton and Schulz
POLISH = 6  # cubic steps from there to all digits
RESOLVED = {4: 1e-5, 8: 1e-9}  # by the bytes of a number: what of s^2 / lam^2 - 1 is told from 0
WIDEST = 1e4  # s_1^2 / lam^2 up to which so few products do


def shrunk_by_products(xp: Any, a: Any, lam: float) -> tuple[Any, Any]:
    """Return slices (m, n1, n2), n1 <= n2, shrunk by the nuclear norm, and (m, 3): its value, its envelope, the rank."""
    n, size = a.shape[1], a.dtype.itemsize // (2 if "complex" in str(a.dtype) else 1)
    identity = xp.eye(n, n, dtype=a.dtype)
    z = a @ xp.adjoint(a) / (lam * lam)
    b = z - identity
    bound = xp.sqrt((abs(b) ** 2).sum((1, 2)))[:, None, None]  # of all its eigenvalues
    widest = float(bound.max()) + 1
    sign = b / bound
    for q in _steps(widest / RESOLVED[size]):
        square = sign @ sign
        sign = sign @ _applied(q, square, identity)
    m = (z + identity + sign @ b) / 2
    root, inverse = m / widest, identity + 0 * m
    for q in _steps(math.sqrt(widest)):
        r = _applied(q, inverse @ root, identity)
        root, inverse = root @ r, r @ inverse
    x = a - inverse @ a / math.sqrt(widest)
    traces = (xp.einsum("mii->m", one).real for one in (sign, z, m, root * math.sqrt(widest)))
    up, energy, largest, roots = traces
    rank = xp.round((n + up) / 2)
    value = lam * (roots - n)  # sum of s - lam over s > lam
    envelope = lam / 2 * (energy + n - largest - rank) + value + rank * lam / 2
    return x, xp.astype(xp.stack([value, envelope, rank], 1), xp.float64)


def _steps(range_: float) -> list[tuple[float, float, float]]:
    """Return the polynomials that bring numbers from 1 / range to 1 up to 1."""
    return [QUINTIC] * max(1, math.ceil(math.log(range_) / math.log(QUINTIC[0]))) + [CUBIC] * POLISH


def _applied(q: tuple[float, float, float], x: Any, identity: Any) -> Any:
    """Return q(X) = q_0 + q_1 X + q_2 X^2."""
    return q[0] * identity + q[1] * x + (q[2] * (x @ x) if q[2] else 0)
