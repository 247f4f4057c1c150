"""MATLAB files: up to v7 through SciPy, v7.3 (HDF5 inside) through h5py; other variables kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.io

from qrank.errors import need
from qrank.files import hdf5
from qrank.files.arrays import plain
from qrank.files.loaded import Ask, Loaded, source_of
from qrank.files.mat5 import check_variables
from qrank.files.sniff import HDF5_MAGIC, first_bytes
from qrank.files.which_array import choose

NUMBERS = {"double", "single", "logical"} | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def read(path: Path, ask: Ask) -> Loaded:
    """Read one variable."""
    if _is_hdf5(path):
        return _read_new(path, ask)
    check_variables(path)
    shapes = {name: shape for name, shape, kind in scipy.io.whosmat(path) if kind in NUMBERS}
    key = choose(path, ask.key, shapes)
    array = scipy.io.loadmat(path, variable_names=[key])[key]
    return plain(array, "mat", path, ask, key=key)


def _read_new(path: Path, ask: Ask) -> Loaded:
    with need("h5py", "files", "reading MATLAB 7.3 files").File(path, "r") as file:
        datasets = {k: v for k, v in hdf5.datasets(file).items() if "MATLAB_empty" not in v.attrs}
        datasets |= {k: v for k, v in hdf5.datasets(file, "V").items() if v.dtype.names == ("real", "imag")}
        # MATLAB counts axes the other way round than HDF5.
        key = choose(path, ask.key, {name: dataset.shape[::-1] for name, dataset in datasets.items()})
        hdf5.check(path, [datasets[key]])
        array = datasets[key][()].T
    if array.dtype.names:
        array = array["real"] + 1j * array["imag"]
    return plain(np.asarray(array, order="F"), "mat", path, ask, key=key)


def write(path: Path, array: np.ndarray, like: Loaded, key: str | None) -> None:
    """Write a ``.mat`` file: v7.3 where the source was, else v5; other variables of the source go with it."""
    source, name = source_of(like, "mat"), key or "data"
    if source is not None and _is_hdf5(source):
        return hdf5.replace(path, source, name, _as_stored(array))
    # SciPy reads but cannot write these; __header__ and the like are its own.
    opaque = (scipy.io.matlab.MatlabOpaque, scipy.io.matlab.MatlabFunction)
    found = {} if source is None else scipy.io.loadmat(source, mat_dtype=False)
    kept = {k: v for k, v in found.items() if not k.startswith("__") and k != name and not isinstance(v, opaque)}
    scipy.io.savemat(path, {**kept, name: array}, appendmat=False, do_compression=True)


def _as_stored(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "c":
        part = np.real(array).dtype
        array = array.view([("real", part), ("imag", part)])
    return array.T


def _is_hdf5(path: Path) -> bool:
    head = first_bytes(path, 520)
    return HDF5_MAGIC in (head[:8], head[512:])
