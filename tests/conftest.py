"""What several test files share."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("qrank", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("qrank")

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # a shell starts what it puts in the background so, and Ctrl-C is tested
    signal.signal(signal.SIGINT, signal.default_int_handler)

LONG = bool(os.environ.get("QRANK_LONG"))  # `make test-long`: tests take what time they need


def data_folder() -> Path | None:
    """The folder of the real data sets, where there is one."""
    named = os.environ.get("QRANK_DATA")
    for folder in [Path(named)] if named else [Path(__file__).resolve().parents[2] / "shared" / "data"]:
        if folder.is_dir():
            return folder
    return None


@pytest.fixture
def data() -> Path:
    folder = data_folder()
    if folder is None:
        pytest.skip("no data folder: set QRANK_DATA to one that holds the data sets")
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20210)


def low_rank(rng: np.random.Generator, shape=(24, 22, 16), rank=2, directions=4) -> np.ndarray:
    """A tensor (n1, n2, n3) with `directions` dimensions along mode 3, each slice in them of the given rank."""
    n1, n2, n3 = shape
    g = np.stack([rng.standard_normal((n1, rank)) @ rng.standard_normal((rank, n2)) for _ in range(directions)], axis=2)
    q = np.linalg.qr(rng.standard_normal((n3, directions)))[0]
    return g @ q.T
