"""``qrank fill`` by chunks, as a command: within its memory, and to the same answer where a process of it is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from qrank.checkpoint import tree

pytest.importorskip("distributed", reason="distributed is not installed")
pytest.importorskip("zarr", reason="zarr is not installed")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells of processes")

ROOT = Path(__file__).parents[2]
EVERY_STEP = """
import functools, qrank.cli.fill as fill
fill.Checkpoint = functools.partial(fill.Checkpoint, every=0)
from qrank.__main__ import main
main()
"""


@pytest.mark.parametrize("where", [("--workers", "2", "--memory", "320MB"), ("--memory", "300MB")])
def test_each_process_stays_within_its_memory(where, tmp_path, monkeypatch):
    """The large run of docs/scale.md, small: 82 MB of data in zarr, of which processes that hold nothing take most."""
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import scale

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    shape = (160, 160, 800)
    scale.make(tmp_path / "given.zarr", shape, 20)
    told = scale.fill(tmp_path / "given.zarr", tmp_path / "filled.zarr", tmp_path, *where)
    limit = float(where[-1].removesuffix("MB")) * 1e6
    assert told["peak of the client"] < limit
    assert (told["largest peak of a worker"] > 0) == ("--workers" in where)
    assert told["largest peak of a worker"] < limit
    assert told["bytes read"] > told["steps"] * 4 * np.prod(shape)
    assert scale.error(tmp_path / "given.zarr", tmp_path / "filled.zarr", shape, 20) < 0.05
    assert sorted(one.name for one in tmp_path.iterdir()) == ["filled.zarr", "given.zarr"]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """An array, and what a run in one process that nobody disturbs makes of it."""
    folder, rng = tmp_path_factory.mktemp("uninterrupted"), np.random.default_rng(0)
    x = np.einsum("ai,aj,ak->ijk", *(rng.standard_normal((3, n)) for n in (40, 36, 32)))
    y = np.where(rng.random(x.shape) < 0.6, x, np.nan)
    np.save(folder / "in.npy", y)
    begun(folder, "--memory", "400MB").wait(200)
    return y, np.load(folder / "out.npy")


def command(*where: str) -> list[str]:
    """A run of 40 steps, which writes its checkpoint after each."""
    words = ["in.npy", "-o", "out.npy", "--checkpoint", "run.ckpt", "--scratch", ".", "--method", "vmtqn", "--json"]
    words += ["--option", "rho=1.05", "--option", "max_steps=40"]
    return [sys.executable, "-c", EVERY_STEP, "fill", *words, *where]


def begun(folder: Path, *where: str) -> subprocess.Popen:
    """The command under way."""
    return subprocess.Popen(command(*where), cwd=folder, stdout=subprocess.DEVNULL)


def under_way(process: subprocess.Popen, file: Path, steps: int) -> None:
    """Wait until a run has done so many steps."""
    while process.poll() is None:
        with suppress(Exception):  # it is not there yet
            if sum(one["k"] for one in tree.load(file)["runs"]) >= steps:
                return
        time.sleep(0.01)
    raise AssertionError("the run was over before it was disturbed")


def workers_of(pid: int) -> list[int]:
    """The processes that Python has started for a process, those of its own bookkeeping left out."""
    found = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, file.read_text().split()):
            if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text():
                found.append(child)
    return found


def test_a_worker_that_is_killed_changes_nothing(tmp_path, uninterrupted):
    y, whole = uninterrupted
    np.save(tmp_path / "in.npy", y)
    process = begun(tmp_path, "--workers", "2", "--memory", "400MB")
    under_way(process, tmp_path / "run.ckpt", 3)
    os.kill(workers_of(process.pid)[0], signal.SIGKILL)
    assert process.wait(200) == 0
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), whole, rtol=0, atol=1e-8 * np.abs(whole).max())
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]


@pytest.mark.parametrize("where", [("--workers", "2", "--memory", "400MB"), ("--memory", "400MB")])
def test_a_command_that_is_killed_goes_on_when_it_is_given_again(where, tmp_path, uninterrupted):
    y, whole = uninterrupted
    np.save(tmp_path / "in.npy", y)
    process = begun(tmp_path, *where)
    under_way(process, tmp_path / "run.ckpt", 3)
    workers = workers_of(process.pid)
    process.kill()
    assert process.wait(200) == -signal.SIGKILL
    for pid in workers:  # of a cluster on this machine; they end by themselves, but later
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    done = sum(one["k"] for one in tree.load(tmp_path / "run.ckpt")["runs"])
    assert 3 <= done < 40
    again = subprocess.run(command(*where), cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(again.stdout)["steps"] == 40
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), whole, rtol=0, atol=1e-8 * np.abs(whole).max())
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]
