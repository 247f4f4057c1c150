"""Pictures: one file, or a folder or pattern of them."""

from __future__ import annotations

import glob
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qrank.atomic import filling
from qrank.errors import FileError, need
from qrank.files import tiff
from qrank.files.guard import reading
from qrank.files.loaded import Ask, Loaded, check_frames
from qrank.files.pixels import as_frames, join_alpha, split_alpha, to_eight_bits, to_grey, to_pixels
from qrank.files.png16 import is_png16, read_png16, write_png16
from qrank.files.room import DEFLATE, DENSEST, check_room
from qrank.files.sniff import PICTURES, PNG, READABLE, SUFFIXES, first_bytes, is_glob, kind_of

LOSSY = (".jpg", ".jpeg")
SAVE_OPTIONS: dict[str, dict[str, Any]] = {
    **{suffix: {"quality": 95, "subsampling": 0} for suffix in LOSSY},
    ".webp": {"lossless": True},
}
GREY16 = (".png", ".pgm", ".pnm", ".jp2")
COLOUR16 = (".png",)
NO_ALPHA = (".jpg", ".jpeg", ".bmp", ".ppm", ".pgm", ".pnm")


class Picture(NamedTuple):
    """Pixels height x width (x 3), transparency height x width, and what the file says beside them."""

    pixels: np.ndarray
    alpha: np.ndarray | None
    info: dict[str, Any]


def read(path: Path, ask: Ask) -> Loaded:
    """Read one picture."""
    picture = read_picture(path)
    axes = ("height", "width", "colour")[: picture.pixels.ndim]
    meta = {"info": picture.info, **({} if picture.alpha is None else {"alpha": picture.alpha})}
    return Loaded(picture.pixels, axes, (0, 1), "image", path, meta)


def read_folder(path: Path, ask: Ask) -> Loaded:
    """Read all pictures of a folder or pattern, in the order in which a person would count them."""
    files = find_pictures(path)
    chosen = files[ask.frames] if ask.frames is not None else files
    check_frames(chosen, len(files), ask.frames, str(path))
    return stacked(path, chosen, _each(chosen), ask)


def _each(files: list[Path]) -> Iterator[Picture]:
    for file in files:
        with reading(file, READABLE["image"]):
            picture = read_picture(file)
        yield picture


def stacked(path: Path, chosen: list[Path], found: Iterator[Picture], ask: Ask, root: Path | None = None) -> Loaded:
    """Return pictures of one size and kind, which were found under these names, as one array; their names begin below ``root``."""
    pictures: list[Picture] = []
    for file, picture in zip(chosen, found, strict=True):
        if ask.grey and picture.pixels.ndim == 3:
            picture = picture._replace(pixels=to_grey(picture.pixels))
        pictures.append(picture)
        if len(pictures) == 1:  # the others must be like it
            size = len(chosen) * picture.pixels.nbytes
            check_room(path, size, size, copies=2)
        _refuse_unequal(picture.pixels, file, pictures[0].pixels, chosen[0])
    data = np.stack([picture.pixels for picture in pictures])
    # Patterns reach into several folders: what lies below their common folder is the name.
    common = path if path.is_dir() else Path(os.path.commonpath([file.parent for file in chosen]))
    meta: dict[str, Any] = {
        "names": [str(file.relative_to(common if root is None else root)) for file in chosen],
        "files": chosen,
        "infos": [picture.info for picture in pictures],
        "frames": ask.frames,
    }
    if any(picture.alpha is not None for picture in pictures):
        opaque = np.full(data.shape[1:3], np.iinfo(data.dtype).max, data.dtype)
        meta["alpha"] = np.stack([opaque if p.alpha is None else p.alpha for p in pictures])
    nodata = {picture.info.get("tiff", {}).get("nodata") for picture in pictures}
    if len(nodata) == 1 and nodata != {None}:
        meta["nodata"] = nodata.pop()
    axes = ("frame", "height", "width", "colour")[: data.ndim]
    return Loaded(data, axes, (1, 2), "images", path, meta)


def find_pictures(path: Path) -> list[Path]:
    """Return the pictures of a folder or pattern, sorted with numbers counted as numbers."""
    found = [Path(name) for name in glob.glob(str(path), recursive=True)] if is_glob(path) else path.iterdir()
    files = [f for f in found if f.suffix.lower() in PICTURES and f.is_file() and not f.name.startswith(".")]
    if not files:
        raise FileError(f"there are no pictures in {path}: looked for {', '.join(PICTURES)}")
    return sorted(files, key=natural)


def natural(path: Path) -> list[tuple[int, str]]:
    """Sort key by which ``view2.png`` comes before ``view10.png``.

    >>> sorted(["view10.png", "view2.png"], key=lambda name: natural(Path(name)))
    ['view2.png', 'view10.png']
    """
    parts = re.split(r"(\d+)", str(path))
    return [(int(part), part) if part.isdigit() else (-1, part.lower()) for part in parts]


def _refuse_unequal(pixels: np.ndarray, file: Path, first: np.ndarray, first_file: Path) -> None:
    if pixels.shape[:2] != first.shape[:2]:
        sizes = f"{first.shape[0]} x {first.shape[1]} and {file} is {pixels.shape[0]} x {pixels.shape[1]}"
        raise FileError(f"pictures must be of one size: {first_file} is {sizes}")
    if pixels.ndim != first.ndim:
        kinds = ("grey", "in colour") if first.ndim == 2 else ("in colour", "grey")
        raise FileError(f"{first_file} is {kinds[0]} and {file} is {kinds[1]}: read all of them as grey")
    if pixels.dtype != first.dtype:
        raise FileError(f"{first_file} holds {first.dtype} and {file} holds {pixels.dtype}: make them alike")


def read_picture(path: Path) -> Picture:
    """Read one file as pixels of its own depth, colours and transparency."""
    if kind_of(path) == "tiff":
        page = tiff.read(path, Ask())
        if page.axes not in (("height", "width"), ("height", "width", "colour")):
            raise FileError(f"{path} holds {page.axes}, not one picture: read it by itself")
        return Picture(page.data, page.meta.get("alpha"), {"tiff": page.meta})
    if is_png16(path):
        return Picture(*read_png16(path), {})
    with _opened(path) as image:
        if getattr(image, "is_animated", False) and image.format in ("PNG", "WEBP"):
            raise FileError(f"{path} is an animation: turn it into .gif or .mp4 first")
        image.load()
        info = {"mode": image.mode, **{k: image.info[k] for k in ("dpi", "icc_profile") if k in image.info}}
        # Turn the picture as its camera was held; the note that it is turned goes with that.
        image = need("PIL.ImageOps", "files", "reading pictures").exif_transpose(image)
        info |= {"exif": image.getexif().tobytes()} if len(image.getexif()) else {}
        return Picture(*split_alpha_of(image), info)


def _opened(path: Path) -> Any:
    """Open a picture, of which only the header is read so far, after a look whether it can be what it says."""
    pillow, stored = need("PIL.Image", "files", "reading pictures"), path.stat().st_size
    try:
        image = pillow.open(path)
    except pillow.DecompressionBombError as error:
        pixels = int("0" + "".join(re.findall(r"\((\d+) pixels\)", str(error))))
        check_room(path, pixels, stored, DEFLATE if first_bytes(path, 4) == PNG else DENSEST)
        raise FileError(
            f"{path} is too large: it has {pixels} pixels, more than Pillow opens; cut it into parts"
        ) from error
    size = image.width * image.height * len(image.getbands())
    check_room(path, size, stored, DEFLATE if image.format == "PNG" else DENSEST, copies=5)
    return image


def split_alpha_of(image: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return pixels and transparency of a Pillow image of any mode."""
    if image.mode == "1":
        return np.asarray(image.convert("L")), None
    if image.mode.startswith("I"):  # Pillow has several names for the 16 bits of a .png or .pgm
        return np.asarray(image).astype(np.uint16), None
    if image.mode in ("L", "F", "RGB") and "transparency" not in image.info:
        return np.asarray(image).copy(), None
    if image.mode in ("L", "LA", "La"):
        return split_alpha(np.asarray(image.convert("LA")))
    return split_alpha(np.asarray(image.convert("RGBA")))


def write(path: Path, array: np.ndarray, like: Loaded) -> list[str]:
    """Write one picture to ``path``."""
    frames, alpha = as_frames(array, like, path.name, still=True)
    return write_picture(path, frames[0], None if alpha is None else alpha[0], like.meta.get("info", {}), like.native)


def write_picture(
    path: Path, pixels: np.ndarray, alpha: np.ndarray | None, info: dict[str, Any], native: np.dtype
) -> list[str]:
    """Write one picture of any depth; return what its format could not keep."""
    suffix = path.suffix.lower()
    if suffix in SUFFIXES["tiff"]:
        return tiff.save(path, pixels, alpha, "YXS"[: pixels.ndim], info.get("tiff", {}), native)
    pixels = to_pixels(pixels, native, path.name)
    notes = []
    if suffix in LOSSY:
        notes.append(f"{suffix} keeps pixels nearly, not exactly; use .png to keep them exactly")
    if alpha is not None and suffix in NO_ALPHA:
        alpha = None
        notes.append(f"{suffix} cannot hold transparency, which was left out")
    holds16 = GREY16 if pixels.ndim == 2 and alpha is None else COLOUR16
    if pixels.dtype == np.uint16 and suffix not in holds16:
        pixels = to_eight_bits(pixels)
        alpha = None if alpha is None else to_eight_bits(alpha)
        notes.append(f"{suffix} holds 8 bits, to which 16 were rounded; use .png or .tif to keep them")
    pixels = join_alpha(pixels, alpha)
    if pixels.dtype == np.uint16 and pixels.ndim == 3:
        write_png16(path, pixels)
        return notes
    pillow = need("PIL.Image", "files", "writing pictures")
    image = pillow.fromarray(pixels)
    if info.get("mode") == "1" and image.mode == "L":
        image = image.point(lambda value: 255 * (value >= 128), mode="1")
    kept = {name: info[name] for name in ("dpi", "icc_profile", "exif") if name in info}
    # Given a file, Pillow's encoders write past Python, and an error of theirs may be lost.
    encoded = io.BytesIO()
    image.save(encoded, pillow.registered_extensions()[suffix], **SAVE_OPTIONS.get(suffix, {}), **kept)
    # Not getbuffer(): the traceback of an error holds the view, and where both are garbage, Python 3.12.1 crashes (gh-111049).
    path.write_bytes(encoded.getvalue())
    return notes


def write_folder(path: Path, array: np.ndarray, like: Loaded) -> list[str]:
    """Write one picture a frame into the folder ``path``, under the names they were read by."""
    frames, alpha = as_frames(array, like, path.name)
    notes: dict[str, None] = {}
    with filling(path) as folder:
        for name, pixels, see_through, info in named(frames, alpha, like):
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            notes |= dict.fromkeys(write_picture(file, pixels, see_through, info, like.native))
    return list(notes)


def named(frames: np.ndarray, alpha: np.ndarray | None, like: Loaded) -> Iterator[tuple[str, Any, Any, dict[str, Any]]]:
    """Yield each frame with its name, its transparency, and what its file said beside: those it was read by, or new ones."""
    count = len(frames)
    names, infos = like.meta.get("names", ()), like.meta.get("infos", ())
    if len(names) != count:
        names, infos = [f"frame{number:0{len(str(count - 1))}}.png" for number in range(count)], [{}] * count
    alphas = [None] * count if alpha is None else alpha
    return zip(names, frames, alphas, infos, strict=True)
