"""Tables from the cells: what each run took, whether the project keeps its promises, where the time goes."""

from __future__ import annotations

import csv
import itertools
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from qrank.atomic import write_text
from qrank.study.store import RunStore

from . import measure
from .cases import CASES, DATA, Case
from .rivals import NAMES
from .schedule import GROWTH_N, GROWTH_N3

Cell = dict[str, Any]
AT_LEAST = "at least"
WHOLE = "literal / qrank, whole runs"
RULE_MET = ("CONVERGED", "SETTLED")  # statuses of a run that its stopping rule has ended
MEMORY, FLOAT32, OUTSIDE, AGREE, SAME_DB, GROWTH, KERNEL = 4.0, 1.6, 0.15, 1e-6, 0.05, 2.2, 1.3


@dataclass
class Row:
    """One run of one contender; ``stamps`` and ``curve`` are its time and PSNR after every step."""

    case: str
    contender: str
    steps: int | None
    per_step: float | None
    seconds: float | None
    to_quality: float | None
    psnr: float | None
    memory: float | None  # peak above the start over the tensor's own bytes in float64
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


def literal_row(case: str, pair: Cell, whole: Cell | None, paper: Cell | None) -> Row:
    """Return the literal run's row: measured if it ran to its end, else from the steps measured at several stages.

    How many steps it would take is known from the package's run with the same settings only if that met the stopping
    rule; if not, the time of the steps that the package did take is a lower bound.
    """
    memory = whole["memory"] / whole["bytes64"] if whole else None
    if whole and whole["full"]:
        stamps, curve = whole["stamps"], whole["curve"]
        note = "whole run"
    else:
        each = measure.between(*measure.stages(pair["at"], pair["literal"]), pair["steps"])
        stamps = [sum(each[: k + 1]) for k in range(len(each))]
        curve = pair["curve"]
        note = f"extrapolated from {len(pair['at'])} of {pair['steps']} steps"
    n = len(stamps)
    met = paper is not None and paper["status"] in RULE_MET
    if not (met or (whole and whole["full"])):
        note = f"{AT_LEAST}: the paper's rule was not met after these steps; measured at {len(set(pair['at']))} stages"
        return Row(case, "literal", n, stamps[-1] / n, stamps[-1], None, pair["curve"][-1], memory, note)
    if len(curve) < n:  # the pair did not go to the end
        psnr = paper["psnr"] if paper else None
        return Row(case, "literal", n, stamps[-1] / n, stamps[-1], None, psnr, memory, note, tuple(stamps))
    quality = measure.time_to_quality(stamps, curve)
    return Row(
        case, "literal", n, stamps[-1] / n, stamps[-1], quality, curve[-1], memory, note, tuple(stamps), tuple(curve)
    )


def rows_of(out: Path, name: str, case: Case) -> list[Row]:
    """Return the rows of one case, the rivals on its data among them."""
    rows: list[Row] = []
    pair, paper, profile = (cell(out, f"{name}/{kind}") for kind in ("pair", "paper", "profile"))
    defaults = [c for i in range(1, 100) if (c := cell(out, f"{name}/default-{i}"))]
    if pair:
        rows.append(literal_row(name, pair, cell(out, f"{name}/literal"), paper))
    if paper:
        rows.append(completion_row(name, "qrank, paper's settings", [paper], pair["curve"] if pair else []))
    curve = profile["curve"] if profile else []
    if defaults:
        rows.append(completion_row(name, "qrank", defaults, curve))
    if single := cell(out, f"{name}/default-float32"):
        rows.append(completion_row(name, "qrank, float32", [single], []))
    for path in sorted((out / name).glob("*.json")):
        if failed := (RunStore(out).load(f"{name}/{path.stem}") or {}).get("failed"):
            rows.append(Row(name, path.stem, None, None, None, None, None, None, f"failed: {failed}"))
    for rival in NAMES if rows else ():
        found = RunStore(out).load(f"rivals-{case.data}/{rival}")
        if found is None:
            continue
        if "failed" in found:
            rows.append(Row(name, rival, None, None, None, None, None, None, found["failed"]))
            continue
        note = found.get("note") or f"{found['chosen']} chosen in {found['choosing']:.3g} s"
        if found.get("not_tried"):
            note += f"; not tried: {', '.join(found['not_tried'])}"
        memory = found["memory"] / found["bytes64"]
        rows.append(Row(name, found["title"], None, None, found["seconds"], None, found["psnr"], memory, note))
    return rows


def shares(profile: Cell) -> dict[str, float]:
    """Return the share of the steps' time by kind; what is neither product, decomposition nor FFT is the rest."""
    total = profile["seconds"]
    found = {"products": 0.0, "decompositions": 0.0, "FFT": 0.0, "BLAS on vectors": 0.0, "element-wise": 0.0}
    for row in profile["kernels"]:
        found[row["kind"]] += row["seconds"] / total
    found["other"] = max(0.0, 1 - sum(found.values()))
    return found


def checks_of(out: Path, name: str, case: Case, rows: list[Row]) -> list[Check]:
    """Return the promises on one case."""
    by = {row.contender: row for row in rows}
    checks = []
    literal, default, single = by.get("literal"), by.get("qrank"), by.get("qrank, float32")
    if literal and default and literal.seconds and default.seconds and literal.psnr and default.psnr:
        bound = ", at least" if literal.note.startswith(AT_LEAST) else ""
        checks.append(Check(name, WHOLE + bound, literal.seconds / default.seconds, case.whole))
        below = literal.psnr - default.psnr
        checks.append(Check(name, "dB that qrank is below the literal run", below, SAME_DB, at_least=False))
    if paper := cell(out, f"{name}/paper"):
        met = float(paper["status"] in RULE_MET)
        checks.append(Check(name, "paper's settings: stopping rule met (1 = yes)", met, 1.0))
    if pair := cell(out, f"{name}/pair"):
        theirs, ours = (sum(measure.stages(pair["at"], pair[who])[1]) for who in ("literal", "ours"))
        ratio = theirs / ours
        checks.append(Check(name, "literal / qrank, same steps", ratio, case.per_step))
        checks.append(Check(name, "largest difference of X over them", pair["difference"], AGREE, at_least=False))
    if default and default.memory is not None:
        checks.append(Check(name, "peak memory / tensor's bytes", default.memory, MEMORY, at_least=False))
    if default and single and default.seconds and single.seconds and default.psnr and single.psnr:
        checks.append(Check(name, "float64 / float32, whole runs", default.seconds / single.seconds, FLOAT32))
        lost = abs(default.psnr - single.psnr)
        checks.append(Check(name, "dB between float64 and float32", lost, SAME_DB, at_least=False))
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


def write(out: Path) -> str:
    """Write ``report.md``, ``runs.csv`` and ``checks.csv``; return the report."""
    rows, checks, tables = [], [], []
    for name, case in CASES.items():
        if not (found := rows_of(out, name, case)):
            continue
        rows += found
        checks += checks_of(out, name, case, found)
        some = cell(out, f"{name}/paper") or cell(out, f"{name}/pair") or {}
        n3, n1, n2 = some.get("shape") or DATA[case.data].shape
        title = f"{case.method}, {case.data}, {n1} x {n2} x {n3}, p = {case.p} ({some.get('source', '?')})"
        tables.append((title, found, cell(out, f"{name}/profile")))
    checks += growth_checks(out) + thread_checks(out)
    text = "\n".join(_lines(out, tables, checks)) + "\n"
    write_text(out / "report.md", text)
    _csv(out / "runs.csv", [{k: v for k, v in asdict(r).items() if k not in ("stamps", "curve")} for r in rows])
    _csv(out / "checks.csv", [asdict(c) | {"kept": c.kept} for c in checks])
    write_text(out / "machine.json", json.dumps(measure.machine()))
    return text


def _lines(out: Path, tables: list[tuple[str, list[Row], Cell | None]], checks: list[Check]) -> list[str]:
    about = measure.machine()
    lines = ["# Benchmark", "", f"{about['cpu']}; Python {about['python']}, NumPy {about['numpy']}.", ""]
    lines += [
        "Time to quality: until the PSNR is within 0.05 dB of the run's own final one. Memory: peak above the start,",
        "over the tensor's bytes in float64. Shares and GFLOP/s: of the default run's steps, operations by textbook",
        "counts. The default run's PSNR curve and shares come from a run of their own, its times from plain ones.",
        "Where the literal run is extrapolated, its number of steps and its PSNR are those of qrank with the paper's",
        "settings: the same steps but for rounding, which grows where singular values of the unfolding come close.",
    ]
    if any((cell(out, f"{name}/paper") or {"spec": {}})["spec"].get("quick") for name in CASES):
        lines += [
            "",
            "**Small tensors (--quick): this only shows that it runs; the promises are for the real sizes.**",
        ]
    for title, rows, profile in tables:
        lines += ["", f"## {title}", "", "| | steps | ms a step | s | s to quality | dB | memory | |"]
        lines.append("|---|---|---|---|---|---|---|---|")
        for r in rows:
            ms = None if r.per_step is None else 1000 * r.per_step
            cells = [r.steps, ms, r.seconds, r.to_quality, None if r.psnr is None else f"{r.psnr:.2f}", r.memory]
            lines.append(f"| {r.contender} | {' | '.join(_number(v) for v in cells)} | {r.note} |")
        if profile:
            lines += ["", f"| kernel | share | GFLOP/s | of GEMM ({profile['gemm']:.1f}) |", "|---|---|---|---|"]
            for k in profile["kernels"][:6]:
                share, rate = k["seconds"] / profile["seconds"], k["gflops"]
                lines.append(f"| {k['name']} | {share:.0%} | {rate:.1f} | {rate / profile['gemm']:.0%} |")
            lines.append(f"| other | {shares(profile)['other']:.0%} | | |")
            lines.append("")
            lines.append(
                f"Before the steps {profile['init']:.2g} s, the transform returned {profile['transform']:.2g} s."
            )
    lines += ["", "## Promises", "", "| | | measured | wanted | kept |", "|---|---|---|---|---|"]
    for c in checks:
        sign = "≥" if c.at_least else "≤"
        lines.append(f"| {c.case} | {c.what} | {c.value:.3g} | {sign} {c.bound:g} | {'yes' if c.kept else '**no**'} |")
    pictures = [f"![{p.stem}]({p.name})" for p in sorted(out.glob("*.png"))]
    return [*lines, "", *pictures]


def _number(v: Any) -> str:
    return "" if v is None else v if isinstance(v, str) else str(v) if isinstance(v, int) else f"{v:.3g}"


def _csv(path: Path, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
