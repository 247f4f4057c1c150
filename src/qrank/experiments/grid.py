"""Many cells: run those that are not there yet, in processes if asked, and keep each as soon as it is done."""

from __future__ import annotations

import csv
import multiprocessing
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import asdict
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

import numpy as np

from ..result import Record
from ..study.store import RunStore
from . import cells
from .cells import Cell


class Watcher(Protocol):
    """Who is told how a grid goes on."""

    def planned(self, todo: Sequence[Cell], there: int) -> None:
        """Told once: what is to be run, and how many cells are there already."""

    def stepped(self, cell: Cell, step: int, residual: float) -> None:
        """Told now and then where a running cell is."""

    def finished(self, cell: Cell, numbers: dict[str, Any]) -> None:
        """Told of every finished cell."""


class Store:
    """The finished cells of experiments, with their pictures.

    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> cell = Cell("synthetic-20", "tnn", 0.5, r=2)
    >>> store.load(cell) is None
    True
    """

    def __init__(self, folder: Path) -> None:
        self.runs = RunStore(folder)

    def path(self, cell: Cell) -> Path:
        """Return the file of a cell."""
        return self.runs.path(cell.key)

    def load(self, cell: Cell) -> dict[str, Any] | None:
        """Return the numbers of a cell, or None where it has not been run, or not with today's settings and measures."""
        found = self.runs.load(cell.key) or {}
        try:
            kept = type(cell)(**found["cell"])
        except (KeyError, TypeError):
            return None
        if not found.keys() >= set(cell.columns) or kept.plain != cell.plain or found["settings"] != cell.settings:
            return None
        if (cell.curve and not kept.curve) or (cell.pictures and not self.pictures(cell)):
            return None
        return found

    def finished(self, plan: Iterable[Cell]) -> dict[Cell, dict[str, Any]]:
        """Return the numbers of those cells of a plan that are there, whatever else is to be kept of them."""
        wanted = dict.fromkeys(cell.plain for cell in plan)
        return {cell: numbers for cell in wanted if (numbers := self.load(cell)) is not None}

    def save(self, cell: Cell, outcome: cells.Outcome) -> None:
        """Keep a finished cell."""
        self.runs.save(cell.key, outcome.numbers, outcome.pictures)

    def pictures(self, cell: Cell) -> dict[str, np.ndarray]:
        """Return the slices that were kept of a cell: truth, known and x."""
        return self.runs.arrays(cell.key)


def run(
    plan: Iterable[Cell],
    store: Store,
    folder: Path | None,
    *,
    jobs: int = 1,
    watcher: Watcher,
) -> None:
    """Run the cells of a plan that the store lacks."""
    wanted = list(dict.fromkeys(plan))
    fingerprint = cache(lambda data, kind: kind.fingerprint(data, folder))

    def there(cell: Cell) -> bool:
        found = store.load(cell)
        return found is not None and fingerprint(cell.data, type(cell)) in (None, found["fingerprint"])

    todo = [cell for cell in wanted if not there(cell)]
    for cell in todo:
        cell.ready()
    for data, kind in dict.fromkeys((cell.data, type(cell)) for cell in todo):
        fingerprint(data, kind)  # whatever is missing is said before the first run
    watcher.planned(todo, len(wanted) - len(todo))
    if jobs <= 1 or len(todo) <= 1:
        for cell in todo:
            outcome = cell.run(folder, _teller(cell, watcher.stepped))
            store.save(cell, outcome)
            watcher.finished(cell, outcome.numbers)
    else:
        _run_in_processes(todo, store, folder, jobs, watcher)


def _teller(cell: Cell, stepped: Callable[[Cell, int, float], Any]) -> Callable[[Record], None]:
    return lambda record: stepped(cell, record.step, max(record.primal, record.change))


_news: Any = None  # in a worker: the queue of what running cells tell


def _begin(news: Any, blas_threads: int) -> None:
    global _news
    _news = news
    from threadpoolctl import threadpool_limits

    threadpool_limits(blas_threads, "blas")  # for the rest of the process


def _work(cell: Cell, folder: Path | None) -> cells.Outcome:
    def stepped(cell: Cell, step: int, residual: float) -> None:
        if step % 5 == 1:
            _news.put((cell, step, residual))

    return cell.run(folder, _teller(cell, stepped))


def _run_in_processes(todo: list[Cell], store: Store, folder: Path | None, jobs: int, watcher: Watcher) -> None:
    context = multiprocessing.get_context("spawn")
    news = context.Queue()
    each = max(1, (os.cpu_count() or 1) // jobs)
    pool = ProcessPoolExecutor(jobs, context, _begin, (news, each))
    try:
        running = {pool.submit(_work, cell, folder): cell for cell in todo}
        while running:
            done, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            while not news.empty():
                watcher.stepped(*news.get())
            for future in done:
                cell = running.pop(future)
                outcome = future.result()
                store.save(cell, outcome)
                watcher.finished(cell, outcome.numbers)
    except BaseException:
        for process in list(getattr(pool, "_processes", {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def seconds_left(todo: Sequence[Cell], finished: Sequence[tuple[Cell, float]], jobs: int = 1) -> float | None:
    """Return the time that cells will take, from those that are done: of the same method and data where there are such.

    >>> a, b = Cell("video", "tnn", 0.1), Cell("video", "tnn", 0.2)
    >>> seconds_left([b], [(a, 7.0)])
    7.0
    """
    if not finished:
        return None
    times: dict[Any, list[float]] = defaultdict(list)
    for cell, seconds in finished:
        for kind in _kinds(cell):
            times[kind].append(seconds)
    means = {kind: fmean(values) for kind, values in times.items()}
    return sum(next(means[kind] for kind in _kinds(cell) if kind in means) for cell in todo) / jobs


def _kinds(cell: Cell) -> list[tuple[str, str]]:
    """Return what a cell has in common with others, the most telling first; the last it has with all."""
    return [(cell.data, cell.label), (cell.data, ""), ("", cell.label), ("", "")]


def adopt(store: Store, plan: Iterable[Cell], path: Path) -> int:
    """Put the rows of a CSV file that `rows` made into the store, where it lacks them; return how many.

    So a page grows on any machine. Pictures and curves are not in the file: cells that need them are run again.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            kept = list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error):
        return 0
    added, rows_of = 0, {}
    for cell in dict.fromkeys(cell.plain for cell in plan):
        if type(cell) not in rows_of:
            rows_of[type(cell)] = {place: row for row in kept if (place := _place(type(cell), row)) is not None}
        row = rows_of[type(cell)].get(cell.place({name: str(value) for name, value in _named(cell).items()}))
        if row is None or not row.keys() >= set(cell.columns) or store.load(cell) is not None:
            continue
        store.save(cell, cells.Outcome(cell.read(row), {}))
        added += store.load(cell) is not None
    return added


def _named(cell: Cell) -> dict[str, Any]:
    return {**asdict(cell), "method": cell.label, "r": "" if cell.r is None else cell.r}


def _place(kind: type[Cell], row: dict[str, str]) -> tuple[str, ...] | None:
    try:
        return kind.place(row)
    except (KeyError, ValueError):
        return None


def rows(store: Store, plan: Iterable[Cell]) -> list[dict[str, Any]]:
    """Return the finished cells of a plan as flat rows, for a CSV file."""
    return [cell.row(numbers) for cell, numbers in store.finished(plan).items()]
