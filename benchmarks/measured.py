"""Real data seen through something: ``python -m benchmarks.measured DATA`` recovers them, and writes docs/measured.md.

Every case is an array, a pair of functions (forward, adjoint) and a method; beside it stands what is simplest, made of the same
numbers. Each cell is kept in out/measured as soon as it is done. `tests/fit/test_real.py` holds the figures of the page.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.fft
from scipy.ndimage import correlate1d

import qrank
from qrank.experiments.field.scenes import load
from qrank.fit import least_norm, operator_of
from qrank.metrics import psnr
from qrank.study.store import RunStore

PAGE = Path(__file__).parents[1] / "docs" / "measured.md"
Pair = tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]


def cube(folder: Path) -> np.ndarray:
    """Return the balloons cube at every second pixel: 31 bands of 64 x 64."""
    return load("balloons", folder)[:, ::2, ::2]


def corner(folder: Path) -> np.ndarray:
    """Return a corner of the balloons cube, which a dense matrix can measure: 31 bands of 12 x 12."""
    return load("balloons", folder)[:, 40:64:2, 40:64:2]


def film(folder: Path) -> np.ndarray:
    """Return 16 frames of the still clip, 60 x 80."""
    return load("smooth-60", folder)[:16]


def colours(folder: Path) -> np.ndarray:
    """Return 8 frames of the clip in colour, 60 x 108 x 3."""
    return load("colour-40", folder)[:8]


def gaussian(x: np.ndarray, rng: np.random.Generator) -> Pair:
    """Sums of all entries with random weights, 40 % as many as there are entries."""
    psi = rng.standard_normal((round(0.4 * x.size), x.size)) / np.sqrt(x.size)
    return lambda a: psi @ a.reshape(-1), lambda b: (psi.T @ b).reshape(x.shape)


def single_pixel(x: np.ndarray, rng: np.random.Generator) -> Pair:
    """A quarter of each frame's cosine transform, its pixels' signs scrambled."""
    signs, kept = rng.choice([-1.0, 1.0], x.shape[1:]), rng.random(x.shape) < 0.25

    def adjoint(b: np.ndarray) -> np.ndarray:
        spectrum = np.zeros(x.shape)
        spectrum[kept] = b
        return signs * np.asarray(scipy.fft.idctn(spectrum, axes=(1, 2), norm="ortho"))

    return lambda a: np.asarray(scipy.fft.dctn(signs * a, axes=(1, 2), norm="ortho"))[kept], adjoint


def coarse(x: np.ndarray, _: np.random.Generator) -> Pair:
    """Every band blurred, and seen at every second pixel of a grid that is elsewhere in each band."""

    def blurred(a: np.ndarray) -> np.ndarray:
        for axis in (1, 2):
            a = correlate1d(a, np.array([0.25, 0.5, 0.25]), axis, mode="constant")
        return a

    seen = np.zeros(x.shape, dtype=bool)
    for k in range(len(x)):
        seen[k, k % 2 :: 2, k // 2 % 2 :: 2] = True

    def adjoint(b: np.ndarray) -> np.ndarray:
        a = np.zeros(x.shape)
        a[seen] = b
        return blurred(a)

    return lambda a: blurred(a)[seen], adjoint


def mosaic(x: np.ndarray, _: np.random.Generator) -> np.ndarray:
    """One colour of three at each pixel, in Bayer's pattern: a mask, of which a run knows more than of any other operator."""
    rows, columns = np.mgrid[: x.shape[1], : x.shape[2]] % 2
    colour = np.where(rows == columns, 1, np.where(rows == 0, 0, 2))
    return np.ascontiguousarray(np.broadcast_to(colour[..., None] == np.arange(3), x.shape))


def snapshots(shots: int) -> Callable[[np.ndarray, np.random.Generator], Pair]:
    """Coded apertures: a mask, a shift by one pixel a band, and the sum of all bands; so many of them."""

    def pair(x: np.ndarray, rng: np.random.Generator) -> Pair:
        bands, high, wide = x.shape
        masks = (rng.random((shots, high, wide)) < 0.5).astype(float)

        def forward(a: np.ndarray) -> np.ndarray:
            seen = np.zeros((shots, high, wide + bands - 1))
            for k in range(bands):
                seen[:, :, k : k + wide] += masks * a[k]
            return seen

        def adjoint(b: np.ndarray) -> np.ndarray:
            b = b.reshape(shots, high, wide + bands - 1)
            return np.stack([(masks * b[:, :, k : k + wide]).sum(axis=0) for k in range(bands)])

        return forward, adjoint

    return pair


@dataclass(frozen=True)
class Case:
    """An array, how it is measured, and by what it is recovered."""

    about: str
    read: Callable[[Path], np.ndarray]
    through: Callable[[np.ndarray, np.random.Generator], Any]  # a pair of functions, or a mask
    method: str
    options: dict[str, Any]

    def measured(self, folder: Path) -> dict[str, float]:
        """Return the decibels of what is recovered, by `auto` too, and of the smallest array that agrees; the share of numbers seen."""
        x = self.read(folder).astype(float)
        operator = self.through(x, np.random.default_rng(0))
        mask = isinstance(operator, np.ndarray)
        b = x[operator] if mask else np.ravel(operator[0](x))
        simple = np.where(operator, x, 0) if mask else least_norm(operator_of(operator, x.shape), b)
        found = qrank.recover(b, operator, x.shape, slice_axes=(1, 2), method=self.method, **self.options)
        auto = qrank.recover(b, operator, x.shape, slice_axes=(1, 2))
        return {
            "value": psnr(found.x, x),
            "auto": psnr(auto.x, x),
            "simple": psnr(simple, x),
            "share": b.size / x.size,
        }


LOG = {"penalty": "log-sum:2"}
CASES = {
    "sums": Case("Gaussian sums of a corner of the hyperspectral cube, 31 x 12 x 12", corner, gaussian, "views", {}),
    "pixel": Case("single-pixel film: 16 frames of the still clip, 60 x 80", film, single_pixel, "views", {}),
    "coarse": Case("blurred and sampled: hyperspectral cube, 31 x 64 x 64", cube, coarse, "vmtqn", LOG),
    "mosaic": Case("colour mosaic: 8 frames of the moving clip, 60 x 108 x 3", colours, mosaic, "views", {}),
    "shot": Case("coded aperture, 1 shot: hyperspectral cube, 31 x 64 x 64", cube, snapshots(1), "views", {}),
    "shots": Case("coded aperture, 4 shots: the same", cube, snapshots(4), "views", {}),
}


def page(store: RunStore) -> str:
    """Return the page of what was measured."""
    lines = [
        "# Real data seen through something",
        "",
        "Made by `python -m benchmarks.measured DATA`, with seeded operators; PSNR over all entries, in dB. *Smallest* is the array of least",
        "norm that agrees with the same numbers, `auto` what `recover` does unless a method is named; beside it stands the one of `views`",
        "and `vmtqn` that the truth says is better. The gallery has each kind of measurement as an example that runs without a data folder.",
        "",
        "| | numbers seen, of all | smallest | `auto` | a method | which |",
        "|---|---|---|---|---|---|",
    ]
    for name, case in CASES.items():
        cell = store.load(f"measured/{name}")
        if cell is not None:
            said = ", ".join([f"`{case.method}`", *(f"{key} {value}" for key, value in case.options.items())])
            lines.append(
                f"| {case.about} | {cell['share']:.0%} | {cell['simple']:.1f} | {cell['auto']:.1f} | {cell['value']:.1f} | {said} |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    kept = RunStore(Path("out") / "measured")
    with warnings.catch_warnings(action="ignore"):
        for key, case in CASES.items() if len(sys.argv) > 1 else ():
            if kept.load(f"measured/{key}") is None:
                kept.save(f"measured/{key}", found := case.measured(Path(sys.argv[1])))
                print(key, found, flush=True)
    PAGE.write_text(page(kept), encoding="utf-8")
