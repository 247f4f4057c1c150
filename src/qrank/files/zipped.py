"""A zip of pictures, read and written like a folder of them. Nothing is unpacked under a name that the archive gives."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np

from qrank.errors import FileError
from qrank.files import images
from qrank.files.guard import reading
from qrank.files.images import Picture
from qrank.files.loaded import Ask, Loaded, check_frames
from qrank.files.pixels import as_frames
from qrank.files.room import DEFLATE, DENSEST, PLAIN, check_room
from qrank.files.sniff import PICTURES, READABLE

DENSITY = {zipfile.ZIP_STORED: PLAIN, zipfile.ZIP_DEFLATED: DEFLATE}
ENCRYPTED = 1  # a flag of an entry
EARLIEST = (1980, 1, 1, 0, 0, 0)  # that a zip can tell: the same pictures make the same file


def read(path: Path, ask: Ask) -> Loaded:
    """Read all pictures of an archive, in the order in which a person would count them."""
    with zipfile.ZipFile(path) as archive:
        entries = find_pictures(path, archive)
        chosen = entries[ask.frames] if ask.frames is not None else entries
        check_frames(chosen, len(entries), ask.frames, str(path))
        for entry in chosen:
            check_room(path, entry.file_size, entry.compress_size, DENSITY.get(entry.compress_type, DENSEST))
        names = [Path(entry.filename) for entry in chosen]
        loaded = images.stacked(path, names, _unpacked(path, archive, chosen), ask, Path())
    # The archive itself is what must not be overwritten.
    return Loaded(loaded.data, loaded.axes, loaded.slice_axes, "images", path, {**loaded.meta, "files": [path]})


def find_pictures(path: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the pictures of an archive; one that leads out of it, or comes twice, is refused."""
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        name = PurePosixPath(entry.filename.replace("\\", "/"))
        hidden = any(part.startswith((".", "__MACOSX")) and part != ".." for part in name.parts)
        if entry.is_dir() or name.suffix.lower() not in PICTURES or hidden:
            continue
        if name.is_absolute() or ".." in name.parts or ":" in entry.filename or "\0" in entry.filename:
            raise FileError(f"{path} has a picture that leads out of it: {entry.filename!a}; it is not read")
        if entry.flag_bits & ENCRYPTED:
            raise FileError(f"{path} is encrypted: unpack it first")
        if str(name) in found:
            raise FileError(f"{path} is damaged: it has {name} twice")
        entry.filename = str(name)
        found[str(name)] = entry
    if not found:
        raise FileError(f"there are no pictures in {path}: looked for {', '.join(PICTURES)}")
    return [found[name] for name in sorted(found, key=lambda name: images.natural(Path(name)))]


def _unpacked(path: Path, archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo]) -> Iterator[Picture]:
    """Yield each picture by way of a file of our own, one at a time; what an entry claims is all that is read of it."""
    with tempfile.TemporaryDirectory() as folder:
        for entry in entries:
            file = Path(folder) / f"picture{Path(entry.filename).suffix.lower()}"
            with reading(path, f"{READABLE['zip']}: {Path(entry.filename).name}"):
                file.write_bytes(archive.read(entry))
                try:
                    picture = images.read_picture(file)
                except FileError as error:
                    raise FileError(str(error).replace(str(file), f"{path}::{entry.filename}")) from error
            yield picture


def write(path: Path, array: np.ndarray, like: Loaded) -> list[str]:
    """Write one picture a frame into an archive, under the names they were read by."""
    frames, alpha = as_frames(array, like, path.name)
    notes: dict[str, None] = {}
    # Pictures are compressed already.
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, pixels, see_through, info in images.named(frames, alpha, like):
            file = Path(folder) / f"picture{Path(name).suffix.lower()}"
            notes |= dict.fromkeys(images.write_picture(file, pixels, see_through, info, like.native))
            archive.writestr(zipfile.ZipInfo(Path(name).as_posix(), EARLIEST), file.read_bytes())
    return list(notes)
