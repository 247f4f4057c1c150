"""What a TIFF file says beside its pixels: how they are laid out, where on Earth they lie, which value is none.

GeoTIFF and GDAL keep this in tags, which are carried over as they are. What says how the pixels are stored (planes or bands
last, tiles or strips, compression, byte order) is read here and asked of tifffile again when a file like it is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

NODATA = 42113
# ModelPixelScale, ModelTiepoint, ModelTransformation, the three of GeoKeys, RPCs: they hold for pictures of one size only.
GEOGRAPHIC = (33550, 33922, 34264, 34735, 34736, 34737, 50844)
# Name, maker, model, orientation, artist, computer, XMP, copyright, colour profile, GDAL's metadata and nodata.
KEPT = (269, 271, 272, 274, 315, 316, 700, 33432, 34675, 42112, NODATA)
DEFLATED = (8, 32946, 50013)  # compressions
WRITTEN = {1: None, **dict.fromkeys(DEFLATED, "zlib"), 5: "lzw", 50000: "zstd", 34925: "lzma"}
LONGEST = 1 << 20  # bytes of a tag that is carried over
TILE = 16  # sides of tiles are multiples of it


def described(file: Any, page: Any) -> dict[str, Any]:
    """Return what is needed to store pixels as this page of a file does, and the tags that are carried over."""
    tags = [tag for tag in page.tags.values() if tag.code in (*GEOGRAPHIC, *KEPT) and tag.valuebytecount <= LONGEST]
    said = page.description
    own = file.is_imagej or file.is_shaped or file.is_ome  # notes on the array's axes, which are written anew
    return {
        "tags": [(tag.code, int(tag.dtype), tag.count, tag.value, False) for tag in tags],
        "size": (page.imagelength, page.imagewidth),
        "planar": "separate" if page.axes.startswith("S") else "contig",
        "photometric": page.photometric.name.lower(),
        "extra": [int(extra) for extra in page.extrasamples],
        "tile": (page.tilelength, page.tilewidth) if page.is_tiled else None,
        "rows": page.rowsperstrip if 0 < page.rowsperstrip < page.imagelength else None,
        "compression": int(page.compression),
        "predictor": int(page.predictor),
        "bigtiff": bool(file.is_bigtiff),
        "byteorder": file.byteorder,
        "description": None if own or not said else said,
        "own": own,
        **{name: str(page.tags[name].value) for name in ("Software", "DateTime") if name in page.tags},
    }


def nodata_of(page: Any, dtype: np.dtype) -> float | int | None:
    """Return the value that stands for none in numbers of this type, or None where there is no such value."""
    tag = page.tags.get(NODATA)
    if tag is None:
        return None
    try:
        value = float(str(tag.value).strip("\0 "))
    except ValueError:
        return None
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return float(dtype.type(value))  # -3.4028234663852886e+38 is that of single precision
    whole = dtype.kind in "iu" and value.is_integer() and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
    return int(value) if whole else None


def storage(like: Mapping[str, Any], size: tuple[int, int], dtype: np.dtype) -> tuple[dict[str, Any], list[str]]:
    """Return tifffile's options by which pixels are stored as they were, and a sentence on what cannot be kept."""
    if not like:
        return {}, []
    same, notes = tuple(like["size"]) == tuple(size), []
    tags = [tag for tag in like["tags"] if same or tag[0] not in GEOGRAPHIC]
    if len(tags) < len(like["tags"]):
        notes.append("the georeference was left out: it is that of pictures of another size")
    compression, predictor = WRITTEN.get(like["compression"], "zlib"), like["predictor"] == 2 and dtype.kind in "iu"
    if like["compression"] in (5, 50000) and not _has_codecs():
        compression = "zlib"
        notes.append("it is compressed by deflate: what it was compressed by needs the package imagecodecs")
    options = {
        "extratags": tags,
        "compression": compression,
        "predictor": predictor if compression else False,
        "software": like.get("Software", False),
        "datetime": like.get("DateTime"),
        "bigtiff": like["bigtiff"],
        "byteorder": like["byteorder"],
    }
    tile = like["tile"]
    if tile is not None and all(0 < side <= 1 << 14 and side % TILE == 0 for side in tile):
        options["tile"] = tile
    elif same:
        options["rowsperstrip"] = like["rows"]
    return options, notes


def _has_codecs() -> bool:
    try:
        import imagecodecs  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        return False
    return True


def with_nodata(array: np.ndarray, nodata: float | None) -> np.ndarray:
    """Return floats with NaN as the file marks them; other numbers hold their mark as it is.

    >>> with_nodata(np.array([1.0, np.nan]), -99.0)
    array([  1., -99.])
    """
    if nodata is None or array.dtype.kind != "f" or np.isnan(nodata):
        return array
    return np.where(np.isnan(array), array.dtype.type(nodata), array)


def without_nodata(x: np.ndarray, nodata: float | None, filled: np.ndarray) -> np.ndarray:
    """Return integers in which no filled entry has the value that stands for none: it gets the next one.

    >>> without_nodata(np.array([[0, 0]], np.uint8), 0, np.array([[True, False]]))
    array([[1, 0]], dtype=uint8)
    """
    if nodata is None or x.dtype.kind not in "iu":
        return x
    beside = nodata + 1 if nodata < np.iinfo(x.dtype).max else nodata - 1
    return np.where(filled & (x == nodata), x.dtype.type(beside), x)
