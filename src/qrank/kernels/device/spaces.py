"""Two libraries of arrays on a device, torch and CuPy, under one set of names.

Most functions have one name and one meaning in both, and in NumPy. What differs is here, so that the kind is written once. Neither
is imported by anybody who has no such array.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...errors import KindError, need
from .. import threads


class TorchSpace:
    """torch, on one device, under NumPy's names where the two differ."""

    def __init__(self, device: Any) -> None:
        self.torch: Any = need("torch", "torch", "completing a torch tensor")
        self.device = device
        self.on_cpu = device.type == "cpu"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)

    def given(self, array: Any) -> Any:
        """Return a tensor as it is to be worked on: without its gradients, or a sentence why it cannot be."""
        torch = self.torch
        if array.device.type == "meta":
            raise KindError("a tensor on the device meta has no values: make it on a device that has memory")
        if array.layout is not torch.strided or array.is_quantized:
            raise KindError("a dense tensor is needed: to_dense() or dequantize() makes one")
        return array.detach().resolve_conj().resolve_neg()

    def kind(self, array: Any) -> str:
        """Return "f" for floating types, "c" for complex ones, "i" for whole numbers and booleans."""
        return "c" if array.is_complex() else "f" if array.is_floating_point() else "i"

    def asarray(self, m: Any) -> Any:
        """Return a NumPy array, or a tensor that is elsewhere, on this device."""
        return m.to(self.device) if isinstance(m, self.torch.Tensor) else self.torch.as_tensor(m, device=self.device)

    def host(self, array: Any) -> np.ndarray:
        """Return an array as NumPy's."""
        return array.detach().cpu().numpy()

    def empty(self, shape: Any, dtype: Any) -> Any:
        """Return an uninitialised array."""
        return self.torch.empty(shape, dtype=dtype, device=self.device)

    def eye(self, n: int, r: int, dtype: Any) -> Any:
        """Return the first r columns of the identity."""
        return self.torch.eye(n, r, dtype=dtype, device=self.device)

    def arange(self, n: int) -> Any:
        """Return 0, 1, …, n - 1."""
        return self.torch.arange(n, device=self.device)

    def astype(self, array: Any, dtype: Any) -> Any:
        """Return an array in another type, itself where it has it."""
        return array.to(dtype)

    def transpose(self, array: Any, axes: tuple[int, ...]) -> Any:
        """Return a view with the axes in another order."""
        return array.permute(axes)

    def ascontiguousarray(self, array: Any) -> Any:
        """Return an array whose last axis runs fastest in memory."""
        return array.contiguous()

    def copy(self, array: Any) -> Any:
        """Return a copy."""
        return array.clone(memory_format=self.torch.contiguous_format)

    def take(self, array: Any, indices: Any, axis: int) -> Any:
        """Return some entries along an axis."""
        return array.index_select(axis, indices)

    def maximum(self, a: Any, b: Any) -> Any:
        """Return the larger of an array and an array or a number."""
        return self.torch.maximum(a, b) if isinstance(b, self.torch.Tensor) else a.clamp(min=b)

    def minimum(self, a: Any, b: Any) -> Any:
        """Return the smaller of an array and an array or a number."""
        return self.torch.minimum(a, b) if isinstance(b, self.torch.Tensor) else a.clamp(max=b)

    def vdot(self, a: Any, b: Any) -> Any:
        """Return the sum of all products."""
        return self.torch.dot(a.reshape(-1), b.reshape(-1))

    def adjoint(self, a: Any) -> Any:
        """Return the conjugate transpose of each slice."""
        return a.mH

    def complex_of(self, real: Any, imaginary: Any) -> Any:
        """Return the complex array of two parts."""
        return self.torch.complex(real.contiguous(), imaginary.contiguous())

    def flip(self, a: Any) -> Any:
        """Return an array with the order of its first axis reversed."""
        return self.torch.flip(a, (0,))

    def fft_along(self, name: str, a: Any, **options: Any) -> Any:
        """Return a Fourier transform along the first axis."""
        return getattr(self.torch.fft, name)(a, dim=0, **options)

    def eigh(self, a: Any) -> tuple[Any, Any]:
        """Return eigenvalues, ascending, and eigenvectors."""
        try:
            return self.torch.linalg.eigh(a)
        except self.torch.linalg.LinAlgError as error:  # what the loop over steps knows is NumPy's
            raise np.linalg.LinAlgError(str(error)) from error

    def threads(self) -> int:
        """Return in how many pieces a large product is shared out."""
        return threads.count() if self.on_cpu else 1

    def each(self, work: Callable[[slice], Any], length: int, piece: int) -> list[Any]:
        """Call work on pieces of a range, and return what it returns: on a CPU in threads of which each has torch to itself.

        torch's own threads share out the inside of every small decomposition, and wait for each other most of the time: two
        of them took up to 18 times, measured under load as long as one for the slices of a clip.
        """
        if not self.on_cpu:
            return in_turn(work, length, piece)
        torch, before = self.torch, self.torch.get_num_threads()

        def alone(some: slice) -> Any:
            torch.set_num_threads(1)  # of this thread, and of those that begin from now on
            return work(some)

        try:
            return threads.each(alone, length, piece)
        finally:
            torch.set_num_threads(before)

    def same_memory(self, a: Any, b: Any) -> bool:
        """Return whether two arrays begin at the same place."""
        return a.data_ptr() == b.data_ptr()


class CuPySpace:
    """CuPy, whose names are NumPy's; no machine with such a device has run this."""

    on_cpu = False

    def __init__(self, device: Any) -> None:
        self.cupy: Any = need("cupy", "torch", "completing a CuPy array")
        self.device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cupy, name)

    def given(self, array: Any) -> Any:
        """Return the array."""
        return array

    def kind(self, array: Any) -> str:
        """Return "f" for floating types, "c" for complex ones, "i" for whole numbers and booleans."""
        return array.dtype.kind if array.dtype.kind in "fc" else "i"

    def host(self, array: Any) -> np.ndarray:
        """Return an array as NumPy's."""
        return self.cupy.asnumpy(array)

    def astype(self, array: Any, dtype: Any) -> Any:
        """Return an array in another type, itself where it has it."""
        return array.astype(dtype, copy=False)

    def adjoint(self, a: Any) -> Any:
        """Return the conjugate transpose of each slice."""
        return a.conj().swapaxes(-1, -2)

    def complex_of(self, real: Any, imaginary: Any) -> Any:
        """Return the complex array of two parts."""
        return real + 1j * imaginary

    def flip(self, a: Any) -> Any:
        """Return an array with the order of its first axis reversed."""
        return self.cupy.flip(a, 0)

    def fft_along(self, name: str, a: Any, **options: Any) -> Any:
        """Return a Fourier transform along the first axis."""
        return getattr(self.cupy.fft, name)(a, axis=0, **options)

    def eigh(self, a: Any) -> tuple[Any, Any]:
        """Return eigenvalues, ascending, and eigenvectors."""
        return self.cupy.linalg.eigh(a)

    def threads(self) -> int:
        """Return in how many pieces a large product is shared out."""
        return threads.count() if self.on_cpu else 1

    def each(self, work: Callable[[slice], Any], length: int, piece: int) -> list[Any]:
        """Call work on pieces of a range, and return what it returns."""
        return in_turn(work, length, piece)

    def same_memory(self, a: Any, b: Any) -> bool:
        """Return whether two arrays begin at the same place."""
        return a.data.ptr == b.data.ptr


def in_turn(work: Callable[[slice], Any], length: int, piece: int) -> list[Any]:
    """Call work on consecutive pieces of a range; return the results in order.

    >>> in_turn(lambda s: s.stop - s.start, 10, 4)
    [4, 4, 2]
    """
    return [work(slice(start, min(start + piece, length))) for start in range(0, length, piece)]


@cache
def torch_space(device: Any) -> TorchSpace:
    """Return torch on a device."""
    return TorchSpace(device)


@cache
def cupy_space(device: Any) -> CuPySpace:
    """Return CuPy on a device."""
    return CuPySpace(device)
