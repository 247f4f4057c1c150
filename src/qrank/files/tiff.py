"""TIFF, of one page or many: axes, resolution and ImageJ's notes kept; and GeoTIFF, its bands, tags and nodata."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from qrank.errors import FileError, need
from qrank.files.arrays import by_python
from qrank.files.loaded import MEMORY, Ask, Loaded, numeric, restore, take_frames, without_axis
from qrank.files.pixels import as_frames, join_alpha, split_alpha
from qrank.files.raster import DEFLATED, described, nodata_of, storage, with_nodata
from qrank.files.room import DEFLATE, DENSEST, PLAIN, check_room
from qrank.files.which_array import choose

# tifffile's letters for axes; any other counts pages.
LETTERS = {"Y": "height", "X": "width", "S": "colour", "C": "channel", "Z": "depth", "T": "time"}
LETTER_OF = {name: letter for letter, name in LETTERS.items()} | {"band": "S"}
RESOLUTION = ("XResolution", "YResolution", "ResolutionUnit")
ASIDE = 1 | 4  # pages that are smaller copies of others, or masks
ALPHAS = (1, 2)  # extra samples that are transparency: multiplied into the colours, or not
# ImageJ's notes on what follows from the array; written twice they could contradict it.
COUNTED = ("ImageJ", "images", "channels", "slices", "frames", "hyperstack", "axes")
IMAGEJ_TYPES = ("uint8", "uint16", "float32")


def read(path: Path, ask: Ask) -> Loaded:
    """Read a TIFF file; of several series the one whose number is ``ask.key``."""
    with need("tifffile", "files", "reading TIFF").TiffFile(path) as file:
        shapes = {str(number): series.shape for number, series in enumerate(file.series)}
        main = {name: shapes[name] for name in shapes if not int(file.series[int(name)].keyframe.subfiletype) & ASIDE}
        series = file.series[int(choose(path, ask.key, shapes if ask.key else main or shapes, all_count=True))]
        page = series.keyframe
        _check(path, series)
        letters, data = series.axes, numeric(_pixels(series, path), str(path))
        meta: dict[str, Any] = {"key": ask.key, "raster": described(file, page)}
        if all(name in page.tags for name in RESOLUTION):
            x, y, unit = (page.tags[name].value for name in RESOLUTION)
            meta["resolution"] = {"resolution": (x[0] / x[1], y[0] / y[1]), "resolutionunit": int(unit)}
        if file.is_imagej:
            meta["imagej"] = dict(file.imagej_metadata or {})
        see_through = next((int(extra) for extra in page.extrasamples if extra in ALPHAS), None)
        colours = page.colormap if page.photometric.name == "PALETTE" else None
        nodata = nodata_of(page, data.dtype) if colours is None else None
    if colours is not None:
        # Colour tables are 16-bit; those made from 8 bits come back as 8 bits.
        step = 257 if (np.asarray(colours) % 257 == 0).all() else 256
        data, letters = (np.asarray(colours).T // step).astype(np.uint8)[data], letters + "S"
    if nodata is not None:
        meta["nodata"] = nodata
        if data.dtype.kind == "f":
            data = np.where(data == nodata, data.dtype.type(np.nan), data)
    samples = data.shape[letters.index("S")] if "S" in letters else 1
    alpha_last = see_through and samples in (2, 4)
    if samples == 3 or alpha_last:
        data, letters = np.moveaxis(data, letters.index("S"), -1), letters.replace("S", "") + "S"
    if alpha_last:
        data, alpha = split_alpha(data)
        letters = letters if data.ndim == len(letters) else letters[:-1]
        meta |= {} if alpha is None else {"alpha": alpha, "extra": see_through}
    axes = _names(letters, "colour" if samples == 3 or alpha_last else "band")
    pair = axes.index("height"), axes.index("width")
    return take_frames(Loaded(np.ascontiguousarray(data), axes, pair, "tiff", path, meta), ask.frames)


def _check(path: Path, series: Any) -> None:
    """Refuse what cannot be in the file, or not in memory; a tile is read as a whole."""
    page = series.keyframe
    # Tiles of nothing need not be stored.
    plain = DEFLATE if page.is_tiled else PLAIN
    densest = {1: plain, **dict.fromkeys(DEFLATED, DEFLATE)}.get(int(page.compression), DENSEST)
    copies = 5 if page.photometric.name == "PALETTE" else 2
    for cells in (series.shape, page.shape, page.chunks):
        check_room(path, math.prod(cells) * np.dtype(page.dtype).itemsize, path.stat().st_size, densest, copies)


def _pixels(series: Any, path: Path) -> np.ndarray:
    try:
        return series.asarray()
    except ValueError as error:
        if "imagecodecs" not in str(error):
            raise
    if series.keyframe.samplesperpixel > 4 or series.keyframe.predictor == 3:
        return _pixels_by_gdal(series, path)
    # LZW and JPEG inside TIFF need another package for tifffile; Pillow has them built in, for pictures.
    sequence = need("PIL.ImageSequence", "files", "reading compressed TIFF")
    with need("PIL.Image", "files", "reading compressed TIFF").open(path) as image:
        pages = np.stack([np.asarray(page) for page in sequence.Iterator(image)])
    return pages.astype(series.dtype, casting="safe").reshape(series.shape)


def _pixels_by_gdal(series: Any, path: Path) -> np.ndarray:
    """Read bands by rasterio, where it is installed: it knows every compression."""
    try:
        rasterio = importlib.import_module("rasterio")  # no extra of ours
    except ImportError:
        page = series.keyframe
        how = f"{page.compression.name.lower()} with predictor {int(page.predictor)}"
        raise FileError(f"{path} is compressed by {how}: install imagecodecs or rasterio to read it") from None
    if len(series.pages) > 1:
        raise FileError(f"{path} has several compressed pages: install imagecodecs to read them")
    with rasterio.open(path, driver="GTiff") as file:
        bands = file.read()
    bands = bands if series.axes.startswith("S") else np.moveaxis(bands, 0, -1)
    return bands.astype(series.dtype, casting="safe").reshape(series.shape)


def _names(letters: str, samples: str) -> tuple[str, ...]:
    names: list[str] = []
    for letter in letters:
        name = samples if letter == "S" else LETTERS.get(letter, "page")
        names.append(name if name not in names else f"{name}{names.count(name) + 1}")
    return tuple(names)


def write(path: Path, array: np.ndarray, like: Loaded) -> list[str]:
    """Write pages: as they were read, or one a frame of any other picture, video or array."""
    if like.kind == "tiff" and like.data.ndim == array.ndim:
        alpha = like.meta.get("alpha")
        alpha = alpha if alpha is None or alpha.shape == without_axis(array.shape, like.colour_axis) else None
        letters = "".join(LETTER_OF.get(name, "Q") for name in like.axes)
        return save(path, array, alpha, letters, like.meta, like.native)
    still = like.kind in (MEMORY, "image") and array.ndim - (array.shape[-1] == 3) == 2
    frames, alpha = as_frames(array, like, path.name, still)
    letters = "TYXS"[: frames.ndim]
    if len(frames) == 1:
        frames, alpha, letters = frames[0], None if alpha is None else alpha[0], letters[1:]
    return save(path, frames, alpha, letters, {}, like.native)


def save(
    path: Path, array: np.ndarray, alpha: np.ndarray | None, letters: str, meta: Mapping[str, Any], native: np.dtype
) -> list[str]:
    """Write an array whose axes have these letters, its transparency and what else is known of it."""
    tifffile = need("tifffile", "files", "writing TIFF")
    raster, known = meta.get("raster", {}), {"extra": meta.get("extra", ALPHAS[-1])} if alpha is not None else {}
    pixels = join_alpha(with_nodata(restore(array, native, path.name), meta.get("nodata")), alpha)
    letters = letters if alpha is None or "S" in letters else letters + "S"
    size = pixels.shape[letters.index("Y")], pixels.shape[letters.index("X")]
    pixels, letters, options = _laid_out(pixels, letters, raster, **known)
    stored, notes = storage(raster, size, pixels.dtype)
    kept = {name: value for name, value in meta.get("imagej", {}).items() if name not in COUNTED}
    # ImageJ knows few types, and transparency not at all.
    if "imagej" in meta and pixels.dtype.name in IMAGEJ_TYPES and alpha is None and set(letters) <= set("TZCYXS"):
        options |= {"imagej": True, "metadata": {**kept, "axes": letters}, "compression": stored.get("compression")}
    elif raster and not raster["own"]:
        options |= {**stored, "metadata": None, "description": raster["description"]}
    else:
        options |= {**stored, "metadata": {"axes": letters}}
    with path.open("w+b") as stream:
        tifffile.imwrite(by_python(stream), pixels, **options, **meta.get("resolution", {}))
    return notes


def _laid_out(
    pixels: np.ndarray, letters: str, raster: Mapping[str, Any], extra: int | None = None
) -> tuple[np.ndarray, str, dict[str, Any]]:
    """Return pixels with their samples last, or as planes where they were, and tifffile's words for that."""
    stored = raster.get("photometric", "rgb")
    if "S" not in letters:
        return pixels, letters, {"photometric": "miniswhite" if stored == "miniswhite" else "minisblack"}
    at, plain = letters.index("S"), letters.replace("S", "")
    planar, samples = raster.get("planar", "contig"), pixels.shape[at]
    rgb = samples > 2 and stored not in ("minisblack", "miniswhite")
    more = samples - (3 if rgb else 1)
    extras = raster.get("extra", ()) if len(raster.get("extra", ())) == more else [0] * more
    extras = extras if extra is None else [*extras[:-1], extra]
    options: dict[str, Any] = {"photometric": "rgb" if rgb else "minisblack", "extrasamples": extras or None}
    if samples > 1:
        options["planarconfig"] = planar
    if planar == "separate":
        return np.moveaxis(pixels, at, -3), plain[:-2] + "SYX", options
    return np.moveaxis(pixels, at, -1), plain + "S", options
