"""Files by chunks: what is read and written is what the whole array would be."""

import numpy as np
import pytest

import qrank
from qrank.files.chunks import read_chunks, write_chunks

dask = pytest.importorskip("dask", reason="dask is not installed")
zarr = pytest.importorskip("zarr", reason="zarr is not installed")


@pytest.fixture
def x():
    return np.random.default_rng(0).standard_normal((11, 9, 7)).astype(np.float32)


@pytest.mark.parametrize("name", ["x.npy", "x.zarr::video", "x.h5::a/video", "x.nc::video"])
def test_there_and_back(name, x, tmp_path):
    np.save(tmp_path / "source.npy", x)
    with dask.config.set({"array.chunk-size": "700B", "scheduler": "threads"}):
        source = read_chunks(tmp_path / "source.npy")
        assert source.array.npartitions > 4
        write_chunks(f"{tmp_path}/{name}", source.array, source)
        found = read_chunks(f"{tmp_path}/{name}")
        np.testing.assert_array_equal(found.array.compute(), x)
        assert found.array.dtype == np.float32
    np.testing.assert_array_equal(qrank.read(f"{tmp_path}/{name}").data, x)


def test_an_output_that_fails_leaves_nothing(x, tmp_path):
    np.save(tmp_path / "x.npy", x)
    source = read_chunks(tmp_path / "x.npy")

    def fails(block):
        raise OSError("no more room")

    with dask.config.set({"scheduler": "sync"}), pytest.raises(qrank.FileError, match="cannot be written"):
        write_chunks(tmp_path / "y.npy", source.array.map_blocks(fails, dtype=x.dtype, meta=x[:0]), source)
    assert [one.name for one in tmp_path.iterdir()] == ["x.npy"]


def test_what_cannot_be_read_by_chunks(tmp_path):
    with pytest.raises(qrank.FileError, match="there is no file"):
        read_chunks(tmp_path / "x.npy")
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00")
    with pytest.raises(qrank.FileError):
        read_chunks(tmp_path / "x.npy")
    qrank.write(tmp_path / "a.png", np.zeros((4, 4), np.uint8))
    with pytest.raises(qrank.FileError, match="by chunks, zarr, HDF5"):
        read_chunks(tmp_path / "a.png")
