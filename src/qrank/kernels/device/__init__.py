"""Arrays of torch and CuPy, on whatever device they are; imported only when one is met."""

from .kind import Device, kernels_of

__all__ = ["Device", "kernels_of"]
