"""Noise: what is gained by saying that it is there. ``python -m benchmarks.noise DATA`` measures, and writes docs/noise.md.

Each cell is kept in out/noise as soon as it is done; what was stopped goes on. Further arguments are patterns of cells to measure
(``'fill/video-*'``); the page is then left as it is. Levels are parts of the range, 0 to 1.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from skimage.restoration import denoise_nl_means, denoise_tv_chambolle

import qrank
from qrank.choose.noise import level
from qrank.experiments.field.scenes import SCENES as FIELD
from qrank.experiments.field.scenes import load
from qrank.metrics import psnr
from qrank.problem import Problem
from qrank.study.store import RunStore

PAGE = Path(__file__).parents[1] / "docs" / "noise.md"
SCENES = {
    "balloons": "hyperspectral cube",
    "video": "moving clip",
    "smooth": "still clip",
    "video-60": "moving clip, every 4th pixel",
    "smooth-60": "still clip, every 4th pixel",
}
OTHERS = (
    "coil-64",
    "china",
    "flower",
    "astronaut",
    "coffee",
    "chelsea",
    "camera",
    "generated-clip",
    "generated-spectra",
)
SIGMAS = (0.05, 0.1)
LEVELS = (0.01, 0.03, 0.1)
PLANE = (1, 2)
METHODS = ("auto", "views", "vmtqn", "tnn")
BEST, RIGHT = "auto, of values without noise", "auto, were all that is known right in it"
WRONG = {"smooth": "still clip", "smooth-60": SCENES["smooth-60"]}  # with wrong values


def fills() -> dict[str, Callable[..., np.ndarray]]:
    """Return what each row fills: of the truth x, the values y with noise s, and where they are known."""
    found: dict[str, Callable[..., np.ndarray]] = {}
    for m in METHODS:
        found[m] = lambda x, y, on, s, m=m: qrank.complete(y, on, m, PLANE, noise=s).x
        found[f"{m}, exact"] = lambda x, y, on, s, m=m: qrank.complete(y, on, m, PLANE).x
        if m == "auto":
            found[BEST] = lambda x, y, on, s: qrank.complete(x, on, "auto", PLANE).x
    return found


def filled(found: np.ndarray, x: np.ndarray, on: np.ndarray) -> tuple[float, float]:
    """Return the decibels of an answer over all entries, and what they would be if all that is known were right in it."""
    return psnr(found, x), psnr(np.where(on, x, found), x)


def tv(y: np.ndarray, s: float, x: np.ndarray) -> float:
    """Return the best of total variation over its weight, chosen by the truth."""
    return max(psnr(denoise_tv_chambolle(y, weight=w * s), x) for w in (0.5, 1, 1.5, 2.5))


def nl_means(y: np.ndarray, s: float, x: np.ndarray) -> float:
    """Return the best of non-local means, slice by slice with all slices as channels, or each alone."""
    channels = np.moveaxis(y, 0, 2)
    found = []
    for h in (0.4, 0.7, 1.0):
        joint = denoise_nl_means(channels, 5, 6, h=h * s, sigma=s, channel_axis=2)
        alone = np.stack([denoise_nl_means(one, 5, 6, h=h * s, sigma=s) for one in y])
        found += [psnr(np.moveaxis(joint, 2, 0), x), psnr(alone, x)]
    return max(found)


def hosvd(y: np.ndarray, s: float, x: np.ndarray) -> float:
    """Return the best truncation of the higher-order singular value decomposition over its ranks, chosen by the truth."""
    bases = [np.linalg.svd(np.moveaxis(y, a, 0).reshape(n, -1), full_matrices=False)[0] for a, n in enumerate(y.shape)]
    found = []
    for first in (2, 3, 4, 6, 9, 14):
        for share in (0.15, 0.25, 0.35, 0.5):
            z = y
            for a, r in enumerate((first, *(round(share * n) for n in y.shape[1:]))):
                u = bases[a][:, :r]
                z = np.moveaxis(np.tensordot(u @ u.T, z, (1, a)), 0, a)
            found.append(psnr(z, x))
    return max(found)


CLEANERS = {
    "views": lambda y, s, x: psnr(qrank.denoise(y, s, "views", slice_axes=PLANE).x, x),
    "total variation": tv,
    "non-local means": nl_means,
    "HOSVD, truncated": hosvd,
}


def salted(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x with every tenth value black or white, and where half of all is known."""
    rng = np.random.default_rng(1)
    y = np.where(rng.random(x.shape) < 0.1, rng.random(x.shape) < 0.5, x)
    return y.astype(np.float32), rng.random(x.shape) < 0.5


def noisy(x: np.ndarray, s: float, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Return x with noise, and what is known of it."""
    rng = np.random.default_rng(1)
    return (x + s * rng.standard_normal(x.shape)).astype(np.float32), rng.random(x.shape) < p


def measured(folder: Path, store: RunStore, patterns: Sequence[str]) -> None:
    """Run what is not there yet."""

    def cell(key: str, run: Callable[[], float | tuple[float, float]]) -> None:
        if store.load(key) is None and any(fnmatch(key, pattern) for pattern in patterns):
            found = np.atleast_1d(run())
            store.save(key, dict(zip(("value", "right"), map(float, found), strict=False)))
            print(f"{key}: {found.round(4)}", flush=True)

    for name in OTHERS:
        x, axes = load(name, folder).astype(np.float32), FIELD[name].slice_axes
        for s in LEVELS:
            y, on = noisy(x, s, 1.0)
            rng = np.random.default_rng(0)
            cell(f"level/{name}-{s}-1.0", lambda y=y, on=on, a=axes, rng=rng: level(Problem.of(y, on, a), rng))
    for name in SCENES:
        x = load(name, folder).astype(np.float32)
        for s in LEVELS:
            for p in (1.0, 0.2):
                y, on = noisy(x, s, p)
                rng = np.random.default_rng(0)
                cell(f"level/{name}-{s}-{p}", lambda y=y, on=on, rng=rng: level(Problem.of(y, on, PLANE), rng))
        for s in SIGMAS:
            y, on = noisy(x, s, 0.2)
            for method, fill in fills().items():
                cell(f"fill/{name}-{s}-{method}", lambda y=y, on=on, s=s, f=fill, x=x: filled(f(x, y, on, s), x, on))
            y, on = noisy(x, s, 1.0)
            for method, clean in CLEANERS.items():
                if name == "balloons" or method == "views":
                    cell(f"clean/{name}-{s}-{method}", lambda y=y, s=s, x=x, f=clean: f(y, s, x))

    for name in WRONG:
        x = load(name, folder).astype(np.float32)
        y, on = salted(x)
        for method in ("views", "vmtqn", "tnn"):
            for given in (None, True):
                run = partial(qrank.complete, y, on, method, PLANE, outliers=given)
                cell(f"wrong/{name}-{given}-{method}", lambda run=run, x=x: psnr(run().x, x))


def table(store: RunStore, kind: str, rows: list[tuple[str, ...]], columns: dict[Any, str], text: str) -> list[str]:
    """Return the lines of a table of cells that are there; a row is a title, a key, and which number of the cell if not its value."""
    lines = ["| | " + " | ".join(columns.values()) + " |", "|---" * (len(columns) + 1) + "|"]
    for title, key, *which in rows:
        cells = [store.load(f"{kind}/{key.format(c)}") for c in columns]
        shown = ["" if one is None else format(one[which[0] if which else "value"], text) for one in cells]
        lines.append(f"| {title} | " + " | ".join(shown) + " |")
    return [*lines, ""]


def fill_rows(name: str) -> list[tuple[str, ...]]:
    """Return the rows of a scene with missing values: what can be had after what is there."""
    rows: list[tuple[str, ...]] = [(f"{SCENES[name]}: {m}", f"{name}-{{}}-{m}") for m in fills()]
    return [*rows[:1], (f"{SCENES[name]}: {RIGHT}", f"{name}-{{}}-auto", "right"), *rows[1:]]


def page(store: RunStore) -> str:
    """Return the page of what was measured."""
    lines = [
        "# Noise",
        "",
        "Measured by `python -m benchmarks.noise DATA`; noise and masks are seeded. Columns are standard deviations of the noise, in parts"
        " of the range; what is known is single precision.",
        "",
        "## With 80 % missing",
        "",
        "PSNR over all entries, in dB. *Exact* takes known values as they are. *Of values without noise* is what is filled from the same"
        " entries of the truth, which are then right themselves: nothing can be expected to come above it. *Were all that is known right*",
        " puts the truth over the known entries of the answer with noise: so much could a better estimate of them alone bring.",
        "",
    ]
    sigmas, levels = {s: str(s) for s in SIGMAS}, {s: str(s) for s in LEVELS}
    lines += table(store, "fill", [row for n in SCENES for row in fill_rows(n)], sigmas, ".1f")
    lines += [
        "## Nothing missing",
        "",
        "PSNR in dB. Settings of the others are the best of several by the truth.",
        "",
    ]
    rows: list[tuple[str, ...]]
    rows = [(f"{SCENES[n]}: {m}", f"{n}-{{}}-{m}") for n in SCENES for m in CLEANERS if n == "balloons" or m == "views"]
    lines += table(store, "clean", rows, sigmas, ".1f")
    lines += [
        "## The level, estimated",
        "",
        'What `noise="auto"` finds. The clips bring noise of their own: what is found is both together. With 80 % missing a few hundred hidden'
        " entries tell, less what the local model itself says that it cannot tell of them (`choose/noise.py`).",
        "",
    ]
    rows = [
        (f"{SCENES[n]}, {told}", f"{n}-{{}}-{p}")
        for n in SCENES
        for p, told in ((1.0, "all known"), (0.2, "20 % known"))
    ]
    lines += table(store, "level", rows, levels, ".4f")
    lines += [
        "How many blocks count as flat was chosen on these three; with holes, the share of hidden entries and the rounds were chosen on"
        " generated clips, spectra and tensors of low rank, but NOISY and BEYOND of `choose/noise.py` after the estimate had failed on the"
        " still clip. Others, which chose nothing, all known:",
        "",
    ]
    lines += table(store, "level", [(FIELD[n].about, f"{n}-{{}}-1.0") for n in OTHERS], levels, ".4f")
    lines += [
        "## Wrong values",
        "",
        "Every tenth known value is black or white, and half of all are missing; PSNR over all entries, in dB.",
        "",
    ]
    rows = [(f"{WRONG[n]}: {m}", f"{n}-{{}}-{m}") for n in WRONG for m in ("views", "vmtqn", "tnn")]
    lines += table(store, "wrong", rows, {None: "taken as they are", True: "`outliers=True`"}, ".1f")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    kept = RunStore(Path("out") / "noise")
    with warnings.catch_warnings(action="ignore"):
        if len(sys.argv) > 1:
            measured(Path(sys.argv[1]), kept, sys.argv[2:] or ["*"])
    if len(sys.argv) < 3:
        PAGE.write_text(page(kept), encoding="utf-8")
