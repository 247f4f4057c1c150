"""Which cells make an experiment, at three sizes.

``STANDARD`` is what the project's own page shows: what the paper measured at full size where that takes minutes, and a
smaller version of the rest. ``FULL`` is all of it at full size; ``QUICK`` shows in minutes that everything works.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .cells import Cell

RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
PAPERS_MOTQN = "motqn, penalty nuclear"  # the paper's norm; qrank's default is a mild log-sum
ROWS = {  # method and options -> what tables call it
    "tqn-random": "TQN, random Q",
    "tqn-oracle": "TQN, oracle Q (ideal)",
    "vmtqn": "VMTQN",
    PAPERS_MOTQN: "MOTQN",
    "motqn": "MOTQN, penalty log-sum:20",
    "tnn": "TNN (Fourier)",
    "tnn-c": "TNN-C (cosine)",
    "ttnn": "TTNN (wavelet)",
    "f-tnn": "F-TNN (framelet)",
    "tmac": "TMac",
    "silrtc": "SiLRTC",
    "latent": "latent trace norm",
}
LOG_SUM = {"penalty": "log-sum"}
OURS = ("vmtqn", PAPERS_MOTQN, "motqn", "tnn")
PENALTIES = ("p-shrinkage", "log-sum", "schatten", "grouped")


def named(label: str) -> str:
    """Return what tables and figures call a cell's method and options.

    >>> named("motqn"), named("motqn, penalty nuclear"), named("motqn, penalty schatten")
    ('MOTQN, penalty log-sum:20', 'MOTQN', 'MOTQN, penalty schatten')
    """
    if label in ROWS:
        return ROWS[label]
    method, *options = label.split(", ")
    return ", ".join([ROWS[PAPERS_MOTQN] if method == "motqn" else ROWS.get(method, method), *options])


def taken_apart(row: str) -> tuple[str, dict[str, str]]:
    """Return the method and the options of a row.

    >>> taken_apart(PAPERS_MOTQN)
    ('motqn', {'penalty': 'nuclear'})
    """
    method, *options = row.split(", ")
    return method, dict(option.split(" ") for option in options)


class Size(StrEnum):
    """How much is run."""

    QUICK = "quick"
    STANDARD = "standard"
    FULL = "full"


@dataclass(frozen=True)
class Plan:
    """An experiment: its name on the command line, what of the paper it is, and its cells."""

    name: str
    about: str
    cells: Callable[[Size], list[Cell]]


def grid(
    data: str,
    rows: Iterable[str],
    rates: Iterable[float],
    draws: int | Callable[[str, float], int] = 1,
    options: dict[str, Any] | None = None,
    pictures_at: float | None = None,
    curve_at: float | None = None,
) -> list[Cell]:
    """Return the cells of rows by rates, rate by rate.

    >>> [cell.key for cell in grid("video", ["tnn"], [0.1], draws=2)]
    ['video/tnn_p0.1_d0', 'video/tnn_p0.1_d1']
    """
    return [
        Cell(
            data,
            method,
            p,
            draw,
            json.dumps(given | (options or {})),
            pictures=draw == 0 and p == pictures_at,
            curve=draw == 0 and p == curve_at,
        )
        for p in rates
        for row in rows
        for method, given in [taken_apart(row)]
        for draw in range(draws(row, p) if callable(draws) else draws)
    ]


def cifar(size: Size) -> list[Cell]:
    """Table 1."""
    if size is Size.QUICK:
        return grid("cifar-300", ROWS, (0.3, 0.6))

    def draws(row: str, p: float) -> int:
        return {"vmtqn": 3, "tmac": 2, "silrtc": 2}.get(row, 1)

    small = grid("cifar-3000", ROWS, RATES, draws)
    if size is Size.FULL:
        return small + grid("cifar-10000", ROWS, RATES, curve_at=0.3)
    return small + grid("cifar-10000", ("vmtqn", "tnn"), (0.1, 0.3, 0.5), curve_at=0.3) + runtime(size)


def runtime(size: Size) -> list[Cell]:
    """Figure 4."""
    if size is Size.QUICK:
        return grid("cifar-300", ("vmtqn", "tnn", "silrtc", "tmac"), (0.3,), curve_at=0.3)
    rows = [row for row in ROWS if row != "motqn"]  # MOTQN under the paper's norm stands for both
    return grid("cifar-10000", rows, (0.3,), curve_at=0.3)


def coil(size: Size) -> list[Cell]:
    """Table 2, top; Figures 5 and 6."""
    if size is Size.QUICK:
        return grid("coil-32", ROWS, (0.2, 0.5), pictures_at=0.2)
    if size is Size.FULL:
        return grid("coil", ROWS, RATES, pictures_at=0.2)

    full_size = grid("coil", OURS, (0.2, 0.4), pictures_at=0.2)
    full_size += grid("coil", ("vmtqn", "motqn"), (0.1, 0.3, 0.5, 0.6))
    full_size += grid("coil", ("motqn",), (0.4, 0.5), options=LOG_SUM)
    small = grid("coil-64", ROWS, RATES, pictures_at=0.2)
    return full_size + small + grid("coil-64", ("motqn",), RATES, options=LOG_SUM, pictures_at=0.2)


def video(size: Size) -> list[Cell]:
    """Table 2, bottom; Figure 7."""
    if size is Size.QUICK:
        return grid("video-60", ROWS, (0.2, 0.5), pictures_at=0.5)

    def draws(row: str, p: float) -> int:
        return 3 if row in ("vmtqn", "tnn") and p == 0.5 else 1

    others = [row for row in ROWS if row not in OURS]
    rates = RATES if size is Size.FULL else (0.1, 0.3, 0.5)
    return grid("video", OURS, RATES, draws, pictures_at=0.5) + grid("video", others, rates, pictures_at=0.5)


def smooth(size: Size) -> list[Cell]:
    """Figure 10."""
    if size is Size.QUICK:
        return grid("smooth-60", OURS, (0.2, 0.5), pictures_at=0.5)
    return grid("smooth", OURS, RATES, pictures_at=0.5)


@dataclass(frozen=True)
class Square:
    """The grid of the synthetic pictures: rates by Q-ranks, with a number of trials."""

    data: str
    rates: tuple[float, ...]
    ranks: tuple[int, ...]
    trials: int

    def cells(self, rows: Iterable[str], options: dict[str, Any] | None = None, trials: int = 0) -> list[Cell]:
        """Return the cells of rows on the whole square."""
        return [
            Cell(self.data, method, p, draw, json.dumps(given | (options or {})), r)
            for method, given in map(taken_apart, rows)
            for r in self.ranks
            for p in self.rates
            for draw in range(trials or self.trials)
        ]


def square(size: Size) -> Square:
    """Return the grid of a size; the paper's has 50 x 50 cells with 10 trials."""
    if size is Size.QUICK:
        return Square("synthetic-20", (0.2, 0.5, 0.8), (2, 6, 12), 1)
    if size is Size.STANDARD:
        return Square("synthetic-50", tuple(round(0.05 + 0.1 * i, 2) for i in range(10)), tuple(range(5, 51, 5)), 3)
    return Square("synthetic-50", tuple(round(0.01 + 0.02 * i, 2) for i in range(50)), tuple(range(1, 51)), 10)


def phase(size: Size) -> list[Cell]:
    """Figure 3."""
    return square(size).cells(OURS)


def q_sizes(size: Size) -> tuple[int, ...]:
    """Return the sizes of Q on the synthetic grid; the largest is n3 itself."""
    return (8, 12, 20) if size is Size.QUICK else (20, 30, 50)


def rank_data(size: Size) -> tuple[str, tuple[int, ...]]:
    """Return the images on which r varies, and its values; the last is n3 itself."""
    if size is Size.QUICK:
        return "coil-32", (10, 30, 60, 90)
    if size is Size.STANDARD:
        return "coil-64", (30, 60, 90, 120, 180, 240, 300, 360)
    return "coil", (90, 180, 360, 540, 720, 1080, 1440)


def rank(size: Size) -> list[Cell]:
    """Figures 8 and 9."""
    data, values = rank_data(size)
    found = grid(data, ("tnn",), (0.2,), pictures_at=0.2)
    for r in values:
        found += grid(data, ("vmtqn",), (0.2,), options={"r": r})
    synthetic = square(size)
    for r in q_sizes(size)[:-1]:
        found += synthetic.cells(("vmtqn",), {"r": r}, trials=10 if size is Size.FULL else 1)
    return found + synthetic.cells(("vmtqn",))


def penalties(size: Size) -> list[Cell]:
    """Beyond the paper: other functions of the Q-singular values, all on balloons, the best of them on images and a clip."""
    balloons, draws = ("balloons-32", 1) if size is Size.QUICK else ("balloons", 3)
    found = grid(balloons, OURS, (0.1,), draws)
    for name in PENALTIES:
        found += grid(balloons, ("vmtqn", "motqn"), (0.1,), draws, {"penalty": name})
    if size is Size.QUICK:
        return found
    for data in ("video", "coil-64"):
        found += grid(data, ("motqn",), (0.2, 0.5)) + grid(data, ("vmtqn", "motqn"), (0.2, 0.5), options=LOG_SUM)
    return found


PLANS = {
    plan.name: plan
    for plan in (
        Plan("spectrum", "Figure 1: sorted singular values under TNN's and the learned Q", lambda size: []),
        Plan("phase", "Figure 3: where synthetic tensors are recovered", phase),
        Plan("cifar", "Table 1: CIFAR-10", cifar),
        Plan("runtime", "Figure 4: time per iteration, and PSNR against time", runtime),
        Plan("coil", "Table 2 top, Figures 5 and 6: COIL-20", coil),
        Plan("video", "Table 2 bottom, Figure 7: a clip with a change of scene", video),
        Plan("rank", "Figures 8 and 9: the influence of r", rank),
        Plan("smooth", "Figure 10: a clip with a still background", smooth),
        Plan("penalties", "beyond the paper: non-convex functions of the Q-singular values", penalties),
    )
}
