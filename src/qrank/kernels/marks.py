"""Values that stand for missing entries, by what is written beside an array: CF's ``_FillValue`` and ``missing_value``.

netCDF's readers put NaN in place of them; HDF5, zarr and arrays of xarray that nobody decoded (``rioxarray.open_rasterio``) hold
them as they are.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

ATTRIBUTES = ("_FillValue", "missing_value")


def marks_of(attrs: Mapping[str, Any], dtype: np.dtype, *others: Any) -> list[float | int]:
    """Return the values that stand for missing entries in numbers of a type, the first being the one to write; NaN always does.

    >>> marks_of({"_FillValue": -9999.0, "missing_value": [-9999, -1]}, np.dtype("int16"))
    [-9999, -1]
    >>> marks_of({"_FillValue": "AAAAAACHw8A="}, np.dtype("float32"))  # as xarray writes -9998 to zarr
    [-9998.0]
    """
    found: list[float | int] = []
    for value in (*(attrs.get(name) for name in ATTRIBUTES), *others):
        for one in np.atleast_1d(np.asarray(_number(value))).ravel().tolist():
            mark = _in_type(one, dtype)
            if mark is not None and mark not in found:
                found.append(mark)
    return found


def marks_beside(array: Any) -> list[float | int]:
    """Return the values that stand for missing entries by the attributes of a labelled array, or by rioxarray's accessor."""
    attrs = getattr(array, "attrs", None)
    if not isinstance(attrs, Mapping):
        return []
    return marks_of(attrs, array.dtype, getattr(getattr(array, "rio", None), "nodata", None))


def marked(values: Any, marks: list[float | int]) -> Any:
    """Return True where values, of NumPy or Dask, are one of the marks."""
    found = values == marks[0]
    for mark in marks[1:]:
        found = found | (values == mark)
    return found


def _number(value: Any) -> Any:
    """Return what an attribute says; xarray writes floats into zarr's as the 8 bytes of a double."""
    if isinstance(value, str | bytes):
        try:
            return struct.unpack("<d", base64.b64decode(value, validate=True))[0]
        except (ValueError, struct.error):
            return []
    return [] if value is None else value


def _in_type(value: Any, dtype: np.dtype) -> float | int | None:
    """Return a value as numbers of a type hold it, or None where none does; -3.4028234663852886e+38 is that of single precision."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            mark = float(dtype.type(value))
        return None if np.isnan(mark) else mark
    whole = dtype.kind in "iu" and float(value).is_integer()
    return int(value) if whole and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max else None
