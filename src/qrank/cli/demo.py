"""``qrank demo``: the main job on data that are always there."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from .. import data, metrics
from ..api import complete
from ..methods import METHODS
from ..report import write_report
from ..report.sheet import draw
from ..result import Completion
from . import options
from .outcome import told_truly
from .progress import Stopper
from .words import check_place, guarded, screen

RATE = 0.25  # share of the entries that the methods see
METHODS_SHOWN = ("tnn", "vmtqn", "auto")


@guarded
def demo(
    report: Annotated[Path, typer.Option(help="The page to write.")] = Path("qrank-demo.html"),
    picture: Annotated[Path, typer.Option(help="The picture to write.")] = Path("qrank-demo.png"),
    seed: Annotated[int, typer.Option(help="For what is hidden.", min=0)] = 0,
    quiet: options.Quiet = False,
) -> None:
    """Fill a clip of which three quarters are missing: with a fixed transform, a learned one, and what auto chooses.

    The clip cuts back and forth between details of the two photographs that come with scikit-learn (generated ones
    where it is not installed), its light changes, and a ball flies through: nothing in it is smooth along time.
    What auto tried, and how it weighed it, is in the report.

    Example: qrank demo --report page.html --picture demo.png
    """
    check_place(report, "the report", (".html", ".htm"))
    check_place(picture, "the picture", (".png", ".svg", ".pdf"))
    out = screen(quiet)
    truth = data.clip().astype(np.float32)
    known = data.observed(truth.shape, RATE, "random", (1, 2), seed)
    out.print(
        f"a clip of {truth.shape[0]} frames, {truth.shape[1]} x {truth.shape[2]}, in colour; {RATE:.0%} of it is known"
    )
    results: dict[str, Completion] = {}
    scores: dict[str, float] = {}
    start = time.perf_counter()
    with Stopper() as stopper:
        for name in METHODS_SHOWN:
            results[name] = complete(truth, known, name, (1, 2), on_step=stopper.on_step, progress=not quiet, rng=seed)
            if stopper.asked:
                raise KeyboardInterrupt
            scores[name] = metrics.psnr(results[name].x, truth)
            out.print(f"  {name:<6} {scores[name]:.2f} dB  ({results[name].seconds:.1f} s)  {METHODS[name].about}")
    out.print(f"{results['auto'].choice}\n{time.perf_counter() - start:.0f} s for all three")
    with told_truly(picture):
        _write(results, scores, truth, known, picture, report)
    out.print(f"picture: {picture}\nreport: {report}")


def _write(
    results: dict[str, Completion],
    scores: dict[str, float],
    truth: np.ndarray,
    known: np.ndarray,
    picture: Path,
    report: Path,
) -> None:
    draw(picture, truth, known, {name: result.x for name, result in results.items()})
    write_report(
        results["auto"],
        report,
        title="qrank demo: a clip of which three quarters are missing",
        truth=truth,
        axes=("frame", "height", "width", "colour"),
        command="qrank demo",
        value_range=(0, 1),
        meta={f"PSNR of {name}": f"{score:.2f} dB" for name, score in scores.items()},
    )
