"""The small table at the head of the page, which the README copies: the default beside what one would take instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...study.table import markdown
from .plan import CHOICE, Row
from .rivals import RIVALS
from .scenes import scene

ROWS: dict[Row, str] = {
    ("balloons", "random", 0.1): "hyperspectral cube, 10 % known",
    ("video-60", "random", 0.3): "clip with a cut, 30 % known",
    ("smooth-60", "poor-frames", 0.8): "clip, a fifth of its frames nearly lost",
    ("colour-still-40", "frames", 0.85): "clip in colour, 6 of 40 frames lost",
    ("china", "scratches", 0.9): "photograph with scratches",
    ("hangzhou", "random", 0.3): "passengers of a metro, 30 % known",
    ("hangzhou", "station-days", 0.3): "the same, whole days of stations lost",
}
SAID = (
    "**In short.** PSNR of the missing entries in dB, more is better; of the metro RMSE, less is better. One draw, the same masks for all."
    " *Another program* is the best of {count} on the row, which nobody knows beforehand."
)


def short_table(found: Mapping[Row, Mapping[str, Sequence[dict[str, Any]]]]) -> str | None:
    """Return the table with the sentence that says what it is; rows that the default has not run on are left out."""
    body = []
    for row, words in ROWS.items():
        measure, counts = ("rmse", True) if scene(row[0]).counts else ("psnr", False)
        at = {
            label: one[measure]
            for label, numbers in found.get(row, {}).items()
            for one in numbers
            if one["seed"] == 0 and one[measure] is not None
        }
        others = {label: value for label, value in at.items() if label in RIVALS}
        if CHOICE not in at or not others:
            continue
        best = (min if counts else max)(others, key=others.__getitem__)
        ours = [at.get(label) for label in (CHOICE, "vmtqn", "tnn")]
        rest = [value for value in (*ours[1:], others[best]) if value is not None]
        leads = at[CHOICE] <= min(rest) if counts else at[CHOICE] >= max(rest)
        cells = ["–" if value is None else f"{value:.1f}" for value in ours]
        body.append([words, f"**{cells[0]}**" if leads else cells[0], *cells[1:], f"{others[best]:.1f}, {_name(best)}"])
    head = ["", "qrank", "`vmtqn`, the paper's", "TNN", "another program"]
    return f"{SAID.format(count=len(RIVALS))}\n\n{markdown(head, body)}" if body else None


def _name(label: str) -> str:
    """Return what a program is called in few words.

    >>> _name("linear-0"), _name("knn")
    ('straight lines', 'scikit-learn KNN')
    """
    names = {
        "inpaint-biharmonic": "scikit-image biharmonic",
        "inpaint-telea": "OpenCV Telea",
        "knn": "scikit-learn KNN",
    }
    names |= {"tensorly-cp": "TensorLy CP", "tensorly-tucker": "TensorLy Tucker", "softimpute": "SoftImpute"}
    names |= {"iterative": "scikit-learn iterative"}
    return "straight lines" if label.startswith("linear-") else names.get(label, label)
