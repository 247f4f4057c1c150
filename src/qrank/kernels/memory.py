"""Memory that is used again and again: allocating it anew would cost a page fault for every 4 KB."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np


class Workspace:
    """What the loop lends to every step of a run: scratch arrays by name, and the generator of whatever is random.

    ``spare`` is the scratch array that has the size of the whole tensor: a step makes G in it, and of G, in place, X, which
    becomes the next T; the memory of the last T is then the spare one (`lend`). Until G is made, it is room to work in.
    """

    def __init__(
        self, rng: np.random.Generator | int | None = None, empty: Callable[..., Any] = np.empty, reuses: bool = True
    ) -> None:
        self.rng = np.random.default_rng(rng)
        self._empty = empty  # of the kind of array that the run works on
        self._reuses = reuses
        self._buffers: dict[str, np.ndarray] = {}
        self._parts: dict[str, Workspace] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return an uninitialised array; a call with the same name gives the same memory.

        >>> work = Workspace()
        >>> work.array("spare", (2, 3), np.dtype(float)).shape
        (2, 3)
        """
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or len(buffer) < size or buffer.dtype != dtype:
            buffer = self._buffers[name] = self._empty(size, dtype)
        return buffer[:size].reshape(shape)

    def lend(self, name: str, array: np.ndarray) -> None:
        """Use a C-contiguous array that is not needed any more for what is called so from now on."""
        if self._reuses:
            self._buffers[name] = array.reshape(-1)

    def clear(self) -> None:
        """Let go of all scratch memory; the generator stays."""
        self._buffers.clear()
        for part in self._parts.values():
            part.clear()

    def part(self, name: str) -> Workspace:
        """Return a workspace within this one, with names of its own and the same generator."""
        return self._parts.setdefault(name, Workspace(self.rng, self._empty, self._reuses))


_local = threading.local()


def scratch(name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an uninitialised array of this thread's own; the next call with the same name overwrites it.

    >>> scratch("a", (2, 2), np.dtype(float)).shape
    (2, 2)
    """
    if not hasattr(_local, "workspace"):
        _local.workspace = Workspace()
    return _local.workspace.array(name, shape, np.dtype(dtype))


def flat(x: np.ndarray) -> np.ndarray:
    """Return a one-dimensional view of a contiguous array.

    >>> flat(np.zeros((2, 3))).shape
    (6,)
    """
    assert x.flags.c_contiguous
    return x.reshape(-1)
