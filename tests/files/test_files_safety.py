"""Whatever is wrong with a file: one sentence, no other exception, nothing half-written, the input untouched."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import av
import h5py
import numpy as np
import pytest
import scipy.io
import tifffile
import xarray as xr
import zarr
from PIL import Image

from qrank import files
from qrank.errors import FileError, InputError, MissingExtra
from qrank.files import check_output, read, write

RNG = np.random.default_rng(3)
FILM = RNG.integers(0, 256, (6, 32, 40), dtype=np.uint8)
CUBE = RNG.normal(size=(12, 13, 14))
OUTPUTS = ["a.npy", "a.npz", "a.mat", "a.h5", "a.zarr", "a.nc", "a.tif", "a.mkv", "a.avi", "a.mp4", "a.gif", "a"]


def make(folder: Path, name: str) -> Path:
    """Write a good file of the kind that ``name`` tells."""
    path = folder / name
    if name == "new.mat":
        with h5py.File(path, "w", userblock_size=512) as file:
            file["x"] = CUBE
        with path.open("r+b") as stream:
            stream.write(b"MATLAB 7.3 MAT-file")
    elif name == "plain.mat":
        scipy.io.savemat(path, {"x": CUBE})
    elif name == "old.nc":
        dataset = xr.Dataset({"x": (("t", "y", "z"), CUBE)})
        dataset.to_netcdf(path, engine="scipy", format="NETCDF3_64BIT")
    elif path.suffix in (".png", ".jpg", ".bmp", ".webp"):
        write(path, FILM[0])
    elif path.suffix in (".mkv", ".avi", ".mp4", ".mov", ".gif", ".tif"):
        write(path, FILM)
    else:
        write(path, CUBE)
    return path


def one_line(caught, name):
    message = str(caught.value)
    assert "\n" not in message
    assert name in message


NAMES = ["a.npy", "a.npz", "a.mat", "plain.mat", "new.mat", "a.h5", "a.nc", "old.nc", "a.png", "a.jpg", "a.bmp"]
NAMES += ["a.webp", "a.tif", "a.mkv", "a.avi", "a.mp4", "a.mov", "a.gif"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.9])
def test_a_file_cut_short_is_one_sentence(tmp_path, name, share, capfd):
    path = make(tmp_path, name)
    content = path.read_bytes()
    assert read(path).data.size
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(FileError) as caught:
        read(path)
    one_line(caught, name)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", NAMES)
def test_rubbish_is_one_sentence(tmp_path, name, capfd):
    path = make(tmp_path, name)
    head = path.read_bytes()[:16]
    for start in (b"", head):
        path.write_bytes(start + RNG.bytes(3000))
        with pytest.raises(FileError) as caught:
            read(path)
        one_line(caught, name)
    assert capfd.readouterr() == ("", "")


def test_a_flipped_byte_gives_one_sentence_or_numbers(tmp_path):
    refused = taken = 0
    for name in NAMES:
        path = make(tmp_path, name)
        content = path.read_bytes()
        for place in RNG.integers(0, len(content), 8):
            flipped = bytearray(content)
            flipped[place] ^= 0xFF
            path.write_bytes(flipped)
            sentence, data = None, np.zeros(0)
            try:
                data = read(path).data
            except InputError as error:
                sentence = str(error)
            if sentence is None:
                assert data.size
                assert data.dtype.kind in "biuf"
                taken += 1
            else:
                assert "\n" not in sentence
                assert name in sentence
                refused += 1
            assert path.read_bytes() == flipped
    assert refused  # some bytes matter to the format,
    assert taken  # and some are only pixels


def test_damaged_zarr_and_picture_in_a_folder(tmp_path):
    zarr.create_array(store=str(tmp_path / "a.zarr"), data=CUBE)
    chunk = next(file for file in (tmp_path / "a.zarr" / "c").rglob("*") if file.is_file())
    chunk.write_bytes(b"rubbish")
    with pytest.raises(FileError, match=r"a.zarr cannot be read as a zarr store"):
        read(tmp_path / "a.zarr")
    (tmp_path / "a.zarr" / "zarr.json").write_text("{")
    with pytest.raises(FileError, match=r"a.zarr cannot be read as a zarr store"):
        read(tmp_path / "a.zarr")
    (tmp_path / "in").mkdir()
    for name in ("1.png", "2.png"):
        Image.fromarray(FILM[0]).save(tmp_path / "in" / name)
    (tmp_path / "in" / "2.png").write_bytes((tmp_path / "in" / "2.png").read_bytes()[:200])
    with pytest.raises(FileError, match=r"2.png cannot be read as a picture"):
        read(tmp_path / "in")


def test_a_video_without_frames(tmp_path):
    with av.open(str(tmp_path / "a.mkv"), "w") as film:
        stream = film.add_stream("ffv1", rate=25)
        stream.height, stream.width, stream.pix_fmt = 8, 8, "gray"
        film.start_encoding()
    with pytest.raises(FileError, match=r"a.mkv"):
        read(tmp_path / "a.mkv")
    with av.open(str(tmp_path / "b.mp4"), "w") as film:
        audio = film.add_stream("aac", rate=44100, layout="mono")
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        sound.sample_rate = 44100
        film.mux(audio.encode(sound))
        film.mux(audio.encode(None))
    with pytest.raises(FileError, match=r"b.mp4 has no video in it"):
        read(tmp_path / "b.mp4")


def test_no_file_unknown_suffix_and_empty_array(tmp_path):
    with pytest.raises(FileError, match=r"there is no file .*none.npy"):
        read(tmp_path / "none.npy")
    (tmp_path / "a.txt").write_text("1 2 3")
    with pytest.raises(FileError, match=r"suffix '.txt' is unknown"):
        read(tmp_path / "a.txt")
    for name, sentence in (("a.xlsx", "save its sheet as .csv"), ("b.nii.gz", "unpack it first"), ("c.nii", "as .npy")):
        (tmp_path / name).write_bytes(b"PK\x03\x04")
        with pytest.raises(FileError, match=f"{name} is .*{sentence}"):
            read(tmp_path / name)
    with pytest.raises(FileError, match=r"suffix '.nppy' is unknown: did you mean '.npy'"):
        write(tmp_path / "a.nppy", CUBE)
    np.save(tmp_path / "e.npy", np.zeros((3, 0)))
    with pytest.raises(FileError, match=r"e.npy is empty: its array is 3 x 0"):
        read(tmp_path / "e.npy")
    h5py.File(tmp_path / "e.h5", "w").close()
    with pytest.raises(FileError, match="no array of numbers"):
        read(tmp_path / "e.h5")


def test_the_kind_is_told_by_content_before_suffix(tmp_path):
    make(tmp_path, "a.png").rename(tmp_path / "a.jpg")
    np.testing.assert_array_equal(read(tmp_path / "a.jpg").data, FILM[0])
    make(tmp_path, "a.npy").rename(tmp_path / "a.mat")
    assert read(tmp_path / "a.mat").kind == "npy"
    make(tmp_path, "a.mkv").rename(tmp_path / "noname")
    assert read(tmp_path / "noname").kind == "video"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def breaking(monkeypatch, error: BaseException) -> None:
    """Let every writer write, and fail before it is done."""
    for kind, writer in list(files.WRITERS.items()):
        monkeypatch.setitem(files.WRITERS, kind, _then_fail(writer, error))
    monkeypatch.setattr(files.write_video, "write", _then_fail(files.write_video.write, error))
    monkeypatch.setattr(files.images, "write_picture", _then_fail(files.images.write_picture, error))


def _then_fail(writer, error):
    def failing(*arguments):
        writer(*arguments)
        raise error

    return failing


@pytest.mark.parametrize("name", [*OUTPUTS, "a.png"])
@pytest.mark.parametrize("there", [False, True])
def test_a_failure_leaves_the_old_output_and_nothing_else(tmp_path, monkeypatch, name, there):
    array = FILM[0] if name == "a.png" else FILM
    if there:
        write(tmp_path / name, array)
    before = contents(tmp_path)
    full = OSError(errno.ENOSPC, "No space left on device")
    for error, text in ((full, "no room left on the disk"), (RuntimeError("broke"), "cannot be written: broke")):
        with monkeypatch.context() as patch:
            breaking(patch, error)
            with pytest.raises(FileError, match=text) as caught:
                write(tmp_path / name, array)
            one_line(caught, name)
            assert contents(tmp_path) == before
    with monkeypatch.context() as patch:
        breaking(patch, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path / name, array)
    assert contents(tmp_path) == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("name", ["a.h5", "a.nc", "b.h5"])
def test_hdf5_never_meets_a_full_disk(tmp_path, monkeypatch, name):
    write(tmp_path / "in.h5", CUBE)
    like = read(tmp_path / "in.h5") if name == "b.h5" else None

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(FileError, match="no room left on the disk"):
        write(tmp_path / name, CUBE, like=like)
    assert [path.name for path in tmp_path.iterdir()] == ["in.h5"]


def test_a_rename_that_fails_brings_the_old_store_back(tmp_path, monkeypatch):
    write(tmp_path / "a.zarr", CUBE)
    before = contents(tmp_path)
    rename, calls = os.rename, []

    def second_fails(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise OSError(errno.EIO, "broken disk")
        rename(*arguments)

    monkeypatch.setattr(os, "rename", second_fails)
    with pytest.raises(FileError, match="broken disk"):
        write(tmp_path / "a.zarr", CUBE + 1)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_older_output_is_replaced(tmp_path, name):
    write(tmp_path / name, FILM)
    write(tmp_path / name, FILM // 2)
    assert read(tmp_path / name).data.mean() < 80
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_input_is_never_written_to(tmp_path, name):
    write(tmp_path / name, FILM)
    loaded = read(tmp_path / name)
    before = contents(tmp_path)
    os.symlink(tmp_path / name, tmp_path / f"link{Path(name).suffix}")
    for path in (tmp_path / name, tmp_path / f"link{Path(name).suffix}", tmp_path / "." / name):
        with pytest.raises(FileError, match="is the input, which is never written to"):
            write(path, loaded.data, like=loaded)
    (tmp_path / f"link{Path(name).suffix}").unlink()
    assert contents(tmp_path) == before


def test_a_picture_of_the_input_folder_is_input(tmp_path):
    write(tmp_path / "in", FILM)
    loaded = read(tmp_path / "in")
    with pytest.raises(FileError, match="is the input"):
        write(tmp_path / "in" / "frame0.png", FILM[0], like=loaded)


def test_outputs_that_cannot_be(tmp_path, monkeypatch):
    with pytest.raises(FileError, match="there is no folder"):
        check_output(tmp_path / "none" / "a.npy")
    (tmp_path / "d.h5").mkdir()
    (tmp_path / "store.zarr").write_text("a file")
    (tmp_path / "folder").write_text("a file")
    for name in ("store.zarr", "folder"):
        with pytest.raises(FileError, match="it is left as it is"):
            write(tmp_path / name, FILM)
    with pytest.raises(FileError, match="it is left as it is"):
        check_output(Path(os.devnull).with_name("null"))
    (tmp_path / "mine.zarr").mkdir()
    (tmp_path / "mine.zarr" / "letter.txt").write_text("dear")
    with pytest.raises(FileError, match="it is left as it is"):
        write(tmp_path / "mine.zarr", CUBE)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(FileError, match=r"a.npy cannot be written: permission denied"):
        write(tmp_path / "a.npy", CUBE)


def test_permission_denied_while_writing(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(FileError, match=r"a.npy cannot be written: permission denied"):
        write(tmp_path / "a.npy", CUBE)


def test_the_mode_of_an_older_output_and_links_stay(tmp_path):
    write(tmp_path / "a.npy", CUBE)
    os.chmod(tmp_path / "a.npy", 0o640)
    os.symlink("a.npy", tmp_path / "link.npy")
    write(tmp_path / "link.npy", CUBE + 1)
    assert (tmp_path / "link.npy").is_symlink()
    assert (tmp_path / "a.npy").stat().st_mode & 0o777 == 0o640
    np.testing.assert_array_equal(read(tmp_path / "a.npy").data, CUBE + 1)


@pytest.mark.parametrize(
    ("name", "package"), [("a.mkv", "av"), ("a.png", "PIL"), ("a.tif", "tifffile"), ("a.h5", "h5py")]
)
def test_a_missing_package_is_one_line(tmp_path, monkeypatch, name, package):
    make(tmp_path, name)
    for module in [m for m in sys.modules if m == package or m.startswith(package + ".")]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"needs the package {package}: pip install 'qrank\[files\]'"):
        read(tmp_path / name)


def test_heavy_packages_are_not_imported_before_they_are_needed():
    import subprocess

    code = (
        "import sys, qrank.files; print(sorted({'av', 'PIL', 'tifffile', 'h5py', 'zarr', 'xarray'} & set(sys.modules)))"
    )
    path = str(Path(files.__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == "[]"


def test_a_half_written_tiff_series_is_seen(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", FILM, photometric="minisblack", metadata=None)
    content = (tmp_path / "a.tif").read_bytes()
    (tmp_path / "a.tif").write_bytes(content[: len(content) - 700])
    with pytest.raises(FileError, match=r"a.tif"):
        read(tmp_path / "a.tif")
