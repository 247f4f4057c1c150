"""Is there room for what a file says it holds? Asked of its header, before any memory is taken."""

from __future__ import annotations

from pathlib import Path

from qrank.errors import FileError
from qrank.kernels.free import free_memory
from qrank.text import in_bytes

SMALL = 1 << 26  # bytes that every file may claim: refusing them would protect nobody
PLAIN = 2  # times its bytes that a file without compression may claim: some leave out what was never written
DEFLATE = 1032  # times that zlib can shrink anything
DENSEST = 1 << 15  # times that any codec in use shrinks a constant (zstd: 128 KB to 4 bytes)


def check_room(path: Path, size: int, stored: int, densest: int = DENSEST, copies: int = 1) -> None:
    """Raise ``FileError`` if ``size`` bytes of numbers cannot be in ``stored`` bytes of the file, or not in free memory.

    Of what is compressed no more than ``densest`` times its bytes is believed; reading makes ``copies`` of the numbers.

    >>> check_room(Path("a.npy"), 1000, 1000)
    >>> check_room(Path("a.h5"), 8 << 30, 1400)
    Traceback (most recent call last):
        ...
    qrank.errors.FileError: a.h5 is damaged or cut short: it claims 8.59 GB of numbers, and only 1.4 kB of it can hold them
    """
    if size > max(SMALL, stored * densest):
        claim = f"it claims {in_bytes(size)} of numbers, and only {in_bytes(stored)} of it can hold them"
        raise FileError(f"{path} is damaged or cut short: {claim}")
    free = free_memory()
    if free is not None and size * copies > max(SMALL, free):
        raise FileError(too_large(path, size * copies, free))


def too_large(path: Path, size: int, free: int) -> str:
    """Say that a file is too large for the memory there is.

    >>> too_large(Path("a.h5"), 8 << 30, 1 << 30)
    'a.h5 is too large: reading it takes 8.59 GB of memory and 1.07 GB are free; store a smaller part of it by itself'
    """
    needs = f"reading it takes {in_bytes(size)} of memory and {in_bytes(free)} are free"
    return f"{path} is too large: {needs}; store a smaller part of it by itself"
