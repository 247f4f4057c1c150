"""Which cells make an experiment, at three sizes.

``STANDARD`` is what the project's own page shows: what the paper measured at full size where that takes minutes, and a
smaller version of the rest. ``FULL`` is all of it at full size; ``QUICK`` shows in minutes that everything works.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

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


def taken_apart(row: str) -> tuple[str, str]:
    """Return the method and the options of a row, those as JSON.

    >>> taken_apart(PAPERS_MOTQN), taken_apart("vmtqn, r 30")
    (('motqn', '{"penalty": "nuclear"}'), ('vmtqn', '{"r": 30}'))
    """
    method, *options = row.split(", ")
    given = dict(option.split(" ") for option in options)
    return method, json.dumps({name: int(value) if value.isdecimal() else value for name, value in given.items()})


class Size(StrEnum):
    """How much is run."""

    QUICK = "quick"
    STANDARD = "standard"
    FULL = "full"


@dataclass(frozen=True)
class Plan:
    """An experiment: what of the paper it is, and its cells."""

    about: str
    cells: Callable[[Size], list[Cell]]


def grid(
    data: str,
    rows: Iterable[str],
    rates: Iterable[float],
    draws: int | Callable[[str, float], int] = 1,
    pictures_at: float | None = None,
    curve_at: float | None = None,
    r: int | None = None,
) -> list[Cell]:
    """Return the cells of rows by rates, rate by rate.

    >>> [cell.key for cell in grid("video", ["tnn"], [0.1], draws=2)]
    ['video/tnn_p0.1_d0', 'video/tnn_p0.1_d1']
    """
    return [
        Cell(data, method, p, draw, options, r, (p, draw) == (curve_at, 0), (p, draw) == (pictures_at, 0))
        for p in rates
        for row in rows
        for method, options in [taken_apart(row)]
        for draw in range(draws(row, p) if callable(draws) else draws)
    ]


def cifar(size: Size) -> list[Cell]:
    """Table 1."""
    if size is Size.QUICK:
        return grid("cifar-300", ROWS, (0.3, 0.6))
    small = grid("cifar-3000", ROWS, RATES, lambda row, p: {"vmtqn": 3, "tmac": 2, "silrtc": 2}.get(row, 1))
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
    full_size += grid("coil", ("motqn, penalty log-sum",), (0.4, 0.5))
    small = grid("coil-64", ROWS, RATES, pictures_at=0.2)
    return full_size + small + grid("coil-64", ("motqn, penalty log-sum",), RATES, pictures_at=0.2)


def video(size: Size) -> list[Cell]:
    """Table 2, bottom; Figure 7."""
    if size is Size.QUICK:
        return grid("video-60", ROWS, (0.2, 0.5), pictures_at=0.5)
    ours = grid("video", OURS, RATES, lambda row, p: 3 if row in ("vmtqn", "tnn") and p == 0.5 else 1, pictures_at=0.5)
    rates = RATES if size is Size.FULL else (0.1, 0.3, 0.5)
    return ours + grid("video", [row for row in ROWS if row not in OURS], rates, pictures_at=0.5)


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

    def cells(self, rows: Iterable[str], trials: int = 0) -> list[Cell]:
        """Return the cells of rows on the whole square."""
        found = (grid(self.data, (row,), self.rates, trials or self.trials, r=r) for row in rows for r in self.ranks)
        return [cell for cells in found for cell in cells]


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
    synthetic, smaller = square(size), [f"vmtqn, r {r}" for r in q_sizes(size)[:-1]]
    found = grid(data, ("tnn",), (0.2,), pictures_at=0.2) + grid(data, [f"vmtqn, r {r}" for r in values], (0.2,))
    return found + synthetic.cells(smaller, 10 if size is Size.FULL else 1) + synthetic.cells(("vmtqn",))


def penalties(size: Size) -> list[Cell]:
    """Beyond the paper: other functions of the Q-singular values, all on balloons, the best of them on images and a clip."""
    balloons, draws = ("balloons-32", 1) if size is Size.QUICK else ("balloons", 3)
    others = [f"{method}, penalty {name}" for name in PENALTIES for method in ("vmtqn", "motqn")]
    found = grid(balloons, [*OURS, *others], (0.1,), draws)
    if size is not Size.QUICK:
        for data in ("video", "coil-64"):
            found += grid(data, ("motqn",), (0.2, 0.5))
            found += grid(data, ("vmtqn, penalty log-sum", "motqn, penalty log-sum"), (0.2, 0.5))
    return found


PLANS = {
    "spectrum": Plan("Figure 1: sorted singular values under TNN's and the learned Q", lambda size: []),
    "phase": Plan("Figure 3: where synthetic tensors are recovered", phase),
    "cifar": Plan("Table 1: CIFAR-10", cifar),
    "runtime": Plan("Figure 4: time per iteration, and PSNR against time", runtime),
    "coil": Plan("Table 2 top, Figures 5 and 6: COIL-20", coil),
    "video": Plan("Table 2 bottom, Figure 7: a clip with a change of scene", video),
    "rank": Plan("Figures 8 and 9: the influence of r", rank),
    "smooth": Plan("Figure 10: a clip with a still background", smooth),
    "penalties": Plan("beyond the paper: non-convex functions of the Q-singular values", penalties),
}
