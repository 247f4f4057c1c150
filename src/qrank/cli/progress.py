"""The live line while a run goes on, and Ctrl-C or SIGTERM: once to finish the step, twice to abort."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console

from ..methods import Method
from ..result import OnStep, Record
from ..signals import Signals
from ..text import duration

WINDOW = 20  # steps that the estimate of the time left looks back on


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


class Eta:
    """The time left, from the decay of the residual: log(residual) is drawn on linearly to log(tol).

    >>> eta = Eta(tol=1e-5)
    >>> [eta.left(step, seconds=float(step), residual=10.0**-step) for step in (1, 2, 3)][-1]
    2.0
    """

    def __init__(self, tol: float, max_steps: float = math.inf) -> None:
        self.tol = tol
        self.max_steps = max_steps
        self._seen: deque[tuple[int, float, float]] = deque(maxlen=WINDOW)

    def left(self, step: int, seconds: float, residual: float) -> float | None:
        """Take a step in; return the seconds left, or None while they cannot be told."""
        if not (residual > 0 and math.isfinite(residual)):
            return None
        self._seen.append((step, seconds, math.log(residual)))
        first_step, first_seconds, first_log = self._seen[0]
        if len(self._seen) < 3:
            return None
        a_step = (seconds - first_seconds) / (step - first_step)
        fall = (first_log - math.log(residual)) / (step - first_step)
        steps = math.inf if fall <= 0 else max(0.0, (math.log(residual) - math.log(self.tol)) / fall)
        steps = min(steps, self.max_steps - step)
        return None if math.isinf(steps) else a_step * steps


@contextmanager
def live_line(method: Method, stopper: Stopper, *, quiet: bool = False) -> Iterator[OnStep]:
    """Keep a line on stderr: step, residual, hold-out error, time left; give what ``qrank.complete`` takes as ``on_step``.

    >>> from qrank import METHODS
    >>> with live_line(METHODS["tnn"].configured(), Stopper(), quiet=True) as on_step:
    ...     on_step(Record(1, 0.5, 12.0, 0.1, 0.2, 0.1, 1e-3, 7, 3))
    False
    """
    eta = Eta(method.tol, method.max_steps)

    def on_step(record: Record) -> bool:
        residual = max(record.primal, record.change)
        left = eta.left(record.step, record.seconds, residual)
        parts = [f"{method.name}: step {record.step}", f"residual {residual:.1e}"]
        if record.holdout is not None:
            parts.append(f"hold-out error {record.holdout:.4g}")
        parts.append(duration(record.seconds) + ("" if left is None else f", about {duration(left)} left"))
        status.update(" · ".join(parts))
        return stopper.asked

    with Console(stderr=True, quiet=quiet).status(f"{method.name}: starting") as status:
        yield on_step
