"""Data to try things on: the paper's synthetic tensors, patterns of what is observed, and a clip with cuts."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .errors import InputError, nearest
from .tensor import Layout
from .transforms import pca

GREY = (0.299, 0.587, 0.114)  # shares of red, green and blue
Shape = tuple[int, int, int]
Seed = np.random.Generator | int | None


def low_q_rank(shape: tuple[int, int, int] = (50, 50, 50), r: int = 5, rng: Seed = None) -> np.ndarray:
    """Return the paper's synthetic tensor M x_3 W W^T: M has N(0, 1/n3) entries, W = PCA(M, 3, r); smooth nowhere.

    >>> x = low_q_rank((10, 12, 8), r=3, rng=0)
    >>> x.shape, int(np.linalg.matrix_rank(x.reshape(-1, 8)))
    ((10, 12, 8), 3)
    """
    if len(shape) != 3 or not 1 <= r <= min(shape[2], shape[0] * shape[1]):
        raise InputError(
            f"r must lie between 1 and the length of the third mode, and the shape be n1, n2, n3: {shape}, {r}"
        )
    m = np.random.default_rng(rng).normal(0, math.sqrt(1 / shape[2]), shape)
    w = pca(m, r)
    return m @ w @ w.T


def observed(
    shape: tuple[int, ...],
    rate: float,
    pattern: str = "random",
    slice_axes: tuple[int, int] = (0, 1),
    rng: Seed = None,
) -> np.ndarray:
    """Return a boolean array, True where an entry is observed; about the share ``rate`` of all entries is.

    ``random``: every entry on its own; ``fibres``: whole fibres of the third mode, the same pixels of every slice;
    ``frames``: whole slices (where low rank alone cannot help); ``blocks``: rectangles are cut out of every slice.

    >>> o = observed((20, 30, 5), 0.25, "fibres", rng=0)
    >>> bool((o == o[:, :, :1]).all()), round(float(o.mean()), 1)
    (True, 0.2)
    """
    if not 0 < rate <= 1:
        raise InputError(f"a rate is the share of entries observed, above 0 and up to 1, not {rate}")
    if pattern not in PATTERNS:
        raise InputError(f"unknown pattern '{pattern}'{nearest(pattern, PATTERNS)}")
    layout = Layout.of(shape, slice_axes)
    stack = PATTERNS[pattern]((layout.n3, *layout.slice_shape), rate, np.random.default_rng(rng))
    return np.ascontiguousarray(layout.outer(stack))


def _share(shape: Shape, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Return truth values of which a share, at least one, is true."""
    n = math.prod(shape)
    chosen = np.zeros(n, dtype=bool)
    chosen[rng.permutation(n)[: max(1, round(rate * n))]] = True
    return chosen.reshape(shape)


def _blocks(shape: Shape, rate: float, rng: np.random.Generator) -> np.ndarray:
    known = np.ones(shape, dtype=bool)
    _, n1, n2 = shape
    high, wide = max(1, n1 // 8), max(1, n2 // 8)
    least = rate * n1 * n2
    for frame in known:
        while frame.sum() > least:
            top, left = rng.integers(n1), rng.integers(n2)
            frame[top : top + rng.integers(1, high + 1), left : left + rng.integers(1, wide + 1)] = False
    if not known.any():
        known[0, 0, 0] = True
    return known


PATTERNS: dict[str, Callable[[Shape, float, np.random.Generator], np.ndarray]] = {
    "random": lambda shape, rate, rng: rng.random(shape) < rate,
    "fibres": lambda shape, rate, rng: np.tile(_share((1, *shape[1:]), rate, rng), (shape[0], 1, 1)),
    "frames": lambda shape, rate, rng: np.tile(_share((shape[0], 1, 1), rate, rng), (1, *shape[1:])),
    "blocks": _blocks,
}


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


def clip(frames: int = 40, height: int = 60, width: int = 80, *, colour: bool = True, rng: Seed = 0) -> np.ndarray:
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
