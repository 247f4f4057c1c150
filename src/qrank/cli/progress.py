"""Ctrl-C or SIGTERM while a run goes on: once to finish the step, twice to abort."""

from __future__ import annotations

import os
from types import FrameType

from ..result import Record
from ..signals import Signals


class Stopper(Signals):
    """While it lasts, a first Ctrl-C or SIGTERM asks the run to stop and a second one aborts.

    >>> with Stopper() as stopper:
    ...     stopper.asked
    False
    """

    def __init__(self) -> None:
        super().__init__()
        self.asked = False

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Ask the run to stop, and say so; abort it if it has been asked before."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        # Written past all buffers: a handler may run in the middle of any print.
        os.write(2, b"\nqrank: finishing this step, then writing what there is; Ctrl-C again aborts\n")

    def on_step(self, record: Record) -> bool:
        """Return whether the run is to end: what ``qrank.complete`` takes as ``on_step``."""
        return self.asked
