"""The same input, seed, version and number of threads give the same bits; with other numbers of threads, all but rounding."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
import threadpoolctl

import qrank
import qrank.run
from conftest import LONG

METHODS = ["vmtqn", "motqn", "views", "patches", "kriging", "auto"]


def data() -> np.ndarray:
    """Fibres are missing, whole ones and parts, so that every method has something to do."""
    rng = np.random.default_rng(11)
    x = np.einsum("ir,jr,kr->ijk", *(np.cumsum(rng.standard_normal((n, 3)), axis=0) for n in (16, 14, 10)))
    x += 0.1 * rng.standard_normal(x.shape)
    known = rng.random(x.shape) < 0.7
    known[rng.random(x.shape[:2]) < 0.1] = False
    return np.where(known, x, np.nan)


def digits(result: qrank.Completion) -> str:
    parts = [result.x] if result.error is None else [result.x, result.error]
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", METHODS)
def test_twice_in_a_process(method, dtype):
    y = data().astype(dtype)
    first = digits(qrank.complete(y, method=method))
    qrank.complete(y[::-1], method="vmtqn")  # whatever this leaves in scratch memory does not matter
    assert digits(qrank.complete(y.copy(), method=method)) == first


@pytest.mark.parametrize("number", ["1", "2"])
def test_in_another_process(number):
    """With another order of sets and other addresses."""
    script = (
        "import qrank, qrank.run\nqrank.run.ONE_THREAD = 0\n"
        "from test_determinism import METHODS, data, digits\n"
        "print([digits(qrank.complete(data(), method=method)) for method in METHODS])"
    )
    found = set()
    for seed in ("1", "2"):
        more = {"PYTHONHASHSEED": seed, "OPENBLAS_NUM_THREADS": number, "OMP_NUM_THREADS": number}
        path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
        words = [sys.executable, "-c", "0;" * (int(seed) - 1) + script]
        told = subprocess.run(words, capture_output=True, text=True, env=os.environ | more | {"PYTHONPATH": path})
        assert told.returncode == 0, told.stderr
        found.add(told.stdout)
    assert len(found) == 1


# vmtqn rounds and nothing else; views begin in single precision, patches stay in it and sort blocks into kinds, motqn and auto
# decide by comparing: there a last digit can grow.
AGREE = {"vmtqn": 1e-9, "motqn": 1e-3, "views": 1e-4, "patches": 5e-3, "kriging": 1e-6, "auto": 5e-3}


@pytest.mark.parametrize("method", METHODS)
def test_with_other_numbers_of_threads(method, monkeypatch):
    monkeypatch.setattr(qrank.run, "ONE_THREAD", 0)
    y, found = data(), []
    for number in (1, 2, 3) if LONG else (1, 2):
        with threadpoolctl.threadpool_limits(number, "blas"):
            found.append(qrank.complete(y, method=method).x)
    for other in found[1:]:
        assert np.linalg.norm(other - found[0]) <= AGREE[method] * np.linalg.norm(found[0])
