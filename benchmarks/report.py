"""Numbers from the cells: what each run took, whether the project keeps its promises, where the time goes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qrank.study.store import RunStore

from . import measure
from .cases import Case
from .schedule import GROWTH_N, GROWTH_N3

Cell = dict[str, Any]
AT_LEAST = "at least"
WHOLE = "literal / qrank, whole runs"
SAME_STEPS = "literal / qrank, same steps"
PEAK = "peak memory / tensor's bytes"
SINGLE = "float64 throughout / float32, whole runs"
RULE_MET = ("CONVERGED", "SETTLED")  # statuses of a run that its stopping rule has ended
MEMORY, FLOAT32, OUTSIDE, AGREE, SAME_DB, GROWTH, KERNEL = 4.0, 1.6, 0.15, 1e-6, 0.05, 2.2, 1.3


@dataclass
class Row:
    """One run of one contender; ``stamps`` and ``curve`` are its time and PSNR after every step."""

    case: str
    contender: str
    steps: int
    per_step: float
    seconds: float
    to_quality: float | None
    psnr: float
    memory: float  # peak above the start over the tensor's own bytes in float64, NaN where it was not measured
    note: str = ""

    stamps: tuple[float, ...] = ()
    curve: tuple[float, ...] = ()


@dataclass
class Check:
    """One promise: the number measured, and the least or the most that it may be."""

    case: str
    what: str
    value: float
    bound: float
    at_least: bool = True

    @property
    def kept(self) -> bool:
        """Whether it holds."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


def cell(out: Path, name: str) -> Cell | None:
    """Return a cell that ran through, or None."""
    found = RunStore(out).load(name)
    return None if found is None or "failed" in found else found


def completion_row(case: str, contender: str, cells: list[Cell], curve: list[float]) -> Row:
    """Return the row of repeated runs: the one of middle length speaks for all."""
    run = sorted(cells, key=lambda c: c["seconds"])[len(cells) // 2]
    stamps = run["stamps"]
    known = curve if len(curve) == len(stamps) else []
    return Row(
        case,
        contender,
        run["steps"],
        stamps[-1] / run["steps"],
        run["seconds"],
        measure.time_to_quality(stamps, known) if known else None,
        run["psnr"],
        max(c["memory"] for c in cells) / run["bytes64"],
        f"middle of {len(cells)} runs" if len(cells) > 1 else "",
        tuple(stamps),
        tuple(known),
    )


def literal_row(case: str, pair: Cell, whole: Cell | None) -> Row:
    """Return the literal run's row: measured if it ran to its end, else from the steps measured at several stages.

    How many steps it would take is known from the package's run with the same settings only if that met the stopping
    rule; if not, the time of the steps that the package did take is a lower bound.
    """
    if whole:
        stamps, curve, note = whole["stamps"], whole["curve"], "whole run"
        memory = whole["memory"] / whole["bytes64"]
    else:
        each = measure.between(*measure.stages(pair["at"], pair["literal"]), pair["steps"])
        stamps, curve, memory = list(itertools.accumulate(each)), pair["curve"], math.nan
        note = f"extrapolated from {len(pair['at'])} of {pair['steps']} steps"
    n = len(stamps)
    if not whole and pair["status"] not in RULE_MET:
        note = f"{AT_LEAST}: the paper's rule was not met after these steps; measured at {len(set(pair['at']))} stages"
        return Row(case, "literal", n, stamps[-1] / n, stamps[-1], None, curve[-1], memory, note)
    quality = measure.time_to_quality(stamps, curve)
    return Row(
        case, "literal", n, stamps[-1] / n, stamps[-1], quality, curve[-1], memory, note, tuple(stamps), tuple(curve)
    )


def cells_of(out: Path, name: str) -> list[Cell]:
    """Return the repeated cells name-1, name-2, … that ran."""
    return [
        c
        for i in itertools.takewhile(lambda i: RunStore(out).load(f"{name}-{i}"), itertools.count(1))
        if (c := cell(out, f"{name}-{i}"))
    ]


def rows_of(out: Path, name: str) -> dict[str, Row]:
    """Return the rows of one case by their contenders."""
    rows: list[Row] = []
    pair, profile = (cell(out, f"{name}/{kind}") for kind in ("pair", "profile"))
    if pair:
        rows.append(literal_row(name, pair, cell(out, f"{name}/literal")))
    curve = profile["curve"] if profile else []
    if defaults := cells_of(out, f"{name}/default"):
        rows.append(completion_row(name, "qrank", defaults, curve))
    if before := cells_of(out, f"{name}/before"):
        rows.append(completion_row(name, "before", before, []))
    for kind, contender in (("float32", "qrank, float32"), ("double", "qrank, float64 throughout")):
        if found := cell(out, f"{name}/{kind}"):
            rows.append(completion_row(name, contender, [found], []))
    return {row.contender: row for row in rows}


def failures(out: Path) -> list[str]:
    """Return what did not run through, and why."""
    found = []
    for path in sorted(out.rglob("*.json")):
        key = str(path.relative_to(out).with_suffix(""))
        if failed := (RunStore(out).load(key) or {}).get("failed"):
            found.append(f"{key}: {failed}")
    return found


def busy(out: Path) -> list[float]:
    """Return how many processes wanted a core when each timed cell ended, its own two included."""
    keys = (str(path.relative_to(out).with_suffix("")) for path in out.rglob("*.json"))
    return [c["load"] for key in keys if not key.endswith("-choice") and (c := cell(out, key)) and "load" in c]


def shares(profile: Cell) -> dict[str, float]:
    """Return the share of the steps' time by kind; what is neither product, decomposition nor FFT is the rest."""
    total = profile["seconds"]
    found = {"products": 0.0, "decompositions": 0.0, "FFT": 0.0, "BLAS on vectors": 0.0, "element-wise": 0.0}
    for row in profile["kernels"]:
        found[row["kind"]] += row["seconds"] / total
    found["other"] = max(0.0, 1 - sum(found.values()))
    return found


def checks_of(out: Path, name: str, case: Case, by: dict[str, Row]) -> list[Check]:
    """Return the promises on one case."""
    checks = []
    literal, default, single = by.get("literal"), by.get("qrank"), by.get("qrank, float32")
    double = by.get("qrank, float64 throughout") or by.get("before")  # which was in float64 throughout
    if literal and default:
        bound = ", at least" if literal.note.startswith(AT_LEAST) else ""
        checks.append(Check(name, WHOLE + bound, literal.seconds / default.seconds, case.whole))
        below = literal.psnr - default.psnr
        checks.append(Check(name, "dB that qrank is below the literal run", below, SAME_DB, at_least=False))
    if pair := cell(out, f"{name}/pair"):
        if pair["spec"].get("through") is None:
            met = float(pair["status"] in RULE_MET)
            checks.append(Check(name, "paper's settings: stopping rule met (1 = yes)", met, 1.0))
        theirs, ours = (sum(measure.stages(pair["at"], pair[who])[1]) for who in ("literal", "ours"))
        checks.append(Check(name, SAME_STEPS, theirs / ours, case.per_step))
        checks.append(Check(name, "largest difference of X over them", pair["difference"], AGREE, at_least=False))
    if default:
        checks.append(Check(name, PEAK, default.memory, MEMORY, at_least=False))
    if double and single:
        checks.append(Check(name, SINGLE, double.seconds / single.seconds, FLOAT32))
        lost = abs(double.psnr - single.psnr)
        checks.append(Check(name, "dB between float64 throughout and float32", lost, SAME_DB, at_least=False))
    if (profile := cell(out, f"{name}/profile")) and case.data in ("clip", "coil"):
        found = shares(profile)
        outside = found["element-wise"] + found["other"]
        checks.append(Check(name, "share outside BLAS, LAPACK and FFT", outside, OUTSIDE, at_least=False))
    return checks


def growth_of(out: Path) -> dict[str, list[tuple[int, Cell]]]:
    """Return the growth cells that ran, smallest first."""
    sizes = {"n3": (GROWTH_N3, 0), "n": (GROWTH_N, 1)}
    return {
        kind: [(c["shape"][axis], c) for n in ns if (c := cell(out, f"growth/{kind}-{n}"))]
        for kind, (ns, axis) in sizes.items()
    }


def growth_checks(out: Path) -> list[Check]:
    """Return how a step grows when a size doubles."""
    checks = []
    for kind, cells in growth_of(out).items():
        for (small, a), (large, b) in itertools.pairwise(cells):
            grown = b["step"] / a["step"]
            if kind == "n3":
                checks.append(Check(f"32 x 32 x {small} to {large}", "growth of a step", grown, GROWTH, at_least=False))
            else:
                case = f"{small} x {small} x 64 to {large}"
                over = grown / (b["kernel"] / a["kernel"])
                checks.append(Check(case, "growth of a step / cubic growth (8)", grown / 8, KERNEL, at_least=False))
                checks.append(Check(case, "growth of a step / that of the slices' eigh", over, KERNEL, at_least=False))
    return checks


def thread_checks(out: Path) -> list[Check]:
    """Return whether the number of threads matters."""
    found = cell(out, "threads")
    if not found:
        return []
    checks = []
    for name, m in found["methods"].items():
        what = f"one thread and {found['threads']}"
        checks.append(Check(name, f"{what}: difference of X after 20 steps", m["difference"], AGREE, at_least=False))
        checks.append(Check(name, f"{what}: dB between the answers", m["decibels"], SAME_DB, at_least=False))
    left = found["left_as_found"] and all(m["kept"] for m in found["methods"].values())
    return [*checks, Check("threads", "BLAS's settings left as found (1 = yes)", float(left), 1.0)]
