"""Several processes: the same answers, also where one of them is killed; and within the memory that is given."""

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import qrank
from chunked.test_dask import CUTS, clip, off
from qrank.cli.app import app
from qrank.kernels.chunked import space
from qrank.methods.views import Views

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")


@pytest.fixture(scope="module")
def client():
    with warnings.catch_warnings(action="ignore"):
        cluster = distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=":0", memory_limit="1GB")
        with cluster, distributed.Client(cluster) as client:
            yield client


@pytest.mark.parametrize(("method", "options"), [("vmtqn", {}), ("tnn", {}), ("views", {"ordered": False})])
def test_equals_numpy_on_two_processes(method, options, client, monkeypatch):
    monkeypatch.setattr(Views, "single", np.inf)  # never in single precision
    x, observed = clip()
    options = {"max_steps": 2, **options}
    usual = qrank.complete(x, observed, method, **options)
    for chunks, size in CUTS:
        with dask.config.set({"array.chunk-size": size}):
            found = qrank.complete(da.from_array(x, chunks), da.from_array(observed, chunks), method, **options)
            assert off(found.x.compute(), usual.x) < 1e-8


def test_a_worker_is_killed_in_mid_run(client):
    x, observed = clip()
    usual = qrank.complete(x, observed, "vmtqn", max_steps=12)
    killed = []

    def kill(record):
        if record.step == 4:
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    with dask.config.set({"array.chunk-size": "3kB"}):
        found = qrank.complete(da.from_array(x, (7, 18, 16)), observed, "vmtqn", max_steps=12, on_step=kill)
        answer = found.x.compute()
    assert killed
    assert len(found.history) == 12
    assert off(answer, usual.x) < 1e-8


def test_fill_on_a_cluster_that_runs_already(client, tmp_path):
    """By its address, as of one that was started by ``dask scheduler`` and ``dask worker``; nothing of it is ended."""
    x, observed = clip()
    np.save(tmp_path / "x.npy", np.where(observed, x, np.nan))
    workers = set(client.scheduler_info()["workers"])
    command = [
        "fill",
        str(tmp_path / "x.npy"),
        "-o",
        str(tmp_path / "filled.npy"),
        "--cluster",
        client.scheduler.address,
    ]
    command += ["--method", "vmtqn", "--option", "max_steps=3", "--scratch", str(tmp_path)]
    told = CliRunner().invoke(app, command)
    assert told.exit_code == 0, told.output
    assert [line.partition(":")[0] for line in told.output.splitlines()[1:3]] == ["memory", "time"]
    assert "dashboard: http" in told.output
    assert off(np.load(tmp_path / "filled.npy"), qrank.complete(x, observed, "vmtqn", max_steps=3).x) < 1e-8
    assert set(client.scheduler_info()["workers"]) == workers
    assert sorted(one.name for one in tmp_path.iterdir()) == ["filled.npy", "x.npy"]


def test_a_folder_that_workers_do_not_see_is_refused(tmp_path):
    class Elsewhere:
        def run(self, *_):
            return {"tcp://far:1": None}

    with (
        dask.config.set({"qrank.scratch": str(tmp_path)}),
        pytest.raises(qrank.InputError, match="tcp://far:1 does not see"),
    ):
        space._folder(Elsewhere())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("chunks", "memory", "sentence"),
    [(1, "200MB", "give it 295 MB"), (25, "300MB", "81.9 MB are too large: .* needs 1.56 GB")],
)
def test_memory_that_cannot_do_is_refused_at_once(chunks, memory, sentence):
    y = da.zeros((64, 64, 200 * chunks), dtype=np.float32, chunks=(64, 64, 200 * chunks))
    with (
        dask.config.set({"scheduler": "threads", "qrank.memory": memory}),
        pytest.raises(qrank.InputError, match=sentence),
    ):
        qrank.complete(y, y == 0, "vmtqn")


FILL = """
import sys
from qrank.cli.app import app
try:
    app(sys.argv[1:])
finally:
    print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])  # getrusage would count the parent, too
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak")
@pytest.mark.parametrize("threads", [1, 2])
def test_out_of_core_stays_within_its_memory(threads, tmp_path):
    """80 MB of data, of which a run in memory takes 960, in 300 MB, of which libraries take most."""
    rng = np.random.default_rng(0)
    x = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float32, shape=(320, 320, 196))
    pictures, course = rng.standard_normal((320, 320, 3)), rng.standard_normal((3, 196))
    for i in range(0, 320, 50):
        x[i : i + 50] = pictures[i : i + 50] @ course
    x.flush()
    command = [
        "fill",
        str(tmp_path / "x.npy"),
        "-o",
        str(tmp_path / "filled.npy"),
        "--drop",
        "0.4",
        "--memory",
        "300MB",
    ]
    command += ["--method", "vmtqn", "--option", "max_steps=2", "--scratch", str(tmp_path), "--quiet"]
    told = subprocess.run(
        [sys.executable, "-c", FILL, *command],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": str(threads)},
    )
    assert int(told.stdout.split()[-1]) * 1024 < 300e6
    filled = np.load(tmp_path / "filled.npy", mmap_mode="r")
    assert filled.shape == x.shape
    assert 0.5 < np.mean(filled[::7] == x[::7]) < 0.7  # what was not dropped
    assert sorted(one.name for one in tmp_path.iterdir()) == ["filled.npy", "x.npy"]


KILLED = """
import os, signal, sys
import dask, dask.array as da, qrank
sys.path.insert(0, {tests!r})
from chunked.test_dask import clip
from qrank.kernels.chunked import space
space.LIBRARIES = space.LEAST = 0
x, observed = clip()
def on_step(record):
    if record.step == 7:
        os.kill(os.getpid(), signal.SIGKILL)
with dask.config.set({{"scheduler": "sync", "qrank.memory": "100kB", "qrank.scratch": {folder!r}}}):
    qrank.complete(da.from_array(x, (10, 9, 4)), observed, "vmtqn", max_steps=12, checkpoint={file!r}, every=0, on_step=on_step)
"""


def test_the_client_is_killed_and_the_call_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(space, "LIBRARIES", 0)
    monkeypatch.setattr(space, "LEAST", 0)
    file, tests = str(tmp_path / "run.ckpt"), str(Path(__file__).parents[1])
    script = KILLED.format(tests=tests, folder=str(tmp_path), file=file)
    assert subprocess.run([sys.executable, "-c", script]).returncode == -signal.SIGKILL
    left = list(tmp_path.glob("qrank-*"))
    assert left  # its chunks, which the next run removes
    x, observed = clip()
    usual, steps = qrank.complete(x, observed, "vmtqn", max_steps=12), []
    with dask.config.set({"scheduler": "sync", "qrank.memory": "100kB", "qrank.scratch": str(tmp_path)}):
        found = qrank.complete(
            da.from_array(x, (10, 9, 4)),
            observed,
            "vmtqn",
            max_steps=12,
            checkpoint=file,
            every=0,
            on_step=steps.append,
        )
        assert left[0] not in tmp_path.glob("qrank-*")
        assert [one.step for one in steps] == [7, 8, 9, 10, 11, 12]  # those before are in the file
        assert off(found.x.compute(), usual.x) < 1e-8
    assert len(found.history) == 12


def test_folders_of_the_living_and_of_others_are_left_alone(tmp_path):
    with dask.config.set({"qrank.scratch": str(tmp_path)}):
        mine = space._folder(None)
        far = tmp_path / "qrank-far"
        far.mkdir()
        (far / "owner").write_text("another machine")
        second = space._folder(None)
    assert {one.name for one in tmp_path.iterdir()} == {Path(mine).name, Path(second).name, "qrank-far"}
