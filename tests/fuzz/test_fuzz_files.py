"""Spoilt files of every kind that is read: numbers or one sentence, in a moment and in little memory; never a crash.

QRANK_FUZZ is how many of them (`make fuzz`: 2000); seeds are fixed, so that what is found once is found again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fuzz.mutate import good_files, spoil, spoilt

CASES = int(os.environ.get("QRANK_FUZZ", "208"))
FIRST = int(os.environ.get("QRANK_FUZZ_SEED", "0"))
MEMORY = 1000  # MB, most of it the libraries'


@pytest.mark.skipif(os.name != "posix", reason="limits time and memory as POSIX does")
def test_a_spoilt_file_is_numbers_or_one_sentence(tmp_path):
    """In a process of its own: a crash of a library is a finding, too."""
    script = Path(__file__).with_name("mutate.py")
    words = [sys.executable, str(script), str(tmp_path), str(FIRST), str(CASES)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60 + CASES)
    assert done.returncode == 0, f"died after the seed: {done.stderr.splitlines()[-3:]}"
    *found, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert not found, "\n\n".join(f"seed {seed}, {name}: {what}" for seed, name, what in found)
    _, ended, peak = last
    assert sum(ended.values()) == CASES
    assert ended["not read"] > CASES // 4
    assert ended["taken"] > CASES // 20  # or nobody would have looked at what is behind the headers
    assert peak < MEMORY


def test_spoiling_changes_a_file_and_can_be_repeated(tmp_path):
    good = good_files(tmp_path / "good")
    assert {path.suffix for path in good} >= {
        ".png",
        ".mp4",
        ".npy",
        ".npz",
        ".mat",
        ".h5",
        ".nc",
        ".zarr",
        ".tif",
        ".csv",
        ".tsv",
        ".parquet",
        "",
    }
    content = good[0].read_bytes()
    changed = [spoil(content, np.random.default_rng(seed)) for seed in range(20)]
    assert changed == [spoil(content, np.random.default_rng(seed)) for seed in range(20)]
    assert len({content, *changed}) > 18
    (tmp_path / "bad").mkdir()
    for path in good:
        spoilt(path, tmp_path / "bad", np.random.default_rng(3))
    assert sorted(path.name for path in (tmp_path / "bad").iterdir()) == [path.name for path in good]
