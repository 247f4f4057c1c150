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
from .plan import CHOICE, LOG_SUM, phase, phase_cells, planned, targets
from .rivals import RIVALS
from .scenes import scene

HEAD = """# Accuracy in the field

Every method of qrank, and what one would take instead, on the same masks: real data with the holes of real damage. Made by
`qrank reproduce field --data DIR -o out/field --page docs/accuracy.md`; but for the goals no number is typed in. PSNR (peak: the
largest value of the truth) is over the missing entries, cut to the data's range, unless a row says "all entries"; RMSE of
counts is over the missing entries that are not 0; SSIM is the mean over slices, whole as they are; seconds are those of one
call, choosing included, on the machine that made the page. *90 %* is the share of missing entries within 1.645 times the
method's own estimate of its error: 90 % where that is right. Rivals choose ranks and thresholds on a twentieth of the known
entries, hidden for that. Methods run with their default settings unless a row says otherwise.
"""
SETTINGS = """## Which settings were chosen on which data

Methods run with the defaults of the package, and their docstrings say where a default was chosen by measurement. Ranks and
thresholds of the rivals are chosen on hidden known entries of the data at hand, never on the truth. The number of levels of
`f-tnn`, three, is the one whose successor gained less than 0.1 dB on the truth of the balloons at p = 0.1 and of the clip with
the change of scene at p = 0.3; its weights are those of its authors' program.

What `auto` takes on an array is chosen on that array, by known entries that are hidden. Its own constants were not: the views
(blocks of 8 x 8 and 4 x 6 x 6, log-sum with epsilon 2, 50 steps down to v / 80) come from trials on the truth of the balloons, the
two clips, COIL-20 and CIFAR-10; the defaults of `patches` from trials on the truth of the balloons, the clips and COIL-20, mostly
at one mask; those of `similar` from five photographs; the strength of the prior of `kriging` from generated data. So the rows of
these data sets flatter `auto` a little. Rows that are not here have not been run yet: the command goes on where it was.
"""
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


def goals_table(found: Found) -> str | None:
    """Return the goals beside what came out; a goal that is reached is bold."""
    body = []
    for goal in targets():
        at = found.get((goal["data"], goal["pattern"], goal["p"]))
        if at is None:
            continue
        measure, ours = goal["measure"], at.get(CHOICE, [])
        came, others = mean(ours, measure), {label: mean(at.get(label, []), measure) for label in ("vmtqn", LOG_SUM)}
        wanted = goal.get("wanted")
        if "over" in goal:
            label, more = goal["over"]
            wanted = None if (base := others.get(label)) is None else base + more
        reached = came is not None and wanted is not None and (came <= wanted if measure == "rmse" else came >= wanted)
        first = f" ({ours[0][measure]:.2f} at seed {masks.FIRST_SEED})" if ours and scene(goal["data"]).counts else ""
        body.append(
            [
                f"{scene(goal['data']).about}; {goal['pattern']}, p = {goal['p']:g}; {MEASURES[measure]}",
                shown(goal["vmtqn"], "g"),
                ("≤ " if measure == "rmse" else "≥ ") + shown(wanted),
                shown(others["vmtqn"]),
                shown(others[LOG_SUM]),
                (f"**{shown(came)}**" if reached else shown(came)) + first,
                shown(mean(ours, "ssim"), ".3f"),
                share(mean(ours, "covered")),
                shown(mean(ours, "seconds"), ".0f"),
                str(len(ours) or "–"),
            ]
        )
    head = ["", "vmtqn before", "goal", "vmtqn", "motqn, log-sum", "auto", "SSIM", "90 %", "seconds", "draws"]
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
        chosen = numbers[0]["choice"] if label in RIVALS and numbers[0]["choice"] else ""
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
    grid = phase(size)
    wanted = [(f"{grid.data}-r{r}", "random", p) for r in grid.ranks for p in grid.rates]
    labels = dict.fromkeys(label for row in wanted for label in found.get(row, {}))
    body = []
    for label in labels:
        values = [mean(found[row][label], "psnr_all") for row in wanted if label in found.get(row, {})]
        body.append([f"`{label}`", str(sum(value is not None and value >= 40 for value in values)), str(len(values))])
    return (
        markdown(["synthetic tensors", "cells with 40 dB and more, all entries", "cells run"], body) if body else None
    )


def recipe() -> str:
    """Return how the masks are drawn, as the module that draws them says it."""
    text = (masks.__doc__ or "").split("\n\n", 1)[1]
    return f"## The masks\n\nThe seed is the number of the draw, 0, 1, 2; p is the share that is known.\n\n{text}"


def write(size: Size, out: Path, page: Path) -> list[Path]:
    """Write the page and the CSV file of all cells beside it; return the paths of what was written."""
    store, shelf, plan = Store(out / "cells"), Shelf(page), planned(size)
    found = collected(store, plan)
    drawn = {(cell.data, cell.pattern, cell.p) for cell in phase_cells(size)}
    parts = [HEAD]
    if (table := goals_table(found)) is not None:
        parts += [
            "## The goals",
            "",
            'Means of the draws; `auto` is `effort="balanced"`; a goal that is reached is bold.',
            "",
            table,
            "",
        ]
    if (table := phase_table(found, size)) is not None:
        parts += ["## Where synthetic tensors are recovered", "", table, ""]
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
