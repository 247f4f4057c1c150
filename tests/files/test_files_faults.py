"""Every write, rename and sync of an output fails in turn: the old output is whole, or the new one is, and nothing else is there."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from qrank import atomic
from qrank.errors import FileError
from qrank.files import read, write

FILM = np.random.default_rng(5).integers(0, 256, (2, 16, 20), dtype=np.uint8)
STILLS = ["a.png", "a.jpg", "a.bmp", "a.webp", "a.jp2", "a.pgm", "still.tif", "deep.png"]
TABLES = ["a.csv", "a.tsv", "a.parquet"]
OUTPUTS = [
    "a.npy",
    "a.npz",
    "a.mat",
    "a.h5",
    "a.nc",
    "a.zarr",
    "a.tif",
    "a.mkv",
    "a.avi",
    "a.mp4",
    "a.gif",
    "a.zip",
    "frames",
    *TABLES,
]
CALLS = ["rename", "replace", "fsync", "mkdir", "link", "chmod"]  # of the system


def array(name: str) -> np.ndarray:
    if name == "deep.png":
        return FILM[0, :, :18].reshape(16, 6, 3).astype(np.uint16) * 257
    return FILM[0] if name in STILLS or name in TABLES else FILM


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


class Faulty:
    """The calls of the system, of which the one with this number fails, and all after it if it lasts."""

    def __init__(self, monkeypatch, number: int, lasting: bool) -> None:
        self.count, self.number, self.lasting = 0, number, lasting
        for name in CALLS:
            monkeypatch.setattr(os, name, self._instead_of(getattr(os, name)))

    def _instead_of(self, call):
        def counted(*arguments, **named):
            self.count += 1
            if self.count == self.number or (self.lasting and self.count > self.number):
                raise OSError(errno.EIO, "broken disk")
            return call(*arguments, **named)

        return counted

    @property
    def failed(self) -> bool:
        return self.count >= self.number


@pytest.mark.parametrize(
    ("there", "lasting"), [(False, False), (True, False), (True, True)], ids=["new", "older", "older, for good"]
)
@pytest.mark.parametrize("name", [*OUTPUTS, "a.png"])
def test_any_call_may_fail(tmp_path, monkeypatch, name, there, lasting):
    new, failures = array(name), 0
    write(tmp_path / name, new)
    fine = read(tmp_path / name).data
    for number in range(1, 200):
        place = tmp_path / f"{number}"
        place.mkdir()
        if there:
            write(place / name, new // 2)
        before = contents(place)
        with monkeypatch.context() as patch:
            disk, error = Faulty(patch, number, lasting), None
            try:
                write(place / name, new)
            except FileError as caught:
                error = caught
        if not disk.failed:
            break
        failures += 1
        if isinstance(error, atomic.StrandedError):  # it could not be put back, and is said to be where it is
            assert lasting
            assert set(before.values()) <= set(contents(place).values())
            assert ".old" in str(error)
            continue
        if contents(place) != before:
            np.testing.assert_array_equal(read(place / name).data, fine)
        assert [path.name for path in place.iterdir() if path.name != name] == []
    assert failures >= 3
    assert error is None


# Lets files grow to a certain size only, which is what a full disk is to a library, in C or not.
LIMITED = """
import os, resource, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from files.test_files_faults import *
place = Path(sys.argv[2])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for name in sys.argv[3:]:
    target, new = place / name, array(name)
    write(target, new)
    size, fine = max(map(len, contents(place).values())), read(target).data
    write(target, new // 2)
    before, refused = contents(place), 0
    for limit in sorted({0, 1, *range(7, size, size // 6), *range(size - 12, size, 4), size + (1 << 18)}):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            write(target, new)
            done = True
        except FileError:
            done = False
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        assert os.listdir(place) == [name], (name, limit, os.listdir(place))
        if done:
            assert np.array_equal(read(target).data, fine), (name, limit)
            write(target, new // 2)
            before = contents(place)
        else:
            assert contents(place) == before, (name, limit)
            refused += 1
    assert refused > 5, name
    print(name)
    for file in (target, *target.rglob("*")):
        file.unlink() if file.is_file() else None
    if target.is_dir():
        import shutil
        shutil.rmtree(target)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="limits files as POSIX does")
def test_a_disk_may_be_full_at_any_byte(tmp_path):
    names = [*OUTPUTS, *STILLS]
    words = [sys.executable, "-c", LIMITED, str(Path(__file__).parents[1]), str(tmp_path), *names]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200)
    assert done.stdout.split() == names, done.stderr[-2000:]


def test_a_folder_that_was_filled_half_is_as_it_was(tmp_path, monkeypatch):
    """A picture that cannot be replaced brings the others back; other files of the folder stay."""
    write(tmp_path / "frames", FILM)
    (tmp_path / "frames" / "notes.txt").write_text("mine")
    before = contents(tmp_path)
    replace, calls = os.replace, []

    def second_fails(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise OSError(errno.EIO, "broken disk")
        replace(*arguments)

    monkeypatch.setattr(os, "replace", second_fails)
    with pytest.raises(FileError, match="broken disk"):
        write(tmp_path / "frames", FILM // 2)
    assert contents(tmp_path) == before
    assert len(calls) > 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_for_the_rename(tmp_path, monkeypatch, number):
    """Ctrl-C in the middle of what belongs together is answered after it."""
    write(tmp_path / "a.zarr", FILM)
    replace, seen = os.rename, []

    def interrupted(*arguments):
        signal.raise_signal(number)
        replace(*arguments)

    before = signal.signal(number, lambda *_: seen.append(number))
    try:
        monkeypatch.setattr(os, "rename", interrupted)
        write(tmp_path / "a.zarr", FILM // 2)
    finally:
        signal.signal(number, before)
    assert seen == [number, number]
    np.testing.assert_array_equal(read(tmp_path / "a.zarr").data, FILM // 2)
    assert os.listdir(tmp_path) == ["a.zarr"]
