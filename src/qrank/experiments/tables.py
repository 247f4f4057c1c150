"""Tables in Markdown: our numbers, with the paper's beside them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from ..study.table import markdown
from .cells import Cell
from .grid import Store
from .plans import PAPERS_MOTQN, ROWS, named
from .sources import SOURCES

STANDS_FOR = {"coil-64": "coil"}  # a smaller version is set beside the paper's figures for the whole


@cache
def paper() -> dict[str, Any]:
    """Return the paper's own figures: data set -> where they stand, rates, rows.

    >>> paper()["cifar-3000"]["rows"]["vmtqn"][0]
    18.83
    """
    return json.loads(files("qrank.experiments").joinpath("paper.json").read_text(encoding="utf-8"))


def printed(data: str, row: str, p: float) -> float | str | None:
    """Return the paper's figure for a cell, or None; MOTQN's stands beside both of ours.

    >>> printed("coil", "vmtqn", 0.2), printed("cifar-3000", "tqn-oracle", 0.6), printed("coil", "halrtc", 0.2)
    (25.34, '>200', None)
    """
    table = paper().get(STANDS_FOR.get(data, data))
    row = "motqn" if row == PAPERS_MOTQN else row
    if table is None or row not in table["rows"] or p not in table["rates"]:
        return None
    return table["rows"][row][table["rates"].index(p)]


def means(store: Store, plan: Sequence[Cell], column: str = "psnr") -> dict[str, dict[float, list[float]]]:
    """Return label -> rate -> the values of the draws that are there."""
    found: dict[str, dict[float, list[float]]] = {}
    for cell, numbers in store.finished(plan).items():
        found.setdefault(cell.label, {}).setdefault(cell.p, []).append(numbers[column])
    return found


def quality(store: Store, plan: Sequence[Cell], data: str, column: str = "psnr", *, beside: bool = True) -> str | None:
    """Return a table of PSNR, methods by rates, with the paper's figures in brackets if wanted; None without a cell."""
    found = means(store, [cell for cell in plan if cell.data == data], column)
    if not found:
        return None
    rates = sorted({p for at in found.values() for p in at})
    best = {
        p: max(float(np.mean(at[p])) for label, at in found.items() if p in at and label != "tqn-oracle") for p in rates
    }
    order = [name for name in ROWS if name in found] + [label for label in found if label not in ROWS]
    body, draws = [], defaultdict(lambda: defaultdict(list))
    for label in order:
        row = [named(label)]
        for p in rates:
            theirs = printed(data, label, p) if beside else None
            text = "" if theirs is None else "–"
            if values := found[label].get(p):
                mean = float(np.mean(values))
                text = f"{mean:.2f}" if mean < 400 else "exact"
                text = f"**{text}**" if round(mean, 2) == round(best[p], 2) else text
                draws[len(values)][named(label)].append(f"{p:g}")
            if theirs is not None:
                text += f" ({theirs})" if isinstance(theirs, str) else f" ({theirs:.2f})"
            row.append(text)
        body.append(row)
    table = markdown(["PSNR, dB, at p ="] + [f"{p:g}" for p in rates], body)
    about = SOURCES[data].about + ("" if beside else ", penalties")
    said = [f"**{about}.** " + _draws(draws)]
    if SOURCES[data].on_black:
        said.append("Answers are cut to [0, 1] (uncut: in the CSV file).")
    where = paper().get(STANDS_FOR.get(data, data))
    if beside and where is not None:
        larger = f" for {SOURCES[STANDS_FOR[data]].about}" if data in STANDS_FOR else ""
        said.append(f"In brackets the paper's figures{larger} ({where['where']}).")
        if "motqn" in found:
            said.append("MOTQN is under the paper's norm; penalty log-sum:20, qrank's default, is not the paper's.")
    return " ".join(said) + "\n\n" + table


def _draws(draws: Mapping[int, Mapping[str, list[str]]]) -> str:
    """Return how many draws the cells of a table, by that number, by row, their rates, are the mean of.

    >>> _draws({1: {"A": ["0.1", "0.2"], "B": ["0.1"]}, 2: {"B": ["0.2", "0.3"], "C": ["0.1", "0.2", "0.3"]}})
    'Draws: 1 for A (0.1, 0.2), B (0.1); 2 for all others.'
    """
    if len(draws) == 1:
        return "One draw each." if 1 in draws else f"Mean of {next(iter(draws))} draws."
    most = max(draws, key=lambda n: sum(map(len, draws[n].values())))
    others = [
        f"{n} for " + ", ".join(f"{name} ({', '.join(rates)})" for name, rates in draws[n].items())
        for n in sorted(draws, reverse=True)
        if n != most
    ]
    return f"Draws: {'; '.join(others)}; {most} for all others."
