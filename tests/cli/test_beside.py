"""``fill --error``: the standard errors as a file, with the data's labels and in floating numbers."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import qrank
from cli.calling import call, one_line


@pytest.fixture
def counts():
    """Whole numbers, and where one is missing."""
    rng = np.random.default_rng(0)
    x = np.einsum("ir,jr,kr->ijk", *(rng.random((n, 2)) for n in (12, 14, 6)))
    noisy = 200 * x / x.max() + rng.normal(0, 4, x.shape)
    return np.round(noisy).clip(1, 255).astype(np.uint8), rng.random(x.shape) < 0.3


def check_errors(error, missing):
    assert error.shape == missing.shape
    assert error.dtype.kind == "f"
    assert (error[~missing] == 0).all()
    assert (error[missing] > 0).all()
    assert np.any(error[missing] % 1)


def test_errors_of_an_array_are_those_of_the_library(tmp_path, counts):
    x, missing = counts
    np.save(tmp_path / "in.npy", np.where(missing, 0, x))
    words = ["fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--missing-value", 0]
    facts = json.loads(call(*words, "--error", tmp_path / "err.npy", "--json").stdout)
    assert facts["error"] == str(tmp_path / "err.npy")
    error = np.load(tmp_path / "err.npy")
    check_errors(error, missing)
    direct = qrank.complete(np.where(missing, np.nan, x.astype(np.float32)), bounds=(0, 255))
    assert np.allclose(error, direct.error, rtol=1e-4)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_errors_of_a_table_of_whole_numbers_keep_its_labels(tmp_path, suffix):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(1)
    hours = np.arange(24 * 12)
    values = np.stack([np.round(50 + 20 * np.sin(hours / 24 * 6.283 + k) + rng.normal(0, 2, 288)) for k in range(3)], 1)
    missing = rng.random(values.shape) < 0.2
    frame = pandas.DataFrame(values, columns=["a", "b", "c"]).astype("Int64").mask(missing)
    frame.insert(0, "time", pandas.date_range("2024-01-01", periods=288, freq="h").astype(str))
    frame.insert(1, "who", ["x", "y"] * 144)
    path, out, err = (tmp_path / f"{name}{suffix}" for name in ("in", "out", "err"))
    reader = pandas.read_csv if suffix == ".csv" else pandas.read_parquet
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    call("fill", path, "-o", out, "--error", err, "--quiet")
    found = reader(err)
    assert list(found.columns) == ["time", "who", "a", "b", "c"]
    assert (found[["time", "who"]] == frame[["time", "who"]]).all(axis=None)
    check_errors(found[["a", "b", "c"]].to_numpy(float), missing)


def test_errors_of_a_packed_netcdf_keep_its_coordinates(tmp_path, counts):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    x, missing = counts
    maps = xarray.DataArray(
        np.where(missing, np.nan, x.astype(float)),
        dims=("lat", "lon", "time"),
        coords={"lat": np.arange(12.0), "lon": 2 * np.arange(14.0), "time": np.arange(6)},
        name="sst",
        attrs={"units": "K"},
    )
    packing = {"sst": {"dtype": "int16", "_FillValue": -1}}
    maps.to_dataset().to_netcdf(tmp_path / "in.nc", engine="h5netcdf", encoding=packing)
    call("fill", tmp_path / "in.nc", "-o", tmp_path / "out.nc", "--error", tmp_path / "err.nc", "--quiet")
    with xarray.open_dataset(tmp_path / "err.nc", engine="h5netcdf") as found:
        assert found.sst.dims == ("lat", "lon", "time")
        assert (found.lon == maps.lon).all()
        assert found.sst.attrs["units"] == "K"
        check_errors(found.sst.values, missing)


def test_errors_of_a_picture_need_a_format_of_floats(tmp_path, counts):
    tifffile = pytest.importorskip("tifffile")
    image = pytest.importorskip("PIL.Image")
    x, missing = counts[0][..., 0], counts[1][..., 0]
    image.fromarray(np.where(missing, 0, x)).save(tmp_path / "in.png")
    words = ["fill", tmp_path / "in.png", "-o", tmp_path / "out.png", "--missing-value", 0, "--error"]
    for name in ("err.png", "err.jpg", "err.mp4", "folder"):
        assert "are no whole numbers: choose a suffix among .npy" in one_line(call(*words, tmp_path / name, code=2))
    assert os.listdir(tmp_path) == ["in.png"]
    call(*words, tmp_path / "err.tif")
    check_errors(tifffile.imread(tmp_path / "err.tif"), missing)


def test_errors_of_a_raster_keep_its_georeference_but_not_its_nodata(tmp_path, counts):
    tifffile = pytest.importorskip("tifffile")
    x, missing = counts[0][..., 0], counts[1][..., 0]
    scale = (33550, "d", 3, (10.0, 10.0, 0.0), False)
    nodata = (42113, "s", 0, "0", False)  # which is also the error of what is known
    tifffile.imwrite(tmp_path / "in.tif", np.where(missing, 0, x), extratags=[scale, nodata], metadata=None)
    words = ["fill", tmp_path / "in.tif", "-o", tmp_path / "out.tif", "--error", tmp_path / "err.tif", "--quiet"]
    call(*words)
    with tifffile.TiffFile(tmp_path / "err.tif") as file:
        assert tuple(file.pages[0].tags[33550].value) == scale[3]
        assert 42113 not in file.pages[0].tags
        check_errors(file.asarray(), missing)


@pytest.mark.parametrize("how", [["--method", "tnn"], ["--effort", "fast"]])
def test_methods_without_errors_are_refused_before_the_run(tmp_path, counts, how):
    np.save(tmp_path / "in.npy", counts[0])
    words = ["fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--drop", 0.3, "--error", tmp_path / "e.npy"]
    assert "estimates no standard errors" in one_line(call(*words, *how, code=2))
    assert os.listdir(tmp_path) == ["in.npy"]


def test_a_run_that_estimates_none_after_all_says_so_and_4(tmp_path, counts):
    np.save(tmp_path / "in.npy", np.full((3, 4, 2), np.nan))
    y = np.full((3, 4, 2), np.nan)
    y[0, 0, 0], y[2, 3, 1] = 1.0, 2.0  # too few to hide any
    np.save(tmp_path / "in.npy", y)
    words = ["fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--error", tmp_path / "e.npy", "--quiet"]
    said = call(*words, code=4).stderr
    assert "was written, but not all that was asked for: no standard errors were estimated" in said
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]


def test_errors_are_zero_where_nothing_is_missing(tmp_path, counts):
    np.save(tmp_path / "in.npy", counts[0])
    call("fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--error", tmp_path / "e.npy")
    assert (np.load(tmp_path / "e.npy") == np.zeros(counts[0].shape)).all()


@pytest.mark.parametrize("place", ["in.npy", "out.npy", "r.html"])
def test_errors_overwrite_nothing(tmp_path, counts, place):
    np.save(tmp_path / "in.npy", counts[0])
    words = ["fill", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--report", tmp_path / "r.html"]
    one_line(call(*words, "--drop", 0.3, "--error", tmp_path / place, code=2))
    assert os.listdir(tmp_path) == ["in.npy"]
