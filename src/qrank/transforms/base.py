"""What a transform along the third mode is, and any given Q.

A transform maps a stack (n3, n1, n2) to a stack (r, n1, n2). Its columns are orthonormal, so that ``backward`` is both the
adjoint and, on the span of Q, the inverse: **prox of g after Q is Q^T prox_g Q**, which is all that the priors use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from .. import kernels
from ..atomic import saving
from ..errors import FileError, InputError, KindError, need
from ..kernels.spectral import singular_values
from ..tensor import Layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Transform:
    """What all transforms share; ``forward`` and ``backward`` are theirs."""

    n3: int
    r: int
    multiplicity: np.ndarray | None = None  # (r,): how many slices each one stands for; None means one each
    weights: Any = None  # (r,): what the norm of each slice counts; None means 1 each

    @property
    def packed(self) -> Transform:
        """The form in which the priors work with it: in real slices, n3 at most, with ``out`` honoured."""
        return self

    def forward(self, t: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return T x_3 Q for a stack (n3, n1, n2): shape (r, n1, n2)."""
        raise AssertionError(f"{type(self).__name__} defines no forward transform")

    def backward(self, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return G x_3 Q^T for a stack (r, n1, n2): shape (n3, n1, n2)."""
        raise AssertionError(f"{type(self).__name__} defines no backward transform")

    def bands(
        self, t: np.ndarray, out: np.ndarray, low: tuple[np.ndarray, np.ndarray]
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield T x_3 Q in parts, each made in out: which slices, and they; low may be overwritten."""
        yield slice(0, self.r), self.forward(t, out=out if len(out) == self.r else None)

    @cached_property
    def matrix(self) -> np.ndarray:
        """Q itself, shape (n3, r)."""
        return self.forward(np.eye(self.n3)[:, :, None])[:, :, 0].T

    def singular_values(self, t: np.ndarray) -> np.ndarray:
        """Return those of every slice of T x_3 Q, descending, (slices, min(n1, n2)); slices that stand for two count twice.

        >>> Matrix(np.eye(2)).singular_values(np.ones((2, 3, 3))).round(6)[0]
        array([3., 0., 0.])
        """
        s = singular_values(self.forward(t))
        return s if self.multiplicity is None else np.concatenate([s, s[self.multiplicity == 2][::-1]])

    def counted(self, numbers: np.ndarray) -> int:
        """Return the sum of a number of each slice, (r,), over all slices that they stand for."""
        return int(numbers.sum() if self.multiplicity is None else self.multiplicity @ numbers)

    def apply(self, x: np.ndarray, slice_axes: tuple[int, int] = (0, 1)) -> np.ndarray:
        """Return X x_3 Q, shape (n1, n2, r), for an array whose other axes together have length n3.

        >>> Matrix(np.eye(8)).apply(np.ones((4, 5, 8))).shape
        (4, 5, 8)
        """
        layout = Layout.of(np.shape(x), slice_axes)
        if layout.n3 != self.n3:
            raise InputError(f"this transform is for a third mode of length {self.n3}, the array's has {layout.n3}")
        return np.moveaxis(self.forward(np.ascontiguousarray(layout.stack(np.asarray(x)))), 0, 2)

    def save(self, path: str | Path) -> None:
        """Write Q to an ``.npz`` file that ``load`` reads."""
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
        return self.q.toarray() if scipy.sparse.issparse(self.q) else kernels.of(self.q).host(self.q)

    @cached_property
    def _brought(self) -> dict[kernels.Kernels, Any]:
        """Q as arrays of the kinds that have asked for it: it is brought to a device once, not in every step."""
        return {kernels.of(self.q): self.q}

    def _for(self, t: Any) -> Any:
        """Return Q as an array of T's kind."""
        kind = kernels.of(t)
        if kind not in self._brought:
            self._brought[kind] = kind.brought(self.matrix)
        return self._brought[kind]

    def forward(self, t: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return T x_3 Q."""
        return kernels.of(t).product(self._for(t).T, t, out)

    def backward(self, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return G x_3 Q^T."""
        return kernels.of(g).product(self._for(g), g, out)


def transform_of(q: Any, n3: int | None = None) -> Transform:
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
    if n3 is not None and q.n3 != n3:
        raise InputError(f"q is for a third mode of length {q.n3}, but that of the data has length {n3}")
    return q


def checked_matrix(q: Any) -> np.ndarray:
    """Return q as a finite real matrix (n3, r) with r <= n3, or say why it is none."""
    q = kernels.of(q).host(q)
    if q.ndim != 2 or not 1 <= q.shape[1] <= q.shape[0]:
        raise InputError(f"q must be a matrix with at most as many columns as rows, not of shape {q.shape}")
    if q.dtype.kind not in "fiub":
        raise KindError(f"q must be a real matrix, not of type {q.dtype}")
    q = q.astype(float)
    if not np.isfinite(q).all():
        raise InputError("q has entries that are not finite")
    return q


def load(path: str | Path) -> Matrix:
    """Read a transform that ``Transform.save`` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return Matrix(file["q"])
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise FileError(f"{path} is not a transform saved by qrank") from error
