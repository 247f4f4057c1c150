"""Generated tensors of twenty kinds, small ones, on which no schedule was chosen by its author's eye: name -> (n1, n2, n3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Kind(NamedTuple):
    """How a tensor is made, its shape, and the share that is known."""

    make: Callable[[tuple[int, int, int], np.random.Generator], np.ndarray]
    shape: tuple[int, int, int]
    p: float


def _smooth(shape: tuple[int, ...], rng: np.random.Generator, decay: float) -> np.ndarray:
    """Return a random field whose Fourier coefficients fall like frequency ** -decay, of mean 0 and variance 1."""
    frequency = np.sqrt(sum(np.square(f) for f in np.meshgrid(*(np.fft.fftfreq(n) * n for n in shape), indexing="ij")))
    noise = np.fft.fftn(rng.standard_normal(shape))
    field = np.real(np.fft.ifftn(noise / np.maximum(frequency, 1) ** decay))
    return (field - field.mean()) / field.std()


def low_q_rank(shape: tuple[int, int, int], rng: np.random.Generator, noise: float = 0.0) -> np.ndarray:
    """Slices of rank 2 along four directions of the third mode."""
    n1, n2, n3 = shape
    slices = [rng.standard_normal((n1, 2)) @ rng.standard_normal((2, n2)) for _ in range(4)]
    return np.einsum("kij,lk->ijl", slices, rng.standard_normal((n3, 4))) + noise * rng.standard_normal(shape)


def cp(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """A sum of five products of positive vectors, with a little noise."""
    return np.einsum("ir,jr,kr->ijk", *(rng.random((n, 5)) for n in shape)) + 0.01 * rng.standard_normal(shape)


def tucker(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """A random core of 4 x 4 x 4."""
    factors = (rng.standard_normal((n, 4)) for n in shape)
    return np.einsum("abc,ia,jb,kc->ijk", rng.standard_normal((4, 4, 4)), *factors)


def traffic(shape: tuple[int, int, int], rng: np.random.Generator, size: float = 40.0) -> np.ndarray:
    """Trips between zones, hour by hour: gravity, a daily and a weekly rhythm for every pair of kinds of zones, Poisson counts."""
    n1, n2, hours = shape
    where = rng.random((max(n1, n2), 2))
    mass = rng.lognormal(0, 1, max(n1, n2))
    near = np.exp(-3 * np.linalg.norm(where[:n1, None] - where[None, :n2], axis=2))
    of = rng.dirichlet(np.ones(3), max(n1, n2))
    t = np.arange(hours)
    rhythm = np.empty((3, 3, hours))
    for a in range(3):
        for b in range(3):
            peaks = [np.exp(np.cos(2 * np.pi * (t - rng.uniform(0, 24)) / 24) * rng.uniform(1, 4)) for _ in range(2)]
            weekend = np.where((t // 24) % 7 >= 5, rng.uniform(0.3, 1.2), 1)
            rhythm[a, b] = sum(peaks) * weekend * (1 + 0.1 * rng.standard_normal(-(-hours // 24)).repeat(24)[:hours])
    mean = np.einsum("ij,ia,jb,abt->ijt", mass[:n1, None] * mass[None, :n2] * near, of[:n1], of[:n2], rhythm)
    return rng.poisson(size * mean / mean.mean()).astype(float)


def rare_counts(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """The same with few trips: mostly 0 and 1."""
    return traffic(shape, rng, 1.5)


def pictures(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """Unrelated pictures with the spectrum of natural ones."""
    return np.stack([_smooth(shape[:2], rng, 1.3) for _ in range(shape[2])], axis=2)


def clip(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """A still background, two things that move across it, and a little noise."""
    n1, n2, n3 = shape
    x = np.repeat(_smooth((n1, n2), rng, 1.5)[:, :, None], n3, axis=2)
    down, across = np.mgrid[:n1, :n2]
    for k in range(n3):
        for speed, value in ((0.8, 2.0), (-0.5, -2.0)):
            x[(np.abs(down - n1 * 0.5 - speed * 8) < n1 / 8) & (np.abs(across - (n2 / 2 + speed * k)) < n2 / 8), k] = (
                value
            )
    return x + 0.02 * rng.standard_normal(shape)


def pan(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """A camera that pans over a picture."""
    n1, n2, n3 = shape
    wide = _smooth((n1, n2 + n3), rng, 1.5)
    return np.stack([wide[:, k : k + n2] for k in range(n3)], axis=2)


def cuts(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """Five scenes in turn, each brighter and darker with time."""
    n1, n2, n3 = shape
    scenes = [_smooth((n1, n2), rng, 1.5) for _ in range(5)]
    light = 1 + 0.2 * _smooth((n3,), rng, 1)
    return np.stack([light[k] * scenes[(k // 7) % 5] for k in range(n3)], axis=2)


def spectra(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """A scene of six materials: smooth shares, smooth spectra."""
    n1, n2, n3 = shape
    shares = np.exp(2 * np.stack([_smooth((n1, n2), rng, 1.5) for _ in range(6)], axis=2))
    shares /= shares.sum(axis=2, keepdims=True)
    return shares @ np.exp(np.stack([_smooth((n3,), rng, 2) for _ in range(6)])) + 0.005 * rng.standard_normal(shape)


def turning(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """Several things, each seen from all around: a smooth closed curve of pictures for each."""
    n1, n2, n3 = shape
    views = 24
    x = []
    for _ in range(-(-n3 // views)):
        x.append(np.moveaxis(_smooth((views, n1, n2), rng, 2.2), 0, 2))
    return np.concatenate(x, axis=2)[:, :, :n3]


def sensors(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """Speeds at places, days and times of day: a common rhythm, jams of their own, noise."""
    n1, n2, n3 = shape
    rhythm = np.stack([_smooth((n3,), rng, 2) for _ in range(4)])
    x = np.einsum("ia,ja,at->ijt", rng.random((n1, 4)), rng.random((n2, 4)), rhythm)
    return x + 0.3 * (_smooth(shape, rng, 1.5) > 1.5) + 0.05 * rng.standard_normal(shape)


def likes(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """0 or 1, by the sign of something of low rank."""
    return (low_q_rank(shape, rng) > 0).astype(float)


def heavy(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """Values over several orders: the exponential of something of low rank."""
    return np.exp(0.6 * cp(shape, rng) * 2 + 0.1 * rng.standard_normal(shape))


def spikes(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """Low rank, and a few spikes."""
    return cp(shape, rng) + 5 * (rng.random(shape) < 0.01)


def heat(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """Heat that spreads over a plate from three sources."""
    n1, n2, n3 = shape
    x, u = np.empty(shape), _smooth((n1, n2), rng, 1)
    at = [(int(rng.integers(n1)), int(rng.integers(n2))) for _ in range(3)]
    for k in range(n3):
        for _ in range(3):
            u = u + 0.2 * (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u)
        for i, j in at:
            u[i, j] += 0.3
        x[:, :, k] = u
    return x


def waves(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """Plane waves that travel."""
    i, j, k = np.ogrid[: shape[0], : shape[1], : shape[2]]
    return np.sum([np.sin(a * i + b * j + c * k + d) for a, b, c, d in rng.uniform(-0.8, 0.8, (8, 4))], axis=0)


def smooth_noise(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """A smooth random field, of full rank in every view."""
    return _smooth(shape, rng, 1.8)


def noisy(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """Low Q-rank under noise of a third of its size."""
    return low_q_rank(shape, rng, 1.0)


KINDS = {
    "low Q-rank": Kind(low_q_rank, (30, 30, 20), 0.4),
    "low Q-rank, many frames": Kind(low_q_rank, (12, 12, 300), 0.3),
    "low Q-rank under noise": Kind(noisy, (30, 30, 20), 0.5),
    "sum of products": Kind(cp, (30, 30, 30), 0.2),
    "Tucker": Kind(tucker, (30, 30, 30), 0.3),
    "traffic counts": Kind(traffic, (16, 16, 744), 0.3),
    "traffic counts, few known": Kind(traffic, (16, 16, 744), 0.1),
    "rare counts": Kind(rare_counts, (16, 16, 744), 0.5),
    "pictures": Kind(pictures, (14, 14, 500), 0.3),
    "clip": Kind(clip, (48, 60, 24), 0.3),
    "pan": Kind(pan, (40, 48, 30), 0.5),
    "cuts": Kind(cuts, (40, 48, 35), 0.2),
    "spectra": Kind(spectra, (48, 48, 31), 0.1),
    "turning": Kind(turning, (16, 16, 360), 0.3),
    "sensors": Kind(sensors, (24, 28, 96), 0.4),
    "likes": Kind(likes, (24, 24, 40), 0.6),
    "orders of magnitude": Kind(heavy, (24, 24, 40), 0.4),
    "spikes": Kind(spikes, (24, 24, 60), 0.4),
    "heat": Kind(heat, (32, 32, 40), 0.1),
    "travelling waves": Kind(waves, (30, 32, 34), 0.3),
    "smooth noise": Kind(smooth_noise, (28, 30, 32), 0.3),
}


def made(name: str, draw: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a tensor and its mask, the same on every machine."""
    kind = KINDS[name]
    rng = np.random.default_rng((list(KINDS).index(name), draw))
    return kind.make(kind.shape, rng), rng.random(kind.shape) < kind.p
