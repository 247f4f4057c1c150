"""Marks of missing entries: attributes in HDF5 and zarr, chunks that were never written, nodata of arrays in memory."""

from __future__ import annotations

import json

import numpy as np
import pytest

import qrank
from cli.calling import call as run
from qrank.cli.by_chunks import Holes, _known, _native
from qrank.files import missing_mask, read, write
from qrank.files.chunks import read_chunks
from qrank.kernels.marks import marks_of

h5py, zarr, xarray = (pytest.importorskip(name) for name in ("h5py", "zarr", "xarray"))
ROWS, COLUMNS, TIME = np.mgrid[:12, :14, :8]
SEA = 20 + 10 * np.sin(ROWS / 4 + TIME / 5) + 5 * np.cos(COLUMNS / 5)
GONE = np.random.default_rng(3).random(SEA.shape) < 0.2
MARKS = {"_FillValue": -9999, "missing_value": [-9999, -7777]}
HERE = [-9999 if k % 2 else -7777 for k in range(GONE.sum())]


def marked(dtype):
    values = SEA.round().astype(dtype)
    values[GONE] = HERE
    return values


def stored(path, dtype):
    if path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            one = file.create_dataset("sea", data=marked(dtype), chunks=(6, 7, 8))
            one.attrs.update({name: np.array(value, dtype) for name, value in MARKS.items()})
    else:
        one = zarr.create_array(store=str(path), data=marked(dtype), chunks=(6, 7, 8))
        one.attrs.update(MARKS)
    return path


@pytest.mark.parametrize("dtype", ["int16", "float32"])
@pytest.mark.parametrize("name", ["a.h5", "a.zarr"])
def test_fill_values_are_missing_and_are_written_again(tmp_path, name, dtype):
    loaded = read(stored(tmp_path / name, dtype))
    missing = missing_mask(loaded)
    np.testing.assert_array_equal(missing, GONE)
    x = loaded.data.copy()
    x[missing & (TIME > 0)] = 3  # what lies on land stays as it was
    write(tmp_path / f"b{name}", x, like=loaded)
    again = h5py.File(tmp_path / f"b{name}")["sea"] if name == "a.h5" else zarr.open(tmp_path / f"b{name}", mode="r")
    assert set(np.unique(again[...][GONE & (TIME == 0)])) == {-9999}
    assert (again[...][GONE & (TIME > 0)] == 3).all()
    assert list(np.atleast_1d(again.attrs["missing_value"])) == [-9999, -7777]
    assert again.dtype == dtype


@pytest.mark.parametrize("name", ["a.h5", "a.zarr"])
def test_fill_values_by_chunks(tmp_path, name):
    pytest.importorskip("dask")
    loaded = read_chunks(stored(tmp_path / name, "int16"))
    known, _ = _known(loaded, Holes(None, None, None, None, None), 0)
    np.testing.assert_array_equal(known.compute(), ~GONE)
    x = _native(loaded.array * 0.0 - 9999, loaded, known).compute()  # a filled entry never has the mark itself
    assert (x[GONE] == -9998).all()
    np.testing.assert_array_equal(x[~GONE], marked("int16")[~GONE])


def test_the_command_says_what_the_mark_is(tmp_path):
    stored(tmp_path / "a.h5", "int16")
    done = run("fill", tmp_path / "a.h5", "-o", tmp_path / "b.h5", "--method", "tnn", "--slice-axes", "0,1")
    assert "nodata: -9999 in the file stands for a missing entry" in done.output
    x = read(tmp_path / "b.h5").data
    assert np.abs(x - SEA)[GONE].mean() < 2


@pytest.mark.parametrize("fill", [np.nan, 0.0])
def test_chunks_that_were_never_written(tmp_path, fill):
    array = zarr.create_array(
        store=str(tmp_path / "a.zarr"), shape=SEA.shape, chunks=(6, 7, 2), dtype="f4", fill_value=fill
    )
    array[:6] = SEA[:6]
    array[6:, :, 2:] = SEA[6:, :, 2:]
    loaded = read(tmp_path / "a.zarr")
    assert missing_mask(loaded).sum() == (6 * 14 * 2 if np.isnan(fill) else 0)
    done = run("fill", tmp_path / "a.zarr", "-o", tmp_path / "b.zarr", "--method", "smooth", "--missing-above", "34")
    assert ("2 of 16 chunks are not stored and were read as 0: are they gaps?" in done.output) == (fill == 0)
    done = run(
        "fill", tmp_path / "a.zarr", "-o", tmp_path / "b.zarr", "--method", "smooth", "--missing-value", "0", "--json"
    )
    assert json.loads(done.stdout)["missing"] == 6 * 14 * 2


@pytest.mark.parametrize("version", [2, 3])
def test_what_xarray_wrote_to_zarr(tmp_path, version):
    array = xarray.DataArray(np.where(GONE, np.nan, SEA), dims=("lat", "lon", "time"), name="sea")
    how = {"sea": {"_FillValue": -9999.0}}
    array.to_dataset().to_zarr(tmp_path / "a.zarr", zarr_format=version, encoding=how, consolidated=False)
    loaded = read(f"{tmp_path}/a.zarr::sea")
    np.testing.assert_array_equal(np.isnan(loaded.data), GONE)
    write(f"{tmp_path}/b.zarr", np.where(TIME > 0, SEA, loaded.data), like=loaded, key="sea")
    with xarray.open_zarr(tmp_path / "b.zarr", consolidated=False) as again:
        np.testing.assert_array_equal(np.isnan(again["sea"].values), GONE & (TIME == 0))


@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_marks_of_an_array_in_memory(dtype):
    y = xarray.DataArray(marked(dtype), dims=("lat", "lon", "time"), attrs=MARKS)
    found = qrank.complete(y, method="tnn")
    np.testing.assert_array_equal(found.observed, ~GONE)
    assert found.x.attrs == MARKS
    assert np.abs(found.x.values - SEA)[GONE].mean() < 1


@pytest.mark.parametrize("together", [True, False])
def test_marks_of_a_dataset_that_was_not_decoded(together):
    import qrank.xarray  # noqa: F401

    y = xarray.DataArray(marked("int16"), dims=("lat", "lon", "time"), attrs={"missing_value": [-9999, -7777]})
    found = xarray.Dataset({"a": y, "b": y * 0 + 5 + SEA}).qrank.complete(together=together, method="tnn")
    assert np.abs(found.x["a"].values - SEA)[GONE].mean() < 2
    np.testing.assert_array_equal(found.x["a"].values[~GONE], y.values[~GONE])


def test_nodata_of_rioxarray(tmp_path):
    pytest.importorskip("rioxarray")
    y = xarray.DataArray(np.moveaxis(marked("int16"), 2, 0), dims=("band", "y", "x")).where(lambda v: v != -7777, -9999)
    y.rio.write_nodata(-9999).rio.to_raster(tmp_path / "a.tif")
    import rioxarray

    for masked in (False, True):
        with rioxarray.open_rasterio(tmp_path / "a.tif", masked=masked) as opened:
            found = qrank.complete(opened, method="tnn")
        np.testing.assert_array_equal(found.observed, ~np.moveaxis(GONE, 2, 0))
    bare = y.rio.set_nodata(-9999)  # says so nowhere but in the accessor
    np.testing.assert_array_equal(qrank.complete(bare, method="tnn").observed, ~np.moveaxis(GONE, 2, 0))


@pytest.mark.parametrize(
    ("value", "dtype", "marks"),
    [
        (np.nan, "f4", []),
        ("NaN", "f4", []),
        (0.5, "i2", []),
        (-9999, "u1", []),
        (b"text", "i2", []),
        (np.float64(-3.4028234663852886e38), "f4", [float(np.finfo("f4").min)]),
        (np.array([255], "u1"), "u1", [255]),
        (True, "u1", []),
    ],
)
def test_marks_of_every_type(value, dtype, marks):
    assert marks_of({"_FillValue": value}, np.dtype(dtype)) == marks
