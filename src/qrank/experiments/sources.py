"""The data sets of the paper, read in the formats in which they are published: stacks (n3, n1, n2) in [0, 1]."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from .. import files
from ..data import low_q_rank
from ..errors import FileError, InputError, nearest, need
from ..files.pixels import GREY

SEED = 1  # which CIFAR images are drawn


@dataclass(frozen=True)
class Source:
    """A tensor: what it is called in tables, how it is read from a data folder, and every how manieth entry is taken.

    Answers for pictures on black are cut to [0, 1] before they are compared, see `shown`.
    """

    about: str
    read: Callable[[Path], np.ndarray]
    every: tuple[int, int, int] = (1, 1, 1)
    on_black: bool = False


def cifar(folder: Path, count: int) -> np.ndarray:
    """Return ``count`` grey images drawn from the batches of the binary version.

    Where the batches hold fewer than that, those of ``cifar10-gray-10000-jpeg.npz`` are taken.
    """
    batches = [np.empty((0, 3072), np.uint8)]
    for file in sorted((folder / "cifar-10-batches-bin").glob("data_batch_*.bin")):
        records = np.fromfile(file, np.uint8)
        if records.size % 3073:
            raise FileError(f"{file} is not of CIFAR-10's binary version: its size is no multiple of 3073 bytes")
        batches.append(records.reshape(-1, 3073)[:, 1:])
    pixels = np.concatenate(batches)
    if len(pixels) >= count:
        chosen = np.random.default_rng(SEED).permutation(len(pixels))[:count]
        return np.tensordot(GREY, pixels[chosen].reshape(-1, 3, 1024) / 255, (0, 1)).reshape(-1, 32, 32)
    grey = folder / "cifar10-gray-10000-jpeg.npz"
    if grey.exists():
        with np.load(grey) as file:
            return file["images"][:count] / 255
    raise FileError(
        f"{count} images of CIFAR-10 are not in {folder}: download the binary version (cifar-10-binary.tar.gz) from"
        f" https://www.cs.toronto.edu/~kriz/cifar.html and unpack it there, so that cifar-10-batches-bin/data_batch_1.bin exists"
    )


def coil(folder: Path) -> np.ndarray:
    """Return the processed images of COIL-20, object by object, from the published zip or the folder it unpacks to."""
    image = need("PIL.Image", "files", "reading COIL-20")

    def order(name: str | Path) -> list[int]:
        return [int(v) for v in re.findall(r"\d+", Path(name).name)]

    if unpacked := sorted((folder / "coil-20-proc").glob("*.png"), key=order):
        return np.stack([np.asarray(image.open(path)) for path in unpacked]) / 255
    if (folder / "coil-20-proc.zip").exists():
        try:
            with zipfile.ZipFile(folder / "coil-20-proc.zip") as archive:
                names = sorted((n for n in archive.namelist() if n.endswith(".png")), key=order)
                return np.stack([np.asarray(image.open(io.BytesIO(archive.read(name)))) for name in names]) / 255
        except (zipfile.BadZipFile, ValueError) as error:
            raise FileError(f"{folder / 'coil-20-proc.zip'} cannot be read ({error}): download it again") from error
    raise FileError(
        f"COIL-20 is not in {folder}: download the processed images (coil-20-proc.zip) from"
        " https://www.cs.columbia.edu/CAVE/software/softlib/coil-20.php and put the zip, or the folder it unpacks to, there"
    )


def clip(folder: Path, name: str) -> np.ndarray:
    """Return a clip of HMDB51 as grey frames, wherever it lies under the folder."""
    found = sorted(folder.rglob(name))
    if not found:
        raise FileError(
            f"the clip {name} of HMDB51 is not in {folder}: download the database from"
            " https://serre.lab.brown.edu/hmdb51.html, unpack the class 'wave' (wave.rar), and put the file anywhere under there"
        )
    pixels = files.read(found[0]).data / 255
    return pixels @ GREY if pixels.ndim == 4 else pixels


def balloons(folder: Path) -> np.ndarray:
    """Return the hyperspectral cube 'balloons' of the CAVE database at half size, 31 bands."""
    path = folder / "hyperspectral" / "balloons-128.npz"
    if not path.exists():
        raise FileError(
            f"the hyperspectral cube is not in {folder}: download 'balloons' from"
            " https://www.cs.columbia.edu/CAVE/databases/multispectral/, take every second pixel, and save it there as"
            " hyperspectral/balloons-128.npz with the key 'cube' (128, 128, 31), uint16"
        )
    with np.load(path) as file:
        return np.moveaxis(file["cube"] / 65535, 2, 0)


change = partial(clip, name="TrumanShow_wave_f_nm_np1_fr_med_26.avi")
still = partial(clip, name="SchoolRulesHowTheyHelpUs_wave_f_nm_np1_ba_med_0.avi")
SOURCES = {
    "cifar-3000": Source("CIFAR-10, 32 x 32 x 3000", partial(cifar, count=3000)),
    "cifar-10000": Source("CIFAR-10, 32 x 32 x 10000", partial(cifar, count=10000)),
    "cifar-300": Source("CIFAR-10, 32 x 32 x 300", partial(cifar, count=3000), (10, 1, 1)),
    "coil": Source("COIL-20, 128 x 128 x 1440", coil, on_black=True),
    "coil-64": Source("COIL-20, 64 x 64 x 360 (every 2nd pixel, every 4th view)", coil, (4, 2, 2), on_black=True),
    "coil-32": Source("COIL-20, 32 x 32 x 90 (every 4th pixel, every 16th view)", coil, (16, 4, 4), on_black=True),
    "video": Source("HMDB51, change of scene, 240 x 432 x 48", change),
    "video-60": Source("HMDB51, change of scene, 60 x 108 x 48 (every 4th pixel)", change, (1, 4, 4)),
    "smooth": Source("HMDB51, still background, 240 x 320 x 74", still),
    "smooth-60": Source("HMDB51, still background, 60 x 80 x 74 (every 4th pixel)", still, (1, 4, 4)),
    "balloons": Source("CAVE balloons, 128 x 128 x 31", balloons),
    "balloons-32": Source("CAVE balloons, 32 x 32 x 31 (every 4th pixel)", balloons, (1, 4, 4)),
}
SYNTHETIC = {"synthetic-50": 50, "synthetic-20": 20}  # the paper's, n x n x n, and a small version


@lru_cache(maxsize=2)
def load(name: str, folder: Path | None) -> np.ndarray:
    """Return a data set, not to be changed."""
    if name not in SOURCES:
        raise InputError(f"unknown data set '{name}'{nearest(name, SOURCES)}")
    if folder is None:
        raise InputError("name the folder of the data sets: --data DIR, or the environment variable QRANK_DATA")
    if not folder.is_dir():
        raise FileError(f"there is no folder {folder}")
    every = tuple(slice(None, None, step) for step in SOURCES[name].every)
    x = np.ascontiguousarray(SOURCES[name].read(folder)[every])
    x.flags.writeable = False
    return x


def truth(name: str, folder: Path | None, r: int | None = None, draw: int = 0) -> np.ndarray:
    """Return the complete tensor of a cell; a synthetic one is drawn anew for each draw.

    >>> truth("synthetic-20", None, r=3).shape
    (20, 20, 20)
    """
    if name in SYNTHETIC:
        n = SYNTHETIC[name]
        # The entropy differs from that of the mask: else the same random bits would choose values and what is seen.
        x = low_q_rank((n, n, n), r or n, np.random.default_rng([draw, r or n, 1]))
        return np.ascontiguousarray(np.moveaxis(x, 2, 0))
    return load(name, folder)


def shown(name: str, x: np.ndarray) -> np.ndarray:
    """Return an answer as it is compared: of pictures on black, as it is shown, cut to [0, 1].

    Where much is exactly black, what falls below is a good part of the error, and none that one sees. On the other data
    cutting changes less than 0.02 dB and is left out.

    >>> shown("coil", np.array([-0.1, 0.5])), shown("video", np.array([-0.1, 0.5]))
    (array([0. , 0.5]), array([-0.1,  0.5]))
    """
    return np.clip(x, 0, 1) if name in SOURCES and SOURCES[name].on_black else x


def fingerprint(x: np.ndarray) -> str:
    """Return what tells one data set from another.

    >>> fingerprint(np.zeros(3))
    'e5da3c19'
    """
    return hashlib.sha256(np.ascontiguousarray(x).tobytes() + str(x.shape).encode()).hexdigest()[:8]
