"""HDF5 files, ``file.h5::group/dataset``; whatever else is in the file is kept."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from qrank.atomic import reserve
from qrank.errors import FileError, need
from qrank.files.arrays import plain
from qrank.files.loaded import Ask, Loaded, source_of, unmarked
from qrank.files.raster import with_nodata
from qrank.files.room import DEFLATE, DENSEST, PLAIN, check_room
from qrank.files.which_array import choose
from qrank.kernels.marks import marks_of

# Written by HDF5's own dimension scales: a copy of them would point to what is gone.
SCALE_ATTRIBUTES = ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME")

# HDF5's numbers of filters: zlib is 1, shuffling bytes 2, checksums 3.
BY_ZLIB = {1, 2, 3}


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
        check(path, [dataset])
        labels = tuple(dim.label or (Path(dim[0].name).name if len(dim) else "") for dim in dataset.dims)
        axes = labels if all(labels) and len(set(labels)) == len(labels) else ()
        data, about = unmarked(dataset[()], marks_of(dataset.attrs, dataset.dtype))
        return plain(data, "hdf5", path, ask, axes, key=key, attrs=_attributes(dataset), **about)


def check(path: Path, chosen: Iterable[Any]) -> None:
    """Refuse datasets whose numbers are in other files, or that cannot be in this one, or not in memory.

    A file that points to others could bring any file of the machine into the output.
    """
    claimed = 0
    for dataset in chosen:
        if dataset.is_virtual or dataset.external:
            where = "virtual" if dataset.is_virtual else "in external storage"
            raise FileError(
                f"{path}::{dataset.name.strip('/')} is {where}: other files are not followed; copy it into one"
            )
        cells = [dataset.shape, *([dataset.chunks] if dataset.chunks else [])]  # a chunk is read as a whole
        size = max(math.prod(map(int, cell)) * dataset.dtype.itemsize for cell in cells)
        packing = dataset.id.get_create_plist()
        filters = {packing.get_filter(number)[0] for number in range(packing.get_nfilters())}
        # Chunks that were never written are not stored: what is missing in a recording often is such.
        densest = DENSEST if filters - BY_ZLIB else DEFLATE if dataset.chunks else PLAIN
        check_room(path, size, dataset.id.get_storage_size(), densest)
        claimed += size
    check_room(path, claimed, claimed)


def check_all(path: Path, file: Any) -> None:
    """Do what `check` does for everything in an open file; refuse links to other files, which netCDF would follow."""
    h5py = need("h5py", "files", "reading HDF5")
    found: list[Any] = []

    def visit(name: str, item: Any) -> None:
        # A dimension without coordinates is a dataset that has a length and no numbers.
        if isinstance(item, h5py.Dataset) and item.shape and not _is_bare_dimension(item):
            found.append(item)

    leads_out = file.visititems_links(lambda name, link: name if isinstance(link, h5py.ExternalLink) else None)
    if leads_out is not None:
        raise FileError(f"{path}::{leads_out} is a link to another file: these are not followed; copy it into one")
    file.visititems(visit)
    check(path, found)


def _is_bare_dimension(dataset: Any) -> bool:
    name = dataset.attrs.get("NAME", b"")
    return isinstance(name, bytes) and name.startswith(b"This is a netCDF dimension but not a netCDF variable")


def write(path: Path, array: np.ndarray, like: Loaded, key: str | None) -> None:
    """Write a dataset into a copy of the file it came from, or into a new file."""
    if source := source_of(like, "hdf5"):
        return replace(path, source, key or "data", with_nodata(array, like.meta.get("nodata")))
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
