"""What a kind of array must be able to do: the few coarse operations that priors, fits and methods are written on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Kernels:
    """One kind of array: its operations. A new kind fills them in and registers itself (`kernels.register`).

    Stacks have shape (n3, n1, n2). ``out`` is memory for the result, which a kind may leave unused; whoever calls takes what
    is returned. ``work`` is the run's `Workspace`. Sizes, residuals and whatever is small come back as Python numbers.
    """

    # From the user's array to the problem, and back
    known: Callable[..., Any]  # (array, observed) -> boolean, True where an entry is known
    values: Callable[..., Any]  # (array) -> its numbers in the floating type to compute in
    scaled: Callable[..., Any]  # (values, known, layout) -> y (slices last, 0 where missing), observed, exponent of 2
    unscaled: Callable[..., Any]  # (x, layout, exponent) -> x in the unit and the axes of the array
    typed: Callable[..., Any]  # (x, array) -> x with the floating type of the array
    keep: Callable[..., Any]  # (x, array, known) -> x, with the array's own values where they are known
    like: Callable[..., Any]  # (x, array) -> x as an array of the user's kind: masked, labelled, …

    # Of a stack
    empty: Callable[..., Any]  # (shape, dtype), for the workspace
    copy: Callable[..., Any]  # (t, out=None)
    norm: Callable[..., float]  # (t) -> ||T||_F
    product: Callable[..., Any]  # (m, t, out=None) -> T x_3 M^T, m (k, n3)
    fourier: Callable[..., Any]  # (t, out=None, inverse=False), unitary, in n3 real slices
    cosine: Callable[..., Any]  # (t, out=None, inverse=False), orthonormal
    shrink: Callable[..., Any]  # (g, lam, penalty, multiplicity=None, energies=None) -> Shrunk, g changed in place
    spectral_norm: Callable[..., float]  # (g) -> the largest singular value of its slices
    advance: Callable[..., Any]  # (t, x, y, observed, ratio, last=None) -> Residuals, x becomes the next T

    # Of its mode-3 unfolding
    short_side: Callable[..., Any]  # (t, lam, r, work) -> rows, s, sure: singular vectors above lam of the shorter side
    from_left: Callable[..., Any]  # (g, rows, s, t, work) -> G x_3 Q^T for Q = T_(3)^T U / s known by rows = U^T
    principal: Callable[..., Any]  # (t, r, out=None, work=None) -> V = PCA(T, 3, r), singular values
    under_principal: Callable[..., Any]  # (t, r) -> T x_3 V
    matmul: Callable[..., Any]  # (a, b, out=None)
    slope: Callable[..., Any]  # (turn, b, prox, v=None) -> B (turn^T B - prox)^T, B = b or v^T b
