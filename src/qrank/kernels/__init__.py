"""Where LAPACK, threads and kinds of arrays live: few coarse operations for each kind."""

from __future__ import annotations

from typing import Any

from .base import Kernels
from .host import Host

_kinds: list[tuple[type, Kernels]] = []
_host = Host()


def register(kind: type, kernels: Kernels) -> None:
    """Let arrays of a type be worked on by these kernels from now on."""
    _kinds.insert(0, (kind, kernels))


def of(array: Any) -> Kernels:
    """Return the kernels for an array: those of its own type, else NumPy's.

    >>> import numpy as np
    >>> type(of(np.zeros(3))).__name__
    'Host'
    """
    return next((kernels for kind, kernels in _kinds if isinstance(array, kind)), _host)


__all__ = ["Kernels", "of", "register"]
