"""Pictures and a clip with cuts, to try things on."""

from __future__ import annotations

import math

import numpy as np

GREY = (0.299, 0.587, 0.114)  # shares of red, green and blue


def scenes(height: int = 60, width: int = 80) -> list[np.ndarray]:
    """Return four colour pictures in [0, 1]: two details of each sample photograph of scikit-learn, or generated ones.

    >>> [picture.shape for picture in scenes(24, 32)]
    [(24, 32, 3), (24, 32, 3), (24, 32, 3), (24, 32, 3)]
    """
    try:
        from sklearn.datasets import load_sample_images

        photographs = [np.asarray(image) for image in load_sample_images().images]
    except ImportError:  # scikit-learn, or the Pillow it reads them with, is not there
        rng = np.random.default_rng(0)
        return [_landscape(height, width, rng) for _ in range(4)]
    places = [(0, 0.02, 0.02), (0, 0.45, 0.5), (1, 0.02, 0.12), (1, 0.45, 0.45)]
    return [_detail(photographs[which], top, left, height, width) for which, top, left in places]


def _detail(photograph: np.ndarray, top: float, left: float, height: int, width: int) -> np.ndarray:
    """Cut half of the photograph's height and width, from a corner given as shares, and shrink it by averaging."""
    full_height, full_width = photograph.shape[0] // 2, photograph.shape[1] // 2
    factor = max(1, min(full_height // height, full_width // width))
    row, column = int(top * photograph.shape[0]), int(left * photograph.shape[1])
    piece = photograph[row : row + factor * height, column : column + factor * width] / 255.0
    return piece.reshape(height, factor, width, factor, 3).mean(axis=(1, 3))


def _landscape(height: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Return a picture of soft hills in random colours under a gradient, with sharp edges."""
    rows, columns = np.mgrid[:height, :width] / max(height, width)
    picture = np.stack([np.interp(rows, [0, 1], rng.uniform(0.3, 1, 2)) for _ in range(3)], axis=2)
    for depth in np.linspace(0.2, 0.7, 5):
        waves = sum(
            a * np.sin(f * columns + p) for a, f, p in zip(*rng.uniform(0, (0.05, 25, 6), (4, 3)).T, strict=True)
        )
        texture = 0.9 + 0.1 * np.sin(60 * columns + 40 * rows * rng.uniform(0.5, 2))
        picture[rows > depth + waves] = rng.uniform(0, 0.8, 3)
        picture[rows > depth + waves] *= texture[rows > depth + waves, None]
    return np.clip(picture, 0, 1)


def clip(
    frames: int = 40,
    height: int = 60,
    width: int = 80,
    *,
    colour: bool = True,
    rng: np.random.Generator | int | None = 0,
) -> np.ndarray:
    """Return a clip (frames, height, width, 3) in [0, 1] that cuts back and forth between four scenes.

    The light of each scene changes, and a ball flies through all of them: along time nothing is smooth or periodic,
    and still every frame is nearly a mixture of few pictures.

    >>> clip(6, 24, 32, colour=False).shape
    (6, 24, 32)
    """
    rng = np.random.default_rng(rng)
    shots, scene, out = scenes(height, width), 0, []
    rows, columns = np.mgrid[:height, :width]
    while len(out) < frames:
        scene = int(rng.choice([i for i in range(len(shots)) if i != scene]))
        for _ in range(int(rng.integers(3, 9))):
            t = len(out)
            frame = shots[scene] * (0.8 + 0.2 * math.sin(t / 3))
            across, down = (t / 24 * width) % (1.3 * width) - 0.15 * width, height * (0.6 + 0.2 * math.sin(t / 5))
            ball = (rows - down) ** 2 + (columns - across) ** 2 < (0.08 * height) ** 2
            frame[ball] = (0.9, 0.2, 0.1)
            out.append(frame)
    film = np.stack(out[:frames])
    return film if colour else film @ np.array(GREY)
