"""HDF5 files, ``file.h5::group/dataset``; whatever else is in the file is kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from qrank.atomic import reserve
from qrank.errors import need
from qrank.files.arrays import own_type, plain
from qrank.files.loaded import Ask, Loaded
from qrank.files.which_array import choose

# Written by HDF5's own dimension scales: a copy of them would point to what is gone.
SCALE_ATTRIBUTES = ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME")


def _is_number(dtype: np.dtype) -> bool:
    return dtype.kind in "biufc"


def datasets(file: Any, wanted: Callable[[np.dtype], bool] = _is_number) -> dict[str, Any]:
    """Return the datasets of numbers in an open file, by their full names."""
    h5py = need("h5py", "files", "reading HDF5")
    found: dict[str, Any] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.shape and wanted(item.dtype) and not name.startswith("#"):
            found[name] = item

    file.visititems(visit)
    return found


def read(path: Path, ask: Ask) -> Loaded:
    """Read one dataset."""
    with need("h5py", "files", "reading HDF5").File(path, "r") as file:
        found = datasets(file)
        asked = None if ask.key is None else ask.key.strip("/")
        key = choose(path, asked, {name: dataset.shape for name, dataset in found.items()})
        dataset = found[key]
        labels = tuple(dim.label or (Path(dim[0].name).name if len(dim) else "") for dim in dataset.dims)
        axes = labels if all(labels) and len(set(labels)) == len(labels) else ()
        attrs = {k: v for k, v in dataset.attrs.items() if k not in SCALE_ATTRIBUTES}
        return plain(dataset[()], "hdf5", path, ask, axes, key=key, attrs=attrs)


def write(path: Path, array: np.ndarray, like: Loaded | None, key: str | None) -> list[str]:
    """Write a dataset into a copy of the file it came from, or into a new file."""
    array = own_type(array, like, path)
    if like is not None and like.kind == "hdf5" and like.path is not None:
        replace(path, like.path, key or like.meta["key"], array)
        return []
    reserve(path, array.nbytes)
    with need("h5py", "files", "writing HDF5").File(path, "w") as file:
        dataset = file.create_dataset(key or "data", data=array)
        for dim, name in zip(dataset.dims, () if like is None else like.axes, strict=False):
            dim.label = name
    return []


def replace(path: Path, source: Path, key: str, array: np.ndarray) -> None:
    """Copy ``source`` to ``path`` and put ``array`` in place of its dataset ``key``."""
    reserve(path, source.stat().st_size + array.nbytes)
    shutil.copyfile(source, path)
    with need("h5py", "files", "writing HDF5").File(path, "r+") as file:
        if key not in file:
            file.create_dataset(key, data=array)
            return
        old = file[key]
        if old.shape == array.shape:
            old[...] = array
            return
        attrs = {name: value for name, value in old.attrs.items() if name not in SCALE_ATTRIBUTES}
        labels = [dim.label for dim in old.dims]
        options = {"compression": old.compression, "compression_opts": old.compression_opts}
        options["shuffle"] = old.shuffle
        dtype = old.dtype
        del file[key]
        new = file.create_dataset(key, data=array, dtype=dtype, **options)
        new.attrs.update(attrs)
        for dim, label in zip(new.dims, labels, strict=True):
            dim.label = label
