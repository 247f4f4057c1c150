"""The Fourier and the cosine transform of a stack on a device: a product where the third mode is short, an FFT where it is long."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .. import products
from ..base import Kernels

SHORT = 512  # third modes up to this length are transformed by a matrix: one product, where an FFT along the first axis strides


class Transformed(Kernels):
    """The transforms along the first axis of a stack."""

    xp: Any

    def fourier(self, t: Any, out: Any = None, inverse: bool = False) -> Any:
        """Return the unitary DFT of a real stack in n3 real slices, Re 0, Re 1, Im 1, Re 2, Im 2, …, or its inverse."""
        xp, n = self.xp, len(t)
        if n <= SHORT:
            return self.product(_fourier(xp, n)[inverse], t, out)
        half = (n - 1) // 2  # slices that have an imaginary part
        if not inverse:
            f, found = xp.fft_along("rfft", t, norm="ortho"), xp.empty(t.shape, t.dtype) if out is None else out
            found[0], found[1::2], found[2::2] = f[0].real, f[1:].real, f[1 : half + 1].imag
            return found
        imaginary = 0 * t[: n // 2 + 1]
        imaginary[1 : half + 1] = t[2::2]
        f = xp.complex_of(xp.concatenate([t[:1], t[1::2]]), imaginary)
        return self.copy(xp.fft_along("irfft", f, n=n, norm="ortho"), out)

    def cosine(self, t: Any, out: Any = None, inverse: bool = False) -> Any:
        """Return the orthonormal DCT-II of a stack along its first axis, or its inverse, by one FFT (Makhoul 1980)."""
        xp, n = self.xp, len(t)
        if n <= SHORT:
            return self.product(_cosine(xp, n)[inverse], t, out)
        k = np.arange(n)
        turn: Any = np.exp(-0.5j * math.pi * k / n) * np.where(k == 0, math.sqrt(1 / n), math.sqrt(2 / n))
        if not inverse:
            real, imaginary = (self._along(part, t) for part in (turn.real, turn.imag))
            f = xp.fft_along("fft", xp.concatenate([t[::2], xp.flip(t[1::2])]))
            return self.copy(f.real * real - f.imag * imaginary, out)
        back: Any = np.exp(0.5j * math.pi * k / n) * np.where(k == 0, math.sqrt(n), math.sqrt(n / 2))
        real, imaginary = (self._along(part, t) for part in (back.real, back.imag))
        mirrored = xp.concatenate([0 * t[:1], xp.flip(t[1:])])
        v = xp.fft_along("ifft", xp.complex_of(t * real + mirrored * imaginary, t * imaginary - mirrored * real)).real
        found = xp.empty(t.shape, t.dtype)
        found[::2], found[1::2] = v[: (n + 1) // 2], xp.flip(v[(n + 1) // 2 :])
        return self.copy(found, out)

    def _along(self, numbers: np.ndarray, t: Any) -> Any:
        """Return a number for each slice of a stack, on the device."""
        return self.xp.astype(self.xp.asarray(np.ascontiguousarray(numbers)), t.dtype)[:, None, None]


@lru_cache(maxsize=32)
def _fourier(xp: Any, n: int) -> tuple[Any, Any]:
    """Return the matrices of `Transformed.fourier` and of its inverse, on the device."""
    there = products.fourier(np.eye(n)[:, :, None])[:, :, 0]
    twice = np.where((np.arange(n) == 0) | (np.arange(n) == n - 1 if n % 2 == 0 else False), 1, 2)
    return xp.asarray(there), xp.asarray(np.ascontiguousarray((there * twice[:, None]).T))


@lru_cache(maxsize=32)
def _cosine(xp: Any, n: int) -> tuple[Any, Any]:
    """Return the matrices of `Transformed.cosine` and of its inverse, on the device."""
    there = products.cosine(np.eye(n)[:, :, None])[:, :, 0]
    return xp.asarray(there), xp.asarray(np.ascontiguousarray(there.T))
