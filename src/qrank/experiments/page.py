"""The page: every experiment with its tables and figures, as Markdown, from the cells that are there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ..atomic import write_text
from ..study.table import csv_text, markdown
from . import figures, spectra, tables
from .cells import Cell
from .grid import Store, rows
from .plans import OURS, PAPERS_MOTQN, PLANS, ROWS, Size, grid, named, q_sizes, rank_data, square
from .sources import SOURCES

HEAD = """# The paper, reproduced

Every table and figure of the experiments of "Tensor Q-Rank: New Data Dependent Definition of Tensor Rank" (Kong, Lu, Lin),
computed with qrank. Made by `qrank reproduce all --data DIR --page docs/reproduction.md`; but for the paper's own figures
no number is typed in. Data are grey in [0, 1], every entry is seen with probability p, PSNR is the paper's (of answers cut
to [0, 1] where a table says so), and every method runs with its default settings unless its row says otherwise. The row
*MOTQN* is the paper's model, `penalty="nuclear"`; *MOTQN, penalty log-sum:20* is the same algorithm with qrank's default
penalty, which is not the paper's. The cells, with settings, versions, seeds, hashes of the data and times, are in the CSV
file of each experiment; times of cells that shared the machine with others (`--jobs`) say nothing, those of `runtime` and
`rank` had it to themselves. Differences from the paper: its clips of HMDB51 are not named, so others stand for them; which
CIFAR images it drew is not known; and where a table says so, a smaller version stands for the data.
"""


class Shelf:
    """Where a page and its figures are written: figures beside the page, in a folder of its name."""

    def __init__(self, page: Path) -> None:
        self.page = page
        self.folder = page.with_suffix("") if page.name != "index.md" else page.parent / "figures"

    def figure(self, name: str) -> Path:
        """Return the path of a figure."""
        return self.folder / f"{name}.png"

    def table(self, name: str) -> Path:
        """Return the path of an experiment's CSV file."""
        return self.folder / f"{name}.csv"

    def link(self, path: Path | None, text: str) -> list[str]:
        """Return the Markdown that shows a figure, or nothing where there is none."""
        return [] if path is None else [f"![{text}]({os.path.relpath(path, self.page.parent)})"]


def write(names: Sequence[str], size: Size, out: Path, page: Path) -> list[Path]:
    """Write the page of some experiments, their figures and CSV files; return the paths of what was written."""
    store, shelf = Store(out / "cells"), Shelf(page)
    lines, written = [HEAD], []
    for name in names:
        plan = PLANS[name]
        cells = plan.cells(size)
        parts = SECTIONS[name](store, cells, size, out, shelf)
        if not parts:
            continue
        lines += [f"## {name}: {plan.about}", "", *(part + "\n" for part in parts)]
        if found := rows(store, cells):
            written.append(shelf.table(name))
            write_text(written[-1], csv_text(found, end="\n"))
            many = f"{len(found)} cells" if len(found) > 1 else "One cell"
            made = "qrank {qrank}, NumPy {numpy}, SciPy {scipy}, Python {python}".format(**found[-1])
            lines += [f"{many}; {made}. [All cells]({os.path.relpath(written[-1], page.parent)}).", ""]
    write_text(page, "\n".join(lines).rstrip("\n") + "\n")
    return [*written, page]


def _tables(store: Store, cells: Sequence[Cell]) -> list[str]:
    found = (tables.quality(store, cells, data) for data in dict.fromkeys(cell.data for cell in cells))
    return [table for table in found if table is not None]


def _spectrum(store: Store, cells: Sequence[Cell], size: Size, out: Path, shelf: Shelf) -> list[str]:
    data = spectra.data_sets("spectrum", size)[0]
    found, _ = spectra.load(data, out)
    if found is None:
        return []
    f, q = found["fourier_sum"][0], found["learned_sum"][0]
    text = (
        f"{SOURCES[data].about}. The singular values under the learned Q fall faster: their sum, the Q-nuclear norm, is"
        f" {q:.0f}, under the unitary Fourier transform {f:.0f} ({f / q:.2f} times as much)."
    )
    picture = figures.spectrum(data, out, shelf.figure("spectrum"))
    return [text, *shelf.link(picture, "Sorted singular values under TNN's and the learned transform")]


def _phase(store: Store, cells: Sequence[Cell], size: Size, out: Path, shelf: Shelf) -> list[str]:
    synthetic = square(size)
    panels = {ROWS[row]: [cell for cell in cells if cell.label == row] for row in OURS}
    picture = figures.squares(store, synthetic, panels, shelf.figure("phase"))
    if picture is None:
        return []
    there = {name: figures.recovered(store, synthetic, panel) >= figures.WHITE for name, panel in panels.items()}
    body = [[name, str(at.sum()), str((there[ROWS["tnn"]] & ~at).sum())] for name, at in there.items()]
    many = len(synthetic.rates) * len(synthetic.ranks)
    n = synthetic.data.split("-")[1]
    text = (
        f"Synthetic tensors {n} x {n} x {n}, {len(synthetic.rates)} sampling rates x {len(synthetic.ranks)} Q-ranks,"
        f" {synthetic.trials} trial{'s' * (synthetic.trials > 1)} each (the paper: 50 x 50 cells, 10 trials)."
    )
    head = ["", f"cells with 40 dB and more, of {many}", "cells that TNN recovers and this does not"]
    return [text, markdown(head, body), *shelf.link(picture, "PSNR over sampling rate and Q-rank, 40 dB white")]


def _cifar(store: Store, cells: Sequence[Cell], size: Size, out: Path, shelf: Shelf) -> list[str]:
    picture = figures.curves(store, cells, {cell.data: cell.data for cell in cells}, shelf.figure("cifar"))
    shown = shelf.link(picture, "PSNR against the sampling rate; dashed: the paper's figures")
    return [*_tables(store, cells), *shown]


def _runtime(store: Store, cells: Sequence[Cell], size: Size, out: Path, shelf: Shelf) -> list[str]:
    body = []
    for cell, numbers in store.finished(cells).items():
        seconds, steps = numbers["seconds"], numbers["steps"]
        each = seconds / max(1, steps)
        body.append([named(cell.label), f"{each:.3f}", str(steps), f"{seconds:.0f}", f"{numbers['psnr']:.2f}"])
    if not body:
        return []
    text = (
        f"{SOURCES[cells[0].data].about}, p = {cells[0].p:g}, on two cores. Times are of this machine; compare them with each"
        " other. An iteration's is that of the run, set-up included, over their number."
    )
    head = ["", "seconds per iteration", "iterations", "seconds", "PSNR, dB"]
    picture = figures.times(store, cells, shelf.figure("runtime"))
    return [text, markdown(head, body), *shelf.link(picture, "Time per iteration, and PSNR against time")]


def _pictures(
    store: Store, cells: Sequence[Cell], size: Size, out: Path, shelf: Shelf, what: str, tall: bool = False
) -> list[str]:
    shown = []
    for data in dict.fromkeys(cell.data for cell in cells):
        picture = figures.pictures(store, cells, data, shelf.figure(data), tall)
        shown += shelf.link(picture, f"Completed {what}, {SOURCES[data].about}")
    return [*_tables(store, cells), *shown]


def _rank(store: Store, cells: Sequence[Cell], size: Size, out: Path, shelf: Shelf) -> list[str]:
    data, values = rank_data(size)
    body = []
    for cell, numbers in store.finished(cell for cell in cells if cell.data == data).items():
        name = "TNN" if cell.method == "tnn" else cell.label.rsplit(" ", 1)[1]
        body.append([name, f"{numbers['psnr']:.2f}", f"{numbers['seconds']:.1f}", str(numbers["steps"])])
    parts = []
    if len(body) > 1:
        parts.append(
            f"{SOURCES[data].about}, p = 0.2 (the paper: 128 x 128 x 1440): Q has n3 = {values[-1]} rows and r columns."
        )
        parts.append(markdown(["r", "PSNR, dB", "seconds", "iterations"], body))
    picture = figures.influence_of_r(store, cells, size, out, shelf.figure("rank"))
    parts += shelf.link(picture, "Time, PSNR and singular values against r")
    synthetic = square(size)
    picture = figures.sizes_of_q(store, cells, size, shelf.figure("rank-synthetic"))
    if picture is not None:
        few = ", ".join(str(r) for r in q_sizes(size))
        parts.append(
            f"Three sizes of Q, r = {few}, on the synthetic grid: a truth whose Q-rank is above r cannot be recovered"
            f" ({len(synthetic.rates)} x {len(synthetic.ranks)} cells)."
        )
        parts += shelf.link(picture, "PSNR over sampling rate and Q-rank for three sizes of Q")
    return parts


def _penalties(store: Store, cells: Sequence[Cell], size: Size, out: Path, shelf: Shelf) -> list[str]:
    parts = []
    for data in dict.fromkeys(cell.data for cell in cells):
        of_data = [cell for cell in cells if cell.data == data]
        rates = dict.fromkeys(cell.p for cell in of_data)
        plain = grid(data, ("vmtqn", PAPERS_MOTQN), rates)  # to set the others against
        column = "psnr_missing" if data.startswith("balloons") else "psnr"
        table = tables.quality(store, [*plain, *of_data], data, column, beside=False)
        if table is not None:
            parts.append(table)
            if column == "psnr_missing":
                parts.append("Here the error is over the missing entries only.")
    return parts


SECTIONS = {
    "spectrum": _spectrum,
    "phase": _phase,
    "cifar": _cifar,
    "runtime": _runtime,
    "coil": partial(_pictures, what="views", tall=True),
    "video": partial(_pictures, what="frames"),
    "rank": _rank,
    "smooth": partial(_pictures, what="frames"),
    "penalties": _penalties,
}
