"""The page of the field: the goals beside what came out, then every data set with all methods, from the cells there are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from ...atomic import write_text
from ...study.table import csv_text, markdown
from ..grid import Store, rows
from ..page import Shelf
from ..plans import Size
from . import masks
from .cells import FieldCell
from .plan import CHOICE, DAMAGE, INPAINTING, LOG_SUM, SIMPLE, goals, phase_rows, planned, targets
from .quoted import WHERE
from .rivals import RIVALS
from .scenes import scene
from .short import short_table

HEAD = """# Accuracy in the field

Every method of qrank, and what one would take instead, on the same masks: real data with the holes of real damage. Made by
`qrank reproduce field --data DIR -o out/field --page docs/accuracy.md`; but for the goals no number is typed in. PSNR (peak: the
largest value of the truth) is over the missing entries, cut to the data's range, unless a row says "all entries"; RMSE of
counts is over the missing entries that are not 0; SSIM is the mean over slices, whole as they are; seconds are processor
seconds of one call, all threads together, choosing included, on the machine that made the page. *90 %* is the share of missing
entries within 1.645 times the method's own estimate of its error: 90 % where that is right. Rivals choose ranks and thresholds on
a twentieth of the known entries, hidden for that. Methods run with their default settings unless a row says otherwise. Where
[reproduction.md](reproduction.md) has a cell on the same mask (the largest data, synthetic tensors), it is taken from there.
"""
GOALS = """## The goals

`auto` is `effort="balanced"`. Means of the draws; for traffic, whose goals are published figures, the published seed alone, and in
brackets the mean of the other seeds. A goal that is reached is bold. `motqn` is with `penalty="log-sum"`, on COIL-20 at full size
with its own, milder one.
"""
REAL = """## Real damage

Draw 0. *Worst slice*: the lowest PSNR of a slice, over its missing entries, of `auto`; a black frame has some 8 dB. *Straight
lines* are those along the axis that the truth likes best, which nobody knows beforehand. `auto` is bold where none of the others
is more than 0.1 dB or 0.001 of SSIM above it.
"""
PHASE = """## Where synthetic tensors are recovered

The grid of [reproduction.md](reproduction.md), draw 0, where what is known is at least 1.3 times the degrees of freedom.
"""
SETTINGS = """## Which settings were chosen on which data

Methods run with the defaults of the package, and their docstrings say where a default was chosen by measurement. Ranks and
thresholds of the rivals are chosen on hidden known entries of the data at hand, never on the truth. The number of levels of
`f-tnn`, three, is the one whose successor gained less than 0.1 dB on the truth of the balloons at p = 0.1 and of the clip with
the change of scene at p = 0.3; its weights are those of its authors' program.

What `auto` takes on an array is chosen on that array, by known entries that are hidden. Its own constants were not: the views
(blocks of 8 x 8 and 4 x 6 x 6, log-sum with epsilon 2, 28 to 60 steps down to v / 80) and how weights are drawn towards equal
ones come from trials on the truth of the balloons, the two clips, COIL-20 and CIFAR-10; the defaults of `patches` from trials on the truth of the balloons, the clips and COIL-20, mostly
at one mask; those of `similar` from five photographs; the strength of the prior of `kriging` from generated data, but that it chooses
by two draws of held-out fibres was settled when one had led it astray on the metro. How many eigenpairs and steps `joined` takes
was chosen on generated arrays, after six steps of it had been chosen on the truth of the clips and the balloons. So the rows of
these data sets flatter `auto` a little.
"""
NEAR, NEAR_SSIM = 0.1, 0.001  # dB, and SSIM: so little behind is as good
MEASURES = {"psnr": "PSNR", "psnr_all": "PSNR, all entries", "rmse": "RMSE"}

Found = dict[tuple[str, str, float], dict[str, list[dict[str, Any]]]]  # row -> label -> the numbers of the draws


def collected(store: Store, plan: Sequence[FieldCell]) -> Found:
    """Return the cells that are there, by row and method."""
    found: Found = {}
    for cell, numbers in store.finished(plan).items():
        assert isinstance(cell, FieldCell)
        found.setdefault((cell.data, cell.pattern, cell.p), {}).setdefault(cell.label, []).append(numbers)
    return found


def mean(numbers: Sequence[dict[str, Any]], name: str) -> float | None:
    """Return the mean of a number over the draws that have it."""
    values = [one[name] for one in numbers if one[name] is not None]
    return fmean(values) if values else None


def shown(value: float | None, form: str = ".2f") -> str:
    """Write a number, or a dash.

    >>> shown(38.914), shown(None), shown(400.0)
    ('38.91', '–', 'exact')
    """
    return "–" if value is None else "exact" if value >= 400 and form == ".2f" else format(value, form)


def share(value: float | None) -> str:
    """Write a share in whole percent, or a dash."""
    return "–" if value is None else f"{100 * value:.0f} %"


def of_goal(numbers: Sequence[dict[str, Any]], measure: str, counts: bool) -> float | None:
    """Return what is set beside a goal: the mean of the draws; for traffic, whose goals are published, that seed's."""
    return mean([one for one in numbers if not counts or one["seed"] == 0], measure)


def goals_table(found: Found) -> str | None:
    """Return the goals beside what came out; a goal that is reached is bold."""
    body = []
    for goal in targets():
        at = found.get((goal["data"], goal["pattern"], goal["p"]))
        if at is None:
            continue
        measure, counts, ours = goal["measure"], scene(goal["data"]).counts, at.get(CHOICE, [])
        best = next((label for label in (LOG_SUM, "motqn") if label in at), LOG_SUM)
        came, vmtqn, motqn = (of_goal(at.get(label, []), measure, counts) for label in (CHOICE, "vmtqn", best))
        wanted = goal.get("wanted")
        if "over" in goal:
            base = of_goal(at.get(goal["over"][0], []), measure, counts)
            wanted = None if base is None else base + goal["over"][1]
        reached = came is not None and wanted is not None and (came <= wanted if measure == "rmse" else came >= wanted)
        others = mean([one for one in ours if counts and one["seed"] != 0], measure)
        body.append(
            [
                f"{scene(goal['data']).about}; {goal['pattern']}, p = {goal['p']:g}; {MEASURES[measure]}",
                ("≤ " if measure == "rmse" else "≥ ") + shown(wanted),
                shown(vmtqn),
                shown(motqn),
                (f"**{shown(came)}**" if reached else shown(came)) + ("" if others is None else f" ({others:.2f})"),
                shown(mean(ours, "ssim"), ".3f"),
                share(mean(ours, "covered")),
                shown(mean(ours, "seconds"), ".0f"),
                str(len(ours) or "–"),
            ]
        )
    head = ["", "goal", "vmtqn", "motqn, log-sum", "auto", "SSIM", "90 %", "seconds", "draws"]
    return markdown(head, body) if body else None


def both(numbers: Sequence[dict[str, Any]]) -> str:
    """Write PSNR and SSIM."""
    ssim = mean(numbers, "ssim")
    return shown(mean(numbers, "psnr")) + ("" if ssim is None else f" / {ssim:.3f}")


def damage_table(found: Found) -> str | None:
    """Return real damage, one row each: bold where the choice has the best PSNR, or is within 0.1 dB of it, and SSIM."""
    body = []
    for row in [*DAMAGE, *(row for row in goals() if row[1] == "frames")]:
        if row not in found:
            continue
        at = {label: [one for one in numbers if one["seed"] == 0] for label, numbers in found[row].items()}
        ours, scores = at.get(CHOICE, []), {label: mean(at[label], "psnr") or 0.0 for label in SIMPLE if label in at}
        lines = max(scores, key=scores.__getitem__, default="")
        labels = ["vmtqn", lines, *INPAINTING, "tnn-c" if row[1] == "frames" else "similar"]
        others = [at[label] for label in labels if label in at]
        best = ours and all(
            (mean(ours, "psnr") or 0) >= (mean(other, "psnr") or 0) - NEAR
            and (mean(ours, "ssim") or 0) >= (mean(other, "ssim") or 0) - NEAR_SSIM
            for other in others
        )
        body.append(
            [
                f"{scene(row[0]).about}; {row[1]}, p = {row[2]:g}",
                f"**{both(ours)}**" if best else both(ours),
                shown(mean(ours, "worst")),
                *(both(at[label]) if label in at else "–" for label in labels),
            ]
        )
    head = [
        "PSNR / SSIM",
        "auto",
        "worst slice",
        "vmtqn",
        "straight lines",
        "biharmonic",
        "Telea",
        "`tnn-c`, `similar`",
    ]
    return markdown(head, body) if body else None


def row_table(row: tuple[str, str, float], at: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the table of all methods on one data set with one mask, best first."""
    data, pattern, p = row
    counts = scene(data).counts
    measure = "rmse" if counts else "psnr"

    def order(label: str) -> float:
        value = mean(at[label], measure)
        return float("inf") if value is None else value if counts else -value

    body = []
    for label in sorted(at, key=order):
        numbers = at[label]
        name = RIVALS[label].about if label in RIVALS else f"`{label}`"
        said = numbers[0]["choice"]
        chosen = "from reproduction.md" if said == WHERE else said if label in RIVALS else ""
        body.append(
            [
                name + (f", {chosen}" if chosen else ""),
                shown(mean(numbers, measure)),
                shown(mean(numbers, "psnr_all")),
                shown(mean(numbers, "ssim"), ".3f"),
                share(mean(numbers, "covered")),
                shown(mean(numbers, "seconds"), ".1f"),
                str(len(numbers)),
            ]
        )
    known = next(iter(at.values()))[0]["known"]
    head = [
        f"{pattern}, p = {p:g} ({share(known)} known)",
        MEASURES[measure],
        MEASURES["psnr_all"],
        "SSIM",
        "90 %",
        "seconds",
    ]
    return [markdown([*head, "draws"], body)]


def phase_table(found: Found, size: Size) -> str | None:
    """Return on how many cells of the synthetic grid each method has 40 dB and more."""
    wanted = phase_rows(size)
    body = []
    for label in dict.fromkeys(label for row in wanted for label in found.get(row, {})):
        values = [mean(found[row][label], "psnr_all") for row in wanted if label in found.get(row, {})]
        body.append([f"`{label}`", str(sum(value is not None and value >= 40 for value in values)), str(len(values))])
    head = ["synthetic tensors", "cells with 40 dB and more, all entries", f"cells run, of {len(wanted)}"]
    return markdown(head, body) if body else None


def recipe() -> str:
    """Return how the masks are drawn, as the module that draws them says it."""
    text = (masks.__doc__ or "").split("\n\n", 1)[1]
    return f"## The masks\n\nThe seed is the number of the draw, 0, 1, 2; p is the share that is known.\n\n{text}"


def write(size: Size, out: Path, page: Path) -> list[Path]:
    """Write the page and the CSV file of all cells beside it; return the paths of what was written."""
    store, shelf, plan = Store(out / "cells"), Shelf(page), planned(size)
    found = collected(store, plan)
    drawn, parts, short = set(phase_rows(size)), [HEAD], short_table(found)
    if short is not None:
        parts += [short, ""]
    for text, table in ((GOALS, goals_table(found)), (REAL, damage_table(found)), (PHASE, phase_table(found, size))):
        if table is not None:
            parts += [text, table, ""]
    parts += [SETTINGS, recipe()]
    for data in dict.fromkeys(row[0] for row in found if row not in drawn):
        parts += [f"## {scene(data).about}", ""]
        for row in sorted((row for row in found if row[0] == data), key=lambda row: (row[1] != "random", row[1:])):
            parts += [*row_table(row, found[row]), ""]
    table_path = shelf.table("field")
    if there := rows(store, plan):
        write_text(table_path, csv_text(there, end="\n"))
        made = "qrank {qrank}, NumPy {numpy}, SciPy {scipy}, Python {python}".format(**there[-1])
        parts += [
            f"{len(there)} of {len(plan)} cells; {made}. [All cells]({os.path.relpath(table_path, page.parent)})."
        ]
    write_text(page, "\n".join(parts).rstrip("\n") + "\n")
    return [*([table_path] if there else []), page]
