"""Which of the arrays in a file?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from qrank.errors import FileError, nearest


def choose(path: Path, key: str | None, shapes: Mapping[str, tuple[int, ...]], *, all_count: bool = False) -> str:
    """Return the name of the array to read: ``key``, or the only one that is more than a list of numbers.

    >>> choose(Path("a.npz"), None, {"cube": (4, 5, 6), "wavelengths": (6,)})
    'cube'
    """
    if not shapes:
        raise FileError(f"there is no array of numbers in {path}")
    if key is not None:
        if key not in shapes:
            raise FileError(f"{path} has no array '{key}'{nearest(key, shapes)}")
        return key
    tables = [name for name, shape in shapes.items() if all_count or sum(side > 1 for side in shape) > 1]
    names = tables or list(shapes)
    if len(names) > 1:
        listed = ", ".join(f"{name} ({' x '.join(map(str, shapes[name]))})" for name in names)
        raise FileError(f"{path} has several arrays: {listed}; choose one, such as '{path}::{names[0]}'")
    return names[0]
