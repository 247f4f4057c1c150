"""What is done to a chunk when it is read, instead of being written and read again: see `Blocks`.

A step is called with a part of the matrix and which rows and columns of it these are. ``whole`` says which part of the matrix
it must be given: 0, all rows (it works on columns); 1, all columns; None, any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import products


@dataclass(frozen=True)
class Product:
    """M T for a matrix M, (k, n), dense or sparse."""

    m: Any  # Small, or a sparse matrix
    whole = 0

    def __call__(self, a: np.ndarray, rows: slice, columns: slice) -> np.ndarray:
        """Return the product with columns."""
        return products.product(self.m.get() if hasattr(self.m, "get") else self.m, a)

    def only(self, rows: slice) -> Product:
        """Return the step that makes some rows of the result only."""
        return Product(type(self.m)(self.m.get()[rows]))


@dataclass(frozen=True)
class Fourier:
    """The Fourier transform of columns, in real rows."""

    inverse: bool
    whole = 0

    def __call__(self, a: np.ndarray, rows: slice, columns: slice) -> np.ndarray:
        """Return the transform of columns."""
        return products.fourier(a, None, self.inverse)


@dataclass(frozen=True)
class Cosine:
    """The cosine transform of columns."""

    inverse: bool
    whole = 0

    def __call__(self, a: np.ndarray, rows: slice, columns: slice) -> np.ndarray:
        """Return the transform of columns."""
        return products.cosine(a, None, self.inverse)


@dataclass(frozen=True)
class Right:
    """T A B for matrices A and B."""

    a: Any
    b: Any
    whole = 1

    def __call__(self, a: np.ndarray, rows: slice, columns: slice) -> np.ndarray:
        """Return the product with rows."""
        return a @ self.a.get() @ self.b.get() if self.b is not None else a @ self.a.get()


@dataclass(frozen=True)
class Scale:
    """A number times T."""

    by: float
    whole = None

    def __call__(self, a: np.ndarray, rows: slice, columns: slice) -> np.ndarray:
        """Return the multiple."""
        return a * a.dtype.type(self.by)


@dataclass(frozen=True)
class Cast:
    """T in another floating type."""

    dtype: Any
    whole = None

    def __call__(self, a: np.ndarray, rows: slice, columns: slice) -> np.ndarray:
        """Return the numbers in the type."""
        return a.astype(self.dtype, copy=False)


@dataclass(frozen=True)
class Keep:
    """T, but y where a mask is True."""

    y: Any
    known: Any
    whole = None

    def __call__(self, a: np.ndarray, rows: slice, columns: slice) -> np.ndarray:
        """Return the numbers, known ones as they are."""
        return np.where(self.known.region(rows, columns), self.y.region(rows, columns), a)
