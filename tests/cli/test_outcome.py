"""What ``qrank fill`` leaves with is true, whatever goes wrong and whenever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import qrank.cli.beside
import qrank.cli.fill
from cli.calling import call, one_line

posix = pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")


@pytest.fixture
def holed(tmp_path):
    x = np.outer(np.arange(1.0, 13), np.arange(1.0, 15))[:, :, None] * np.ones(3)
    x[3, 4, 1] = np.nan
    np.save(tmp_path / "in.npy", x)
    return tmp_path


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), qrank.FileError("no such"), MemoryError()])
def test_a_report_that_fails_is_told_with_the_output_there(holed, monkeypatch, error):
    def failing(*_, **__):
        raise error

    monkeypatch.setattr(qrank.cli.beside, "write_report", failing)
    words = ["fill", holed / "in.npy", "-o", holed / "out.npy", "--method", "tnn", "--report", holed / "r.html"]
    said = one_line(call(*words, code=4))
    assert f"{holed / 'out.npy'} was written, but not all that was asked for" in said
    assert np.isfinite(np.load(holed / "out.npy")).all()
    assert not (holed / "r.html").exists()


def test_an_output_that_fails_is_told_and_the_old_one_is_there(holed, monkeypatch):
    (holed / "out.npy").write_text("old")

    def failing(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", failing)
    said = one_line(call("fill", holed / "in.npy", "-o", holed / "out.npy", "--method", "tnn", code=2))
    assert "nothing was written" in said
    assert (holed / "out.npy").read_text() == "old"


@pytest.mark.parametrize("there", [False, True])
def test_aborted_after_the_output_was_written(holed, monkeypatch, there):
    if there:
        (holed / "out.npy").write_text("old")

    def pressed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(qrank.cli.beside, "write_report", pressed)
    words = ["fill", holed / "in.npy", "-o", holed / "out.npy", "--method", "tnn", "--report", holed / "r.html"]
    said = one_line(call(*words, code=3))
    assert f"aborted after {holed / 'out.npy'} was written" in said
    assert np.isfinite(np.load(holed / "out.npy")).all()


def test_the_report_overwrites_nothing_of_the_command(holed):
    before = (holed / "in.npy").read_bytes()
    os.symlink("in.npy", holed / "page.html")
    os.symlink("out.npy", holed / "other.html")
    os.link(holed / "in.npy", holed / "third.html")
    for name in ("page.html", "other.html", "third.html"):
        words = ["fill", holed / "in.npy", "-o", holed / "out.npy", "--report", holed / name]
        assert "would overwrite" in one_line(call(*words, code=2))
    assert not (holed / "out.npy").exists()
    assert (holed / "in.npy").read_bytes() == before


def test_neither_a_plot_nor_a_table_overwrites_the_input(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (24, 20), dtype=np.uint8)
    qrank.write(tmp_path / "curves.png", pixels)
    before = (tmp_path / "curves.png").read_bytes()
    for words in (["inspect", "--plot", tmp_path / "curves.png"], ["compare", "-o", tmp_path]):
        assert "would overwrite" in one_line(call(words[0], tmp_path / "curves.png", *words[1:], code=2))
    assert (tmp_path / "curves.png").read_bytes() == before


def test_a_missing_package_of_the_report_is_told_before_the_run(holed, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    words = ["fill", holed / "in.npy", "-o", holed / "out.npy", "--report", holed / "r.html"]
    assert "pip install 'qrank[report]'" in one_line(call(*words, code=2))
    assert os.listdir(holed) == ["in.npy"]


def started(folder, code, *words):
    """Run the command in a process of its own, in which ``complete`` and the report are as the code says."""
    script = f"import sys, time, qrank.cli.fill as fill, qrank.cli.job as job\n{code}\nfrom qrank.__main__ import main; main()\n"
    words = [sys.executable, "-c", script, "fill", "in.npy", "-o", "out.npy", "--method", "tnn", *words]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while "ready" not in process.stdout.readline():
        assert process.poll() is None
    return process


WAIT = "    print('ready', flush=True); time.sleep(60)\n"


@posix
def test_sigterm_finishes_the_step_and_writes(holed):
    code = (
        "run = job.complete\n"
        "def slow(*a, on_step, **k):\n"
        "    def each(record):\n"
        "        print('ready', flush=True); time.sleep(0.3)\n"
        "        return on_step(record)\n"
        "    return run(*a, on_step=each, **k)\n"
        "job.complete = slow\n"
    )
    process = started(holed, code, "--option", "tol=1e-300")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 3, err
    assert "what there is was written" in err
    assert np.isfinite(np.load(holed / "out.npy")).all()


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_during_the_report(holed, number):
    process = started(
        holed,
        f"def slow(*a, **k):\n{WAIT}import qrank.cli.beside as beside\nbeside.write_report = slow",
        "--report",
        "r.html",
    )
    process.send_signal(number)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 3, err
    assert "aborted after out.npy was written" in err
    assert "Traceback" not in err
    assert sorted(os.listdir(holed)) == ["in.npy", "out.npy"]


@posix
def test_sigterm_while_the_output_is_written_leaves_nothing(holed):
    code = (
        "def slow(path, array):\n"
        "    path.write_bytes(b'half')\n"
        f"{WAIT}"
        "import qrank.files\n"
        "qrank.files.WRITERS['npy'] = lambda path, array, *_: slow(path, array)\n"
    )
    process = started(holed, code)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 130, err
    assert "aborted; nothing was written" in err
    assert os.listdir(holed) == ["in.npy"]


@posix
def test_a_pipe_that_breaks_after_the_output_was_written(holed):
    words = [sys.executable, "-m", "qrank", "fill", "in.npy", "-o", "out.npy", "--method", "tnn"]
    code = f"{' '.join(words)} --json | sleep 0; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", code], cwd=holed, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 4), done.stderr  # 0: it was read before the reader had gone
    assert "Traceback" not in done.stderr
    assert np.isfinite(np.load(holed / "out.npy")).all()


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_an_output_without_a_name_is_refused(name, tmp_path, monkeypatch):
    """An empty variable of a script made a folder of pictures of the one that it was in."""
    monkeypatch.chdir(tmp_path)
    qrank.write("in.npy", np.random.default_rng(0).integers(0, 256, (3, 8, 9), dtype=np.uint8))
    said = one_line(call("fill", "in.npy", "-o", name, "--drop", "0.3", "--method", "tnn", code=2))
    assert "an output needs a name" in said
    assert [file.name for file in tmp_path.iterdir()] == ["in.npy"]


@pytest.mark.parametrize("by_chunks", [False, True])
def test_nothing_is_written_into_the_input(tmp_path, by_chunks):
    pytest.importorskip("zarr")
    store = tmp_path / "in.zarr"
    qrank.write(store, np.random.default_rng(0).random((4, 6, 5)))
    before = sorted(store.rglob("*"))
    name = store / "c" / ("out.zarr" if by_chunks else "out.npy")
    words = ["fill", store, "-o", name, "--drop", "0.3", "--method", "tnn", *["--memory", "1GB"] * by_chunks]
    assert "inside" in one_line(call(*words, code=2))
    assert sorted(store.rglob("*")) == before


def test_a_seed_is_a_whole_number_from_0_on(holed):
    said = call("fill", holed / "in.npy", "-o", holed / "out.npy", "--seed", "-1", code=2).output
    assert "Traceback" not in said
    assert not (holed / "out.npy").exists()
