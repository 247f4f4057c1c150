"""What going on from an earlier answer costs and loses: ``python -m benchmarks.update DATA`` writes docs/update.md.

A tenth of the frames is new. Each cell, a clip, a method and a draw of its holes, is kept in out/update as soon as it is done.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import qrank
from qrank.metrics import psnr
from qrank.study.store import RunStore

PAGE = Path(__file__).parents[1] / "docs" / "update.md"
METHODS = ("auto", "views", "vmtqn", "tnn")
DRAWS = (11, 12, 13)
GRAIN = 0.02
CLIPS = {
    "generated, 30 x 40": 0.4,
    "generated with grain, 30 x 40": 0.4,
    "HMDB51, change of scene, 60 x 108": 0.3,
    "HMDB51, still background, 60 x 80": 0.3,
}


def clip(name: str, folder: Path, draw: int) -> np.ndarray:
    """Return a clip, frames first; grain is drawn anew for each draw."""
    if name.startswith("generated"):
        x = qrank.data.clip()[:, ::2, ::2].mean(axis=-1)
        return x + GRAIN * ("grain" in name) * np.random.default_rng(100 + draw).standard_normal(x.shape)
    found = [
        (qrank.read(file).data[:, ::4, ::4] / 255).mean(axis=-1) for file in sorted((folder / "hmdb51").glob("*.avi"))
    ]
    return min(found, key=len) if "change" in name else max(found, key=len)


def cell(x: np.ndarray, sampling: float, method: str, draw: int) -> dict[str, Any]:
    """Return steps and processor seconds of a new run and of an update, and the decibels of both on new frames and in all."""
    y, old, steps = (
        np.where(qrank.data.observed(x.shape, sampling, slice_axes=(1, 2), rng=draw), x, np.nan),
        round(len(x) / 1.1),
        [],
    )
    options: dict[str, Any] = {"slice_axes": (1, 2)}
    found: dict[str, Any] = {}
    first = qrank.complete(y[:old], method=method, **options)
    for name, run in (
        ("anew", lambda: qrank.complete(y, method=method, on_step=steps.append, **options)),
        ("update", lambda: first.update(y[old:], on_step=steps.append)),
    ):
        steps.clear()
        begun = time.process_time()
        done = run()
        found |= {f"{name} seconds": time.process_time() - begun, f"{name} steps": len(steps)}
        found |= {f"{name} new": psnr(done.x[old:], x[old:]), f"{name} all": psnr(done.x, x)}
    return found


def rows(store: RunStore) -> Iterator[str]:
    """Yield the rows of the table, of what was measured."""
    for name in CLIPS:
        for method in METHODS:
            cells = [one for draw in DRAWS if (one := store.load(f"{name}/{method}/{draw}")) is not None]
            if not cells:
                continue
            fewer = min(one["anew steps"] / one["update steps"] for one in cells)
            cheaper = sum(one["anew seconds"] for one in cells) / sum(one["update seconds"] for one in cells)
            gains = {at: [one[f"update {at}"] - one[f"anew {at}"] for one in cells] for at in ("new", "all")}
            told = (
                f"{np.mean(gains[at]):+.2f} ({min(gains[at]):+.2f} … {max(gains[at]):+.2f})" for at in ("new", "all")
            )
            anew = np.mean([one["anew new"] for one in cells])
            yield f"| {name} | `{method}` | {fewer:.1f} | {cheaper:.1f} | {anew:.2f} | {' | '.join(told)} |"


def page(store: RunStore) -> str:
    """Return the page."""
    draws = ", ".join(map(str, DRAWS))
    return (
        "\n".join(
            [
                "# New slices: what an update costs and loses",
                "",
                f"Made by `python -m benchmarks.update DATA`. A tenth of the frames is new; draws {draws} of the holes, which chose nothing. 40 % of the",
                f"generated clip is known, 30 % of the others; grain is noise of {GRAIN}. *Fewer steps* is the least of the draws. Steps are those over the",
                "whole array; what fills new slices beforehand (under `auto` and `views` 16 steps of `views` on these and a dozen earlier ones) is in the",
                "processor seconds, of all draws together. Decibels over all entries of the new frames and of the whole clip: mean, least and largest.",
                "",
                "| clip | method | fewer steps, times | fewer seconds, times | new frames, new run | update: new frames | update: whole clip |",
                "|---|---|---|---|---|---|---|",
                *rows(store),
                "",
                "Where nothing is noisy, as in the generated clip without grain, every step of a run still counts at its end, and the five of `views` lose",
                "most. What is lost is the multiplier part of T, which a result does not keep.",
                "",
                "`auto` goes on with what it chose for the earlier frames and tries nothing, so where hidden entries lead it astray, for the earlier frames or",
                "for all, the update differs by that: of the clip without grain, views and patches are within what a thousand hidden entries tell.",
                "",
                "[How an update goes](theory.md#new-slices-going-on-from-an-earlier-answer).",
            ]
        )
        + "\n"
    )


def main(folder: Path) -> None:
    """Measure what is not measured yet, and write the page."""
    store = RunStore(Path("out") / "update")
    for name, sampling in CLIPS.items():
        for method in METHODS[::-1]:
            for draw in DRAWS:
                key = f"{name}/{method}/{draw}"
                if store.load(key) is None:
                    store.save(key, cell(clip(name, folder, draw), sampling, method, draw))
    PAGE.write_text(page(store), encoding="utf-8")


if __name__ == "__main__":
    with warnings.catch_warnings(action="ignore"):
        main(Path(sys.argv[1]))
