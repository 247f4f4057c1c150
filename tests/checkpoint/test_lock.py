"""Two runs never share a checkpoint: in two processes, in two threads, and after one of them was killed."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import qrank
from conftest import low_rank
from qrank.checkpoint import lock
from qrank.checkpoint.lock import Lock

fcntl = pytest.importorskip("fcntl", reason="this system has no such locks")
IN_USE = "is in use by another run: wait until that has ended, or name another file"

SLEEPER = """
import sys, time
import numpy as np, qrank

def wait(record):
    print("running", flush=True)
    time.sleep(60)

qrank.complete(np.load(sys.argv[1]), method="vmtqn", checkpoint=sys.argv[2], every=0, on_step=wait)
"""


@pytest.fixture
def y(rng):
    return np.where(rng.random((9, 8, 6)) < 0.6, low_rank(rng, (9, 8, 6)), np.nan)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "run.ckpt"


@pytest.fixture
def other(y, file):
    """A process in the middle of a run that has the checkpoint."""
    np.save(file.with_name("y.npy"), y)
    words = [sys.executable, "-c", SLEEPER, str(file.with_name("y.npy")), str(file)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        yield process
        process.kill()


def test_a_second_process_is_refused_and_the_first_one_kept(y, file, other):
    before = file.read_bytes()
    with pytest.raises(qrank.FileError, match=f"{file} {IN_USE}"):
        qrank.complete(y, method="vmtqn", checkpoint=file)
    assert file.read_bytes() == before
    assert other.poll() is None
    linked = file.with_name("link.ckpt")
    linked.symlink_to(file)
    with pytest.raises(qrank.FileError, match=IN_USE):
        qrank.complete(y, method="vmtqn", checkpoint=linked)


def test_the_command_says_it_in_a_sentence(y, file, other):
    words = ["fill", str(file.with_name("y.npy")), "-o", str(file.with_name("out.npy")), "--checkpoint", str(file)]
    told = subprocess.run([sys.executable, "-m", "qrank", *words], capture_output=True, text=True, timeout=120)
    assert told.returncode == 2
    assert IN_USE in " ".join(told.stderr.split())
    assert "Traceback" not in told.stderr
    assert not file.with_name("out.npy").exists()


def test_death_releases_it(y, file, other):
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert file.exists()
    found = qrank.complete(y, method="vmtqn", checkpoint=file)
    np.testing.assert_array_equal(found.x, qrank.complete(y, method="vmtqn").x)
    assert os.listdir(file.parent) == ["y.npy"]


def test_it_is_held_to_the_end_and_not_longer(y, file):
    """Also by a run that is stopped, or that ends in an error."""

    def again(record):
        assert file.with_name("run.ckpt.lock").exists()
        with pytest.raises(qrank.FileError, match=IN_USE):
            qrank.complete(y, method="vmtqn", checkpoint=file)
        return True

    def fail(record):
        raise KeyError(record.step)

    assert qrank.complete(y, method="vmtqn", checkpoint=file, on_step=again).status is qrank.Status.INTERRUPTED
    assert os.listdir(file.parent) == ["run.ckpt"]
    with pytest.raises(KeyError):
        qrank.complete(y, method="vmtqn", checkpoint=file, on_step=fail)
    with pytest.raises(qrank.FileError, match="other data"):
        qrank.complete(y + 1, method="vmtqn", checkpoint=file)
    assert os.listdir(file.parent) == ["run.ckpt"]
    qrank.complete(y, method="vmtqn", checkpoint=file)
    assert not os.listdir(file.parent)


def test_one_at_a_time_while_it_comes_and_goes(file):
    """Whoever gets it gets it alone, though the file is made and removed all the time."""
    inside, most, count = [], [], [0]

    def work():
        for _ in range(1000):
            try:
                mine = Lock(file)
            except qrank.FileError:
                continue
            inside.append(1)
            time.sleep(1e-5)  # let the others try
            most.append(len(inside))
            count[0] += 1
            inside.pop()
            mine.release()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count[0] > 100
    assert max(most) == 1
    assert not os.listdir(file.parent)


def test_it_is_taken_again_where_it_was_removed_meanwhile(file, monkeypatch):
    """The one before removes the file between our opening it and our locking it: the lock that is held has a name."""
    first, flock = Lock(file), fcntl.flock

    def late(stream, how):
        first.release()
        flock(stream, how)

    monkeypatch.setattr(lock.fcntl, "flock", late)
    mine = Lock(file)
    monkeypatch.undo()
    with pytest.raises(qrank.FileError, match=IN_USE):
        Lock(file)
    mine.release()


def test_a_file_that_happens_to_have_its_name_is_left(y, file):
    file.with_name("run.ckpt.lock").write_text("of another program")
    qrank.complete(y, method="vmtqn", checkpoint=file)
    assert file.with_name("run.ckpt.lock").read_text() == "of another program"


@pytest.mark.parametrize("module", [None, "without locks"])
def test_where_there_are_no_locks_runs_go_on(module, y, file, monkeypatch):
    def refuse(stream, how):
        raise OSError(errno.ENOLCK, "No locks available")

    if module is None:
        monkeypatch.setattr(lock, "fcntl", None)
    else:
        monkeypatch.setattr(lock.fcntl, "flock", refuse)
    found = qrank.complete(y, method="vmtqn", checkpoint=file)
    assert found.status is not qrank.Status.INTERRUPTED
    assert not os.listdir(file.parent)
