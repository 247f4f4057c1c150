"""Films side by side as one picture; and how a figure is written to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import metrics
from ..atomic import replacing
from ..errors import FileError, need


def draw(path: Path, truth: np.ndarray, known: np.ndarray, answers: dict[str, np.ndarray]) -> None:
    """Draw what was known, the answers and the truth side by side, two frames of different scenes, with their dB.

    The frames are the middle one and the one that differs most from it.
    """
    figures = need("matplotlib.figure", "report", "the picture")
    middle = len(truth) // 2
    frames = middle, int(np.argmax(np.square(truth - truth[middle]).sum(axis=(1, 2, 3))))
    columns: dict[str, Any] = {f"known: {known.mean():.0%}": np.where(known, truth, 0)}
    columns |= {f"{name}: {metrics.psnr(x, truth):.1f} dB": x for name, x in answers.items()}
    columns["truth"] = truth
    figure = figures.Figure(figsize=(11, 0.35 + 2.05 * len(frames)), layout="constrained")
    grid = figure.subplots(len(frames), len(columns), squeeze=False)
    for line, frame in zip(grid, frames, strict=True):
        for ax, (title, film) in zip(line, columns.items(), strict=True):
            ax.imshow(np.clip(film[frame], 0, 1), interpolation="nearest")
            ax.set_axis_off()
            if frame == frames[0]:
                ax.set_title(title)
    save(figure, path, "the picture", 100)


def save(figure: Any, path: Path, what: str, dpi: int) -> None:
    """Write a Matplotlib figure as a whole, or say in a sentence why it cannot be."""
    try:
        with replacing(path) as beside:
            figure.savefig(beside, dpi=dpi)
    except OSError as error:
        raise FileError(f"{what} {path} cannot be written: {error.strerror}") from error
