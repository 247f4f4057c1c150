"""Runs that are interrupted, killed or cannot be written give the answer of a run that was not."""

import copy
import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import qrank
from conftest import LONG, low_rank
from qrank.checkpoint import Journal, Stopping, journal, tree
from qrank.kernels.memory import Workspace
from qrank.methods import METHODS, Auto
from qrank.problem import Problem
from qrank.run import Run

SHAPE = (9, 8, 6)


@pytest.fixture
def y(rng):
    x = low_rank(rng, SHAPE) + 0.01 * rng.standard_normal(SHAPE)
    return np.where(rng.random(SHAPE) < 0.6, x, np.nan)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "run.ckpt"


def after(steps: int):
    """An on_step that ends the run after so many steps of this call."""
    seen = []

    def on_step(record):
        seen.append(record)
        return len(seen) >= steps

    return on_step


def in_pieces(y, file, steps: int, **settings) -> list[qrank.Completion]:
    """Complete in many calls, each of a few steps; return what each gave."""
    found = []
    while not found or found[-1].status is qrank.Status.INTERRUPTED:
        found.append(qrank.complete(y, checkpoint=file, on_step=after(steps), **settings))
        assert file.exists() == (found[-1].status is qrank.Status.INTERRUPTED)
    return found


@pytest.mark.parametrize("method", ["vmtqn", "motqn", "views", "patches", "tmac", "auto"])
def test_a_run_in_pieces_is_the_run(method, y, file):
    whole = qrank.complete(y, method=method)
    found = in_pieces(y, file, 6, method=method)
    last = found[-1]
    assert len(found) > 2
    np.testing.assert_array_equal(last.x, whole.x)
    np.testing.assert_array_equal(last.error, whole.error)
    assert last.status is whole.status
    for key in ("step", "objective", "primal", "change", "mu", "rank"):
        assert [getattr(record, key) for record in last.history] == [getattr(record, key) for record in whole.history]
    seconds = [record.seconds for record in last.history]
    assert seconds == sorted(seconds)
    assert not os.listdir(file.parent)


def test_hold_out_patches_and_the_paper(y, file, rng):
    picture = np.where(rng.random((32, 32)) < 0.6, low_rank(rng, (32, 32, 1), directions=1)[:, :, 0], np.nan)
    for data, settings in [
        (y, {"holdout": 0.1, "rng": 7}),
        (y, {"preset": "paper"}),
        (y.astype(np.float32), {}),
        (picture, {"patch": 8}),
    ]:
        whole = qrank.complete(data, method="vmtqn", **settings)
        last = in_pieces(data, file, 9, method="vmtqn", **settings)[-1]
        np.testing.assert_array_equal(last.x, whole.x)
        assert [record.holdout for record in last.history] == [record.holdout for record in whole.history]


OPTIONS = {"tqn": {"q": np.eye(SHAPE[2])}, "tnn-linear": {"q": np.eye(SHAPE[2]) + 0.1}}


@pytest.mark.parametrize("name", [name for name, kind in METHODS.items() if not issubclass(kind, Auto)])
def test_every_state_can_be_written_and_taken_up(name, y, tmp_path):
    options = {"tqn-oracle": {"truth": np.nan_to_num(y)}}.get(name, OPTIONS.get(name, {}))
    method, problem = METHODS[name].configured(max_steps=9, **options), Problem.of(y)
    first = Run(problem, method, 0)
    for _, record in first:
        if record.step == 2:
            tree.save(tmp_path / "state", (first.state, first.work.rng.bit_generator.state))
            status = first.status
    if first.k < 3:
        return
    state, random = tree.load(tmp_path / "state")
    generator = np.random.default_rng()
    generator.bit_generator.state = random
    again = Run(problem, method, generator, state, 2)
    again.status = status
    assert [record.step for _, record in again] == list(range(3, first.k + 1))
    np.testing.assert_array_equal(again.answer(), first.answer())


def test_random_numbers_go_on(y, file):
    """Without a seed those of the file are taken; a generator ends where it would have ended."""
    settings = {"method": "views", "holdout": 0.1, "checkpoint": file}
    first = qrank.complete(y, rng=None, on_step=after(4), **settings)
    kept = file.read_bytes()
    one = qrank.complete(y, rng=None, **settings)
    file.write_bytes(kept)
    other = qrank.complete(y, rng=None, **settings)
    np.testing.assert_array_equal(one.x, other.x)
    assert first.status is qrank.Status.INTERRUPTED
    generators = [np.random.default_rng(3) for _ in range(3)]
    whole = qrank.complete(y, method="views", rng=generators[0])
    qrank.complete(y, method="views", rng=generators[1], checkpoint=file, on_step=after(4))
    last = qrank.complete(y, method="views", rng=generators[2], checkpoint=file)
    np.testing.assert_array_equal(last.x, whole.x)
    assert generators[0].bit_generator.state == generators[2].bit_generator.state


def test_what_does_not_belong_is_refused(y, file, monkeypatch):
    qrank.complete(y, method="vmtqn", checkpoint=file, on_step=after(3))
    kept, moved, known = file.read_bytes(), y.copy(), ~np.isnan(y)
    moved[np.unravel_index(np.flatnonzero(known)[0], y.shape)] += 1e-12
    known.reshape(-1)[np.flatnonzero(known)[0]] = False
    for settings, sentence in [
        ({"y": moved}, "is of other data"),
        ({"observed": known}, "is of other data"),
        ({"y": y.astype(np.float32)}, "is of other data"),
        ({"slice_axes": (0, 2)}, "is of other data, or of other slice axes"),
        ({"holdout": 0.1}, "patch or holdout"),
        ({"method": "tnn"}, r"another method or other options, vmtqn\("),
        ({"tol": 1e-4}, r"another method or other options, vmtqn\("),
        ({"rng": 1}, "other random numbers"),
    ]:
        given = {"y": y, "method": "vmtqn", "checkpoint": file} | settings
        with pytest.raises(qrank.FileError, match=sentence):
            qrank.complete(**given)
    with monkeypatch.context() as patched:
        patched.setattr(journal, "__version__", "9.9")
        with pytest.raises(qrank.FileError, match=r"is of qrank 0\..*, and this is 9.9: remove it"):
            qrank.complete(y, method="vmtqn", checkpoint=file)
    assert file.read_bytes() == kept
    file.write_bytes(kept[:-5])
    with pytest.raises(qrank.FileError, match="is damaged"):
        qrank.complete(y, method="vmtqn", checkpoint=file)


def test_no_other_file_is_ever_overwritten(y, file):
    file.write_text("my thesis")
    with pytest.raises(qrank.FileError, match="no checkpoint"):
        qrank.complete(y, method="vmtqn", checkpoint=file)
    assert file.read_text() == "my thesis"
    with pytest.raises(qrank.FileError, match="cannot write the checkpoint"):
        qrank.complete(y, method="vmtqn", checkpoint=file.parent / "no folder" / "run.ckpt")
    with pytest.raises(qrank.FileError, match="cannot read the checkpoint"):
        qrank.complete(y, method="vmtqn", checkpoint=file.parent)
    for every in (-1, float("nan")):
        with pytest.raises(qrank.InputError, match="seconds between two checkpoints"):
            qrank.complete(y, checkpoint=file, every=every)
    with pytest.raises(qrank.InputError, match="name its file"):
        qrank.complete(y, every=3)


def test_a_full_disk_does_not_end_the_run(y, file, monkeypatch):
    whole, saved = qrank.complete(y, method="vmtqn"), tree.save

    def full(path, value):
        if value["runs"]:
            raise OSError(errno.ENOSPC, "No space left on device")
        saved(path, value)

    monkeypatch.setattr(tree, "save", full)
    with pytest.warns(qrank.CheckpointWarning, match="No space left on device"):
        found = qrank.complete(y, method="vmtqn", checkpoint=file, every=0)
    np.testing.assert_array_equal(found.x, whole.x)


def test_runs_that_are_finished_stay_in_the_file(y, file, monkeypatch):
    """Also while a later life still goes through them."""
    in_file, saved = [], tree.save

    def save(path, value):
        in_file.append(sum(run["k"] for run in value["runs"]))
        saved(path, value)

    monkeypatch.setattr(tree, "save", save)
    for _ in range(3):
        qrank.complete(y, method="auto", checkpoint=file, every=0, on_step=after(20))
    assert in_file == sorted(in_file)
    assert in_file[-1] == 60


def test_how_often(y, file, monkeypatch):
    """Not more than once in `every` seconds, and not so often that more than a twentieth of the time goes into it."""
    clock, took, written = [0.0], [0.0], []

    def save(path, value):
        written.append(clock[0])
        clock[0] += took[0]

    def step(record):
        clock[0] += 1

    monkeypatch.setattr(tree, "save", save)
    monkeypatch.setattr(journal.time, "monotonic", lambda: clock[0])
    for every, seconds, expected in [
        (None, 0.0, [0, 60, 120]),
        (7, 0.0, [0, 7, 14]),
        (7, 1.0, [0, 21, 42]),
        (0, 1, [0, 2, 4]),
    ]:
        clock[0], took[0] = 0.0, seconds
        written.clear()
        method = {"method": "vmtqn", "max_steps": 150, "tol": 1e-300}
        with pytest.warns(qrank.ConvergenceWarning):
            qrank.complete(y, checkpoint=file, every=every, on_step=step, **method)
        assert written[:3] == expected


def test_a_kept_file_gives_the_answer_again(y, file):
    for method in ("vmtqn", "patches", "auto"):
        place = qrank.Checkpoint(file, keep=True)
        whole = qrank.complete(y, method=method, checkpoint=place)
        seen = []
        again = qrank.complete(y, method=method, checkpoint=place, on_step=seen.append)
        assert not seen  # no step was left to do
        np.testing.assert_array_equal(again.x, whole.x)
        assert again.status is whole.status
        assert len(again.history) == len(whole.history)
        place.remove()
        assert not os.listdir(file.parent)


def test_where_nothing_is_missing_nothing_is_written(file):
    assert qrank.complete(np.ones((4, 4)), checkpoint=file).status is qrank.Status.COMPLETE
    assert not file.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("method", ["vmtqn", "auto"])
def test_signals_end_the_run_after_its_step(number, method, y, file):
    def send(record):
        if record.step == 5:
            os.kill(os.getpid(), number)

    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    first = qrank.complete(y, method=method, checkpoint=file, on_step=send)
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before
    assert first.status is qrank.Status.INTERRUPTED
    assert np.isfinite(first.x).all()
    last = qrank.complete(y, method=method, checkpoint=file)
    np.testing.assert_array_equal(last.x, qrank.complete(y, method=method).x)


def test_a_second_signal_does_what_it_always_does(y, file):
    def send(record):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        qrank.complete(y, method="vmtqn", checkpoint=file, on_step=send)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_signals_of_others_are_theirs(y):
    seen = []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append(1))
    try:
        with Stopping() as stopping:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)
        assert seen
        assert not stopping.asked
    finally:
        signal.signal(signal.SIGTERM, before)
    with pytest.raises(KeyboardInterrupt):  # without a checkpoint nothing is caught
        qrank.complete(y, method="vmtqn", on_step=lambda _: os.kill(os.getpid(), signal.SIGINT))


def test_a_checkpoint_in_a_thread(y, file):
    """Handlers can be set in the main thread only: elsewhere the checkpoint is kept without them."""
    found = []
    work = threading.Thread(target=lambda: found.append(in_pieces(y, file, 9, method="vmtqn")[-1].x))
    work.start()
    work.join()
    np.testing.assert_array_equal(found[0], qrank.complete(y, method="vmtqn").x)


def test_a_journal_without_a_checkpoint_holds_nothing(y):
    empty, method = Journal(), METHODS["vmtqn"].configured()
    run, _ = empty.open(Problem.of(y), method, 0)
    before = copy.copy(vars(empty))
    for _ in empty.steps(run):
        pass
    empty.finish(run)
    assert vars(empty) == before
    assert isinstance(run.work, Workspace)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(
    ("method", "kills"), [("vmtqn", 50), ("auto", 50 if LONG else 6), ("patches", 50 if LONG else 6)]
)
def test_killed_at_any_moment(method, kills, tmp_path):
    """SIGKILL, in the run and in the write: the next life goes on, and the answer is that of a run without a checkpoint."""
    script = Path(__file__).with_name("kills.py")
    words = [sys.executable, str(script), method, str(kills), "1", str(tmp_path)]
    told = subprocess.run(
        words, capture_output=True, text=True, timeout=300, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    )
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert found["same"]
    assert found["left"] == ["out.npz", "plain.npz"]
    assert found["run"] >= kills // 3, found
    assert found["write"] >= kills // 3, found
