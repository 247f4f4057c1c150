"""Ctrl-C and SIGTERM while a checkpoint is kept: the step is finished, the state written, the result so far returned."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

from ..result import OnStep, Record
from ..signals import Signals

USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


class Stopping(Signals):
    """While it lasts, a first Ctrl-C or SIGTERM asks the run to stop after its step; a second one does what it always does.

    Signals that the program handles itself, and those of programs that call from another thread, are left alone.

    >>> with Stopping() as stopping:
    ...     bool(stopping.watching(None)(Record(1, 0.5, 12.0, 0.1, 0.2, 0.1, 1e-3, 7, 3)))
    False
    """

    def __init__(self) -> None:
        super().__init__()
        self.asked = False

    def takes(self, number: int, usual: Any) -> bool:
        """Return whether nobody has said what is to become of the signal."""
        return usual == USUAL[signal.Signals(number)]

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Ask the run to stop; the second signal is not caught any more."""
        self.asked = True
        signal.signal(number, self.before[number])

    def watching(self, on_step: OnStep | None) -> OnStep:
        """Return an ``on_step`` that calls another one, and stops the run also where a signal has asked for it."""

        def watched(record: Record) -> bool:
            return bool(on_step is not None and on_step(record)) or self.asked

        return watched
