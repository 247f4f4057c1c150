"""What is completed: the paper's data sets from a data folder, or generated tensors of the same shape."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class DataSet:
    """A tensor (n3, n1, n2) in [0, 1]; ``quick`` is the shape of the small version, cut out of the whole."""

    shape: tuple[int, int, int]
    quick: tuple[int, int, int]
    source: str  # what the paper's experiments call it
    generate: Callable[[tuple[int, int, int], np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Case:
    """A method on a data set, and the least literal / qrank that the project promises, of whole runs and of a step.

    ``through``: the step of the paper's run after which it is left, where all of it would take too long; None: its end.
    """

    method: str
    data: str
    p: float
    whole: float
    per_step: float
    through: int | None = None


def spectrum_images(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """Return unrelated pictures with the 1/f amplitudes of natural ones."""
    n3, n1, n2 = shape
    f = np.hypot(np.fft.fftfreq(n1)[:, None] * n1, np.fft.rfftfreq(n2)[None] * n2)
    x = np.empty(shape)
    for first in range(0, n3, 512):
        noise = rng.standard_normal((min(512, n3 - first), n1, n2))
        x[first : first + 512] = np.fft.irfft2(np.fft.rfft2(noise) / (1 + f) ** 1.3, s=(n1, n2))
    x *= rng.uniform(0.5, 1.5, (n3, 1, 1))
    x += 0.3 * x.std() * rng.standard_normal((n3, 1, 1))
    return _unit(x)


def turning_objects(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """Return objects on black, each seen on a full turn in 72 views."""
    n3, n1, n2 = shape
    views = min(72, n3)
    x = np.zeros(shape)
    rows, columns = np.mgrid[-1 : 1 : n1 * 1j, -1 : 1 : n2 * 1j]
    for first in range(0, n3, views):
        patterns = spectrum_images((17, n1, n2), rng)
        angles = 2 * np.pi * np.arange(min(views, n3 - first)) / views
        waves = [np.ones_like(angles)] + [g(k * angles) / k for k in range(1, 9) for g in (np.cos, np.sin)]
        a, b = rng.uniform(0.4, 0.95, 2)
        silhouette = (rows / a) ** 2 + (columns / b) ** 2 < 1 + 0.2 * np.cos(angles)[:, None, None]
        x[first : first + views] = np.tensordot(np.array(waves).T, patterns, 1) * silhouette
    return _unit(x)


def scenes(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """Return a clip with a change of scene after three fifths; in each scene something moves, and there is grain."""
    n3, n1, n2 = shape
    cut = max(1, round(0.6 * n3))
    x = np.empty(shape)
    for frames in (range(cut), range(cut, n3)):
        still, moving = spectrum_images((2, n1, n2), rng)
        rows, columns = np.mgrid[0 : 1 : n1 * 1j, 0 : 1 : n2 * 1j]
        for k, frame in enumerate(frames):
            window = np.exp(-(((rows - 0.5) / 0.3) ** 2) - ((columns - 0.3 - 0.4 * k / n3) / 0.15) ** 2)
            x[frame] = still * (1 - window) + window * np.roll(moving, 2 * k, axis=1)
    x += 0.01 * rng.standard_normal(shape)
    return _unit(x)


def _unit(x: np.ndarray) -> np.ndarray:
    low, high = np.quantile(x[:: max(1, len(x) // 64)], [0.001, 0.999])
    x -= low
    x /= high - low
    return np.clip(x, 0, 1, out=x)


DATA = {
    "cifar-3000": DataSet((3000, 32, 32), (120, 8, 8), "cifar-3000", spectrum_images),
    "cifar-10000": DataSet((10000, 32, 32), (200, 8, 8), "cifar-10000", spectrum_images),
    "coil": DataSet((1440, 128, 128), (36, 16, 16), "coil", turning_objects),
    "clip": DataSet((48, 240, 432), (12, 20, 24), "video", scenes),
}

CASES = {
    "vmtqn-cifar-3000": Case("vmtqn", "cifar-3000", 0.3, 8, 3),
    "vmtqn-cifar-10000": Case("vmtqn", "cifar-10000", 0.3, 12, 3),
    "vmtqn-coil": Case("vmtqn", "coil", 0.2, 6, 2.5, 150),
    "vmtqn-clip": Case("vmtqn", "clip", 0.3, 15, 8),
    "tnn-clip": Case("tnn", "clip", 0.3, 8, 8),
    "motqn-clip": Case("motqn", "clip", 0.3, 5, 8, 150),
}


@dataclass(frozen=True, eq=False)
class Data:
    """A tensor to complete: the truth, where it is seen, and the zero-filled array that the methods are given."""

    truth: np.ndarray
    observed: np.ndarray
    y: np.ndarray
    source: str  # "read" or "generated"

    @property
    def peak(self) -> float:
        """The largest value of the truth."""
        return float(np.abs(self.truth).max())

    def psnr(self, x: np.ndarray, scale: float = 1.0) -> float:
        """Return the paper's PSNR of scale * x with the known entries restored, in pieces to need little memory."""
        squares, slices = 0.0, max(1, (1 << 20) // self.truth[0].size)
        for first in range(0, len(x), slices):
            some = slice(first, first + slices)
            miss = (x[some].astype(float) * scale - self.truth[some]) * ~self.observed[some]
            squares += float(np.vdot(miss, miss))
        return float(10 * np.log10(self.truth.size * self.peak**2 / max(squares, 1e-300)))


def load(name: str, p: float, folder: str | None, quick: bool = False, dtype: Any = float) -> Data:
    """Return a data set, read where the folder has it and generated otherwise, with a share p of it seen."""
    import qrank  # not before the ledger, where there is one, watches its imports
    from qrank.experiments import sources

    kind = DATA[name]
    truth = None
    if folder:
        try:
            truth = sources.load(kind.source, Path(folder))
        except (qrank.FileError, qrank.MissingExtra):
            truth = None
    source = "generated" if truth is None else "read"
    if truth is None:
        truth = kind.generate(kind.quick if quick else kind.shape, np.random.default_rng(0))
    elif quick:
        strides = [max(1, n // few) for n, few in zip(truth.shape, kind.quick, strict=True)]
        truth = truth[tuple(slice(None, few * s, s) for few, s in zip(kind.quick, strides, strict=True))]
    return masked(np.ascontiguousarray(truth), p, dtype, source)


def masked(truth: np.ndarray, p: float, dtype: Any = float, source: str = "generated") -> Data:
    """Return a tensor of which a share p, drawn at random, is seen."""
    observed = np.random.default_rng(7).random(truth.shape) < p
    return Data(truth, observed, np.where(observed, truth, 0).astype(dtype), source)


def folder(given: str | None) -> str | None:
    """Return the data folder: the one given, or that of the environment."""
    return given or os.environ.get("QRANK_DATA") or None
