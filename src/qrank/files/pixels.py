"""Pictures as arrays: grey, size, transparency, and the layout frame x height x width (x colour)."""

from __future__ import annotations

import dataclasses

import numpy as np

from qrank.data import GREY
from qrank.errors import FileError, InputError, need
from qrank.files.loaded import MEMORY, Loaded, find_slice_axes, restore, without_axis
from qrank.files.options import Size, parse_size

PICTURE_KINDS = ("video", "image", "images", "tiff")


def to_grey(data: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return 0.299 R + 0.587 G + 0.114 B, rounded back to the dtype of the data.

    >>> to_grey(np.array([[255, 0, 0]], dtype=np.uint8))
    array([76], dtype=uint8)
    """
    # 8-bit sums are exact enough in float32, at half the memory.
    work = np.float32 if data.dtype == np.uint8 else np.float64
    mixed = sum(work(weight) * data.take(channel, axis) for channel, weight in enumerate(GREY))
    return restore(np.asarray(mixed), data.dtype, "the picture")


def grey(loaded: Loaded) -> Loaded:
    """Mix the colours of a picture or video; grey ones stay as they are."""
    axis = loaded.colour_axis
    if axis is None:
        if loaded.kind in PICTURE_KINDS:
            return loaded
        raise InputError(f"{loaded.name} has no colours to mix: grey is for pictures and videos")
    axes = without_axis(loaded.axes, axis)
    return dataclasses.replace(loaded, data=to_grey(loaded.data, axis), axes=axes, slice_axes=find_slice_axes(axes))


def resize(loaded: Loaded, size: str | float | Size) -> Loaded:
    """Scale height and width of pictures; the mean over the new pixel's place, so nothing is skipped."""
    if loaded.kind not in PICTURE_KINDS:
        raise InputError(f"{loaded.name} is no picture or video: only those can be resized")
    height, width = loaded.picture_axes
    full = loaded.data.shape[height], loaded.data.shape[width]
    new = parse_size(size, full)
    meta = {**loaded.meta, "full_size": full}
    if "alpha" in meta:
        meta["alpha"] = resize_planes(meta["alpha"], (meta["alpha"].ndim - 2, meta["alpha"].ndim - 1), new)
    nodata = loaded.meta.get("nodata")
    if nodata is None or loaded.data.dtype.kind == "f":
        return dataclasses.replace(loaded, data=resize_planes(loaded.data, (height, width), new), meta=meta)
    # A value that stands for none must not be mixed into its neighbours.
    scaled = resize_planes(np.where(loaded.data == nodata, np.nan, loaded.data), (height, width), new)
    return dataclasses.replace(
        loaded, data=restore(np.where(np.isnan(scaled), nodata, scaled), loaded.native, "the picture"), meta=meta
    )


def resize_planes(data: np.ndarray, pair: tuple[int, int], size: Size) -> np.ndarray:
    """Scale the two axes of ``pair`` to ``size``.

    >>> resize_planes(np.full((4, 6, 3), 7, np.uint8), (0, 1), (2, 3)).shape
    (2, 3, 3)
    """
    image = need("PIL.Image", "files", "resizing pictures")
    planes = np.moveaxis(data, pair, (-2, -1))
    out = np.empty(planes.shape[:-2] + size, data.dtype)
    for index in np.ndindex(planes.shape[:-2]):
        plane = image.fromarray(np.ascontiguousarray(planes[index], dtype=np.float32))
        scaled = np.asarray(plane.resize(size[::-1], image.Resampling.BILINEAR))
        out[index] = restore(scaled, data.dtype, "the picture")
    return np.ascontiguousarray(np.moveaxis(out, (-2, -1), pair))


def split_alpha(pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Part ... x 2 (grey, alpha) or ... x 4 (colour, alpha); transparency that hides nothing is dropped.

    >>> colour, alpha = split_alpha(np.full((2, 2, 4), 255, np.uint8))
    >>> colour.shape, alpha
    ((2, 2, 3), None)
    """
    alpha = np.ascontiguousarray(pixels[..., -1])
    colour = pixels[..., 0] if pixels.shape[-1] == 2 else pixels[..., :-1]
    opaque = np.iinfo(pixels.dtype).max if pixels.dtype.kind in "iu" else 1
    return np.ascontiguousarray(colour), None if (alpha == opaque).all() else alpha


def join_alpha(pixels: np.ndarray, alpha: np.ndarray | None) -> np.ndarray:
    """Put transparency back behind grey (... x 2) or colours (... x 4)."""
    if alpha is None:
        return pixels
    colours = pixels if pixels.ndim > alpha.ndim else pixels[..., None]
    return np.concatenate([colours, alpha[..., None]], axis=-1)


def as_frames(array: np.ndarray, like: Loaded, name: str, still: bool = False) -> tuple[np.ndarray, np.ndarray | None]:
    """Lay an array out as frame x height x width (x 3), and its transparency as frame x height x width.

    ``like`` tells which axis is which. Where it does not, a ``still`` is height x width (x 3) and a film
    frame x height x width (x 3).

    >>> array = np.zeros((4, 6, 3))
    >>> as_frames(array, Loaded(array, (), (0, 1), "memory"), "a.png", still=True)[0].shape
    (1, 4, 6, 3)
    """
    pair, colour = ((0, 1) if still else (1, 2)), None
    if like.kind != MEMORY and like.data.ndim == array.ndim:
        pair, colour = like.picture_axes, like.colour_axis
    rest = [axis for axis in range(array.ndim) if axis not in (*pair, colour)]
    if colour is None and len(rest) == (1 if still else 2) and array.shape[rest[-1]] == 3:
        colour = rest.pop()
    if array.ndim < 2 or len(rest) > 1 or (colour is not None and array.shape[colour] != 3):
        shape = " x ".join(map(str, array.shape))
        raise FileError(f"{name} cannot be written: an array of {shape} is no picture or video")
    if still and rest and array.shape[rest[0]] != 1:
        count = array.shape[rest[0]]
        raise FileError(f"{name} holds one picture and there are {count}: write a folder, a video or .tif")
    frames = array.transpose([*rest, *pair] + ([] if colour is None else [colour]))
    frames = np.ascontiguousarray(frames if rest else frames[None])
    alpha = like.meta.get("alpha")
    if alpha is None or alpha.size != np.prod(frames.shape[:3]):
        return frames, None
    return frames, alpha.reshape(frames.shape[:3])


def to_pixels(array: np.ndarray, native: np.dtype, name: str) -> np.ndarray:
    """Return 8- or 16-bit pixels: own type where it is one of these, floats of [0, 1] scaled to 8 bit.

    >>> to_pixels(np.array([0.0, 0.5, 1.02]), np.dtype(float), "a.png")
    array([  0, 128, 255], dtype=uint8)
    """
    if native == np.uint8 or native == np.uint16:
        return restore(array, native, name)
    if array.dtype.kind == "c" or np.isnan(array).any():
        raise FileError(f"{name} cannot be written: complex values and NaN are no pixels")
    low, high = float(array.min(initial=0)), float(array.max(initial=0))
    if array.dtype.kind == "f" and native.kind == "f":
        if low < -0.5 or high > 1.5:
            raise FileError(f"{name} takes floats of [0, 1], and these go from {low:g} to {high:g}: scale them")
        return restore(array * 255.0, np.dtype(np.uint8), name)
    if native.kind == "b":
        return restore(restore(array, native, name) * 255, np.dtype(np.uint8), name)
    if low < 0 or high > 65535:
        raise FileError(f"{name} takes 8 or 16 bits, and these integers go from {low:g} to {high:g}")
    return restore(array, np.dtype(np.uint8 if high <= 255 else np.uint16), name)


def to_eight_bits(pixels: np.ndarray) -> np.ndarray:
    """Round 16-bit pixels to 8 bits.

    >>> to_eight_bits(np.array([0, 300, 65535], np.uint16))
    array([  0,   1, 255], dtype=uint8)
    """
    return np.rint(pixels / 257).astype(np.uint8)
