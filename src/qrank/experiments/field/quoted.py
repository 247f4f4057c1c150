"""What the experiments of the paper have measured already: the same data, the same mask, the same settings.

Their masks are ``default_rng([draw, 0])``, which for draw 0 are the numbers of ``default_rng(0)``, the field's. So the
cells of the largest data and of the synthetic grid need not be run twice. SSIM is not in those tables.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...version import versions
from ..cells import Outcome
from ..grid import Store
from .cells import FieldCell
from .plan import HUGE, entries

TABLES = ("coil", "phase")  # experiments of the paper whose cells are taken
WHERE = "measured by the experiments of the paper"  # instead of a choice


def quote(store: Store, plan: Sequence[FieldCell], folder: Path) -> int:
    """Put what the tables of the paper's experiments have into the store, where it lacks it; return how many cells."""
    wanted = {(cell.data, cell.label, f"{cell.p:g}"): cell for cell in plan if _quotable(cell)}
    added = 0
    for name in TABLES:
        for row in _rows(folder / f"{name}.csv"):
            data = row["data"] + (f"-r{row['r']}" if row["r"] else "")
            cell = wanted.get((data, row["method"], f"{float(row['p']):g}"))
            if cell is None or row["draw"] != "0" or store.load(cell) is not None:
                continue
            store.save(cell, Outcome(numbers(cell, row), {}))
            added += store.load(cell) is not None
    return added


def _quotable(cell: FieldCell) -> bool:
    large = cell.data.startswith("synthetic-") or entries(cell.data) >= HUGE
    return large and cell.pattern == "random" and cell.draw == 0


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error):
        return []


def numbers(cell: FieldCell, row: dict[str, str]) -> dict[str, Any]:
    """Return the numbers of a cell from a row of the paper's experiments."""
    return {
        "cell": asdict(cell),
        "shape": [int(n) for n in row["shape"].split("x")],
        "known": cell.p,
        "psnr": float(row["psnr_missing"]),
        "psnr_all": float(row["psnr"]),
        **dict.fromkeys(("rmse", "ssim", "worst", "covered")),
        "seconds": float(row["seconds"]),
        "seconds_in_all": float(row["seconds"]),
        **{name: int(row[name]) for name in ("steps", "seed", "threads")},
        **{name: row[name] for name in ("status", "settings")},
        "choice": WHERE,
        "fingerprint": row["data_hash"],
        "versions": {name: row[name] for name in versions()},
    }
