"""What the page of a comparison shows."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np

from ..errors import InputError
from ..text import number
from . import charts
from .pictures import data_uri, see_through, to_bytes

COLUMNS = ("method", "pattern", "rate", "draw", "psnr", "ssim", "rmse", "seconds", "steps", "status")
HEADINGS = {"psnr": "PSNR, dB", "ssim": "SSIM", "rmse": "RMSE"}
MEASURES = (("psnr", "PSNR", "PSNR, dB", False), ("seconds", "Time", "seconds", True))


def comparison(table: Any) -> dict[str, Any]:
    """Return the content of the page."""
    if not table.rows:
        raise InputError("the comparison is empty: there is nothing to show")
    return {
        "headings": [HEADINGS.get(name, name) for name in COLUMNS],
        "rows": _rows(table.rows),
        "charts": _charts(table.rows),
        "pictures": _pictures(table),
        "numeric": [name not in ("method", "pattern", "status") for name in COLUMNS],
    }


def _rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows as text, each with whether its PSNR is the best of its pattern, rate and draw."""
    best: dict[tuple, float] = defaultdict(lambda: -math.inf)
    for row in rows:
        best[_case(row)] = max(best[_case(row)], _value(row, "psnr"))
    return [
        {"cells": [_cell(name, row.get(name)) for name in COLUMNS], "best": _value(row, "psnr") == best[_case(row)]}
        for row in rows
    ]


def _case(row: dict[str, Any]) -> tuple:
    return row.get("pattern"), row.get("rate"), row.get("draw")


def _value(row: dict[str, Any], name: str) -> float:
    value = row.get(name)
    return -math.inf if value is None or not math.isfinite(value) else float(value)


def _cell(name: str, value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool | str) or not isinstance(value, int | float | np.integer | np.floating):
        return str(value)
    return f"{value:.{4 if name == 'ssim' else 2}f}" if name in ("psnr", "ssim", "seconds") else number(float(value))


def _charts(rows: list[dict[str, Any]]) -> list[charts.Chart]:
    """Return for every pattern the mean over the draws, one line a method."""
    found = []
    for k, pattern in enumerate(dict.fromkeys(row.get("pattern") for row in rows)):
        mine = [row for row in rows if row.get("pattern") == pattern]
        for name, title, label, log in MEASURES:
            if points := _means(mine, name):
                svg = charts.curves(f"{name}-{k}", points, "sampling rate", label, log)
                title += f", pattern {pattern}" if pattern else ""
                found.append(charts.Chart(title, "mean over the draws", svg))
    return found


def _means(rows: list[dict[str, Any]], name: str) -> dict[str, list[tuple[float, float]]]:
    values: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        value = _value(row, name)
        if math.isfinite(value):
            values[str(row["method"])][float(row["rate"])].append(value)
    return {method: [(rate, float(np.mean(v))) for rate, v in found.items()] for method, found in values.items()}


def _pictures(table: Any) -> list[tuple[str, str, bool]]:
    """Return name, picture and whether it has holes: truth and holes first, then the methods."""
    named = {"truth": getattr(table, "truth_picture", None), "what was known": getattr(table, "holed_picture", None)}
    named |= getattr(table, "pictures", None) or {}
    return [
        (name, _uri(picture), bool(np.isnan(picture).any())) for name, picture in named.items() if picture is not None
    ]


def _uri(picture: Any) -> str:
    picture = np.asarray(picture, dtype=float)
    known = ~np.isnan(picture)
    body = to_bytes(np.clip(np.nan_to_num(picture), 0, 1))
    return data_uri(body if known.all() else see_through(body, known if body.ndim == 2 else known.any(axis=2)))
