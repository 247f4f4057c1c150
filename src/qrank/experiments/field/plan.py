"""Which cells make the field: the goals with what they are measured by, real damage, and every method on small data.

A cell is a data set, a pattern, a rate, a seed and a method. What is registered in ``METHODS`` is in the plan by its name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from math import prod
from typing import Any

from ...methods import METHODS
from ..plans import Size, Square, square, taken_apart
from .cells import FieldCell, chooses
from .rivals import RIVALS
from .scenes import scene

CHOICE = "auto, effort balanced"
LOG_SUM = "motqn, penalty log-sum"
YARDSTICKS = ("tqn-oracle", "tqn-random", "slicewise")  # they need the truth, or nobody would use them
GIVEN = ("tqn", "tnn-linear")  # they need a matrix of the user's
SIMPLE = ("linear-0", "linear-1", "linear-2")
INPAINTING = ("inpaint-biharmonic", "inpaint-telea")
DRAWS = 3  # of the goals on small data
SEEDS = 4  # of traffic: the published one, and three others
LARGE = 1_000_000  # entries from which only those methods are run that the goals name
HUGE = 10_000_000  # and from which those that the paper's experiments have run already
ENOUGH = 1.3  # of the synthetic grid: what is known over the degrees of freedom, from which on cells are tried
Row = tuple[str, str, float]  # data set, pattern, rate

ENTRIES = {  # of the data sets, so that a plan is made without reading them
    **{"balloons": 507_904, "video-60": 311_040, "smooth-60": 355_200, "shuffled": 311_040, "hangzhou": 216_000},
    **{"video": 4_976_640, "coil-64": 1_474_560, "coil": 23_592_960, "cifar-3000": 3_072_000},
    **{"colour-40": 777_600, "colour-still-40": 576_000},
}
DAMAGE: list[Row] = [
    *(("smooth-60", *one) for one in (("frames", 0.9), ("scratches", 0.95), ("text", 0.9), ("logo", 0.95))),
    *(("smooth-60", *one) for one in (("moving-block", 0.95), ("blocks", 0.8), ("clouds", 0.8))),
    *(("video-60", *one) for one in (("frames", 0.9), ("scratches", 0.95), ("text", 0.9))),
    *((name, *one) for name in ("china", "flower") for one in (("scratches", 0.9), ("text", 0.9), ("blocks", 0.9))),
    *(("astronaut", "scratches", 0.9), ("camera", "text", 0.9), ("chelsea", "blocks", 0.9), ("china", "logo", 0.98)),
    *(("balloons", *one) for one in (("stripes", 0.7), ("fibres", 0.5), ("clouds", 0.7))),
]
EVERY: list[Row] = [  # rows that every method and every rival of their kind is run on
    *(("balloons", "random", 0.1), ("video-60", "random", 0.3), ("smooth-60", "poor-frames", 0.8)),
    *(("hangzhou", "random", 0.3), ("hangzhou", "station-days", 0.3), ("shuffled", "random", 0.3)),
    *(("colour-still-40", "frames", 0.85), ("china", "scratches", 0.9)),
]
QUICK: list[Row] = [
    *(("generated-clip", "random", 0.3), ("generated-clip", "frames", 0.85), ("generated-clip", "scratches", 0.9)),
    *(("generated-colour", "text", 0.9), ("generated-spectra", "random", 0.1), ("generated-spectra", "stripes", 0.7)),
    *(("generated-counts", "random", 0.5), ("generated-counts", "station-days", 0.7)),
]


@cache
def targets() -> list[dict[str, Any]]:
    """Return the goals: figures to reach, or another method's to be above; the only numbers that were typed in.

    >>> targets()[0]["wanted"]
    39.0
    """
    return json.loads(files("qrank.experiments.field").joinpath("targets.json").read_text(encoding="utf-8"))


def goals() -> list[Row]:
    """Return the rows of the goals, small data first."""
    return [(goal["data"], goal["pattern"], goal["p"]) for goal in targets()]


def entries(data: str) -> int:
    """Return about how many entries a data set has; photographs and generated ones are small.

    >>> entries("synthetic-50-r5"), entries("balloons")
    (125000, 507904)
    """
    if data.startswith("synthetic-"):
        return prod([int(data.split("-")[1])] * 3)
    return ENTRIES.get(data, 200_000)


def choice() -> list[str]:
    """Return the choice by hold-out as a row, where `complete` has it."""
    return [CHOICE] if chooses() else []


def methods() -> list[str]:
    """Return all methods of the package that can be run as they are, as rows."""
    left_out = {"auto", *YARDSTICKS, *GIVEN}
    return [*(name for name in METHODS if name not in left_out), LOG_SUM]


def rivals(data: str) -> list[str]:
    """Return what one would take instead, where the data are not too large for it, and of its kind."""
    chosen, size = scene(data), entries(data)
    axes = 2 if chosen.slice_axes == (0, 1) else 3
    fits = (
        name
        for name, rival in RIVALS.items()
        if size <= rival.most and rival.axes <= axes and not (rival.pictures and chosen.span != (0.0, 1.0))
    )
    return list(fits)


def cells_of(row: Row, names: Iterable[str], draws: int = 1) -> list[FieldCell]:
    """Return the cells of methods on a row.

    >>> cells_of(("balloons", "random", 0.1), ["auto, effort balanced"])[0].key
    'balloons/random/auto-effort-balanced_p0.1_d0'
    """
    data, pattern, p = row
    return [
        FieldCell(data, method, p, draw, options, pattern=pattern)
        for name in names
        for method, options in [taken_apart(name)]
        for draw in range(draws)
    ]


def phase(size: Size) -> Square:
    """Return the grid of synthetic tensors, the paper's rates by Q-ranks."""
    return square(Size.QUICK if size is Size.QUICK else Size.STANDARD)


def phase_rows(size: Size) -> list[Row]:
    """Return those rows of the synthetic grid where more is known than r (n^2 + n - r), the degrees of freedom.

    >>> len(phase_rows(Size.STANDARD))
    33
    """
    grid, found = phase(size), []
    for r in grid.ranks:
        name = f"{grid.data}-r{r}"
        n = round(entries(name) ** (1 / 3))
        freedom = r * (n * n + n - r)
        found += [(name, "random", p) for p in grid.rates if p * n**3 >= ENOUGH * freedom]
    return found


def phase_cells(size: Size) -> list[FieldCell]:
    """Return the cells of the synthetic grid, one draw each."""
    return [cell for row in phase_rows(size) for cell in cells_of(row, [*choice(), "vmtqn", "motqn"])]


def goal_cells(goal: dict[str, Any]) -> list[FieldCell]:
    """Return the cells of a goal: the choice, what it is measured by, and straight lines."""
    row: Row = goal["data"], goal["pattern"], goal["p"]
    size = entries(row[0])
    if size >= HUGE:
        return cells_of(row, [*choice(), "vmtqn", "motqn", "tnn", *SIMPLE])
    if size >= LARGE:
        return cells_of(row, [*choice(), "vmtqn", LOG_SUM, "tnn", *SIMPLE])
    draws = SEEDS if scene(row[0]).counts else DRAWS
    return cells_of(row, [*choice(), "vmtqn", LOG_SUM], draws) + cells_of(row, ["views", *SIMPLE])


def damage_cells(row: Row) -> list[FieldCell]:
    """Return the cells of real damage: what one would take for it, besides the choice."""
    own = ["tnn-c"] if row[1] == "frames" else ["similar"] if scene(row[0]).slice_axes == (0, 1) else []
    fitting = [name for name in rivals(row[0]) if name in (*SIMPLE, *INPAINTING)]
    return cells_of(row, [*choice(), "vmtqn", *own, *fitting])


def planned(size: Size) -> list[FieldCell]:
    """Return all cells, each once."""
    if size is Size.QUICK:
        found = [cell for row in QUICK for cell in cells_of(row, [*choice(), "vmtqn", *methods(), *rivals(row[0])])]
        return list(dict.fromkeys(found + phase_cells(size)))
    found = [cell for goal in targets() for cell in goal_cells(goal)]
    found += [cell for row in DAMAGE for cell in damage_cells(row)]
    found += [cell for row in EVERY for cell in cells_of(row, [*methods(), *rivals(row[0])])]
    found += phase_cells(size)
    if size is Size.FULL:
        for row in [*goals(), *DAMAGE]:
            found += cells_of(row, [*methods(), *rivals(row[0])])
    return list(dict.fromkeys(found))
