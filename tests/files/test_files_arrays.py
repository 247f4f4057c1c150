"""Arrays: .npy, .npz, .mat, HDF5, zarr and netCDF come back bit for bit, with all that is around them."""

from __future__ import annotations

import json
import pickle

import h5py
import numpy as np
import pytest
import scipy.io
import xarray as xr
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from qrank.errors import FileError, InputError
from qrank.files import Loaded, read, to_xarray, write

RNG = np.random.default_rng(0)
CUBE = RNG.normal(size=(4, 5, 6))
FORMATS = ["a.npy", "a.npz", "a.mat", "a.h5", "a.zarr", "a.nc", "a.h5::deep/cube", "a.zarr::deep/cube"]
TYPES = ["uint8", "uint16", "int16", "int32", "float32", "float64"]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("dtype", TYPES)
def test_round_trip_keeps_every_bit_and_the_type(tmp_path, name, dtype):
    array = (CUBE * 50).astype(dtype)
    first, second = str(tmp_path / name), str(tmp_path / f"b{name}")
    assert write(first, array) == []
    loaded = read(first)
    write(second, loaded.data.astype("float64"), like=loaded)
    again = read(second)
    assert again.data.dtype == dtype
    np.testing.assert_array_equal(again.data, array)
    assert loaded.slice_axes == (0, 1)


shapes = hnp.array_shapes(min_dims=2, max_dims=4, min_side=1, max_side=5)
numbers = st.one_of(
    hnp.integer_dtypes(endianness="?"), hnp.unsigned_integer_dtypes(), hnp.floating_dtypes(endianness="?")
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(array=numbers.flatmap(lambda dtype: hnp.arrays(dtype, shapes)))
def test_numpy_files_keep_any_type_and_shape(tmp_path, array):
    write(tmp_path / "a.npy", array)
    loaded = read(tmp_path / "a.npy")
    write(tmp_path / "b.npy", loaded.data, like=loaded)
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


def test_integers_are_rounded_and_clipped(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 2), np.uint8))
    loaded = read(tmp_path / "a.npy", dtype="float32")
    assert loaded.data.dtype == np.float32
    write(tmp_path / "b.npy", np.array([[-5.0, 300.0], [1.4, 1.6]]), like=loaded)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), np.array([[0, 255], [1, 2]], np.uint8))


def test_nan_does_not_fit_integers(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 2), np.uint8))
    with pytest.raises(FileError, match=r"b.npy holds uint8, which cannot hold the NaN"):
        write(tmp_path / "b.npy", np.full((2, 2), np.nan), like=read(tmp_path / "a.npy"))


def test_largest_integers_do_not_wrap_round(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((1, 2), np.int64))
    write(tmp_path / "b.npy", np.array([[1e30, -1e30]]), like=read(tmp_path / "a.npy"))
    high, low = np.load(tmp_path / "b.npy")[0]
    assert high > 2**62
    assert low < -(2**62)


# --- which array


def test_several_arrays_are_listed_in_one_sentence(tmp_path):
    np.savez(tmp_path / "a.npz", cube=CUBE, other=CUBE[0], names=np.arange(6))
    with pytest.raises(FileError, match=r"several arrays: cube \(4 x 5 x 6\), other \(5 x 6\); choose one"):
        read(tmp_path / "a.npz")
    np.testing.assert_array_equal(read(f"{tmp_path}/a.npz::other").data, CUBE[0])
    np.testing.assert_array_equal(read(tmp_path / "a.npz", key="cube").data, CUBE)
    with pytest.raises(FileError, match="no array 'cub': did you mean 'cube'"):
        read(tmp_path / "a.npz", key="cub")


def test_the_only_table_is_taken(tmp_path):
    np.savez(tmp_path / "a.npz", cube=CUBE, wavelengths=np.arange(6))
    assert read(tmp_path / "a.npz").data.shape == CUBE.shape


def test_a_key_where_there_are_no_parts(tmp_path):
    np.save(tmp_path / "a.npy", CUBE)
    with pytest.raises(FileError, match="no parts to choose"):
        read(tmp_path / "a.npy", key="x")


def test_npz_keeps_other_arrays(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", cube=CUBE, wavelengths=np.arange(6))
    write(tmp_path / "b.npz", CUBE + 1, like=read(tmp_path / "a.npz"))
    with np.load(tmp_path / "b.npz") as again:
        np.testing.assert_array_equal(again["cube"], CUBE + 1)
        np.testing.assert_array_equal(again["wavelengths"], np.arange(6))


# --- MATLAB


def test_mat_keeps_other_variables(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"tensor": CUBE, "title": "metro", "parts": {"x": 3.0}})
    loaded = read(tmp_path / "a.mat")
    write(tmp_path / "b.mat", CUBE * 2, like=loaded)
    again = scipy.io.loadmat(tmp_path / "b.mat")
    np.testing.assert_array_equal(again["tensor"], CUBE * 2)
    assert again["title"][0] == "metro"
    assert again["parts"]["x"][0, 0] == 3


def make_v73(path, **arrays):
    """Write as MATLAB does: a header of 512 bytes, axes the other way round, a class for each variable."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            if array.dtype.kind == "c":
                stored = np.empty(array.T.shape, [("real", "f8"), ("imag", "f8")])
                stored["real"], stored["imag"] = array.T.real, array.T.imag
                file[name] = stored
            else:
                file[name] = array.T
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
    with open(path, "r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def test_mat_v73_is_read_as_matlab_shows_it(tmp_path):
    make_v73(tmp_path / "a.mat", tensor=CUBE, count=np.array([[7.0]]))
    loaded = read(tmp_path / "a.mat")
    assert loaded.kind == "mat"
    np.testing.assert_array_equal(loaded.data, CUBE)
    write(tmp_path / "b.mat", CUBE + 1, like=loaded)
    np.testing.assert_array_equal(read(tmp_path / "b.mat").data, CUBE + 1)
    assert (tmp_path / "b.mat").read_bytes()[:10] == b"MATLAB 7.3"
    with h5py.File(tmp_path / "b.mat") as file:
        assert file["count"][0, 0] == 7
        assert file["tensor"].attrs["MATLAB_class"] == b"double"


def test_mat_v73_complex(tmp_path):
    array = CUBE + 1j * CUBE[::-1]
    make_v73(tmp_path / "a.mat", z=array)
    loaded = read(tmp_path / "a.mat")
    write(tmp_path / "b.mat", loaded.data, like=loaded)
    np.testing.assert_array_equal(read(tmp_path / "b.mat").data, array)


# --- HDF5 and zarr


def test_hdf5_keeps_the_rest_of_the_file(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        cube = file.create_dataset("g/cube", data=CUBE, compression="gzip", chunks=(2, 5, 3))
        cube.attrs["units"] = "K"
        file["g/notes"] = "a text"
        for dim, label in zip(cube.dims, ("band", "y", "x"), strict=True):
            dim.label = label
    loaded = read(f"{tmp_path}/a.h5::g/cube")
    assert loaded.axes == ("band", "y", "x")
    assert loaded.slice_axes == (1, 2)
    write(tmp_path / "b.h5", CUBE + 1, like=loaded)
    cut = read(f"{tmp_path}/a.h5::/g/cube", frames="1:3")
    write(tmp_path / "c.h5", cut.data, like=cut)
    for name, expected in (("b.h5", CUBE + 1), ("c.h5", CUBE[1:3])):
        with h5py.File(tmp_path / name) as file:
            np.testing.assert_array_equal(file["g/cube"][()], expected)
            assert file["g/cube"].attrs["units"] == "K"
            assert file["g/cube"].compression == "gzip"
            assert file["g/cube"].dims[0].label == "band"
            assert file["g/notes"][()] == b"a text"


def make_zarr(path, version):
    group = zarr.open_group(str(path), mode="w", zarr_format=version)
    names = {"dimension_names": ["time", "lat", "lon"]} if version == 3 else {}
    cube = group.create_array("cube", data=CUBE, chunks=(2, 5, 3), **names)
    cube.attrs["units"] = "K"
    if version == 2:
        cube.attrs["_ARRAY_DIMENSIONS"] = ["time", "lat", "lon"]
    group.create_array("time", data=np.arange(4))


@pytest.mark.parametrize("version", [2, 3])
def test_zarr_keeps_the_rest_of_the_store(tmp_path, version):
    make_zarr(tmp_path / "a.zarr", version)
    loaded = read(tmp_path / "a.zarr")
    assert loaded.axes == ("time", "lat", "lon")
    write(tmp_path / "b.zarr", CUBE + 1, like=loaded)
    write(tmp_path / "b.zarr", CUBE + 2, like=loaded)  # over an older one
    again = zarr.open_group(str(tmp_path / "b.zarr"), mode="r")
    np.testing.assert_array_equal(again["cube"][...], CUBE + 2)
    np.testing.assert_array_equal(again["time"][...], np.arange(4))
    assert again["cube"].attrs["units"] == "K"
    cut = read(tmp_path / "a.zarr", frames="::2")
    write(tmp_path / "c.zarr", cut.data, like=cut)
    np.testing.assert_array_equal(read(f"{tmp_path}/c.zarr::cube").data, CUBE[::2])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zarr", "b.zarr", "c.zarr"]


# --- netCDF and xarray


def maps():
    values = CUBE.astype("float32")
    values[1, 2, 3] = np.nan
    packing = {"dtype": "int16", "scale_factor": 0.001, "add_offset": 1.0, "_FillValue": -32768}
    array = xr.DataArray(values, dims=("time", "lat", "lon"), attrs={"units": "K", "long_name": "heat"})
    array.encoding = packing
    time = ("time", np.array([0.5, 1.5, 2.5, 3.5]), {"units": "days since 2000-01-01"})
    coords = {"time": time, "lat": np.linspace(-1, 1, 5), "lon": np.linspace(0, 9, 6)}
    return xr.Dataset({"t": array, "station": ("lat", np.arange(5))}, coords, {"title": "a test"})


@pytest.mark.parametrize("how", [{"engine": "h5netcdf"}, {"engine": "scipy", "format": "NETCDF3_64BIT"}])
def test_netcdf_keeps_names_coordinates_attributes_and_packing(tmp_path, how):
    maps().to_netcdf(tmp_path / "a.nc", **how)
    loaded = read(tmp_path / "a.nc")
    assert (loaded.kind, loaded.axes, loaded.slice_axes) == ("netcdf", ("time", "lat", "lon"), (1, 2))
    assert np.isnan(loaded.data[1, 2, 3])
    assert np.isnan(loaded.data).sum() == 1
    filled = loaded.data.copy()
    filled[1, 2, 3] = 1e9
    write(tmp_path / "same.nc", loaded.data, like=loaded)
    write(tmp_path / "b.nc", filled, like=loaded)
    engine = {"engine": how["engine"], "decode_cf": False}
    with (
        xr.open_dataset(tmp_path / "a.nc", **engine) as first,
        xr.open_dataset(tmp_path / "same.nc", **engine) as same,
        xr.open_dataset(tmp_path / "b.nc", **engine) as second,
    ):
        xr.testing.assert_identical(first.load(), same.load())
        assert second["t"].dtype == np.int16
        assert second["t"].attrs == first["t"].attrs
        assert second["t"].values[1, 2, 3] == 32767  # beyond the packing's range: clipped, not wrapped round
        others = second["t"].values != first["t"].values
        assert others.sum() == 1
    assert (tmp_path / "b.nc").read_bytes()[:3] == (tmp_path / "a.nc").read_bytes()[:3]


def test_netcdf_frames_take_their_coordinates_along(tmp_path):
    maps().to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    cut = read(tmp_path / "a.nc", frames="1:3")
    write(tmp_path / "b.nc", cut.data, like=cut)
    with xr.open_dataset(tmp_path / "b.nc", engine="h5netcdf", decode_times=False) as again:
        np.testing.assert_array_equal(again["time"], [1.5, 2.5])
        assert again["t"].shape == (2, 5, 6)


def test_netcdf_several_variables(tmp_path):
    dataset = maps()
    dataset.assign(u=dataset["t"].drop_attrs()).to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    with pytest.raises(FileError, match=r"several arrays: t .*, u "):
        read(tmp_path / "a.nc")
    assert read(f"{tmp_path}/a.nc::u").meta["key"] == "u"


def test_xarray_in_memory(tmp_path):
    array = maps()["t"]
    loaded = Loaded.from_xarray(array)
    again = to_xarray(loaded.data, loaded)
    xr.testing.assert_identical(array, again)
    write(tmp_path / "a.nc", loaded.data, like=loaded)
    xr.testing.assert_allclose(xr.open_dataset(tmp_path / "a.nc", decode_times=False)["t"].load(), array, atol=1e-3)
    from_file = read(tmp_path / "a.nc")
    assert to_xarray(from_file.data, from_file).attrs["units"] == "K"


# --- frames of plain arrays


def test_frames_of_a_plain_array_are_its_third_axis(tmp_path):
    np.save(tmp_path / "a.npy", CUBE)
    np.testing.assert_array_equal(read(tmp_path / "a.npy", frames="1:5:2").data, CUBE[:, :, 1:5:2])
    np.testing.assert_array_equal(read(tmp_path / "a.npy", frames=slice(-2, None)).data, CUBE[:, :, -2:])
    with pytest.raises(FileError, match="has 6 frames and none of them is in 9:12"):
        read(tmp_path / "a.npy", frames="9:12")
    with pytest.raises(InputError, match="not of the form A:B"):
        read(tmp_path / "a.npy", frames="three")
    with pytest.raises(InputError, match="step must not be zero"):
        read(tmp_path / "a.npy", frames="::0")
    np.save(tmp_path / "b.npy", CUBE[..., None] * np.ones(2))
    with pytest.raises(InputError, match="counts frames"):
        read(tmp_path / "b.npy", frames="1:2")


def test_a_plain_array_is_not_grey_nor_resized(tmp_path):
    np.save(tmp_path / "a.npy", CUBE)
    with pytest.raises(InputError, match="no colours"):
        read(tmp_path / "a.npy", grey=True)
    with pytest.raises(InputError, match="only those can be resized"):
        read(tmp_path / "a.npy", resize="0.5")
    with pytest.raises(InputError, match="no type of numbers"):
        read(tmp_path / "a.npy", dtype="flaot")


# --- never unpickled


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("unpickled",))


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.pkl", "b.npy", "b.mat"])
def test_pickled_content_is_refused_in_one_line(tmp_path, name):
    objects = np.array([Bomb(), None], dtype=object)
    path = tmp_path / name
    if name == "a.npy":
        np.save(path, objects, allow_pickle=True)
    elif name == "a.npz":
        np.savez(path, x=objects)
    else:
        path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(FileError, match="pickled Python objects, which are never loaded") as caught:
        read(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", ["filters", "compressor"])
def test_pickle_as_the_codec_of_a_zarr_array_is_refused(tmp_path, place):
    zarr.create_array(store=str(tmp_path / "a.zarr"), data=CUBE, zarr_format=2)
    file = tmp_path / "a.zarr" / ".zarray"
    header = json.loads(file.read_text())
    codec = {"id": "pickle", "protocol": 4}
    file.write_text(json.dumps(header | {place: codec if place == "compressor" else [codec]}))
    chunk = tmp_path / "a.zarr" / "0.0.0"
    chunk.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(FileError, match="pickle"):
        read(tmp_path / "a.zarr")


def test_text_is_not_numbers(tmp_path):
    np.save(tmp_path / "a.npy", np.array(["a", "b"]))
    with pytest.raises(FileError, match="not numbers"):
        read(tmp_path / "a.npy")
    with pytest.raises(FileError, match="not numbers"):
        write(tmp_path / "b.npy", np.array(["a", "b"]))
