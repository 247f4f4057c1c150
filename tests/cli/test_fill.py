"""``qrank fill``: what it writes, says, and leaves with."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import qrank
from cli.calling import call, one_line
from qrank.checkpoint import tree
from qrank.kernels.host import Host
from qrank.result import Choice, Trial


@pytest.fixture
def low_rank() -> np.ndarray:
    rng = np.random.default_rng(0)
    x = np.einsum("ir,jr,kr->ijk", *(rng.random((n, 2)) for n in (16, 18, 6)))
    return np.round(200 * x / x.max()).astype(np.uint8)


def test_integers_keep_type_and_known_entries(tmp_path, low_rank):
    np.save(tmp_path / "in.npy", low_rank)
    call("fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--missing-above", 150)
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == np.uint8
    known = low_rank <= 150
    assert (out[known] == low_rank[known]).all()
    assert not (out[~known] == low_rank[~known]).all()  # they were really filled


def test_large_integers_come_back_exactly(tmp_path):
    y = np.arange(2**60, 2**60 + 64).reshape(4, 4, 4)
    np.save(tmp_path / "in.npy", y)
    call("fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--drop", 0.3)
    out = np.load(tmp_path / "out.npy")
    known = np.random.default_rng(0).random(y.shape) >= 0.3
    assert (out[known] == y[known]).all()
    assert out.dtype == y.dtype


def test_nan_is_filled_and_json_tells(tmp_path, low_rank):
    y = low_rank.astype(np.float32)
    y[3, 4, 2] = np.nan
    np.save(tmp_path / "in.npy", y)
    facts = json.loads(call("fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--json").stdout)
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == np.float32
    assert abs(out[3, 4, 2] - low_rank[3, 4, 2]) < 5
    assert facts["missing"] == 1
    assert facts["slice_axes"] == [0, 1]
    assert facts["steps"] > 0


def test_drop_prints_quality_and_beats_zero_filling(tmp_path, low_rank):
    np.save(tmp_path / "in.npy", low_rank)
    result = call("fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--drop", 0.5, "--seed", 3)
    assert "PSNR" in result.stdout
    facts = json.loads(call("fill", tmp_path / "in.npy", "-o", tmp_path / "o2.npy", "--drop", 0.5, "--seed", 3,
                           "--json").stdout)  # fmt: skip
    assert (np.load(tmp_path / "out.npy") == np.load(tmp_path / "o2.npy")).all()
    assert facts["psnr"] == pytest.approx(qrank.metrics.psnr(np.load(tmp_path / "out.npy"), low_rank), abs=1e-5)
    zero = np.where(np.random.default_rng(3).random(low_rank.shape) < 0.5, 0, low_rank)
    assert facts["psnr"] > qrank.metrics.psnr(zero, low_rank) + 5


def test_nothing_missing_is_written_unchanged(tmp_path, low_rank):
    np.save(tmp_path / "in.npy", low_rank)
    result = call("fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy")
    assert "nothing is missing" in result.stdout
    assert (np.load(tmp_path / "out.npy") == low_rank).all()


def test_quiet_says_nothing(tmp_path, low_rank):
    np.save(tmp_path / "in.npy", low_rank)
    result = call("fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--drop", 0.3, "--quiet")
    assert result.output == ""


def test_method_options_and_axes_reach_the_run(tmp_path, low_rank):
    np.save(tmp_path / "in.npy", low_rank)
    words = ["fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--drop", 0.3, "--method", "tnn", "--json"]
    facts = json.loads(call(*words, "--option", "max_steps=3", "--slice-axes", "0,2", "--dtype", "float64").stdout)
    assert facts["steps"] == 3
    assert facts["slice_axes"] == [0, 2]
    assert facts["method"].startswith("tnn(")
    assert "max_steps=3" in facts["method"]


def test_report_is_written(tmp_path, low_rank):
    pytest.importorskip("matplotlib")
    np.save(tmp_path / "in.npy", low_rank)
    call("fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--drop", 0.3, "--report", tmp_path / "r.html")
    assert "qrank" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_error_on_held_out_entries_is_that_of_the_main_run(tmp_path, low_rank, monkeypatch):
    np.save(tmp_path / "in.npy", low_rank)

    def two_runs(*given, **options):
        found = qrank.complete(*given, **options)
        records = [replace(found.history[0], run=name, holdout=held) for name, held in (("a", 0.25), ("b", 0.5))]
        trials = Trial("a", 0.3, 0.9, 1.0), Trial("b", 0.6, 0.1, 1.0)
        return replace(found, history=records, choice=Choice(trials, 10, "the data", 2.0, 0.3))

    monkeypatch.setattr(qrank.cli.job, "complete", two_runs)
    words = ["fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--drop", 0.3, "--method", "smooth", "--json"]
    assert json.loads(call(*words).stdout)["holdout_rmse"] == 0.25


def test_report_of_pixels_tells_errors_in_their_unit(tmp_path):
    pytest.importorskip("matplotlib")
    grid = np.add.outer(np.arange(40), np.arange(48))[..., None] + np.arange(3)
    picture = np.round(120 + 100 * np.sin(grid / 7) + np.random.default_rng(0).normal(0, 8, grid.shape))
    np.save(tmp_path / "in.npy", picture.clip(0, 255).astype(np.uint8))
    words = ["fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--drop", 0.3, "--report", tmp_path / "r.html"]
    call(*words)
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert 'data-layer="sure"' in html
    error = float(re.search(r"standard error of filled entries, median</dt><dd>([\d.]+)", html)[1])
    assert 4 < error < 20  # noise of standard deviation 8, of pixels up to 255
    covered = float(re.search(r"missing values ([\d.]+) % do", html)[1])
    assert 84 < covered < 96


def test_colour_picture_with_a_mask(tmp_path):
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    base = np.einsum("ir,jr,kr->ijk", *(rng.random((n, 2)) for n in (40, 48, 3)))
    picture = np.round(255 * base / base.max()).astype(np.uint8)
    hole = rng.random((40, 48)) < 0.2
    image.fromarray(picture).save(tmp_path / "in.png")
    image.fromarray((255 * hole).astype(np.uint8)).save(tmp_path / "mask.png")
    result = call("fill", tmp_path / "in.png", "--mask", tmp_path / "mask.png", "-o", tmp_path / "out.png")
    assert "height x width" in result.stdout
    out = np.asarray(image.open(tmp_path / "out.png"))
    assert (out[~hole] == picture[~hole]).all()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--method", "vmtqm"], "did you mean 'vmtqn'"),
        (["--option", "tool=1"], "did you mean 'tol'"),
        (["--option", "tol"], "name=value"),
        (["--slice-axes", "0,7"], "no axis 7"),
        (["--drop", "1.5"], "drop is 1.5"),
        (["--dtype", "int8"], "float32 or float64"),
        (["--report", "/nowhere/at/all.html"], "no folder"),
        (["--mask", "no-such-mask.png"], "no file no-such-mask.png"),
        (["--preset", "fast"], "no preset 'fast'"),
        (["--patch", "17"], "a side from 2 to 16"),  # though nothing is missing
    ],
)
def test_bad_options_are_one_line_and_2(tmp_path, low_rank, words, says):
    np.save(tmp_path / "in.npy", low_rank)
    result = call("fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", *words, code=2)
    assert says in one_line(result)
    assert os.listdir(tmp_path) == ["in.npy"]


def test_bad_files_are_one_line_and_2(tmp_path, low_rank):
    np.save(tmp_path / "in.npy", low_rank)
    before = (tmp_path / "in.npy").read_bytes()
    (tmp_path / "cut.npy").write_bytes(before[:200])
    for words in (
        [tmp_path / "cut.npy", "-o", tmp_path / "out.npy"],
        [tmp_path / "none.npy", "-o", tmp_path / "out.npy"],
        [tmp_path / "in.npy", "-o", tmp_path / "out.xyz"],
        [tmp_path / "in.npy", "-o", tmp_path / "in.npy"],
        [tmp_path / "in.npy", "-o", tmp_path / "no" / "out.npy"],
    ):
        one_line(call("fill", *words, "--drop", 0.2, code=2))
    assert sorted(os.listdir(tmp_path)) == ["cut.npy", "in.npy"]
    assert (tmp_path / "in.npy").read_bytes() == before


def test_everything_missing_is_said(tmp_path):
    np.save(tmp_path / "in.npy", np.zeros((8, 8, 3)))
    said = one_line(call("fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--missing-value", 0, code=2))
    assert "no entry is observed" in said


def test_an_array_of_one_axis_is_refused_in_one_line(tmp_path):
    np.save(tmp_path / "in.npy", np.array([1.0, np.nan, 3.0]))
    assert "2 axes" in one_line(call("fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", code=2))


def slow_run(tmp_path):
    """A run of thousands of steps in a process of its own."""
    x = qrank.data.low_q_rank((60, 60, 20), r=10, rng=0)
    np.save(tmp_path / "in.npy", x)
    words = [
        "fill",
        "in.npy",
        "--method",
        "vmtqn",
        "-o",
        "out.npy",
        "--drop",
        "0.6",
        "--option",
        "max_steps=100000",
        "--option",
        "rho=1.0001",
    ]
    return subprocess.Popen(
        [sys.executable, "-m", "qrank", *words],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1,
    )  # fmt: skip


def wait_for_start(process):
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("missing:"):
            time.sleep(0.5)  # the handler is set right after this line
            return


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_ctrl_c_once_writes_what_there_is(tmp_path):
    process = slow_run(tmp_path)
    wait_for_start(process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 3, err
    assert "finishing this step" in err
    assert "what there is was written" in err
    assert "Traceback" not in err
    y, x = np.load(tmp_path / "in.npy"), np.load(tmp_path / "out.npy")
    assert np.isfinite(x).all()
    assert 0.3 < (x == y).mean() < 0.5  # the known entries


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_ctrl_c_twice_writes_nothing(tmp_path):
    # One step takes for ever, as far as this test is concerned: the first signal cannot end it.
    code = (
        "import sys, time, qrank.cli.job as job\n"
        "def slow(*a, on_step, **k):\n"
        "    print('missing: slow', flush=True); time.sleep(60)\n"
        "job.complete = slow\n"
        "from qrank.__main__ import main\n"
        "main()\n"
    )
    np.save(tmp_path / "in.npy", np.ones((8, 8, 4)))
    process = subprocess.Popen(
        [sys.executable, "-c", code, "fill", "in.npy", "-o", "out.npy", "--drop", "0.5"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    while "slow" not in (line := process.stdout.readline()):
        assert line, "the run was over before it was interrupted"
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 130, err
    assert "aborted; nothing was written" in err
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == ["in.npy"]


SLOWLY = ["--method", "vmtqn", "--option", "rho=1.01", "--option", "max_steps=250"]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """An array, and what a run that nobody ends makes of it."""
    folder, rng = tmp_path_factory.mktemp("uninterrupted"), np.random.default_rng(0)
    y = np.where(rng.random((40, 40, 30)) < 0.5, rng.standard_normal((40, 40, 30)), np.nan)
    np.save(folder / "in.npy", y)
    call("fill", folder / "in.npy", "-o", folder / "whole.npy", *SLOWLY)
    return y, np.load(folder / "whole.npy")


@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_was_ended_goes_on_from_its_checkpoint(tmp_path, number, uninterrupted):
    y, whole = uninterrupted
    np.save(tmp_path / "in.npy", y)
    words = [tmp_path / "in.npy", "-o", tmp_path / "out.npy", *SLOWLY, "--checkpoint", tmp_path / "run.ckpt"]
    process = subprocess.Popen(
        [sys.executable, "-m", "qrank", "fill", *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1,
    )  # fmt: skip
    wait_for_start(process)
    process.send_signal(number)
    _, err = process.communicate(timeout=200)
    assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 3), err
    assert (tmp_path / "run.ckpt").exists()
    if number != signal.SIGKILL:
        assert "the same command goes on from there" in err
        runs = tree.load(tmp_path / "run.ckpt")["runs"]
        assert 0 < runs[0]["k"] < 250
    call("fill", *words)
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), whole)


def test_a_checkpoint_outlives_an_output_that_cannot_be_written(tmp_path, low_rank, monkeypatch):
    np.save(tmp_path / "in.npy", low_rank)
    words = [tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--missing-above", 150]
    words += ["--checkpoint", tmp_path / "run.ckpt"]

    def full(*_, **__):
        raise qrank.FileError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("qrank.files.write", full)
        assert "the disk is full" in one_line(call("fill", *words, code=2))
    assert tree.load(tmp_path / "run.ckpt")["runs"][0]["over"]
    call("fill", *words)
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]


@pytest.mark.parametrize("other", ["in.npy", "out.npy", "page.html"])
def test_a_checkpoint_has_a_file_of_its_own(tmp_path, low_rank, other):
    np.save(tmp_path / "in.npy", low_rank)
    words = [tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--drop", 0.5, "--report", tmp_path / "page.html"]
    result = call("fill", *words, "--checkpoint", tmp_path / other, code=2)
    assert "needs a file of its own" in one_line(result)
    assert os.listdir(tmp_path) == ["in.npy"]


def test_noisy_values_of_an_8_bit_file_are_not_put_back(tmp_path):
    """What was known is as the fit wants it, whatever the type of the file."""
    rng = np.random.default_rng(0)
    film = np.clip(qrank.data.clip(8, 24, 32, colour=False) * 255 + 12 * rng.standard_normal((8, 24, 32)), 0, 255)
    np.save(tmp_path / "film.npy", film.round().astype(np.uint8))
    changed = {}
    for noise in ("none", "12"):
        out = tmp_path / f"{noise}.npy"
        words = (
            f"fill {tmp_path}/film.npy -o {out} --missing-below 1 --drop 0.2 --slice-axes 1,2 --option noise={noise}"
        )
        call(*words.split())
        changed[noise] = (np.load(out) != np.load(tmp_path / "film.npy")).mean()
    assert changed["none"] < 0.25
    assert changed["12"] > 0.8


def test_shape_what_is_missing_memory_and_time_are_told_first(tmp_path, low_rank, monkeypatch):
    np.save(tmp_path / "in.npy", low_rank)
    words = ("fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--drop", 0.3, "--method", "vmtqn")
    first, missing, memory, seconds, *_ = call(*words).stdout.splitlines()
    assert "16 axis0 x 18 axis1 x 6 axis2" in first
    assert re.match(r"missing: \d+ of 1728 entries", missing)
    assert re.fullmatch(r"memory: about [\d.]+ [kM]B beside the data \([\d.]+ GB are free\)", memory), memory
    assert seconds == "time: about a second"
    monkeypatch.setattr("qrank.api.estimate.SMALL", 0)
    monkeypatch.setattr(Host, "free_memory", staticmethod(lambda: 2000))
    refused = one_line(call(*words, code=2))
    assert "completing 16 x 18 x 6 with vmtqn takes about" in refused
    assert "2 kB are free" in refused


@pytest.mark.parametrize("into", ["in", "in.zip"])
def test_a_picture_that_lacks_in_the_numbering_is_named_and_filled_where_asked(tmp_path, into):
    film = (qrank.data.clip()[:9, ::4, ::4] * 255).astype(np.uint8)
    (tmp_path / "in").mkdir()
    for k, frame in enumerate(film, 8):
        if k != 12:
            Image.fromarray(frame).save(tmp_path / "in" / f"img_{k:03d}.png")
    if into == "in.zip":
        shutil.make_archive(str(tmp_path / "in"), "zip", tmp_path / "in")
    said = call("fill", tmp_path / into, "-o", tmp_path / "out").output
    assert "not there, by the numbers of the others: img_012.png (--missing-files fills them)" in said
    said = call("fill", tmp_path / into, "--missing-files", "-o", tmp_path / "whole").output
    assert f"missing: {film[0].size} of {film.size} entries" in said
    assert sorted(p.name for p in (tmp_path / "whole").iterdir()) == [f"img_{k:03d}.png" for k in range(8, 17)]
    found = np.asarray(Image.open(tmp_path / "whole" / "img_012.png")).astype(float)
    assert np.abs(found - film[4]).mean() < 0.5 * np.abs(film[3].astype(float) - film[4]).mean() + 2
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "whole" / "img_011.png")), film[3])
    assert "no picture lacks in the numbering" in one_line(
        call("fill", tmp_path / "whole", "--missing-files", "-o", tmp_path / "x", code=2)
    )


def test_a_value_far_from_all_others_is_asked_about(tmp_path, low_rank):
    x = low_rank.astype(np.float32)
    x[2:4, 5, 1:3] = -999
    np.save(tmp_path / "in.npy", x)
    said = call("fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy").output
    assert "4 entries are -999, far from all others: does that stand for missing? (--missing-value=-999)" in said
    words = ("--missing-value=-999", "--effort", "fast")
    said = call("fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", *words).output
    assert "missing: 4 of" in said
    assert "far from" not in said
    assert np.load(tmp_path / "out.npy").min() > -100
    np.save(tmp_path / "in.npy", low_rank)
    assert "far from" not in call("fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy").output
