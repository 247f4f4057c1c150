"""Transforms along the third mode: t -> T x_3 Q for fixed isometries and for any given Q.

A transform maps a stack (n3, n1, n2) to a stack (r, n1, n2). Its columns are orthonormal, so that ``backward`` is both the
adjoint and, on the span of Q, the inverse: **prox of g after Q is Q^T prox_g Q**, which is all that the methods use.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.fft
import scipy.fftpack
import scipy.linalg
import scipy.sparse

from ..atomic import saving
from ..errors import FileError, InputError, KindError, need
from ..kernels import threads
from ..tensor import Layout

_fft: Any = scipy.fft  # its stubs know only the dispatching protocol

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Transform:
    """What all transforms share; :meth:`forward` and :meth:`backward` are theirs."""

    n3: int
    r: int
    weights: np.ndarray | None = None  # (r,): how many slices each one stands for; None means one each

    @property
    def packed(self) -> Transform:
        """The form in which the methods work with it: in real slices, n3 at most, with ``out`` honoured."""
        return self

    def forward(self, t: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return T x_3 Q for a stack (n3, n1, n2): shape (r, n1, n2)."""
        raise AssertionError(f"{type(self).__name__} defines no forward transform")

    def backward(self, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return G x_3 Q^T for a stack (r, n1, n2): shape (n3, n1, n2)."""
        raise AssertionError(f"{type(self).__name__} defines no backward transform")

    @cached_property
    def matrix(self) -> np.ndarray:
        """Q itself, shape (n3, r)."""
        return self.forward(np.eye(self.n3)[:, :, None])[:, :, 0].T

    def apply(self, x: np.ndarray, slice_axes: tuple[int, int] = (0, 1)) -> np.ndarray:
        """Return X x_3 Q, shape (n1, n2, r), for an array whose other axes together have length n3.

        >>> Cosine(8).apply(np.ones((4, 5, 8))).shape
        (4, 5, 8)
        """
        layout = Layout.of(np.shape(x), slice_axes)
        if layout.n3 != self.n3:
            raise InputError(f"this transform is for a third mode of length {self.n3}, the array's has {layout.n3}")
        return np.moveaxis(self.forward(np.ascontiguousarray(layout.stack(np.asarray(x)))), 0, 2)

    def save(self, path: str | Path) -> None:
        """Write Q to an ``.npz`` file that :func:`load` reads."""
        with saving(Path(path)) as temporary, temporary.open("wb") as file:  # by a path NumPy would add a suffix
            np.savez(file, q=self.matrix)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw Q as a picture, real part, one column a basis vector; needs matplotlib."""
        plt = need("matplotlib.pyplot", "report", "plotting a transform")
        ax = plt.subplots()[1] if ax is None else ax
        assert ax is not None
        q = np.real(self.matrix)
        limit = float(np.abs(q).max()) or 1.0
        ax.imshow(q, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
        ax.set(xlabel="column of Q", ylabel="position along the third mode")
        return ax


@dataclass(frozen=True, eq=False)
class Matrix(Transform):
    """Any column-orthonormal Q of shape (n3, r), dense or sparse.

    >>> Matrix(np.eye(4)[:, :2]).forward(np.ones((4, 3, 3))).shape
    (2, 3, 3)
    """

    q: Any = field(repr=False)  # ndarray, or a SciPy sparse array

    @property
    def n3(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Length of the third mode."""
        return self.q.shape[0]

    @property
    def r(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Number of columns of Q."""
        return self.q.shape[1]

    @cached_property
    def matrix(self) -> np.ndarray:
        """Q itself, shape (n3, r)."""
        return self.q.toarray() if scipy.sparse.issparse(self.q) else self.q

    def forward(self, t: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return T x_3 Q."""
        return _along_first(self.q.T, t, out)

    def backward(self, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return G x_3 Q^T."""
        return _along_first(self.q, g, out)


def _along_first(m: Any, t: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    flat = t.reshape(t.shape[0], math.prod(t.shape[1:]))
    m = m.astype(t.dtype, copy=False)
    if scipy.sparse.issparse(m):
        product = (m @ flat).reshape(-1, *t.shape[1:])
        return product if out is None else _copy(product, out)
    out = np.empty((m.shape[0], *t.shape[1:]), t.dtype) if out is None else out
    whole = out.reshape(m.shape[0], -1)
    if t.__array_interface__["data"] != out.__array_interface__["data"]:
        threads.matmul(m, flat, out=whole)
        return out

    def work(s: slice) -> None:  # a column of the result needs that column of T only, which is set aside
        part = threads.scratch("columns", (len(flat), s.stop - s.start), t.dtype)
        part[...] = flat[:, s]
        np.matmul(m, part, out=whole[:, s])

    threads.each(work, flat.shape[1], _columns(len(flat)))
    return out


def _columns(n3: int) -> int:
    """Return how many columns of a stack, as a matrix (n3, n1 n2), to take at a time: 2 MB, or a few rows of BLAS's."""
    return max(64, (1 << 18) // max(1, n3))


def _by_columns(transform: Callable[[np.ndarray], np.ndarray], t: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Transform the columns of a stack, a few at a time so that ``out`` may be the same memory as ``t``."""
    flat, whole = t.reshape(len(t), -1), out.reshape(len(out), -1)

    def work(s: slice) -> None:
        whole[:, s] = transform(flat[:, s])

    threads.each(work, flat.shape[1], _columns(len(t)))
    return out


@dataclass(frozen=True)
class Identity(Transform):
    """Q = I: every frontal slice on its own."""

    n3: int

    @property
    def r(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Number of slices."""
        return self.n3

    def forward(self, t: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return a copy of T."""
        return _copy(t, out)

    def backward(self, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return a copy of G."""
        return _copy(g, out)


def _copy(t: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    if out is None:
        return t.copy()
    if out is not t and out.__array_interface__["data"] != t.__array_interface__["data"]:
        out[...] = t
    return out


@dataclass(frozen=True)
class Fourier(Transform):
    """The unitary DFT of a real tensor: the n3 // 2 + 1 slices that the conjugate symmetry leaves to know.

    >>> Fourier(5).forward(np.ones((5, 2, 2))).shape
    (3, 2, 2)
    """

    n3: int

    @property
    def r(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Number of slices kept."""
        return self.n3 // 2 + 1

    @cached_property
    def weights(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """2 for a slice that stands for a conjugate pair, 1 for the real ones."""
        w = np.full(self.r, 2.0)
        w[0] = 1
        if self.n3 % 2 == 0:
            w[-1] = 1
        return w

    @cached_property
    def matrix(self) -> np.ndarray:
        """The whole unitary matrix, shape (n3, n3)."""
        return scipy.linalg.dft(self.n3, scale="sqrtn")

    @property
    def packed(self) -> PackedFourier:
        """The same with real and imaginary parts as slices of their own."""
        return PackedFourier(self.n3)

    def forward(self, t: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the real-input FFT along the third mode."""
        return _fft.rfft(t, axis=0, norm="ortho", workers=threads.count())

    def backward(self, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the inverse FFT."""
        return _fft.irfft(g, n=self.n3, axis=0, norm="ortho", workers=threads.count(), overwrite_x=True)


@dataclass(frozen=True)
class PackedFourier(Transform):
    """The unitary DFT of a real tensor in n3 real slices: Re 0, Re 1, Im 1, Re 2, Im 2, ...

    It takes exactly the memory of the tensor, and can be done in place. Weight 2 marks a real part whose slice stands for a
    conjugate pair, weight 0 the imaginary part that follows it: `spectral.shrink` takes the two as one complex slice.

    >>> PackedFourier(5).forward(np.ones((5, 2, 2)))[:, 0, 0].round(3)
    array([2.236, 0.   , 0.   , 0.   , 0.   ])
    """

    n3: int

    @property
    def r(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Number of slices."""
        return self.n3

    @cached_property
    def weights(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """1, then 2 and 0 in turns, and 1 for the last one of an even number."""
        w = np.zeros(self.n3)
        w[1:-1:2], w[0] = 2, 1
        if self.n3 % 2 == 0:
            w[-1] = 1
        return w

    def forward(self, t: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the real-input FFT along the third mode."""
        return self._in_place(scipy.fftpack.rfft, 1 / math.sqrt(self.n3), t, out)

    def backward(self, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the inverse FFT."""
        return self._in_place(scipy.fftpack.irfft, math.sqrt(self.n3), g, out)  # SciPy's own divides by n3

    def _in_place(self, fft: Any, scale: float, t: np.ndarray, out: np.ndarray | None) -> np.ndarray:
        """Transform a few columns at a time where they shall be; `scipy.fftpack` has the order of slices that we want."""
        out = np.empty_like(t) if out is None else out
        flat, whole = t.reshape(len(t), -1), out.reshape(len(out), -1)

        def work(s: slice) -> None:
            part = np.multiply(flat[:, s], t.dtype.type(scale), out=whole[:, s])
            found = fft(part, axis=0, overwrite_x=True)
            if found.__array_interface__["data"] != part.__array_interface__["data"]:
                part[...] = found

        threads.each(work, flat.shape[1], _columns(len(t)))
        return out


@dataclass(frozen=True)
class Cosine(Transform):
    """The orthonormal DCT-II."""

    n3: int

    @property
    def r(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Number of slices."""
        return self.n3

    def forward(self, t: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the cosine transform along the third mode."""
        out = np.empty_like(t) if out is None else out
        return _by_columns(lambda part: _fft.dct(part, type=2, axis=0, norm="ortho"), t, out)

    def backward(self, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the inverse cosine transform."""
        out = np.empty_like(g) if out is None else out
        return _by_columns(lambda part: _fft.idct(part, type=2, axis=0, norm="ortho"), g, out)


def random_orthogonal(n3: int, r: int, rng: np.random.Generator) -> Matrix:
    """Return a column-orthonormal Q (n3, r), uniform on the Stiefel manifold.

    >>> random_orthogonal(5, 2, np.random.default_rng(0)).matrix.shape
    (5, 2)
    """
    q, upper = np.linalg.qr(rng.standard_normal((n3, r)))
    return Matrix(q * np.where(np.diag(upper) < 0, -1.0, 1.0))


def transform_of(q: Any, n3: int) -> Transform:
    """Return q as a transform of a third mode of length n3, or say why it is none.

    >>> transform_of(np.eye(3), 3).r
    3
    """
    if not isinstance(q, Transform):
        q = Matrix(checked_matrix(q))
        defect = np.abs(q.q.T @ q.q - np.eye(q.r)).max(initial=0.0)
        if defect > 1e-6:
            raise InputError(
                f"the columns of q must be orthonormal, but q^T q differs from the identity by {defect:.2g};"
                " orthonormalise it (np.linalg.qr) or use method 'tnn-linear'"
            )
    if q.n3 != n3:
        raise InputError(f"q is for a third mode of length {q.n3}, but that of the data has length {n3}")
    return q


def checked_matrix(q: Any) -> np.ndarray:
    """Return q as a finite real matrix (n3, r) with r <= n3, or say why it is none."""
    q = np.asarray(q)
    if q.ndim != 2 or not 1 <= q.shape[1] <= q.shape[0]:
        raise InputError(f"q must be a matrix with at most as many columns as rows, not of shape {q.shape}")
    if q.dtype.kind not in "fiub":
        raise KindError(f"q must be a real matrix, not of type {q.dtype}")
    q = q.astype(float)
    if not np.isfinite(q).all():
        raise InputError("q has entries that are not finite")
    return q


def load(path: str | Path) -> Matrix:
    """Read a transform that :meth:`Transform.save` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return Matrix(file["q"])
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise FileError(f"{path} is not a transform saved by qrank") from error
