"""The numbers of the page: what was missing, how it was filled, how good it is, what it took."""

from __future__ import annotations

import dataclasses
import importlib
import math
import platform
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, MissingExtra
from ..metrics import psnr, rmse, ssim
from ..result import Completion, Record
from ..tensor import Layout
from ..text import duration, number, share
from ..version import versions
from .view import View

# What an option that is None means, where its value is not taken from the data.
UNSET = {
    "noise": "none: known values are kept as they are",
    "outliers": "none: no known value is taken for wrong",
    "outlier_weight": "Lu et al.'s",
    "mu_max": "none within a run",
    "weights": "equal",
    "alpha": "equal",
    "gamma": "equal",
    "rank": "rank_min to increase, else rank_max",
    "rank_step": "a twentieth of rank_max",
    "adaptive": "unless ranks decrease",
    "stride": "half of the side",
}


class Table(NamedTuple):
    """A heading and its lines, name and value."""

    title: str
    lines: list[tuple[str, str]]


class Quality(NamedTuple):
    """How near the answer is to the truth."""

    psnr: float
    psnr_missing: float
    rmse: float
    rmse_missing: float
    ssim: float | None

    @classmethod
    def of(cls, x: np.ndarray, known: np.ndarray, truth: np.ndarray, view: View) -> Quality:
        """Measure; entries whose truth is not finite count for nothing, SSIM is left out where it cannot be had."""
        sure = np.isfinite(truth)
        if not sure.any():
            raise InputError("the truth has no finite entry")
        x, truth = np.where(sure, x, 0), np.where(sure, truth, 0)
        missing = sure & ~known
        missing = missing if missing.any() else sure
        try:
            similar = ssim(x, truth, (view.rows, view.columns))
        except (InputError, MissingExtra):
            similar = None
        return cls(
            psnr(x, truth, sure), psnr(x, truth, missing), rmse(x, truth, sure), rmse(x, truth, missing), similar
        )


def headline(result: Completion, quality: Quality | None) -> list[tuple[str, str]]:
    """Return the few numbers that the page begins with."""
    known = result.observed
    tiles = [("missing", share(int(np.count_nonzero(~result.settled)), known.size))]
    if quality is not None:
        tiles += [("PSNR", f"{number(quality.psnr)} dB")]
        tiles += [("SSIM", f"{quality.ssim:.3f}")] if quality.ssim is not None else [("RMSE", number(quality.rmse, 3))]
    elif result.choice is not None and result.choice.error is not None:
        unit = "" if result.units is None else " standard deviations"
        tiles += [("expected RMSE", number(result.choice.error, 3) + unit)]
    elif (held := _held_out(result)) is not None:
        tiles += [("hold-out RMSE", number(held[1], 3))]
    return [*tiles, ("time", duration(_seconds(result))), ("steps", number(len(result.history)))]


def tables(
    result: Completion, x: np.ndarray, view: View, quality: Quality | None, meta: Mapping[str, Any] | None
) -> list[Table]:
    """Return all numbers of the page."""
    found = [
        Table("Data", _data(result, x, view)),
        Table("Quality", _quality(result, x, quality)),
        Table("Run", _run(result)),
        Table("Options", _options(result)),
        Table("File", [(str(name), short(value)) for name, value in (meta or {}).items() if value is not None]),
        Table("Versions", [*versions().items(), ("system", f"{platform.system()} {platform.machine()}")]),
    ]
    return [table for table in found if table.lines]


def _data(result: Completion, x: np.ndarray, view: View) -> list[tuple[str, str]]:
    known = result.observed
    missing, left = int(np.count_nonzero(~result.settled)), int(np.count_nonzero(result.settled & ~known))
    values = x[known] if known.any() else x.ravel()
    first, second = result.slice_axes
    blind = int(np.count_nonzero(result.undetermined)) if result.undetermined is not None else 0
    wrong = result.outliers is not None
    return [
        ("shape", " × ".join(str(n) for n in x.shape)),
        ("axes", ", ".join(view.names)),
        ("slices", f"{view.names[first]} × {view.names[second]}"),
        ("type", str(x.dtype)),
        ("entries", number(x.size)),
        ("missing", f"{number(missing)} ({share(missing, known.size)})"),
        *([("ignored", f"{number(left)} (left as they were)")] if left else []),
        *([("undetermined", f"{number(blind)} (guesses)")] if blind else []),
        ("known values", f"{number(float(values.min()))} to {number(float(values.max()))}"),
        *([("noise", f"standard deviation {number(result.noise)}")] if result.noise is not None else []),
        *([("outliers", f"{number(int(np.count_nonzero(result.outliers)))} known entries")] if wrong else []),
    ]


def _quality(result: Completion, x: np.ndarray, quality: Quality | None) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    if quality is not None:
        lines += [
            ("PSNR", f"{number(quality.psnr)} dB"),
            ("PSNR, missing entries", f"{number(quality.psnr_missing)} dB"),
            ("RMSE", number(quality.rmse)),
            ("RMSE, missing entries", number(quality.rmse_missing)),
        ]
        lines += [("SSIM", f"{quality.ssim:.4f}")] if quality.ssim is not None else []
    if result.choice is not None and result.choice.error is not None:
        lines += [("RMSE, entries hidden by auto", number(result.choice.error))]
    if result.error is not None and not result.settled.all():
        lines += [("standard error of filled entries, median", number(_typical(result)))]
    if (found := _held_out(result)) is not None:
        (of, held), peak = found, float(np.abs(x[result.observed]).max())
        lines += [(f"RMSE, held-out entries{of}", number(held))]
        lines += (
            [(f"PSNR, held-out entries{of}", f"{number(20 * math.log10(peak / held))} dB")] if held > 0 < peak else []
        )
    return lines


def _held_out(result: Completion) -> tuple[str, float] | None:
    """Return the error on what the caller had held out, and of which run it is where that is not plain."""
    name, records = next(iter(result.runs.items()), ("", []))
    if not records or records[-1].holdout is None:
        return None
    return (f", {name}" if len(result.runs) > 1 else ""), records[-1].holdout


def _typical(result: Completion) -> float:
    return float(np.median(np.asarray(result.error)[~np.asarray(result.settled)]))


def _seconds(result: Completion) -> float:
    """Return the time of all: that of the candidates, and of what lies between their runs, is part of it."""
    return result.seconds if result.choice is None else result.choice.seconds


def _run(result: Completion) -> list[tuple[str, str]]:
    lines = [("method", result.method.name), ("which is", result.method.about), ("status", str(result.status))]
    runs, seconds = result.runs, _seconds(result)
    if result.choice is not None:
        lines += [("time", f"{duration(seconds)}, candidates included")]
    elif runs:
        lines += [("time", f"{duration(seconds)} ({duration(seconds / len(result.history))} a step)")]
    if len(runs) > 1:  # what each minimises is another thing: their curves tell more
        lines += [(name, f"{number(len(records))} steps, {_ended(records[-1])}") for name, records in runs.items()]
    elif runs:
        ((_, records),) = runs.items()
        last = records[-1]
        lines += [
            ("steps", number(len(records))),
            *([("objective", number(last.objective))] if last.objective else []),
            ("residuals", _ended(last)),
            *([("rank", f"{number(last.rank)} over {number(last.slices)} slices")] if last.rank else []),
        ]
    peak = peak_memory()
    return [*lines, ("peak memory", f"{peak / 2**20:,.0f} MB (the whole process)")] if peak else lines


def _ended(last: Record) -> str:
    primal = f"primal {number(last.primal, 3)}, " if last.primal else ""
    return f"{primal}change {number(last.change, 3)}"


def _options(result: Completion) -> list[tuple[str, str]]:
    """Return the options; one that was not given has the value that the run took, or says where that comes from."""
    lines = []
    for name in (f.name for f in dataclasses.fields(result.method)):
        value = getattr(result.method, name)
        lines.append((name, _taken(result, name) if value is None else short(value)))
    return lines


def _taken(result: Completion, name: str) -> str:
    """Return what an option that was not given has been in the run, as far as its records tell."""
    records = next(iter(result.runs.values()), [])
    mu = [record.mu for record in records]
    if name == "mu0" and mu:
        return f"{number(mu[0])}, from the data"
    if name == "rho" and len(mu) > 2 and all(value > 0 for value in mu):
        # The last step may not grow any more.
        pace = sorted(second / first for first, second in zip(mu[:-2], mu[1:-1], strict=True))
        if pace[0] > 1:
            low, high = number(pace[0], 3), number(pace[-1], 3)
            return f"{low if low == high else f'{low} to {high}'}, from the data"
    if name == "steps" and records:
        return f"{number(len(records))}, from the data"
    if name == "r":
        layout = Layout.of(result.observed.shape, result.slice_axes)
        return f"{min(layout.n3, math.prod(layout.slice_shape))}, as many as there can be"
    if name == "outlier_weight":
        return "none: no outliers are sought" if getattr(result.method, "outliers", None) is None else "Lu et al.'s"
    return UNSET.get(name, "from the data")


def short(value: Any) -> str:
    """Write any value in a line.

    >>> short(np.zeros((3, 5))), short("paper"), short(None)
    ('array 3 × 5', 'paper', 'None')
    """
    if isinstance(value, np.ndarray) and value.size > 8:
        return "array " + " × ".join(str(n) for n in value.shape)
    text = value if isinstance(value, str) else f"{value:.10g}" if isinstance(value, float) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 300 else text[:299] + "…"


def peak_memory() -> int | None:
    """Return the most memory that this process has held, in bytes; None where the system does not tell."""
    try:
        resource = importlib.import_module("resource")
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
