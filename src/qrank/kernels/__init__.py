"""Where LAPACK, threads and kinds of arrays live: few coarse operations for each kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Kernels
from .host import Host

_kinds: list[tuple[type, Kernels]] = []
_host = Host()


def register(kind: type, kernels: Kernels) -> None:
    """Let arrays of a type be worked on by these kernels from now on."""
    _kinds.insert(0, (kind, kernels))


def of(array: Any) -> Kernels:
    """Return the kernels for an array: those of its own type, else NumPy's.

    Tensors of torch and arrays of CuPy are known by the name of their package: nobody else has to import it.

    >>> import numpy as np
    >>> type(of(np.zeros(3))).__name__
    'Host'
    """
    for kind, kernels in _kinds:
        if isinstance(array, kind):
            return kernels
    if isinstance(array, np.ndarray):
        return _host
    for package in ("torch", "cupy"):
        if any(base.__module__.partition(".")[0] == package for base in type(array).__mro__) and hasattr(
            array, "device"
        ):
            from .device import kernels_of

            return kernels_of(array, package)
    return _host


__all__ = ["Kernels", "of", "register"]
