"""HDF5 files, ``file.h5::group/dataset``; whatever else is in the file is kept."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from qrank.atomic import reserve
from qrank.errors import need
from qrank.files.arrays import plain
from qrank.files.loaded import Ask, Loaded, source_of
from qrank.files.which_array import choose

# Written by HDF5's own dimension scales: a copy of them would point to what is gone.
SCALE_ATTRIBUTES = ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME")


def datasets(file: Any, kinds: str = "biufc") -> dict[str, Any]:
    """Return the datasets in an open file whose dtypes are of these kinds, numbers, by their full names."""
    h5py = need("h5py", "files", "reading HDF5")
    found: dict[str, Any] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.shape and item.dtype.kind in kinds and not name.startswith("#"):
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
        return plain(dataset[()], "hdf5", path, ask, axes, key=key, attrs=_attributes(dataset))


def write(path: Path, array: np.ndarray, like: Loaded, key: str | None) -> None:
    """Write a dataset into a copy of the file it came from, or into a new file."""
    if source := source_of(like, "hdf5"):
        return replace(path, source, key or "data", array)
    reserve(path, array.nbytes)
    with need("h5py", "files", "writing HDF5").File(path, "w") as file:
        dataset = file.create_dataset(key or "data", data=array)
        for dim, name in zip(dataset.dims, like.axes, strict=False):
            dim.label = name


def replace(path: Path, source: Path, key: str, array: np.ndarray) -> None:
    """Copy ``source`` to ``path`` and put ``array`` in place of its dataset ``key``."""
    reserve(path, source.stat().st_size + array.nbytes)
    shutil.copyfile(source, path)
    with need("h5py", "files", "writing HDF5").File(path, "r+") as file:
        if key not in file:
            file.create_dataset(key, data=array)
        elif file[key].shape == array.shape:
            file[key][...] = array
        else:
            old = file[key]
            attrs, labels = _attributes(old), [dim.label for dim in old.dims]
            options = {name: getattr(old, name) for name in ("compression", "compression_opts", "shuffle", "dtype")}
            del file[key]
            new = file.create_dataset(key, data=array, **options)
            new.attrs.update(attrs)
            for dim, label in zip(new.dims, labels, strict=True):
                dim.label = label


def _attributes(dataset: Any) -> dict[str, Any]:
    return {name: value for name, value in dataset.attrs.items() if name not in SCALE_ATTRIBUTES}
