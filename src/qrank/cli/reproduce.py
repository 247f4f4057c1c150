"""``qrank reproduce``: the paper's tables and figures beside the paper's own numbers, and the field."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..errors import InputError, nearest
from ..experiments import PLANS, Size, Store, field, run, write
from ..experiments.cells import Cell
from ..experiments.grid import adopt, seconds_left
from ..experiments.page import Shelf
from ..experiments.spectra import data_sets, measure
from ..text import duration
from . import options
from .words import guarded, screen, stopped

Opt = typer.Option
FIELD = "field"


class Watch:
    """The live line: cells done, where the running ones are, and the time left."""

    def __init__(self, out: Console, line: Console, jobs: int) -> None:
        self.out, self.jobs = out, jobs
        self.status = line.status("reading the data")
        self.todo: list[Cell] = []
        self.done: list[tuple[Cell, float]] = []
        self.running: dict[Cell, str] = {}

    def planned(self, todo: Sequence[Cell], there: int) -> None:
        """Say what is to be done."""
        self.todo = list(todo)
        self.out.print(f"{len(todo)} cells to run" + (f", {there} are there already" if there else ""))
        self._show()

    def stepped(self, cell: Cell, step: int, residual: float) -> None:
        """Show where a cell is."""
        self.running[cell] = f"{cell.data} {cell.label} p = {cell.p:g}: step {step}, residual {residual:.0e}"
        self._show()

    def finished(self, cell: Cell, numbers: dict[str, Any]) -> None:
        """Say what came out of a cell."""
        self.running.pop(cell, None)
        self.todo.remove(cell)
        self.done.append((cell, numbers["seconds_in_all"]))
        count = len(self.done)
        self.out.print(f"{count}/{count + len(self.todo)} {cell.told(numbers)}")
        self._show()

    def _show(self) -> None:
        parts = [f"{len(self.done)} of {len(self.done) + len(self.todo)} cells", *self.running.values()]
        if (left := seconds_left(self.todo, self.done, self.jobs)) is not None:
            parts.append(f"about {duration(left)} left")
        self.status.update(" · ".join(parts))


@guarded
def reproduce(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...",
            help=f"{', '.join(PLANS)}, or all; or field: all methods and other programs on real data.",
        ),
    ],
    data: Annotated[
        Path | None, Opt(help="Folder with the data sets; the environment variable QRANK_DATA does, too.")
    ] = None,
    output: Annotated[
        Path, Opt("--output", "-o", help="Folder for the finished cells and what is made of them.")
    ] = Path("reproduction"),
    page: Annotated[
        Path | None, Opt(help="The Markdown page to write, figures beside it. [default: index.md in the folder]")
    ] = None,
    quick: Annotated[bool, Opt("--quick", help="A small version of everything, in minutes.")] = False,
    full: Annotated[bool, Opt("--full", help="All cells at full size and with the paper's trials: days.")] = False,
    jobs: Annotated[int, Opt(help="Processes to share the cells out to.", min=1)] = 1,
    show: Annotated[bool, Opt("--show", help="Run nothing: make the page from the cells that are there.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Run the experiments of the paper and set the numbers beside the paper's own; or those in the field.

    Every finished cell is saved at once: the same command, started again, goes on where it was stopped. The page has the
    tables and figures; a CSV file for each experiment has every cell with settings, versions, seed and data hash. Cells
    that are in those files already, and whose settings are still the same, are not run again, but for pictures and curves.

    Example: qrank reproduce cifar --data data --quick
    """
    if quick and full:
        raise InputError("--quick and --full exclude each other")
    chosen = list(PLANS) if "all" in names else list(dict.fromkeys(names))
    if FIELD in chosen and len(chosen) > 1:
        raise InputError(f"'{FIELD}' has a page of its own: run it by itself")
    for name in chosen:
        if name not in (*PLANS, FIELD):
            raise InputError(f"unknown experiment '{name}'{nearest(name, [*PLANS, FIELD, 'all'])}")
    size = Size.QUICK if quick else Size.FULL if full else Size.STANDARD
    folder = data or (Path(given) if (given := os.environ.get("QRANK_DATA")) else None)
    output = output / size if size is not Size.STANDARD else output
    page = page or output / "index.md"
    out, store = screen(quiet), Store(output / "cells")
    plans = {name: list[Cell](field.planned(size)) if name == FIELD else PLANS[name].cells(size) for name in chosen}
    if known := sum(adopt(store, cells, Shelf(page).table(name)) for name, cells in plans.items()):
        out.print(f"{known} cells are taken from the tables beside {page}")
    if FIELD in chosen:
        quoted = field.quote(store, field.planned(size), page.parent / "reproduction")
        if quoted:
            out.print(f"{quoted} cells are taken from the tables of the paper's experiments")
    if not show:
        watch = Watch(out, Console(stderr=True, quiet=quiet), jobs)
        try:
            with watch.status:
                for name in chosen:
                    for data_set in data_sets(name, size):
                        measure(data_set, output, folder)
                run([cell for cells in plans.values() for cell in cells], store, folder, jobs=jobs, watcher=watch)
        except KeyboardInterrupt:
            raise stopped(len(watch.done), "cells") from None
    if FIELD in chosen:
        field.write(size, output, page)
    else:
        write(chosen, size, output, page)
    out.print(f"wrote {page}")
