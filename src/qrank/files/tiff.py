"""TIFF, of one page or many: axes, resolution and ImageJ's notes kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from qrank.errors import need
from qrank.files.arrays import by_python
from qrank.files.loaded import MEMORY, Ask, Loaded, numeric, restore, take_frames, without_axis
from qrank.files.pixels import as_frames, join_alpha, split_alpha
from qrank.files.room import DEFLATE, DENSEST, PLAIN, check_room
from qrank.files.which_array import choose

# tifffile's letters for axes; any other counts pages.
LETTERS = {"Y": "height", "X": "width", "S": "colour", "C": "channel", "Z": "depth", "T": "time"}
LETTER_OF = {name: letter for letter, name in LETTERS.items()}
RESOLUTION = ("XResolution", "YResolution", "ResolutionUnit")
ZLIB = (8, 32946, 50013)  # compressions
ALPHAS = (1, 2)  # extra samples that are transparency: multiplied into the colours, or not
# ImageJ's notes on what follows from the array; written twice they could contradict it.
COUNTED = ("ImageJ", "images", "channels", "slices", "frames", "hyperstack", "axes")
IMAGEJ_TYPES = ("uint8", "uint16", "float32")


def read(path: Path, ask: Ask) -> Loaded:
    """Read a TIFF file; of several series the one whose number is ``ask.key``."""
    with need("tifffile", "files", "reading TIFF").TiffFile(path) as file:
        shapes = {str(number): series.shape for number, series in enumerate(file.series)}
        series = file.series[int(choose(path, ask.key, shapes, all_count=True))]
        page = series.keyframe
        _check(path, series)
        letters, data = series.axes, numeric(_pixels(series, path), str(path))
        meta: dict[str, Any] = {"compressed": page.compression != 1, "key": ask.key}
        if all(name in page.tags for name in RESOLUTION):
            x, y, unit = (page.tags[name].value for name in RESOLUTION)
            meta["resolution"] = {"resolution": (x[0] / x[1], y[0] / y[1]), "resolutionunit": int(unit)}
        if file.is_imagej:
            meta["imagej"] = dict(file.imagej_metadata or {})
        see_through = next((int(extra) for extra in page.extrasamples if extra in ALPHAS), None)
        colours = page.colormap if page.photometric.name == "PALETTE" else None
    if colours is not None:
        # Colour tables are 16-bit; those made from 8 bits come back as 8 bits.
        step = 257 if (np.asarray(colours) % 257 == 0).all() else 256
        data, letters = (np.asarray(colours).T // step).astype(np.uint8)[data], letters + "S"
    if "S" in letters:
        data, letters = np.moveaxis(data, letters.index("S"), -1), letters.replace("S", "") + "S"
    if "S" in letters and see_through and data.shape[-1] in (2, 4):
        data, alpha = split_alpha(data)
        letters = letters if data.ndim == len(letters) else letters[:-1]
        meta |= {} if alpha is None else {"alpha": alpha, "extra": see_through}
    elif "S" in letters and data.shape[-1] != 3:
        letters = letters[:-1] + "C"  # bands of another kind than red, green and blue
    axes = _names(letters)
    pair = axes.index("height"), axes.index("width")
    meta["letters"] = letters
    return take_frames(Loaded(np.ascontiguousarray(data), axes, pair, "tiff", path, meta), ask.frames)


def _check(path: Path, series: Any) -> None:
    """Refuse what cannot be in the file, or not in memory; a tile is read as a whole."""
    page = series.keyframe
    # Tiles of nothing need not be stored.
    plain = DEFLATE if page.is_tiled else PLAIN
    densest = {1: plain, **dict.fromkeys(ZLIB, DEFLATE)}.get(int(page.compression), DENSEST)
    copies = 5 if page.photometric.name == "PALETTE" else 2
    for cells in (series.shape, page.shape, page.chunks):
        check_room(path, math.prod(cells) * np.dtype(page.dtype).itemsize, path.stat().st_size, densest, copies)


def _pixels(series: Any, path: Path) -> np.ndarray:
    try:
        return series.asarray()
    except ValueError as error:
        if "imagecodecs" not in str(error):
            raise
    # LZW and JPEG inside TIFF need another package for tifffile; Pillow has them built in.
    sequence = need("PIL.ImageSequence", "files", "reading compressed TIFF")
    with need("PIL.Image", "files", "reading compressed TIFF").open(path) as image:
        pages = np.stack([np.asarray(page) for page in sequence.Iterator(image)])
    return pages.astype(series.dtype, casting="safe").reshape(series.shape)


def _names(letters: str) -> tuple[str, ...]:
    names: list[str] = []
    for letter in letters:
        name = LETTERS.get(letter, "page")
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
    coloured = letters.endswith("S")
    pixels = join_alpha(restore(array, native, path.name), alpha)
    letters = letters if alpha is None or coloured else letters + "S"
    options: dict[str, Any] = dict(meta.get("resolution", {}))
    if meta.get("compressed"):
        options["compression"] = "zlib"
    notes = {name: value for name, value in meta.get("imagej", {}).items() if name not in COUNTED}
    # ImageJ knows few types, and transparency not at all.
    if "imagej" in meta and pixels.dtype.name in IMAGEJ_TYPES and alpha is None and set(letters) <= set("TZCYXS"):
        options |= {"imagej": True, "metadata": {**notes, "axes": letters}}
    else:
        options["metadata"] = {"axes": letters}
        options["extrasamples"] = None if alpha is None else [meta.get("extra", ALPHAS[-1])]
    with path.open("w+b") as stream:
        tifffile.imwrite(by_python(stream), pixels, photometric="rgb" if coloured else "minisblack", **options)
    return []
