"""Large arrays by chunks: zarr, HDF5, NumPy and netCDF files as Dask arrays, and Dask arrays into such files.

Nothing is read before it is computed, and a chunk at a time is all that this process holds.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from qrank.atomic import replacing
from qrank.errors import FileError, need
from qrank.files import hdf5, zarr_store
from qrank.files.arrays import read_header
from qrank.files.guard import pickled, reading, writing
from qrank.files.sniff import READABLE, kind_of, kind_of_suffix, split_key
from qrank.files.which_array import choose
from qrank.kernels.chunked.space import gently
from qrank.kernels.marks import marks_of

KINDS = ("zarr", "hdf5", "npy", "netcdf")


@dataclass(frozen=True, eq=False)
class Chunks:
    """An array of a file, by chunks."""

    array: Any  # of Dask
    axes: tuple[str, ...]
    kind: str
    path: Path
    key: str | None = None
    marks: tuple[float | int, ...] = ()  # values that stand for missing entries
    said: str | None = None  # of chunks that are not stored


def read_chunks(path: str | os.PathLike[str]) -> Chunks:
    """Open an array of a file, ``file.zarr::video``, as a Dask array; Dask's ``array.chunk-size`` says how large chunks are.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.npy"
    >>> np.save(file, np.arange(24.0).reshape(2, 3, 4))
    >>> found = read_chunks(file)
    >>> found.axes, float(found.array[1, 2, 3].compute())
    (('axis 0', 'axis 1', 'axis 2'), 23.0)
    """
    file, key = split_key(path)
    with reading(file, "a file"):
        kind = kind_of(file)
    if kind not in KINDS:
        raise FileError(
            f"{file} is {READABLE[kind]}: by chunks, zarr, HDF5, .npy and netCDF are read; leave --memory out"
        )
    with reading(file, READABLE[kind]):
        array, axes, key, *about = {"zarr": _zarr, "hdf5": _hdf5, "npy": _npy, "netcdf": _netcdf}[kind](file, key)
    if array.size == 0:
        raise FileError(f"{file} is empty: its array is {' x '.join(map(str, array.shape))}")
    names = tuple(axes) if axes and all(axes) and len(set(axes)) == array.ndim else ()
    return Chunks(array, names or tuple(f"axis {i}" for i in range(array.ndim)), kind, file, key, *about)


def _lazy(source: Any, chunks: Any) -> Any:
    """Return an array in a file as a Dask array: whole chunks of it, or, where it has none, what lies together."""
    da, dask = need("dask.array", "dask", "reading by chunks"), need("dask", "dask", "reading by chunks")
    limit = dask.utils.parse_bytes(dask.config.get("array.chunk-size")) // source.dtype.itemsize
    sides = together(source.shape, chunks or (1,) * len(source.shape), limit, chunks is None)
    meta = np.empty((0,) * len(source.shape), source.dtype)
    return da.from_array(source, chunks=sides, name=False, asarray=True, meta=meta)


def together(shape: tuple[int, ...], chunks: tuple[int, ...], limit: int, in_order: bool) -> tuple[int, ...]:
    """Return the sides of boxes of whole chunks of a file, of up to so many numbers, one chunk at least.

    Chunks are joined along the axis that is cut into most of them; numbers that lie in order along the last axes first.

    >>> together((512, 512, 600), (512, 512, 30), 1 << 24, False), together((40, 50, 60), (1, 1, 1), 10_000, True)
    ((512, 512, 60), (3, 50, 60))
    """
    sides = list(chunks)
    axes = range(len(shape))
    for axis in reversed(axes) if in_order else sorted(axes, key=lambda axis: -shape[axis] / chunks[axis]):
        most = max(1, limit // math.prod(sides))
        sides[axis] = min(shape[axis], sides[axis] * most)
    return tuple(sides)


def _zarr(file: Path, key: str | None) -> tuple[Any, ...]:
    zarr = need("zarr", "files", "reading zarr")
    zarr_store._weigh(file)
    arrays = zarr_store._arrays(zarr.open(store=str(file), mode="r"))
    numbers = {name: array.shape for name, array in arrays.items() if array.dtype.kind in "biuf"}
    name = choose(file, None if key is None else key.strip("/") or zarr_store.ROOT, numbers)
    array = arrays[name]
    codecs = {k: v for k, v in array.metadata.to_dict().items() if k != "attributes"}
    if "pickle" in json.dumps(codecs, default=str).lower():
        raise FileError(pickled(file))
    names = getattr(array.metadata, "dimension_names", None) or dict(array.attrs).get("_ARRAY_DIMENSIONS") or ()
    return _lazy(array, array.chunks), names, name, tuple(zarr_store.marks(array)), zarr_store.unwritten(array)


def _hdf5(file: Path, key: str | None) -> tuple[Any, ...]:
    with need("h5py", "files", "reading HDF5").File(file, "r") as opened:
        found = {name: one for name, one in hdf5.datasets(opened).items() if one.dtype.kind in "biuf"}
        name = choose(file, None if key is None else key.strip("/"), {k: one.shape for k, one in found.items()})
        one = found[name]
        if one.is_virtual or one.external:
            raise FileError(f"{file}::{name} is in other files, which are not followed; copy it into one")
        labels = tuple(dim.label for dim in one.dims)
        source, chunks = InFile(str(file), name, one.shape, one.dtype), one.chunks
        marks = tuple(marks_of(one.attrs, one.dtype))
    return _lazy(source, chunks), labels, name, marks


def _npy(file: Path, key: str | None) -> tuple[Any, Any, None]:
    if key is not None:
        raise FileError(f"{file} is {READABLE['npy']} and has no parts to choose: leave '{key}' out")
    with file.open("rb") as stream:
        shape, dtype = read_header(stream)
    if dtype.kind not in "biuf":
        raise FileError(f"{file} holds {dtype}, not numbers")
    np.load(file, mmap_mode="r", allow_pickle=False)  # refuses a file that is cut short
    return _lazy(InFile(str(file), None, shape, dtype), None), (), None


def _netcdf(file: Path, key: str | None) -> tuple[Any, Any, str]:
    xarray = need("xarray", "files", "reading netCDF")
    data = xarray.open_dataset(file, engine="h5netcdf", chunks={})
    name = choose(file, key, {str(k): v.shape for k, v in data.data_vars.items() if v.dtype.kind in "biuf"})
    return data[name].data, tuple(map(str, data[name].dims)), name


class InFile:
    """An array in an HDF5 or NumPy file, opened wherever a part of it is read."""

    def __init__(self, file: str, key: str | None, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.file, self.key, self.shape, self.dtype, self.ndim = file, key, tuple(shape), dtype, len(shape)

    def __getitem__(self, part: Any) -> np.ndarray:
        if self.key is None:
            return np.array(np.load(self.file, mmap_mode="r", allow_pickle=False)[part])
        with need("h5py", "files", "reading HDF5").File(self.file, "r") as opened:
            return opened[self.key][part]

    def __setitem__(self, part: Any, numbers: np.ndarray) -> None:
        np.load(self.file, mmap_mode="r+", allow_pickle=False)[part] = numbers


def write_chunks(path: str | os.PathLike[str], array: Any, like: Chunks) -> list[str]:
    """Write a Dask array, chunk by chunk; return a sentence on each thing that is not kept. The file appears whole or not at all.

    zarr and ``.npy`` are written by the workers, HDF5 and netCDF, which have one writer, by this process.
    """
    file, key = split_key(path)
    kind = kind_of_suffix(file)
    if kind not in KINDS:
        raise FileError(f"{file} cannot be written by chunks: choose zarr, .h5, .npy or .nc")
    key = key or like.key or "data"
    with writing(file), replacing(file) as new:
        {"zarr": _to_zarr, "npy": _to_npy, "hdf5": _to_hdf5, "netcdf": _to_netcdf}[kind](new, array, key, like.axes)
    kept = like.kind in ("zarr", "hdf5", "netcdf") and like.kind == kind
    return [f"{file} has the filled array only: what else {like.path} holds is not copied"] if kept else []


def _to_zarr(new: Path, array: Any, key: str, axes: tuple[str, ...]) -> None:
    zarr, da = need("zarr", "files", "writing zarr"), need("dask.array", "dask", "")
    name = None if key == zarr_store.ROOT else key
    sides = tuple(sizes[0] for sizes in array.chunks)
    if any(size != side for sizes, side in zip(array.chunks, sides, strict=True) for size in sizes[:-1]):
        array = array.rechunk(sides)  # two tasks must not write to one chunk of the store
    if name is not None:
        zarr.open_group(str(new), mode="w")
    about = dict(shape=array.shape, dtype=array.dtype, chunks=sides, dimension_names=list(axes))
    target = zarr.create_array(store=str(new), name=name, **about)
    da.store(array, target, lock=False, **gently(array))


def _to_npy(new: Path, array: Any, key: str, axes: tuple[str, ...]) -> None:
    np.lib.format.open_memmap(new, mode="w+", dtype=array.dtype, shape=array.shape).flush()
    target = InFile(str(new), None, array.shape, array.dtype)
    need("dask.array", "dask", "").store(array, target, lock=False, **gently(array))


def _to_hdf5(new: Path, array: Any, key: str, axes: tuple[str, ...]) -> None:
    with need("h5py", "files", "writing HDF5").File(new, "w") as opened:
        target = opened.create_dataset(key, shape=array.shape, dtype=array.dtype)
        for dim, name in zip(target.dims, axes, strict=True):
            dim.label = name
        _one_by_one(array, target)


def _to_netcdf(new: Path, array: Any, key: str, axes: tuple[str, ...]) -> None:
    with need("h5netcdf", "files", "writing netCDF").File(new, "w") as opened:
        names = [axis.replace(" ", "_") for axis in axes]
        opened.dimensions = dict(zip(names, array.shape, strict=True))
        _one_by_one(array, opened.create_variable(key, names, array.dtype))


def _one_by_one(array: Any, target: Any) -> None:
    """Write one chunk after the other."""
    edges = [list(itertools.pairwise(itertools.accumulate(sizes, initial=0))) for sizes in array.chunks]
    for box in itertools.product(*edges):
        part = tuple(slice(begin, end) for begin, end in box)
        target[part] = array[part].compute()
