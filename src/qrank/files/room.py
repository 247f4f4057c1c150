"""Is there room for what a file says it holds? Asked of its header, before any memory is taken."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from qrank.errors import FileError

try:
    import resource
except ImportError:  # not on Windows
    resource = None

SMALL = 1 << 26  # bytes that every file may claim: refusing them would protect nobody
PLAIN = 2  # times its bytes that a file without compression may claim: some leave out what was never written
DEFLATE = 1032  # times that zlib can shrink anything
DENSEST = 1 << 15  # times that any codec in use shrinks a constant (zstd: 128 KB to 4 bytes)
PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


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


def in_bytes(size: int) -> str:
    """Write a number of bytes for reading.

    >>> in_bytes(69), in_bytes(1400), in_bytes(8_300_000_000)
    ('69 bytes', '1.4 kB', '8.3 GB')
    """
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}" if size < 1000 * unit else f"{size / unit:.1e} {name}"
    return f"{size} bytes"


def free_memory() -> int | None:
    """Return the bytes that can still be taken: of the machine, of the control groups and of the process; None: unknown.

    >>> free = free_memory()
    >>> free is None or free > 0
    True
    """
    found = [*_of_machine(), *_of_groups(), *_of_process()]
    return max(0, min(found)) if found else None


def _of_machine() -> Iterator[int]:
    with suppress(OSError, ValueError, IndexError):
        lines = (PROC / "meminfo").read_text().splitlines()
        found = [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
        yield found[0]
        return
    with suppress(AttributeError, OSError, ValueError):  # no Linux: what is free is not told, what there is, is
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_groups() -> Iterator[int]:
    """Yield what is left in each group that this process is in, and in those above it, in both versions of them."""
    with suppress(OSError, ValueError):
        for line in (PROC / "self" / "cgroup").read_text().splitlines():
            _, kinds, place = line.split(":", 2)
            if kinds not in ("", "memory"):
                continue
            root = CGROUPS / "memory" if kinds else CGROUPS
            names = ("limit_in_bytes", "usage_in_bytes") if kinds else ("max", "current")
            folder = root / place.lstrip("/")
            # Within a container the path may be that of the host: then the root is the group.
            for group in (folder, *folder.parents):
                with suppress(OSError, ValueError):
                    limit, used = (int((group / f"memory.{name}").read_text()) for name in names)
                    yield limit - used + _cache(group)
                if group == root:
                    break


def _cache(group: Path) -> int:
    """Return the bytes of files that a group keeps in memory and would give up."""
    with suppress(OSError, ValueError, IndexError):
        for line in (group / "memory.stat").read_text().splitlines():
            if line.split()[0] in ("total_inactive_file", "inactive_file"):
                return int(line.split()[1])
    return 0


def _of_process() -> Iterator[int]:
    if resource is None:
        return
    with suppress(OSError, ValueError, IndexError):
        used = int((PROC / "self" / "statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            yield limit - used
