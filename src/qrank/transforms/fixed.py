"""Fixed transforms, which follow from the length of the third mode alone: identity, Fourier, cosine; and a random one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg

from .. import kernels
from ..kernels import threads
from .base import Matrix, Transform

_fft: Any = scipy.fft  # its stubs know only the dispatching protocol


class SquareTransform(Transform):
    """As many slices as the third mode is long."""

    @property
    def r(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Number of slices."""
        return self.n3


@dataclass(frozen=True)
class Identity(SquareTransform):
    """Q = I: every frontal slice on its own."""

    n3: int

    def forward(self, t: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return a copy of T."""
        return kernels.of(t).copy(t, out)

    def backward(self, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return a copy of G."""
        return kernels.of(g).copy(g, out)


@dataclass(frozen=True)
class Cosine(SquareTransform):
    """The orthonormal DCT-II."""

    n3: int

    def forward(self, t: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the cosine transform along the third mode."""
        return kernels.of(t).cosine(t, out)

    def backward(self, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the inverse cosine transform."""
        return kernels.of(g).cosine(g, out, inverse=True)


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
    def multiplicity(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """2 for a slice that stands for a conjugate pair, 1 for the real ones."""
        packed = self.packed.multiplicity
        return packed[packed > 0]

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
class PackedFourier(SquareTransform):
    """The unitary DFT of a real tensor in n3 real slices: Re 0, Re 1, Im 1, Re 2, Im 2, ...

    It takes exactly the memory of the tensor, and can be done in place. Multiplicity 2 marks a real part whose slice stands
    for a conjugate pair, 0 the imaginary part that follows it: `shrink` takes the two as one complex slice.

    >>> PackedFourier(5).forward(np.ones((5, 2, 2)))[:, 0, 0].round(3)
    array([2.236, 0.   , 0.   , 0.   , 0.   ])
    """

    n3: int

    @cached_property
    def multiplicity(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """1, then 2 and 0 in turns, and 1 for the last one of an even number."""
        many = np.zeros(self.n3)
        many[1:-1:2], many[0] = 2, 1
        if self.n3 % 2 == 0:
            many[-1] = 1
        return many

    def forward(self, t: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the real-input FFT along the third mode."""
        return kernels.of(t).fourier(t, out)

    def backward(self, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the inverse FFT."""
        return kernels.of(g).fourier(g, out, inverse=True)


def random_orthogonal(n3: int, r: int, rng: np.random.Generator) -> Matrix:
    """Return a column-orthonormal Q (n3, r), uniform on the Stiefel manifold.

    >>> random_orthogonal(5, 2, np.random.default_rng(0)).matrix.shape
    (5, 2)
    """
    q, upper = np.linalg.qr(rng.standard_normal((n3, r)))
    return Matrix(q * np.where(np.diag(upper) < 0, -1.0, 1.0))
