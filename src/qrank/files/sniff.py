"""Which kind of file is it: by its first bytes where they tell, else by its suffix."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from qrank.errors import FileError, nearest
from qrank.files.guard import pickled

SUFFIXES = {
    "video": (".avi", ".mp4", ".mov", ".mkv", ".gif", ".m4v", ".webm", ".mpg", ".mpeg", ".wmv"),
    "image": (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".ppm", ".pgm", ".pnm", ".jp2"),
    "tiff": (".tif", ".tiff"),
    "npy": (".npy",),
    "npz": (".npz",),
    "mat": (".mat",),
    "hdf5": (".h5", ".hdf5", ".he5"),
    "zarr": (".zarr",),
    "netcdf": (".nc", ".nc4", ".cdf"),
    "zip": (".zip",),
    "csv": (".csv", ".tsv"),
    "parquet": (".parquet", ".pq"),
}
PICTURES = SUFFIXES["image"] + SUFFIXES["tiff"]  # what a folder or a zip of pictures may hold
KIND_OF_SUFFIX = {suffix: kind for kind, suffixes in SUFFIXES.items() for suffix in suffixes}
KEYED = ("npz", "mat", "hdf5", "zarr", "netcdf", "tiff")
READABLE = {
    "video": "a video",
    "image": "a picture",
    "images": "a folder of pictures",
    "tiff": "a TIFF file",
    "npy": "a NumPy array",
    "npz": "a NumPy archive",
    "mat": "a MATLAB file",
    "hdf5": "an HDF5 file",
    "zarr": "a zarr store",
    "netcdf": "a netCDF file",
    "zip": "a zip of pictures",
    "csv": "a table",
    "parquet": "a parquet file",
}
SHEET, VOLUME = (
    "a spreadsheet, which is not read: save its sheet as .csv",
    "a volume, which is not read: save its array as .npy",
)
NOT_READ = {  # what people have, and what to make of it
    **dict.fromkeys((".xlsx", ".xls", ".ods"), SHEET),
    **dict.fromkeys((".nii", ".dcm"), VOLUME),
    **dict.fromkeys((".feather", ".arrow"), "an Arrow file, which is not read: save it as .parquet"),
    **dict.fromkeys((".gz", ".bz2", ".xz", ".tar", ".7z"), "packed: unpack it first"),
}

# First bytes.
PNG = b"\x89PNG"
MAGIC = {
    "video": (b"GIF8", b"\x1aE\xdf\xa3"),
    "image": (PNG, b"\xff\xd8\xff", b"BM", b"\0\0\0\x0cjP  "),
    "tiff": (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    "npy": (b"\x93NUMPY",),
    "npz": (b"PK\x03\x04", b"PK\x05\x06"),
    "mat": (b"MATLAB 5.0", b"MATLAB 7.3"),
    "netcdf": (b"CDF\x01", b"CDF\x02", b"CDF\x05"),
    "parquet": (b"PAR1",),
}
HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"


def first_bytes(path: Path, count: int) -> bytes:
    """Return the beginning of a file."""
    with path.open("rb") as stream:
        return stream.read(count)


def split_key(path: str | os.PathLike[str], key: str | None = None) -> tuple[Path, str | None]:
    """Part ``file.h5::dataset`` into the file and the name in it.

    >>> split_key("a.h5::group/x")[1], split_key("a.npz", "x")[1]
    ('group/x', 'x')
    """
    text = os.fspath(path)
    if "::" in text and not os.path.exists(text):
        text, inside = text.rsplit("::", 1)
        key = key or inside or None
    return Path(text), key


def is_glob(path: Path) -> bool:
    """Tell whether a path that does not exist is a pattern such as ``frames/*.png``."""
    return glob.has_magic(str(path)) and not path.exists()


def is_store(path: Path) -> bool:
    """Tell whether a folder is a zarr store."""
    return any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray"))


def kind_of(path: Path) -> str:
    """Return the kind of an existing file, folder or pattern.

    >>> import numpy, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "array.dat"
    >>> with file.open("wb") as stream:
    ...     numpy.save(stream, numpy.zeros(3))
    >>> kind_of(file)
    'npy'
    """
    if is_glob(path):
        return "images"
    if not path.exists():
        raise FileError(f"there is no file {path}")
    if path.is_dir():
        return "zarr" if is_store(path) or path.suffix.lower() == ".zarr" else "images"
    if not path.is_file():
        raise FileError(f"{path} is a pipe or a device, not a file: write what comes out of it to a file first")
    if path.suffix.lower() in NOT_READ:
        raise FileError(f"{path} is {NOT_READ[path.suffix.lower()]}")
    if KIND_OF_SUFFIX.get(path.suffix.lower()) == "csv":
        return "csv"  # text may begin like anything
    return _kind_of_head(first_bytes(path, 16), path) or kind_of_suffix(path)


def _kind_of_head(head: bytes, path: Path) -> str | None:
    if head.startswith(HDF5_MAGIC):
        # MATLAB 7.3 and netCDF 4 are HDF5 inside: only the suffix tells.
        named = KIND_OF_SUFFIX.get(path.suffix.lower())
        return named if named in ("mat", "netcdf") else "hdf5"
    if head[:4] == b"RIFF":
        return {b"AVI ": "video", b"WEBP": "image"}.get(head[8:12])
    if head[:2] == b"PK" and path.suffix.lower() == ".zip":
        return "zip"
    if head[4:8] == b"ftyp":
        return "image" if head[8:12] in (b"avif", b"heic") else "video"
    if head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05" and len(head) > 2:
        raise FileError(pickled(path))
    return next((kind for kind, magics in MAGIC.items() if head.startswith(magics)), None)


def kind_of_suffix(path: Path) -> str:
    """Return the kind a file of this name has.

    >>> kind_of_suffix(Path("clip.MP4"))
    'video'
    """
    suffix = path.suffix.lower()
    if suffix not in KIND_OF_SUFFIX:
        kinds = nearest(suffix, KIND_OF_SUFFIX)
        raise FileError(f"{path} is of no known kind: suffix '{suffix}' is unknown{kinds}")
    return KIND_OF_SUFFIX[suffix]
