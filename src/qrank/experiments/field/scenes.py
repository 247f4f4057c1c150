"""The data sets of the field: real ones from a data folder, photographs that packages bring along, and generated ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from ... import files
from ...data import clip, low_q_rank
from ...errors import FileError, InputError, nearest, need
from .. import sources


@dataclass(frozen=True)
class Scene:
    """An array to complete: what it is, how it is read, which axes are slices, and the range that answers are cut to.

    ``colours``: the last axis is one of colours, which are missing together. ``counts``: numbers of events, whose error is
    measured as RMSE over the missing entries that are not 0, as is usual for traffic. ``folder``: it is read from there.
    """

    about: str
    read: Callable[[Path], np.ndarray]
    slice_axes: tuple[int, int] = (1, 2)
    span: tuple[float, float] | None = (0.0, 1.0)
    colours: bool = False
    counts: bool = False
    folder: bool = True


def of_paper(name: str) -> Scene:
    """Return a data set of the paper's experiments."""
    return Scene(sources.SOURCES[name].about, lambda folder: sources.load(name, folder))


def hangzhou(folder: Path) -> np.ndarray:
    """Return the passenger flow of the metro of Hangzhou: (25 days, 80 stations, 108 times of ten minutes)."""
    path = folder / "traffic" / "hangzhou-metro.mat"
    if not path.exists():
        raise FileError(
            f"the passenger flow of Hangzhou is not in {folder}: download tensor.mat of Hangzhou-data-set from"
            " https://github.com/xinychen/transdim and save it there as traffic/hangzhou-metro.mat"
        )
    return np.moveaxis(np.asarray(files.read(path).data, dtype=float), 1, 0)


def colour_clip(folder: Path, name: str, frames: int, every: int) -> np.ndarray:
    """Return the first frames of a clip in colour: (frames, height, width, 3)."""
    found = sorted(folder.rglob(name))
    if not found:
        raise FileError(f"the clip {name} of HMDB51 is not in {folder}: see `qrank reproduce video`")
    return files.read(found[0]).data[:frames, ::every, ::every] / 255


def shuffled(folder: Path, name: str) -> np.ndarray:
    """Return a data set with the places along every axis in random order."""
    x, rng = sources.load(name, folder), np.random.default_rng(7)
    for axis, n in enumerate(x.shape):
        x = np.take(x, rng.permutation(n), axis)
    return x


def photograph(_: Path, name: str) -> np.ndarray:
    """Return a sample photograph of scikit-learn or scikit-image, every 2nd pixel: (height, width, 3) or (height, width)."""
    if name in ("china", "flower"):
        picture = need("sklearn.datasets", "bench", f"the photograph {name}").load_sample_image(f"{name}.jpg")
    else:
        picture = getattr(need("skimage.data", "metrics", f"the photograph {name}"), name)()
    return np.asarray(picture)[::2, ::2] / 255


def synthetic(_: Path, r: int, n: int) -> np.ndarray:
    """Return the paper's synthetic tensor of Q-rank r."""
    return np.moveaxis(low_q_rank((n, n, n), r, np.random.default_rng([0, r, 1])), 2, 0)


def generated_clip(_: Path, frames: int = 24, colour: bool = False) -> np.ndarray:
    """Return a small clip with cuts."""
    return clip(frames, 36, 48, colour=colour, rng=0)


def generated_spectra(_: Path) -> np.ndarray:
    """Return a cube (20 bands, 36, 40): a few materials with smooth spectra, in areas that overlap softly."""
    rng = np.random.default_rng(11)
    down, across, band = np.linspace(0, 1, 36)[:, None], np.linspace(0, 1, 40), np.linspace(0, 1, 20)
    cube = np.zeros((20, 36, 40))
    for _material in range(5):
        a, b, c, width = rng.uniform(0, 1, 4)
        area = 1 / (1 + np.exp(-40 * (0.2 + 0.2 * width - np.hypot(down - a, across - b))))
        cube += np.exp(-((band - c) ** 2) / (0.02 + 0.1 * width))[:, None, None] * area
    return cube / cube.max()


def generated_counts(_: Path) -> np.ndarray:
    """Return counts (21 days, 16 places, 24 hours): profiles of places, weaker at weekends, with Poisson noise."""
    rng = np.random.default_rng(12)
    hour, day = np.arange(24), np.arange(21)
    peaks = rng.uniform(6, 20, (16, 2, 1))
    profile = np.exp(-((hour - peaks) ** 2) / 8).sum(axis=1) * rng.uniform(50, 400, (16, 1))
    return rng.poisson(profile * np.where(day % 7 < 5, 1.0, 0.5)[:, None, None] + 1).astype(float)


CHANGE, STILL = sources.change.keywords["name"], sources.still.keywords["name"]
SCENES: dict[str, Scene] = {
    **{
        name: of_paper(name)
        for name in ("balloons", "video-60", "video", "smooth-60", "smooth", "coil-64", "coil", "cifar-3000")
    },
    "hangzhou": Scene("Hangzhou metro, 25 days x 80 stations x 108 times", hangzhou, span=(0, np.inf), counts=True),
    "colour-40": Scene(
        "HMDB51, change of scene, 40 colour frames of 60 x 108",
        partial(colour_clip, name=CHANGE, frames=40, every=4),
        colours=True,
    ),
    "colour-still-40": Scene(
        "HMDB51, still background, 40 colour frames of 60 x 80",
        partial(colour_clip, name=STILL, frames=40, every=4),
        colours=True,
    ),
    "shuffled": Scene("video-60 with all three axes in random order", partial(shuffled, name="video-60")),
    **{
        name: Scene(
            f"photograph '{name}', every 2nd pixel", partial(photograph, name=name), (0, 1), colours=True, folder=False
        )
        for name in ("china", "flower", "astronaut", "coffee", "chelsea")
    },
    "camera": Scene("photograph 'camera', every 2nd pixel", partial(photograph, name="camera"), (0, 1), folder=False),
    "generated-clip": Scene("generated clip, 24 frames of 36 x 48", generated_clip, folder=False),
    "generated-colour": Scene(
        "generated colour clip, 12 frames of 36 x 48",
        partial(generated_clip, frames=12, colour=True),
        colours=True,
        folder=False,
    ),
    "generated-spectra": Scene("generated spectra, 20 bands of 36 x 40", generated_spectra, folder=False),
    "generated-counts": Scene(
        "generated counts, 21 days x 16 places x 24 hours",
        generated_counts,
        span=(0, np.inf),
        counts=True,
        folder=False,
    ),
}


def scene(name: str) -> Scene:
    """Return a data set by its name; ``synthetic-50-r5`` is the paper's tensor 50 x 50 x 50 of Q-rank 5.

    >>> scene("synthetic-50-r5").about, scene("balloons").slice_axes
    ('synthetic 50 x 50 x 50, Q-rank 5', (1, 2))
    """
    if name.startswith("synthetic-"):
        n, r = (int(word) for word in name.removeprefix("synthetic-").split("-r"))
        return Scene(f"synthetic {n} x {n} x {n}, Q-rank {r}", partial(synthetic, r=r, n=n), span=None, folder=False)
    if name not in SCENES:
        raise InputError(f"unknown data set '{name}'{nearest(name, SCENES)}")
    return SCENES[name]


@lru_cache(maxsize=2)
def load(name: str, folder: Path | None) -> np.ndarray:
    """Return a data set, not to be changed.

    >>> load("synthetic-20-r3", None).shape
    (20, 20, 20)
    """
    chosen = scene(name)
    if chosen.folder and folder is None:
        raise InputError("name the folder of the data sets: --data DIR, or the environment variable QRANK_DATA")
    x = np.ascontiguousarray(chosen.read(folder or Path()), dtype=float)
    x.flags.writeable = False
    return x
