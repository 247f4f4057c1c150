"""Where LAPACK, threads and kinds of arrays live: few coarse operations for each kind."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from .base import Kernels
from .host import Host

# Kinds of packages that are extras: where their arrays come, the package is there, and the module says which kinds it has.
LATE = {"dask": "qrank.kernels.chunked"}

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
    found = next((kernels for kind, kernels in _kinds if isinstance(array, kind)), None)
    if found is not None or isinstance(array, np.ndarray):
        return found or _host
    packages = {base.__module__.partition(".")[0] for base in type(array).__mro__}
    for package in ("torch", "cupy"):
        if package in packages and hasattr(array, "device"):
            from .device import kernels_of

            return kernels_of(array, package)
    for package in packages & LATE.keys():
        for kind, kernels in import_module(LATE[package]).kinds():
            register(kind, kernels)
        found = next((kernels for kind, kernels in _kinds if isinstance(array, kind)), None)
    return found or _host


__all__ = ["Kernels", "of", "register"]
