"""Ctrl-C and SIGTERM in other hands for a while."""

from __future__ import annotations

import signal
from contextlib import suppress
from types import FrameType
from typing import Any, Self


class Signals:
    """While it lasts, ``on_signal`` answers Ctrl-C and SIGTERM; afterwards whoever did before.

    Only the main thread may set handlers: in any other one signals stay somebody else's.

    >>> class Counted(Signals):
    ...     count = 0
    ...
    ...     def on_signal(self, number, frame):
    ...         self.count += 1
    >>> with Counted() as counted:
    ...     signal.raise_signal(signal.SIGTERM)
    >>> counted.count
    1
    """

    def __init__(self) -> None:
        self.before: dict[int, Any] = {}  # the handlers that are put back

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            usual = signal.getsignal(number)
            if usual is not None and self.takes(number, usual):  # None: set by no Python, it could not be put back
                with suppress(ValueError):  # not the main thread
                    self.before[number] = signal.signal(number, self.on_signal)
        return self

    def __exit__(self, *error: object) -> None:
        for number, before in self.before.items():
            signal.signal(number, before)

    def takes(self, number: int, usual: Any) -> bool:
        """Return whether a signal that ``usual`` answers is taken over."""
        return True

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Answer a signal; it may come between any two operations."""
        raise AssertionError(f"{type(self).__name__} answers no signal")
