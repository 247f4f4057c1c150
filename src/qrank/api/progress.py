"""How far a run is, while it lasts: a live line in a terminal, a widget in a notebook, plain lines everywhere else."""

from __future__ import annotations

import html
import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

from ..methods import Auto, Method
from ..result import OnStep, Record
from ..text import duration

WINDOW = 20  # steps that the estimate of the time left looks back on
EVERY = 4.0  # seconds between two plain lines at least; a run that is shorter has none
RARER = 0.05  # and at least this part of the time that the run has taken, so that hours do not fill a screen
LONG = 10.0  # seconds without a step after which a line says so
OFTEN = 0.2  # seconds between two updates of a widget
Show = Callable[[str], Any]


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


class Watch:
    """What is known of a run at any moment, as a line; ``forecast``: the seconds that it was expected to take, if any.

    Of one method the residual tells how long it will go on. `auto` runs one candidate after the other, which the residual of
    the one under way says nothing of: there it is the forecast.

    >>> from qrank.methods import method_named
    >>> watch = Watch(method_named("tnn").configured(), None)
    >>> watch.take(Record(7, 0.5, 12.0, 0.1, 0.2, 0.05, 1e-3, 7, 3))
    >>> watch.line(2.5)
    'tnn: step 7 · residual 1.0e-01 · 2.5 s'
    """

    def __init__(self, method: Method, forecast: float | None) -> None:
        self.method, self.forecast = method, forecast
        self.record: Record | None = None
        self.left: float | None = None
        self._run, self._eta = "", Eta(method.tol, method.max_steps)
        self._taken: float | None = None  # when the line first told of the last step

    def take(self, record: Record) -> None:
        """Take a step in."""
        if record.run != self._run:  # its residuals are its own
            self._run, self._eta = record.run, Eta(self.method.tol, self.method.max_steps)
        self.left = self._eta.left(record.step, record.seconds, _residual(record))
        self.record, self._taken = record, None

    def line(self, elapsed: float) -> str:
        """Return where the run is, after so many seconds."""
        record, name = self.record, self.method.name
        if record is None:
            return f"{name}: starting · {duration(elapsed)}"
        left = self.left
        if isinstance(self.method, Auto):
            name = f"{name}, {record.run}" if record.run else name
            left = None if self.forecast is None or elapsed > self.forecast else self.forecast - elapsed
        parts = [f"{name}: step {record.step}", f"residual {_residual(record):.1e}"]
        if record.holdout is not None:
            parts.append(f"hold-out error {record.holdout:.4g}")
        self._taken = elapsed if self._taken is None else self._taken
        if elapsed - self._taken >= LONG:  # a candidate of `auto` that has not made a step yet, or a step that is large
            parts.append(f"no step since for {duration(elapsed - self._taken)}")
        return " · ".join([*parts, duration(elapsed) + ("" if left is None else f", about {duration(left)} left")])


def _residual(record: Record) -> float:
    return max(record.primal, record.change)


@contextmanager
def watching(
    progress: bool, method: Method, on_step: OnStep | None, forecast: float | None = None
) -> Iterator[OnStep | None]:
    """Show the progress of a run, if that is asked for; give what is to be called with each of its records.

    >>> with watching(False, Auto(), None) as on_step:
    ...     on_step is None
    True
    """
    if not progress:
        yield on_step
        return
    watch, start = Watch(method, forecast), time.perf_counter()

    def line() -> str:
        return watch.line(time.perf_counter() - start)

    with ExitStack() as stack:
        show = _display(line, stack)

        def told(record: Record) -> Any:
            watch.take(record)
            show(line())
            return on_step(record) if on_step is not None else None

        yield told


def _display(line: Callable[[], str], stack: ExitStack) -> Show:
    """Return what shows a line where the caller looks; what has to be ended after the run is put on the stack."""
    if in_notebook():
        return stack.enter_context(_widget(line))
    try:
        console = import_module("rich.console").Console(stderr=True)
    except ImportError:
        console = None
    if console is not None and console.is_terminal:
        return stack.enter_context(console.status(line())).update
    return stack.enter_context(_lines(line))


def in_notebook() -> bool:
    """Return whether the code runs in a notebook's kernel.

    >>> in_notebook()
    False
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def _widget(line: Callable[[], str]) -> Iterator[Show]:
    """A widget of ipywidgets, or, where that is not installed, an output that is written over; the last line stays."""
    shown = import_module("IPython.display")
    try:
        widget = import_module("ipywidgets").HTML(_in_html(line()))
        shown.display(widget)

        def put(text: str) -> None:
            widget.value = _in_html(text)
    except ImportError:
        handle = shown.display(shown.HTML(_in_html(line())), display_id=True)

        def put(text: str) -> None:
            handle.update(shown.HTML(_in_html(text)))

    last, text = time.perf_counter(), line()

    def show(now: str) -> None:
        nonlocal last, text
        text = now
        if time.perf_counter() - last >= OFTEN:
            last = time.perf_counter()
            put(text)

    try:
        yield show
    finally:
        put(text)


def _in_html(text: str) -> str:
    return f"<code>{html.escape(text)}</code>"


@contextmanager
def _lines(line: Callable[[], str]) -> Iterator[Show]:
    """A line on stderr every few seconds, from a thread of its own: a single step may take minutes."""
    over, stream, start = threading.Event(), sys.stderr, time.perf_counter()

    def write() -> None:
        while not over.wait(max(EVERY, RARER * (time.perf_counter() - start))):
            try:
                stream.write(line() + "\n")
                stream.flush()
            except (OSError, ValueError):  # whoever read it has gone, and the run goes on
                return

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield lambda text: None
    finally:
        over.set()
        thread.join()
