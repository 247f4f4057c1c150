"""What is shown of a run while it lasts: in a terminal, in a notebook, into a pipe, and by default nothing."""

import io
import re
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

import qrank
from cli.calling import call
from qrank.api import progress
from qrank.methods import METHODS
from qrank.result import Record

LINE = r"tnn: step (\d+) · residual \d\.\de[-+]\d\d · [\d.]+ m?s(, about [\d.]+ m?s left)?"


def holed(shape=(8, 9, 5)):
    rng = np.random.default_rng(0)
    x = np.einsum("i,j,k->ijk", *(rng.random(n) for n in shape))
    return np.where(rng.random(shape) < 0.7, x, np.nan)


def slow(record):
    time.sleep(0.03)
    return record.step == 5


def record(step, run="", residual=0.1):
    return Record(step, float(step), 1.0, residual, 0.1, residual, 1.0, 2, 2, run=run)


def test_nothing_is_shown_by_default(capfd, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.02)
    qrank.complete(holed(), method="tnn", on_step=slow)
    assert capfd.readouterr() == ("", "")


def test_plain_lines_go_into_a_pipe(capfd, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.02)
    result = qrank.complete(holed(), method="tnn", on_step=slow, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    told = [re.fullmatch(LINE, line) for line in err.splitlines()]
    assert len(told) >= 3
    assert all(told), err
    assert [int(one[1]) for one in told] == sorted(int(one[1]) for one in told)
    assert len(result.history) == 5  # the caller's own on_step is heard, too


def test_a_step_that_takes_long_is_not_silent(capfd, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.02)

    def one_long_step(record):
        time.sleep(0.3)
        return True

    qrank.complete(holed(), method="tnn", on_step=one_long_step, progress=True)
    assert capfd.readouterr().err.count("step 1 ") >= 3


def test_a_line_that_tells_of_an_old_step_says_so():
    watch = progress.Watch(METHODS["auto"].configured(), None)
    watch.take(record(7, "views"))
    assert watch.line(20.0).endswith("· 20.0 s")
    assert "no step since" not in watch.line(29.0)
    assert watch.line(95.0).endswith("· no step since for 1 min 15 s · 1 min 35 s")
    watch.take(record(8, "kriging"))
    assert watch.line(96.0).endswith("· 1 min 36 s")


def test_lines_of_a_long_run_come_more_rarely(monkeypatch, capfd):
    monkeypatch.setattr(progress, "EVERY", 0.01)
    monkeypatch.setattr(progress, "RARER", 0.5)
    with progress._lines(lambda: "now"):
        time.sleep(1.0)
    assert 5 <= len(capfd.readouterr().err.splitlines()) <= 14  # 0.01 s apart at first, half of the time gone by later


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_reader_who_leaves_does_not_end_the_run(monkeypatch):
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(progress, "EVERY", 0.01)
    monkeypatch.setattr(sys, "stderr", Gone())
    assert len(qrank.complete(holed(), method="tnn", on_step=slow, progress=True).history) == 5


def test_a_terminal_has_a_live_line(monkeypatch):
    pytest.importorskip("rich")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    qrank.complete(holed(), method="tnn", on_step=slow, progress=True)
    shown = screen.getvalue()
    assert re.search(r"tnn: step \d · residual", shown)
    assert "\x1b[" in shown  # the line is written over
    assert shown.count("\n") <= 2


class ZMQInteractiveShell:  # the name tells a kernel from a shell in a terminal
    pass


def notebook(monkeypatch, widgets):
    """Stand in for a kernel; return the texts that are shown, in their order."""
    shown = []

    class Html:
        def __init__(self, value=""):
            self.value = value

        def __setattr__(self, name, value):
            shown.append(value)

    def display(thing, display_id=False):
        return SimpleNamespace(update=lambda other: None) if display_id else None

    there = SimpleNamespace(display=display, HTML=Html)
    python = SimpleNamespace(get_ipython=ZMQInteractiveShell, display=there)
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", there)
    monkeypatch.setitem(sys.modules, "ipywidgets", SimpleNamespace(HTML=Html) if widgets else None)
    monkeypatch.setattr(progress, "OFTEN", 0.05)
    return shown


@pytest.mark.parametrize("widgets", [True, False])
def test_a_notebook_has_a_widget_or_an_output_that_is_written_over(monkeypatch, capfd, widgets):
    shown = notebook(monkeypatch, widgets)
    qrank.complete(holed(), method="tnn", on_step=slow, progress=True)
    assert capfd.readouterr() == ("", "")
    assert shown[0].startswith("<code>tnn: starting")
    assert "step 5 " in shown[-1]  # the last line stays
    assert 3 <= len(shown) <= 6  # not one for each step


def test_a_shell_in_a_terminal_is_no_notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace()))
    assert not progress.in_notebook()


def test_time_left_of_auto_is_that_of_the_forecast():
    watch = progress.Watch(METHODS["auto"].configured(), 60.0)
    for step in range(1, 6):
        watch.take(record(step, "views", 10.0**-step))
    assert watch.line(20.0) == "auto, views: step 5 · residual 1.0e-05 · 20.0 s, about 40.0 s left"
    assert watch.line(61.0).endswith("· 1 min 01 s")  # it takes longer: nothing is known


def test_time_left_begins_anew_with_another_run():
    watch = progress.Watch(METHODS["patches"].configured(), None)
    for step in range(1, 4):
        watch.take(record(step, "views", 10.0**-step))
    assert watch.line(3.0).endswith("about 2.0 s left")  # a step a second, and two more to 1e-5
    watch.take(record(4, "patches", 0.5))
    assert "left" not in watch.line(4.0)


def test_recover_shows_it_too(capfd, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.02)
    psi = np.random.default_rng(0).standard_normal((30, 60)) / 8
    qrank.recover(psi @ np.ones(60), psi, (5, 4, 3), method="tnn", on_step=slow, progress=True)
    assert "tnn: step" in capfd.readouterr().err


def test_the_command_line_shows_it_when_piped_unless_quiet(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.001)
    np.save(tmp_path / "in.npy", holed((20, 20, 10)))
    words = ["fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--method", "tnn"]
    told = call(*words).stderr.splitlines()
    assert any(re.match(r"tnn: step \d+ · residual", line) for line in told), told
    assert call(*words, "--quiet").stderr == ""
    assert call(*words, "--json").stderr == ""


def test_inspect_shows_it_too(capfd, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.001)
    qrank.inspect(holed((20, 20, 10)), progress=True)
    assert "auto, " in capfd.readouterr().err
    qrank.inspect(holed())
    assert capfd.readouterr().err == ""
