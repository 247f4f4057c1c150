"""The cases of the golden answers: what is completed, how, and what is kept of it.

``python tests/golden/cases.py`` writes answers.npz anew. It was made before the house was rebuilt, and is made again only
where a result is meant to change; the change then says so.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import qrank

ANSWERS = Path(__file__).with_name("answers.npz")
KEPT = 1500  # missing entries kept of a case, evenly spaced


class Case(NamedTuple):
    """A completion; ``same`` is how near it must come, relative to the largest entry."""

    method: str
    make: Callable[[], tuple[np.ndarray, np.ndarray]]  # truth and mask
    options: dict[str, Any] = {}  # noqa: RUF012
    slice_axes: tuple[int, int] = (0, 1)
    same: float = 1e-6


def synthetic(shape: tuple[int, ...], directions: int, rank: int, p: float, seed: int, dtype: Any = float):
    """Return low-rank slices in a few directions of the third mode, with some noise, and a random mask."""

    def make() -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        n1, n2, n3 = shape[0], shape[1], int(np.prod(shape[2:], dtype=int))
        g = sum(
            rng.standard_normal((n1, 1, directions)) * rng.standard_normal((1, n2, directions)) for _ in range(rank)
        )
        x = g @ rng.standard_normal((directions, n3)) + 0.05 * rng.standard_normal((n1, n2, n3))
        return x.reshape(shape).astype(dtype), rng.random(shape) < p

    return make


def picture(height: int, width: int, seed: int) -> np.ndarray:
    """Return a colour picture in [0, 1] of waves and sharp edges, the same on every machine."""
    rng = np.random.default_rng(seed)
    down, across = np.mgrid[:height, :width] / max(height, width)
    colours = []
    for _ in range(3):
        a, b, c, d = rng.uniform(2, 12, 4)
        colours.append(0.5 + 0.2 * np.sin(a * down + b * across) + 0.2 * np.sign(np.sin(c * across - d * down * down)))
    return np.clip(np.stack(colours, axis=2), 0, 1)


def lost() -> tuple[np.ndarray, np.ndarray]:
    """Return a small clip of two scenes in changing light, of whose frames a few are hardly known."""
    scenes = [picture(24, 32, seed).mean(axis=2) for seed in (1, 2)]
    film = np.stack([scenes[t // 3 % 2] * (0.8 + 0.2 * np.sin(t)) for t in range(10)])
    film[:, 8:12, 10:14] = np.linspace(0, 1, 10)[:, None, None]
    known = np.random.default_rng(3).random(film.shape) < 0.5
    known[[2, 7]] &= np.random.default_rng(4).random((2, 24, 32)) < 0.2
    return film, known


SMALL = synthetic((12, 14, 9), 3, 2, 0.6, 0)
SINGLE = synthetic((12, 14, 9), 3, 2, 0.6, 0, np.float32)
WIDE = synthetic((7, 8, 90), 4, 2, 0.5, 1)
WIDE32 = synthetic((7, 8, 90), 4, 2, 0.5, 1, np.float32)
FOUR = synthetic((10, 11, 6, 3), 3, 2, 0.6, 2)
MATRIX = synthetic((30, 25), 1, 3, 0.6, 3)
LARGE = synthetic((112, 130, 7), 3, 4, 0.4, 4)
LARGE32 = synthetic((112, 130, 7), 3, 4, 0.4, 4, np.float32)
TALL = synthetic((130, 112, 6), 3, 4, 0.4, 5)
BROAD = synthetic((17, 17, 420), 5, 3, 0.4, 6)
FEW = {"max_steps": 25}

CASES: dict[str, Case] = {
    "vmtqn": Case("vmtqn", SMALL),
    "vmtqn-float32": Case("vmtqn", SINGLE, FEW, same=1e-3),
    "vmtqn-paper": Case("vmtqn", SMALL, {"preset": "paper", "max_steps": 120}),
    "vmtqn-wide": Case("vmtqn", WIDE, {"max_steps": 40}),  # later on rounding grows
    "vmtqn-wide-float32": Case("vmtqn", WIDE32, {"max_steps": 12}, same=1e-3),  # later on rounding grows
    "vmtqn-wide-every-3": Case("vmtqn", WIDE, {"update_every": 3, "max_steps": 40}),
    "vmtqn-r": Case("vmtqn", SMALL, {"r": 3}),
    "vmtqn-wide-r": Case("vmtqn", WIDE, {"r": 5, "max_steps": 40}),
    "vmtqn-four-way": Case("vmtqn", FOUR, {"rho": 1.3}, (3, 1)),
    "vmtqn-matrix": Case("vmtqn", MATRIX),
    "vmtqn-large": Case("vmtqn", LARGE, FEW),
    "vmtqn-large-float32": Case("vmtqn", LARGE32, FEW, same=1e-3),
    "vmtqn-broad": Case("vmtqn", BROAD, FEW),
    "vmtqn-p-shrinkage": Case("vmtqn", SMALL, {"penalty": "p-shrinkage", "max_steps": 60}),
    "vmtqn-grouped": Case("vmtqn", SMALL, {"penalty": "grouped", "max_steps": 60}),
    "vmtqn-lost": Case("vmtqn", lost, {"max_steps": 60}, (1, 2)),
    "motqn-pca": Case("motqn", SMALL, {"start": "pca", "max_steps": 20}),
    "motqn-paper": Case("motqn", SMALL, {"preset": "paper", "max_steps": 90}),
    "motqn-r": Case("motqn", SMALL, {"start": "last", "r": 4, "descents": 2, "max_steps": 20}),
    "motqn-printed": Case("motqn", SMALL, {"step_size": "printed", "max_steps": 12}),
    # Random rotations of eigenvectors, whose signs are LAPACK's: only this machine's own answer is the same to the digit.
    "motqn-spun": Case("motqn", SMALL, {"max_steps": 40}, same=0.1),
    "tnn": Case("tnn", SMALL),
    "tnn-float32": Case("tnn", SINGLE, FEW, same=1e-3),
    "tnn-even-large": Case("tnn", TALL, FEW),
    "tnn-schatten": Case("tnn", SMALL, {"penalty": "schatten", "max_steps": 60}),
    "tnn-grouped": Case("tnn", SMALL, {"penalty": "grouped:0.3", "max_steps": 30}),
    "tnn-c": Case("tnn-c", FOUR, {}, (1, 0)),
    "ttnn": Case("ttnn", BROAD, FEW),
    "slicewise": Case("slicewise", SMALL),
    "tqn": Case("tqn", SMALL, {"q": np.linalg.qr(np.random.default_rng(8).standard_normal((9, 6)))[0]}),
    "tqn-random": Case("tqn-random", SMALL, {"max_steps": 60}),
    "tqn-oracle": Case("tqn-oracle", SMALL, {"max_steps": 120, "truth": SMALL()[0]}),
    "f-tnn": Case("f-tnn", SMALL, {"levels": 2, "max_steps": 60}),
    "tnn-linear": Case("tnn-linear", SMALL, {"q": np.eye(9) + 0.1, "max_steps": 60}),
    "silrtc": Case("silrtc", FOUR, {"max_steps": 80}, (2, 1)),
    "halrtc": Case("halrtc", SMALL, {"alpha": [1, 2, 3], "max_steps": 80}),
    "latent": Case("latent", SMALL, {"max_steps": 80}),
    "tmac": Case("tmac", SMALL, {"max_steps": 40}),
    "tmac-decrease": Case("tmac", FOUR, {"strategy": "decrease", "rank": 5, "max_steps": 40}),
}


def answer(case: Case) -> dict[str, np.ndarray]:
    """Run a case; return what is kept of it."""
    truth, known = case.make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qrank.ConvergenceWarning)
        found = qrank.complete(truth, known, case.method, case.slice_axes, rng=5, holdout=0.05, **case.options)
    assert (found.x[known] == truth[known]).all(), "known entries are not as they were"
    x = found.x[~known]
    last = found.history[-1]
    numbers = [
        last.step,
        last.objective,
        last.mu,
        last.rank,
        last.slices,
        last.holdout or 0.0,
        last.primal,
        last.change,
    ]
    return {"x": x[:: max(1, len(x) // KEPT)][:KEPT], "numbers": np.array(numbers), "size": np.abs(truth).max()}


def filled_photo(folder: Path) -> np.ndarray:
    """Return what ``qrank fill`` makes of a scratched photograph, in its own 8 bits."""
    photo = (255 * picture(45, 60, 3)).round().astype(np.uint8)
    mask = np.zeros(photo.shape[:2], np.uint8)
    mask[20:22, 5:50] = mask[5:40, 30:32] = 255
    qrank.write(folder / "photo.png", photo)
    qrank.write(folder / "scratches.png", mask)
    words = f"fill {folder}/photo.png --mask {folder}/scratches.png -o {folder}/whole.png --quiet --method vmtqn --option max_steps=12"
    subprocess.run([sys.executable, "-m", "qrank", *words.split()], check=True)
    return qrank.read(folder / "whole.png").data[mask > 0]


def main() -> None:
    """Write the answers of all cases into one file."""
    kept = {f"{name}/{what}": value for name, case in CASES.items() for what, value in answer(case).items()}
    with tempfile.TemporaryDirectory() as folder:
        kept["fill/photo"] = filled_photo(Path(folder))
    np.savez_compressed(ANSWERS, allow_pickle=False, **kept)
    print(f"{len(CASES)} cases, {ANSWERS.stat().st_size} bytes")


if __name__ == "__main__":
    main()
