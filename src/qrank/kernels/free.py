"""How much memory is free: of the machine, of the control groups that the process is in, and of the process itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

try:
    import resource
except ImportError:  # not on Windows
    resource = None

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


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
