"""What a run is expected to take: near what it does take, and refused at once where that is not there."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import qrank
from qrank.api import Estimate, estimated
from qrank.errors import InputError, TooLarge
from qrank.kernels.host import Host
from qrank.methods import METHODS
from qrank.tensor import Layout

ROOT = Path(__file__).parents[2]
PEAK = """
import json, sys
import numpy as np
from benchmarks.estimate import expected, of_memory
name, dtype, shape = *sys.argv[1:], (80, 128, 128)
size = np.prod(shape) * np.dtype(dtype).itemsize
print(json.dumps({"estimated": expected(name, shape, dtype, 0.5, 1).memory / size, "measured": of_memory(name, shape, dtype)["times"]}))
"""
LIMITED = """
import resource, warnings
import numpy as np, qrank
warnings.simplefilter("ignore")
y = np.random.default_rng(0).random((100, 200, 200))
known = y > 0.5
y[~known] = 0
qrank.complete(y[:4, :9, :9], known[:4, :9, :9], "latent", (1, 2), max_steps=1)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 150_000_000,) * 2)
print(qrank.complete(y, known, "slicewise", (1, 2), max_steps=1).x.shape)  # takes 75 MB: it is not refused
try:
    qrank.complete(y, known, "latent", (1, 2), max_steps=1)  # takes 6 times 32 MB
except qrank.TooLarge as error:
    print(error)
"""


def in_process(code: str, *words: str) -> str:
    env = {**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": str(1 << 20)}
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=env).stdout


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of a block is measured on Linux")
@pytest.mark.parametrize(
    ("name", "dtype"),
    [("vmtqn", "float64"), ("tnn", "float32"), ("halrtc", "float64"), ("views", "float64"), ("tmac", "float32")],
)
def test_memory_is_told_within_a_quarter(name, dtype):
    found = json.loads(in_process(PEAK, name, dtype))
    assert found["measured"] > 2  # it has been measured
    assert 0.75 < found["estimated"] / found["measured"] < 1.25, found


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits are set on Linux")
def test_what_cannot_fit_is_refused_and_what_fits_is_not():
    shape, refused = in_process(LIMITED).splitlines()
    assert shape == "(100, 200, 200)"
    assert refused.startswith("completing 100 x 200 x 200 with latent takes about 2")
    assert "MB are free: give it as float32" in refused


@pytest.fixture
def little(monkeypatch):
    """Let so many bytes be free."""
    monkeypatch.setattr("qrank.api.estimate.SMALL", 0)
    return lambda free: monkeypatch.setattr(Host, "free_memory", staticmethod(lambda: int(free)))


def test_the_sentence_says_what_to_do(little):
    y = np.ones((80, 30, 20), np.float32)
    known = np.arange(20) % 2 == 0
    little(100_000)
    with pytest.raises(TooLarge, match=r"takes about [\d.]+ MB of memory and 100 kB are free: .*effort='fast'"):
        qrank.complete(y, known)
    with pytest.raises(
        TooLarge, match=r"limit the columns of Q \(r=…; now 80\); work by chunks .*--memory\); complete a part"
    ) as caught:
        qrank.complete(y, known, "vmtqn", (1, 2))
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, MemoryError)
    assert "float32" not in str(caught.value)  # it is that already
    with pytest.raises(TooLarge) as caught:
        qrank.complete(y, known, "latent", (1, 2))
    assert "--memory" not in str(caught.value)  # it does not work by chunks
    assert qrank.complete(y).status is qrank.Status.COMPLETE  # nothing is missing: nothing is run


def test_a_copy_that_is_needed_counts(little):
    """What fits where the array can be worked on as it lies does not with NaN in it, other axes, or entries held out."""
    known = np.random.default_rng(0).random((40, 100, 120)) < 0.5
    y = known.astype(np.float32)
    method = METHODS["vmtqn"].configured(max_steps=1)
    little(1.05 * estimated(Layout.of(y.shape, (1, 2)), y.dtype, method, 0.5).memory)
    with pytest.warns(qrank.ConvergenceWarning):  # one step
        assert qrank.complete(y, known, method, (1, 2)).x.shape == y.shape
    for given, mask, axes, more in [
        (np.where(known, y, np.nan), None, (1, 2), {}),
        (y, known, (0, 1), {}),
        (y, known, (1, 2), {"holdout": 0.1}),
    ]:
        with pytest.raises(TooLarge):
            qrank.complete(given, mask, method, axes, **more)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_what_it_needs(name):
    layout, given = Layout.of((40, 50, 60), (1, 2)), {}
    if name in ("tqn", "tnn-linear"):
        given = {"q": np.eye(40)}
    method = METHODS[name].configured(**given)
    for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        found, twice = (method.needs(one, dtype, 0.3) for one in (layout, Layout.of((40, 100, 60), (1, 2))))
        assert found.memory >= 40 * 50 * 60 * 4
        assert twice.memory > found.memory
        assert math.isnan(found.flops) or found.flops * 1.2 < twice.flops
        assert found.steps >= 1


def test_times_have_no_more_digits_than_are_meant():
    told = {s: Estimate(1.0, s).time for s in (0.1, 3.4, 47.0, 100.0, 400.0, 7300.0)}
    assert list(told.values()) == [
        *("about a second", "about 3 s", "about 50 s", "about 2 min", "about 7 min", "about 1 h 40 min")
    ]
