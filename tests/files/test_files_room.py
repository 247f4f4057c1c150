"""Files that claim more than they hold, or than there is memory for: one sentence, and no memory taken."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
import tifffile
import xarray as xr
import zarr
from PIL import Image

from qrank.errors import FileError
from qrank.files import read, room, write
from qrank.kernels import free

HUGE = (1 << 10, 1 << 10, 1 << 10)  # 8 GB of float64
MOST = 150  # MB that reading a lying file may take beside what the libraries take


def lying_npy(path: Path) -> None:
    with path.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": HUGE})
        stream.write(bytes(64))


def lying_npz(path: Path) -> None:
    inside = io.BytesIO()
    np.lib.format.write_array_header_1_0(inside, {"descr": "<f8", "fortran_order": False, "shape": HUGE})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", inside.getvalue() + bytes(1 << 20))


def bomb_npz(path: Path) -> None:
    """A header of a quarter of a gigabyte, packed into a quarter of a megabyte."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as stream:
        stream.write(b"\x93NUMPY\x02\0" + struct.pack("<I", 1 << 28))
        for _ in range(1 << 8):
            stream.write(b" " * (1 << 20))


def lying_h5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("x", HUGE, "f8", chunks=(16, 16, 16), compression="gzip")


def chunky_h5(path: Path) -> None:
    """A few numbers, in a chunk of gigabytes."""
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (4, 4), "f8", maxshape=(None, None), chunks=(1 << 14, 1 << 14))


def lying_nc(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("x", HUGE, "f8")
        for axis in range(3):
            file.create_dataset(f"d{axis}", (1 << 10,), "f8").make_scale(f"d{axis}")
            file["x"].dims[axis].attach_scale(file[f"d{axis}"])


def lying_old_nc(path: Path) -> None:
    dataset = xr.Dataset({"x": (("t", "y", "z"), np.zeros((3, 4, 5)))})
    dataset.to_netcdf(path, engine="scipy", format="NETCDF3_64BIT")
    content = path.read_bytes()
    for old, name in ((3, b"t"), (4, b"y"), (5, b"z")):
        before = struct.pack(">I", 1) + name + b"\0\0\0"
        assert before + struct.pack(">I", old) in content
        content = content.replace(before + struct.pack(">I", old), before + struct.pack(">I", 1 << 10))
    path.write_bytes(content)


def lying_mat(path: Path) -> None:
    scipy.io.savemat(path, {"x": np.zeros((3, 4, 5))})
    content = path.read_bytes()
    shape = struct.pack("<3i", 3, 4, 5)
    assert shape in content
    path.write_bytes(content.replace(shape, struct.pack("<3i", *HUGE)))


def bomb_mat(path: Path) -> None:
    """A variable whose name takes a quarter of a gigabyte, packed into a quarter of a megabyte."""
    count = 1 << 28
    head = struct.pack("<4I", 6, 8, 6, 0) + struct.pack("<4I", 5, 8, 2, 2) + struct.pack("<2I", 1, count)
    packer = zlib.compressobj()
    parts = [packer.compress(struct.pack("<2I", 14, len(head) + count + 48) + head)]
    parts += [packer.compress(b"a" * (1 << 20)) for _ in range(1 << 8)]
    packed = b"".join([*parts, packer.compress(struct.pack("<2I", 9, 32) + bytes(32)), packer.flush()])
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x100) + b"IM"
    path.write_bytes(header + struct.pack("<2I", 15, len(packed)) + packed)


def lying_new_mat(path: Path) -> None:
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_dataset("x", HUGE, "f8")
    with path.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file")


def lying_zarr(path: Path) -> None:
    zarr.create_array(store=str(path), shape=HUGE, dtype="f8", chunks=(64, 64, 64))


def crumbled_zarr(path: Path) -> None:
    """Millions of chunks of one number each."""
    zarr.create_array(store=str(path), shape=(1 << 22,), dtype="f8", chunks=(1,))


def chunky_zarr(path: Path) -> None:
    zarr.create_array(store=str(path), shape=(4, 4), dtype="f8", chunks=(1 << 14, 1 << 14))


def png(path: Path, side: int, depth: int, colour: int) -> None:
    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", side, side, depth, colour, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(9))) + chunk(b"IEND", b"")
    )


def lying_tiff(path: Path) -> None:
    tifffile.imwrite(path, np.zeros((8, 8), np.uint8), compression="zlib", metadata=None)
    with tifffile.TiffFile(path, mode="r+b") as file:
        for name in ("ImageWidth", "ImageLength", "RowsPerStrip"):
            file.pages.first.tags[name].overwrite(30000)


def bomb_zip(path: Path) -> None:
    """A picture of a gigabyte of nothing, packed into a megabyte."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.bmp", "w") as stream:
        stream.write(b"BM")
        for _ in range(1 << 8):
            stream.write(bytes(1 << 20))


def lying_zip(path: Path) -> None:
    """A picture that claims to unpack to four gigabytes."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.png", b"\x89PNG" + bytes(500))
    content = path.read_bytes()
    at = content.index(b"PK\x01\x02") + 24
    path.write_bytes(content[:at] + struct.pack("<I", 0xFFFFFFF0) + content[at + 4 :])


def lying_picture_zip(path: Path) -> None:
    png(path.with_suffix(".png"), 13000, 8, 6)
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(path.with_suffix(".png"), "a.png")
    path.with_suffix(".png").unlink()


def lying_gif(path: Path) -> None:
    side = struct.pack("<HH", 15000, 15000)
    path.write_bytes(b"GIF89a" + side + b"\xf0\0\0" + bytes(6) + b"," + bytes(4) + side + b"\0\x02\x02\x44\x01\0;")


def lying_bmp(path: Path) -> None:
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(path)
    content = bytearray(path.read_bytes())
    content[18:26] = struct.pack("<ii", 12000, 12000)
    path.write_bytes(content)


def lying_parquet(path: Path) -> None:
    """A thousand rows, and a footer that counts a thousand millions of them."""
    count, claim = _varint(2 * 1003), _varint(2 * 10**9)  # as Thrift counts
    write(path, np.random.default_rng(0).random((1003, 2)))
    content = path.read_bytes()
    length = struct.unpack("<I", content[-8:-4])[0]
    footer = content[-8 - length : -8]
    assert footer.count(count) >= 2
    footer = footer.replace(count, claim)
    path.write_bytes(content[: -8 - length] + footer + struct.pack("<I", len(footer)) + b"PAR1")


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(128 | number & 127)
        number >>= 7
    return bytes([*found, number])


LIARS = {
    "a.npy": lying_npy,
    "a.npz": lying_npz,
    "bomb.npz": bomb_npz,
    "a.h5": lying_h5,
    "chunk.h5": chunky_h5,
    "a.nc": lying_nc,
    "old.nc": lying_old_nc,
    "a.mat": lying_mat,
    "bomb.mat": bomb_mat,
    "new.mat": lying_new_mat,
    "a.zarr": lying_zarr,
    "crumbs.zarr": crumbled_zarr,
    "chunk.zarr": chunky_zarr,
    "a.png": lambda path: png(path, 13000, 8, 6),
    "huge.png": lambda path: png(path, 1 << 17, 8, 0),
    "deep.png": lambda path: png(path, 13000, 16, 6),
    "a.tif": lying_tiff,
    "lying.zip": lying_zip,
    "picture.zip": lying_picture_zip,
    "a.gif": lying_gif,
    "a.bmp": lying_bmp,
    "a.parquet": lying_parquet,
}

# Reads each file by itself, and tells what was said and how much memory was taken at most.
READ_ALL = """
import json, os, resource, sys, time
from pathlib import Path
from qrank.files import read
folder = Path(sys.argv[1])
def peak():
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))) >> 10
for good in sorted((folder / "good").iterdir()):
    read(good)  # so that what the libraries take for themselves is taken
for name in sys.argv[2:]:
    open("/proc/self/clear_refs", "w").write("5")
    before, start, said = peak(), time.perf_counter(), "nothing"
    try:
        read(folder / name)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    print(json.dumps([name, said, peak() - before, time.perf_counter() - start]))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="measures memory as Linux tells it")
def test_a_file_that_claims_more_than_it_holds_takes_no_memory(tmp_path):
    (tmp_path / "good").mkdir()
    for name in ("a.npz", "a.mat", "a.h5", "a.nc", "a.zarr", "a.tif", "a.gif"):
        write(tmp_path / "good" / name, np.zeros((3, 16, 16), np.uint8))
    for name in ("a.png", "a.parquet"):
        write(tmp_path / "good" / name, np.zeros((16, 16), np.uint8))
    for name, make in LIARS.items():
        make(tmp_path / name)
    words = [sys.executable, "-c", READ_ALL, str(tmp_path), *LIARS]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, *_ in told] == list(LIARS)
    for name, said, taken, seconds in told:
        assert said.startswith("FileError: "), (name, said)
        assert "\n" not in said
        assert name in said
        assert "damaged or cut short" in said
        assert "too large" not in said
        assert taken < MOST, (name, taken)
        assert seconds < 10, (name, seconds)


@pytest.mark.parametrize(
    "name", ["a.npy", "a.npz", "a.mat", "a.h5", "a.zarr", "a.nc", "a.tif", "a.mkv", "a.png", "in", "a.csv", "a.parquet"]
)
def test_an_honest_file_that_is_too_large_is_told_so(tmp_path, monkeypatch, name):
    film = np.random.default_rng(0).integers(0, 256, (4, 40, 50), dtype=np.uint8)
    flat = name in ("a.png", "a.csv", "a.parquet")
    write(tmp_path / name, film[0] if flat else film)
    monkeypatch.setattr(room, "SMALL", 100)
    monkeypatch.setattr("qrank.files.read_video.SMALL", 100)
    monkeypatch.setattr(room, "free_memory", lambda: 1500)
    monkeypatch.setattr("qrank.files.read_video.free_memory", lambda: 1500)
    with pytest.raises(FileError, match=r"is too large: reading it takes .* of memory and 1.5 kB are free") as caught:
        read(tmp_path / name)
    assert "damaged" not in str(caught.value)
    monkeypatch.setattr(room, "free_memory", lambda: None)  # unknown: what is honest is tried
    monkeypatch.setattr("qrank.files.read_video.free_memory", lambda: None)
    assert read(tmp_path / name).data.size == (2000 if flat else 8000)


def test_a_recording_of_which_most_was_never_written_is_honest(tmp_path):
    """100 MB, of which HDF5 and zarr store the hundredth part that was written; the rest is their fill value."""
    shape, chunk = (100, 512, 512), (1, 512, 512)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", shape, "f4", chunks=chunk, fillvalue=np.nan)[7] = 1
    zarr.create_array(store=str(tmp_path / "a.zarr"), shape=shape, dtype="f4", chunks=chunk, fill_value=np.nan)[7] = (
        np.random.default_rng(0).random((512, 512), np.float32)
    )
    for name in ("a.h5", "a.zarr"):
        data = read(tmp_path / name).data
        assert data.shape == shape
        assert np.isfinite(data).sum() == 512 * 512


def test_a_picture_that_pillow_finds_too_large(tmp_path, monkeypatch):
    write(tmp_path / "a.png", np.random.default_rng(0).integers(0, 256, (40, 50), dtype=np.uint8))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(FileError, match="is too large: it has 2000 pixels, more than Pillow opens"):
        read(tmp_path / "a.png")


def test_memory_that_runs_out_is_told_as_such(tmp_path, monkeypatch):
    write(tmp_path / "a.npy", np.zeros((4, 4)))

    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(np.lib.format, "read_array", full)
    with pytest.raises(FileError, match="is too large for the memory there is"):
        read(tmp_path / "a.npy")


# --- how much memory is free


def machine(folder: Path, monkeypatch, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.setattr(free, "PROC", folder / "proc")
    monkeypatch.setattr(free, "CGROUPS", folder / "cgroup")


def test_the_smallest_limit_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(free, "resource", None)
    machine(tmp_path, monkeypatch, {"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    8000 kB\n"})
    assert free.free_memory() == 8000 << 10
    # Version 2: the group itself has no limit, the one above it has.
    machine(
        tmp_path,
        monkeypatch,
        {
            "proc/self/cgroup": "0::/a/b\n",
            "cgroup/a/b/memory.max": "max\n",
            "cgroup/a/b/memory.current": "7\n",
            "cgroup/a/memory.max": "5000\n",
            "cgroup/a/memory.current": "3000\n",
            "cgroup/a/memory.stat": "anon 5\ninactive_file 500\n",
        },
    )
    assert free.free_memory() == 2500
    # Version 1, within a container: the path is the host's, and the root is the group.
    machine(
        tmp_path,
        monkeypatch,
        {
            "proc/self/cgroup": "5:memory:/docker/123\n4:cpu:/\n",
            "cgroup/memory/memory.limit_in_bytes": "4000\n",
            "cgroup/memory/memory.usage_in_bytes": "3500\n",
        },
    )
    assert free.free_memory() == 500


def test_the_limit_of_the_process_counts():
    resource = pytest.importorskip("resource")
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "from qrank.kernels.free import free_memory; print(free_memory())"
    )
    assert resource
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 4 << 30


# --- other files, pipes


def test_hdf5_does_not_follow_other_files(tmp_path):
    secret = tmp_path / "secret.bin"
    secret.write_bytes(bytes(range(128)))
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = np.ones((4, 4))
    for suffix in ("h5", "nc", "mat"):
        with h5py.File(tmp_path / f"external.{suffix}", "w") as file:
            file.create_dataset("x", (4, 4), "f8", external=[(str(secret), 0, 128)])
        with h5py.File(tmp_path / f"virtual.{suffix}", "w") as file:
            layout = h5py.VirtualLayout((4, 4), "f8")
            layout[...] = h5py.VirtualSource(str(tmp_path / "other.h5"), "x", (4, 4))
            file.create_virtual_dataset("x", layout)
        for name, text in (("external", "in external storage"), ("virtual", "virtual")):
            with pytest.raises(FileError, match=rf"{name}.{suffix}::x is {text}: other files are not followed"):
                read(tmp_path / f"{name}.{suffix}")
        with h5py.File(tmp_path / f"linked.{suffix}", "w") as file:
            file["x"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "x")
        said = "is a link to another file" if suffix == "nc" else "no array of numbers"
        with pytest.raises(FileError, match=said):
            read(tmp_path / f"linked.{suffix}")


def test_a_zarr_store_does_not_lead_out_of_itself(tmp_path):
    secret = tmp_path / "secret.bin"
    secret.write_bytes(bytes(range(128)))
    zarr.create_array(store=str(tmp_path / "a.zarr"), data=np.ones((4, 4)), compressors=None)
    chunk = next(file for file in (tmp_path / "a.zarr" / "c").rglob("*") if file.is_file())
    chunk.unlink()
    chunk.symlink_to(secret)
    with pytest.raises(FileError, match="has a link to what is outside of it: c/0/0; it is not followed"):
        read(tmp_path / "a.zarr")


def test_a_playlist_is_no_video(tmp_path):
    write(tmp_path / "secret.mp4", np.zeros((4, 16, 16), np.uint8))
    for line in ("#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10.0,\n", "ffconcat version 1.0\nfile "):
        (tmp_path / "a.mp4").write_text(line + "secret.mp4\n")
        with pytest.raises(FileError, match=r"a.mp4 cannot be read as a video"):
            read(tmp_path / "a.mp4")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX")
@pytest.mark.parametrize("name", ["a.npy", "a.mp4", "a.png", "a"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(FileError, match="is a pipe or a device, not a file"):
        read(tmp_path / name)
    (tmp_path / "link.npy").symlink_to("/dev/zero")
    with pytest.raises(FileError, match="is a pipe or a device, not a file"):
        read(tmp_path / "link.npy")
    (tmp_path / "b.zarr").mkdir()
    os.mkfifo(tmp_path / "b.zarr" / "zarr.json")
    with pytest.raises(FileError, match="neither file nor folder"):
        read(tmp_path / "b.zarr")


# --- zips


@pytest.mark.parametrize("name", ["../a.png", "/a.png", "b/../../a.png", "C:\\a.png", "..\\a.png"])
def test_a_zip_does_not_lead_out_of_itself(tmp_path, name):
    (tmp_path / "in").mkdir()
    with zipfile.ZipFile(tmp_path / "in" / "a.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), b"")
    with pytest.raises(FileError, match=r"a.zip has a picture that leads out of it"):
        read(tmp_path / "in" / "a.zip")
    assert os.listdir(tmp_path) == ["in"]
    assert os.listdir(tmp_path / "in") == ["a.zip"]


def test_a_zip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    """A quarter of a gigabyte in a quarter of a megabyte, where less is free."""
    bomb_zip(tmp_path / "a.zip")
    monkeypatch.setattr(room, "free_memory", lambda: 1 << 27)
    with pytest.raises(FileError, match=r"a.zip is too large: reading it takes 268 MB of memory"):
        read(tmp_path / "a.zip")


def test_what_is_in_a_zip_beside_pictures_is_left_alone(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("readme.txt", "..")
        archive.writestr("__MACOSX/._a.png", "..")
        archive.writestr("inner.zip", "..")
    with pytest.raises(FileError, match="there are no pictures in"):
        read(tmp_path / "a.zip")
    write(tmp_path / "page.png", np.zeros((4, 5), np.uint8))
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.write(tmp_path / "page.png", "a.png")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.write(tmp_path / "page.png", "a.png")
    with pytest.raises(FileError, match=r"it has a.png twice"):
        read(tmp_path / "b.zip")
