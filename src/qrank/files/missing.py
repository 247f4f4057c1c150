"""What is missing: NaN, a value, a mask file, dead or saturated entries, or entries dropped at random."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from qrank.errors import FileError, InputError
from qrank.files.loaded import Loaded, without_axis
from qrank.files.pixels import PICTURE_KINDS
from qrank.tensor import laid_over, shapes_of_masks


def missing_mask(
    loaded: Loaded,
    *,
    value: float | None = None,
    mask_file: str | os.PathLike[str] | None = None,
    below: float | None = None,
    above: float | None = None,
    alpha: bool = False,
    drop: float | None = None,
    rng: np.random.Generator | int | None = None,
) -> np.ndarray:
    """Return a bool array of the shape of ``loaded.data``, True where an entry is missing.

    NaN is always missing, and the file's own mark (a raster's nodata, ``_FillValue``). Further: entries equal to ``value``; entries where ``mask_file`` (a picture,
    array or video) is not zero, one still mask serving all frames and all colours; entries less than
    ``below`` or greater than ``above``; with ``alpha`` pixels that are wholly transparent; and a share ``drop`` of the entries, drawn by ``rng``.

    >>> loaded = Loaded(np.array([[0.0, 1.0], [np.nan, 9.0]]), ("axis0", "axis1"), (0, 1), "npy")
    >>> missing_mask(loaded, value=0, above=5)
    array([[ True, False],
           [ True,  True]])
    """
    data = loaded.data
    missing = np.isnan(data) if data.dtype.kind in "fc" else np.zeros(data.shape, bool)
    nodata = loaded.meta.get("nodata")
    if nodata is not None and data.dtype.kind in "iu":
        missing |= data == nodata
    if value is not None:
        # 0.1 in a float32 file is not the 0.1 of Python.
        missing |= data == (data.dtype.type(value) if data.dtype.kind == "f" else value)
    if (below is not None or above is not None) and data.dtype.kind == "c":
        raise InputError(f"{loaded.name} holds complex values, which are neither below nor above anything")
    if below is not None:
        missing |= data < below
    if above is not None:
        missing |= data > above
    if mask_file is not None:
        missing |= mask_from(mask_file, loaded)
    if alpha:
        missing |= _transparent(loaded)
    if drop is not None:
        if not 0 <= drop < 1:
            raise InputError(f"drop is {drop}: it must be a share from 0 up to, not including, 1")
        missing |= np.random.default_rng(rng).random(data.shape) < drop
    return missing


def outlying(data: np.ndarray, missing: np.ndarray) -> tuple[float, int] | None:
    """Return a value that may stand for missing entries, and how many have it: the least or the largest, known more than once.

    It must be farther from all others than these are from each other.

    >>> outlying(np.array([1.0, -999, 3, 8, -999]), np.zeros(5, bool)), outlying(np.array([0, 1, 0, 1]), np.zeros(4, bool))
    ((-999.0, 2), None)
    """
    there = ~missing
    if data.dtype.kind not in "iuf" or not there.any():
        return None
    least, most = _ends(data, there)
    for end, other in ((least, most), (most, least)):
        rest = there & (data != end)
        count = int(np.count_nonzero(there)) - int(np.count_nonzero(rest))
        if count > 1 and rest.any():
            low, high = _ends(data, rest)
            nearest = low if end == least else high
            if 0 < abs(float(other) - float(nearest)) < abs(float(nearest) - float(end)):
                return float(end), count
    return None


def _ends(data: np.ndarray, there: np.ndarray) -> tuple:
    """Return the least and the largest of some entries."""
    limits = np.iinfo(data.dtype) if data.dtype.kind in "iu" else np.finfo(data.dtype)
    return np.min(data, where=there, initial=limits.max), np.max(data, where=there, initial=limits.min)


def _transparent(loaded: Loaded) -> np.ndarray:
    """Return True where a pixel is wholly transparent."""
    alpha = loaded.meta.get("alpha")
    if alpha is None:
        raise InputError(f"{loaded.name} has no transparent pixels that could be missing: leave --missing-alpha out")
    clear, axis = alpha == 0, loaded.colour_axis
    return np.broadcast_to(clear if axis is None else np.expand_dims(clear, axis), loaded.data.shape)


def opaque(loaded: Loaded, filled: np.ndarray) -> Loaded:
    """Return a picture whose wholly transparent pixels are opaque where they are to be filled, else nobody would see them."""
    alpha, axis = loaded.meta["alpha"], loaded.colour_axis
    full = np.iinfo(alpha.dtype).max if alpha.dtype.kind in "iu" else 1
    seen = (alpha == 0) & (filled if axis is None else filled.any(axis=axis))
    return replace(loaded, meta={**loaded.meta, "alpha": np.where(seen, alpha.dtype.type(full), alpha)})


def mask_from(mask_file: str | os.PathLike[str], loaded: Loaded) -> np.ndarray:
    """Return True where a picture, array or video is not zero, laid over the data: a still one serves all frames and colours."""
    from qrank.files import read

    mask = read(mask_file)
    holes = mask.data != 0
    if mask.colour_axis is not None and holes.shape != loaded.data.shape:
        holes = holes.any(axis=mask.colour_axis)
    for fitted in _fittings(holes, mask, loaded):
        return np.broadcast_to(fitted, loaded.data.shape)
    sizes = f"mask {mask.name} is {_size(mask)} and {loaded.name} is {_size(loaded)}"
    shapes = shapes_of_masks(loaded.data.shape)
    raise FileError(f"{sizes}: a mask has the size of the data, or of one picture of it; {shapes} would do")


def _fittings(holes: np.ndarray, mask: Loaded, loaded: Loaded):
    """Yield the mask laid out along the axes of the data, in each way in which it fits."""
    shape = loaded.data.shape
    if holes.shape == shape:
        yield holes
    if (folding := loaded.meta.get("fold")) is not None and holes.shape == (len(folding.phase), shape[0]):
        yield folding.folded(holes, False)
    if loaded.colour_axis is not None and holes.shape == without_axis(shape, loaded.colour_axis):
        yield np.expand_dims(holes, loaded.colour_axis)
    height, width = loaded.picture_axes
    moving = mask.kind in PICTURE_KINDS and holes.ndim == 3
    films = [holes] if moving else [holes[None]] if holes.ndim == 2 else []
    if moving and loaded.meta.get("frames") is not None:
        films.append(holes[loaded.meta["frames"]])  # a mask for the whole video, of which a part was read
    axis = loaded.frame_axis
    for film in (_scaled(film, loaded) for film in films):
        long_enough = len(film) == 1 or (axis is not None and len(film) == shape[axis])
        if long_enough and film.shape[1:] == (shape[height], shape[width]):
            yield _placed(film, axis if len(film) > 1 else None, (height, width), len(shape))
    if loaded.unnamed:
        laid = laid_over(holes, shape)
        if laid is not None:
            yield laid


def _scaled(film: np.ndarray, loaded: Loaded) -> np.ndarray:
    """Bring a mask of the file's full size to the size to which the file was resized: any hole stays one."""
    full = loaded.meta.get("full_size")
    if full is None or film.shape[1:] != tuple(full):
        return film
    height, width = (loaded.data.shape[axis] for axis in loaded.picture_axes)
    return _stretched(_stretched(film, height, axis=1), width, axis=2)


def _stretched(film: np.ndarray, length: int, axis: int) -> np.ndarray:
    """Bring one axis to a length: a longer one repeats entries, in a shorter one each stands for several, any of them."""
    starts = np.arange(length) * film.shape[axis] // length
    if length >= film.shape[axis]:
        return film.take(starts, axis)
    return np.maximum.reduceat(film, starts, axis=axis)


def _placed(film: np.ndarray, frame_axis: int | None, pair: tuple[int, int], ndim: int) -> np.ndarray:
    """Lay frame x height x width out along the axes of an array, of length 1 along all others."""
    film, axes = (film[0], pair) if frame_axis is None else (film, (frame_axis, *pair))
    return np.expand_dims(film.transpose(np.argsort(axes)), [axis for axis in range(ndim) if axis not in axes])


def _size(loaded: Loaded) -> str:
    named = zip(loaded.data.shape, loaded.axes, strict=True)
    return " x ".join(f"{side} ({name})" if loaded.kind in PICTURE_KINDS else str(side) for side, name in named)
