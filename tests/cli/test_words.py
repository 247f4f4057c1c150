"""What is read from the command line, and what is shown while a run goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

pytest.importorskip("typer")
import typer

import qrank
from qrank.api.progress import Eta
from qrank.cli import words
from qrank.cli.words import check_place, guarded, parse_list, parse_options, parse_slice_axes


def test_words():
    assert parse_options(["a=1", "b=-2.5", "c=x", "d=False", "max-steps=9"]) == {
        "a": 1, "b": -2.5, "c": "x", "d": False, "max_steps": 9,
    }  # fmt: skip
    with pytest.raises(qrank.InputError, match="twice"):
        parse_options(["a=1", "a=2"])
    with pytest.raises(qrank.InputError, match="same axis"):
        parse_slice_axes("1,-2", ("x", "y", "z"), (0, 1))
    with pytest.raises(qrank.InputError, match="did you mean 'lat'"):
        parse_slice_axes("lai,lon", ("time", "lat", "lon"), (0, 1))
    with pytest.raises(qrank.InputError, match=r"'0,1,2' is not two axes, such as 0,1 or x,y"):
        parse_slice_axes("0,1,2", ("x", "y", "z"), (0, 1))
    with pytest.raises(qrank.InputError, match=r"there is no axis 3: the data have the axes 0 to 2 \(x, y, z\)"):
        parse_slice_axes("0,3", ("x", "y", "z"), (0, 1))
    with pytest.raises(qrank.InputError, match=r"--rates '0\.1;0\.5' is not a list of numbers"):
        parse_list("0.1;0.5", float, "--rates")
    with pytest.raises(qrank.InputError, match="--rates is empty"):
        parse_list(" , ", float, "--rates")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (PermissionError(13, "Permission denied", "a.npy"), 2, "qrank: Permission denied (a.npy)"),
        (OSError("no such\ndevice"), 2, "qrank: no such device"),
        (MemoryError(), 1, "qrank: memory ran out: take a part (--frames), a smaller size (--resize) or --dtype float32"),
        (qrank.MissingExtra("it needs the package av"), 2, "qrank: it needs the package av"),
        (KeyboardInterrupt(), 130, "qrank: aborted; nothing was written"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_and_a_code(error, code, said, capsys):
    def broken():
        raise error

    with pytest.raises(typer.Exit) as left:
        guarded(broken)()
    assert left.value.exit_code == code
    assert capsys.readouterr() == ("", said + "\n")


@pytest.mark.skipif(os.name != "posix", reason="closes a POSIX pipe")
def test_a_reader_that_has_gone_is_no_traceback():
    mine, theirs = os.pipe()
    os.close(mine)
    with os.fdopen(theirs, "wb") as pipe:
        run = [sys.executable, "-m", "qrank", "methods"]
        done = subprocess.run(run, stdout=pipe, stderr=subprocess.PIPE, timeout=120)
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_command_in_a_thread_leaves_signals_alone():
    before, found = signal.getsignal(signal.SIGTERM), []
    thread = threading.Thread(target=guarded(lambda: found.append(signal.getsignal(signal.SIGTERM))))
    thread.start()
    thread.join()
    assert found == [before]  # in the main thread it is that of Ctrl-C
    guarded(lambda: found.append(signal.getsignal(signal.SIGTERM)))()
    assert found[1] is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_file_that_could_not_be_written_is_refused_before(tmp_path, monkeypatch):
    with pytest.raises(qrank.FileError, match=r"there is no folder .*nowhere"):
        check_place(tmp_path / "nowhere" / "a.html", "the report")
    with pytest.raises(qrank.FileError, match="it is a folder"):
        check_place(tmp_path, "the report")
    with pytest.raises(qrank.FileError, match=r"the report .*a\.txt must end in \.html or \.htm"):
        check_place(tmp_path / "a.txt", "the report", (".html", ".htm"))
    check_place(tmp_path / "a.HTML", "the report", (".html", ".htm"))
    (tmp_path / "old.html").touch()
    refused = {str(tmp_path / "old.html")}  # whoever runs this may be allowed everything
    monkeypatch.setattr(words.os, "access", lambda path, mode: str(path) not in refused)
    with pytest.raises(qrank.FileError, match=r"old\.html cannot be written: permission denied"):
        check_place(tmp_path / "old.html", "the report")


def test_time_left_is_that_of_a_geometric_decay():
    eta = Eta(tol=1e-6)
    left = [eta.left(k, 0.5 * k, 0.8**k) for k in range(1, 31)]
    assert left[0] is None
    steps_left = np.log(1e-6 / 0.8**30) / np.log(0.8)
    assert left[-1] == pytest.approx(0.5 * steps_left)
    assert Eta(1e-6).left(1, 1.0, 0.0) is None
