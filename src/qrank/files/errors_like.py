"""Standard errors as a file: labelled like the data they belong to, in floating numbers whatever the data's own type is."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from qrank.errors import FileError
from qrank.files.loaded import Loaded
from qrank.files.raster import NODATA

WHOLE = ("image", "images", "video")  # kinds of files that hold pixels of 8 or 16 bits
FLOATING = ".npy, .npz, .tif, .nc, .h5, .zarr, .mat, or .csv and .parquet for tables"
OWN = ("dtype", "alpha", "array", "nodata")  # of the data, and not of their errors: 0 may be the mark of nodata


def check_floating(path: str | os.PathLike[str], kind: str) -> None:
    """Refuse a kind of file that cannot hold floats.

    >>> check_floating("error.npy", "npy")
    """
    if kind in WHOLE:
        raise FileError(
            f"{path} cannot hold standard errors, which are no whole numbers: choose a suffix among {FLOATING}"
        )


def errors_like(error: np.ndarray, like: Loaded) -> Loaded:
    """Return what errors are written like: a file of their own with the names, labels and coordinates of the data.

    >>> pixels = Loaded(np.zeros((2, 3), np.uint8), ("height", "width"), (0, 1), "image")
    >>> errors_like(np.zeros((2, 3)), pixels).native
    dtype('float64')
    """
    meta = {name: value for name, value in like.meta.items() if name not in OWN}
    if "raster" in meta:
        meta["raster"] = {**meta["raster"], "tags": [tag for tag in meta["raster"]["tags"] if tag[0] != NODATA]}
    # Without its path no copy of the source, in which they would take the data's place and type, is made.
    return replace(like, data=error, path=like.path if "table" in meta else None, meta={**meta, "floats": True})
