"""Many completions in one process leave memory, threads, open files and BLAS as the first ones did."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import LONG

COUNT = 200 if LONG else 80
ROOM = COUNT * 60_000  # bytes that may come and go: less than half an array for each call
ALL = "vmtqn,tnn,halrtc,views,motqn,patches,kriging,tmac,latent,silrtc,interpolate,smooth"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("workers", [1, 2])
def test_many_completions_leave_the_process_as_it_was(workers):
    script = Path(__file__).with_name("soak.py")
    words = [sys.executable, str(script), str(COUNT), str(workers), ALL if LONG else "vmtqn,tnn"]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    told = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=1800)
    assert told.returncode == 0, told.stderr
    first, last = map(json.loads, told.stdout.splitlines())
    assert last["memory"] < first["memory"] + ROOM, (first, last)
    for name in ("threads", "files", "blas"):
        assert last[name] == first[name]
