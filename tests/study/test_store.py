"""The store of finished runs: what is damaged counts as none, and half a run is never taken for one."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from qrank.errors import FileError
from qrank.study import store as module
from qrank.study.store import RunStore


def test_what_was_saved_comes_back(tmp_path):
    store = RunStore(tmp_path)
    store.save("a/run_p0.5", {"psnr": math.inf, "curve": [1.0, 2.0]}, {"x": np.arange(6.0).reshape(2, 3)})
    assert RunStore(tmp_path).load("a/run_p0.5") == {"psnr": math.inf, "curve": [1.0, 2.0]}
    np.testing.assert_array_equal(store.arrays("a/run_p0.5")["x"], [[0, 1, 2], [3, 4, 5]])
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["run_p0.5.json", "run_p0.5.npz"]
    json.loads(store.path("a/run_p0.5").read_text(), parse_constant=pytest.fail)  # no Infinity: any reader takes it


@pytest.mark.parametrize("text", ["", '{"psnr": ', "[1, 2]", "7", "\udcff"])
def test_damaged_and_foreign_numbers_count_as_none(tmp_path, text):
    store = RunStore(tmp_path)
    store.path("run").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert store.load("run") is None


def test_damaged_and_foreign_arrays_count_as_none(tmp_path):
    store = RunStore(tmp_path)
    store.save("run", {}, {"x": np.arange(400.0)})
    path = store.path("run", ".npz")
    good = path.read_bytes()
    wrong = good[:200] + bytes(60) + good[260:]
    garbled = good[:60] + b"\xff" * 20 + good[80:]
    for content in (b"", good[:40], good[: len(good) // 2], wrong, garbled, b"\x93NUMPY", b"PK\x03\x04", b"nothing"):
        path.write_bytes(content)
        assert store.arrays("run") == {}, content[:10]
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    assert store.arrays("run") == {}


def test_the_numbers_come_last(tmp_path, monkeypatch):
    store = RunStore(tmp_path)

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.np, "savez_compressed", full)
    with pytest.raises(FileError, match=r"cannot write .*run.npz: No space left"):
        store.save("run", {"psnr": 1.0}, {"x": np.zeros(3)})
    assert store.load("run") is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"cannot make the folder .*file/a"):
        RunStore(tmp_path / "file").save("a/run", {})
