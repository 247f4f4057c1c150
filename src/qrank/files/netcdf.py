"""netCDF and xarray: dimension names, coordinates, attributes and the other variables are kept.

The file is opened as it is stored; only the chosen variable is decoded (fill values to NaN, scale and
offset applied) and encoded again, so everything else comes back bit for bit.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qrank.atomic import reserve
from qrank.errors import FileError, need
from qrank.files.hdf5 import check_all
from qrank.files.loaded import Ask, Loaded, axis_of_frames, find_slice_axes, numeric, plain_axes, plane_of_labels
from qrank.files.room import DENSEST, PLAIN, check_room
from qrank.files.sniff import first_bytes
from qrank.files.which_array import choose

if TYPE_CHECKING:
    from xarray import DataArray

CLASSIC: dict[bytes, Any] = {b"CDF\x01": "NETCDF3_CLASSIC", b"CDF\x02": "NETCDF3_64BIT"}


def read(path: Path, ask: Ask) -> Loaded:
    """Read one variable of a netCDF file."""
    xarray = need("xarray", "files", "reading netCDF")
    stored = _open(path)
    bounds = {variable.attrs.get("bounds") for variable in stored.variables.values()}
    numbers = {
        str(name): variable.shape
        for name, variable in stored.data_vars.items()
        if variable.dtype.kind in "biufc" and variable.ndim and name not in bounds
    }
    key = choose(path, ask.key, numbers)
    axes = tuple(map(str, stored[key].dims))
    whole = Loaded(stored[key].values, axes, find_slice_axes(axes), "netcdf", path)
    if ask.frames is not None:
        stored = stored.isel({axes[axis_of_frames(whole, ask.frames)]: ask.frames})
    decoded = xarray.decode_cf(stored[[key]], decode_times=False)[key]
    meta = {"key": key, "frames": ask.frames, **_labels(decoded)}
    pair = plane_of_labels(axes, meta["coords"]) or whole.slice_axes
    return replace(whole, data=numeric(decoded.values, str(path)), slice_axes=pair, meta=meta)


def from_xarray(array: DataArray) -> Loaded:
    """Take a ``DataArray`` in memory.

    >>> import xarray
    >>> from_xarray(xarray.DataArray(np.zeros((2, 3, 4)), dims=("time", "lat", "lon"))).slice_axes
    (1, 2)
    """
    axes = tuple(map(str, array.dims))
    meta = {"array": array, "key": array.name, **_labels(array)}
    return Loaded(numeric(array.values, "the DataArray"), axes, find_slice_axes(axes), "netcdf", None, meta)


def to_xarray(array: np.ndarray, like: Loaded) -> DataArray:
    """Return ``array`` as a ``DataArray`` with the names, coordinates and attributes of ``like``.

    >>> import xarray
    >>> maps = xarray.DataArray(np.zeros((2, 3)), dims=("lat", "lon"), attrs={"units": "K"})
    >>> to_xarray(np.ones((2, 3)), from_xarray(maps)).attrs
    {'units': 'K'}
    """
    xarray = need("xarray", "files", "labelled arrays")
    if "array" in like.meta:
        return like.meta["array"].copy(data=array)
    coords, attrs = like.meta.get("coords", {}), like.meta.get("attrs", {})
    return xarray.DataArray(array, dims=like.axes, coords=coords, attrs=attrs, name=like.meta.get("key"))


def write(path: Path, array: np.ndarray, like: Loaded, key: str | None) -> None:
    """Write a variable into a copy of the file it came from, or into a new file."""
    xarray = need("xarray", "files", "writing netCDF")
    name = key or like.meta.get("key") or "data"
    classic = None
    if like.kind != "netcdf":
        dataset = xarray.Dataset({name.replace("/", "_"): (like.axes or plain_axes(array.ndim), array)})
    elif like.path is None:
        dataset = to_xarray(array, like).to_dataset(name=name)
    else:
        dataset, frames = _open(like.path), like.meta["frames"]
        if frames is not None and like.frame_axis is not None:
            dataset = dataset.isel({like.axes[like.frame_axis]: frames})
        dataset = dataset.assign({name: _encode(array, dataset[like.meta["key"]].variable, path.name)})
        classic = CLASSIC.get(first_bytes(like.path, 4))
    if classic is None:
        need("h5netcdf", "files", "writing netCDF")
    for variable in dataset.variables.values():
        # xarray would otherwise mark every float variable with a fill value it never had.
        if "_FillValue" not in variable.attrs and "_FillValue" not in variable.encoding:
            variable.encoding["_FillValue"] = None
    reserve(path, dataset.nbytes)
    dataset.to_netcdf(path, engine="scipy" if classic else "h5netcdf", format=classic)


def _open(path: Path) -> Any:
    engine = "scipy" if first_bytes(path, 3) == b"CDF" else "h5netcdf"
    if engine == "h5netcdf":
        need("h5netcdf", "files", "reading netCDF")
        # h5netcdf complains on stderr, past every handler, about a file that HDF5 cannot open.
        with need("h5py", "files", "reading netCDF").File(path, "r") as file:
            dict(file.attrs)
            check_all(path, file)
    with need("xarray", "files", "reading netCDF").open_dataset(path, engine=engine, decode_cf=False) as dataset:
        check_room(path, dataset.nbytes, path.stat().st_size, PLAIN if engine == "scipy" else DENSEST, copies=2)
        return dataset.load()


def _labels(array: Any) -> dict[str, Any]:
    return {"coords": {str(k): v for k, v in array.coords.items()}, "attrs": dict(array.attrs)}


def _encode(array: np.ndarray, stored: Any, name: str) -> Any:
    """Pack values as the variable ``stored`` is packed; a filled value beyond its range is clipped to it."""
    conventions = need("xarray", "files", "writing netCDF").conventions
    decoded = conventions.decode_cf_variable("variable", stored, decode_times=False)
    packing, wanted = decoded.encoding, np.dtype(stored.dtype)
    if wanted.kind in "iu" and array.dtype.kind == "f":
        fills = {packing.get("_FillValue"), packing.get("missing_value")} - {None}
        if not fills and np.isnan(array).any():
            raise FileError(f"{name} holds {wanted} without a fill value: the NaN still in the array cannot be kept")
        unsigned = str(packing.get("_Unsigned", "false")) == "true"
        info = np.iinfo(np.dtype(f"u{wanted.itemsize}") if unsigned else wanted)
        low, high = info.min + (info.min in fills), info.max - (info.max in fills)
        scale, offset = float(packing.get("scale_factor", 1)), float(packing.get("add_offset", 0))
        ends = sorted((low * scale + offset, high * scale + offset))
        array = np.clip(array, ends[0], ends[1]).astype(array.dtype)
    filled = decoded.copy(data=array)
    filled.encoding = dict(packing)
    encoded = conventions.encode_cf_variable(filled)
    encoded.encoding = {**stored.encoding, **({} if "_FillValue" in encoded.attrs else {"_FillValue": None})}
    return encoded
