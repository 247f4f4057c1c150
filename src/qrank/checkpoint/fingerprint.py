"""What a checkpoint belongs to: the data, the method and its options, in a few digits."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import numpy as np


def fingerprint(*values: Any) -> str:
    """Return digits that are the same for the same values: arrays, numbers, words, dataclasses and lists of such.

    >>> fingerprint(np.arange(3), {"tol": 1e-5}) == fingerprint(np.arange(3), {"tol": 1e-5})
    True
    >>> fingerprint(np.arange(3)) == fingerprint(np.arange(3.0))
    False
    """
    digest = hashlib.sha256()
    _take(digest, values)
    return digest.hexdigest()[:32]


def _take(digest: Any, value: Any) -> None:
    """Take a value in; what kind of value it is goes before it, and a bracket after it, so that no two look alike."""
    digest.update(f"<{type(value).__module__}.{type(value).__qualname__}:".encode())
    if isinstance(value, np.ndarray | np.generic):
        a = np.ascontiguousarray(value)
        digest.update(f"{a.dtype.str}{np.shape(value)}".encode())
        if a.dtype.kind == "O":
            _take(digest, a.tolist())
        else:
            digest.update(a.reshape(-1).view(np.uint8).data)
    elif isinstance(value, tuple | list):
        for one in value:
            _take(digest, one)
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            _take(digest, (str(key), value[key]))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        _take(digest, {f.name: getattr(value, f.name) for f in dataclasses.fields(value)})
    elif value is None or isinstance(value, bool | int | float | complex | str | bytes):
        digest.update(repr(value).encode())
    elif callable(value):  # a function by its name, as its code has none
        digest.update(f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}".encode())
    else:
        _take(digest, {name: one for name, one in vars(value).items() if not name.startswith("_")})
    digest.update(b">")
