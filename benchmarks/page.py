"""The page in docs/: tables and pictures of a benchmark's folder, ``python -m benchmarks report --page FILE``."""

from __future__ import annotations

import csv
from dataclasses import asdict
from pathlib import Path
from typing import Any

from qrank.atomic import write_text

from . import field, measure, plots, report, tables
from .cases import CASES, Case
from .rivals import RIVALS

PICTURES = {
    "against": "error over time, of qrank and of other programs",
    "quality": "PSNR over time",
    "time-shares": "where the time goes",
    "growth": "growth of a step with the size",
}
ABOUT = """\
*Literal* is the paper's algorithm with the paper's settings as a careful NumPy user writes it
(`benchmarks/literal.py`). Its whole time is that of steps measured at several stages of the run, put together for all
steps, the number of which is that of qrank with the same settings; where a ≥ stands, qrank was stopped before the
paper's rule was met, so that the literal run would take longer still. *qrank* is `qrank.complete` with its defaults
and the paper's norm, `penalty="nuclear"`, which is not motqn's default (that takes as many steps).
*A step* compares the two in the same steps with the same settings. *float32* is how many times as fast such input is as a run in
float64 throughout (float64 input need not be: see *the limit*). Memory is the peak above the input over the
tensor's bytes in float64. The shares of time are those of the default run's steps; BLAS's
inner products and scaled sums of vectors count as BLAS."""


def write(out: Path, path: Path) -> str:
    """Write the page and, beside it, its pictures; return the page."""
    pictures = plots.draw(out, path.parent, prefix=f"{path.stem}-", dpi=75)
    text, checks = made(out, pictures)
    write_text(path, text)
    _csv(out / "checks.csv", [asdict(c) | {"kept": c.kept} for c in checks])
    return text


def made(out: Path, pictures: dict[str, Path]) -> tuple[str, list[report.Check]]:
    """Return the page and the promises on it."""
    rows = {name: found for name in CASES if (found := report.rows_of(out, name))}
    checks = [c for name, found in rows.items() for c in report.checks_of(out, name, CASES[name], found)]
    lines = _opening(out)
    short = in_short(out)
    lines += [*short, ""] if short else []
    lines += [
        "**Speed.** Seconds of a whole run on two cores, and how many times as fast; in brackets what is promised: at least, and of memory at most.",
        "",
        "| | literal | qrank | faster | a step, faster | float32, faster | memory | dB, literal | dB, qrank |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [_main_row(name, case, rows.get(name, {}), checks) for name, case in CASES.items() if rows]
    for section in (tables.before, tables.limit, tables.against, tables.default, tables.fit_costs):
        more, promised = section(out)
        lines += ["", *more] if more else []
        checks += promised
    checks += report.growth_checks(out) + report.thread_checks(out)
    if any(tables.MISSING in line for line in lines):
        lines += [
            "",
            "What is not measured here was measured for an earlier version: `git log docs/speed.md` finds its page.",
        ]
    kept = sum(c.kept for c in checks)
    lines += [
        "",
        f"**Promises.** Everything that the project promises about speed, as measured: {kept} of {len(checks)} are kept.",
        "",
    ]
    lines += ["| | | measured | wanted | kept |", "|---|---|---|---|---|"]
    for c in checks:
        sign = "≥" if c.at_least else "≤"
        lines.append(f"| {c.case} | {c.what} | {c.value:.3g} | {sign} {c.bound:g} | {'yes' if c.kept else '**no**'} |")
    if failed := report.failures(out):
        lines += ["", "Did not run through: " + "; ".join(failed) + "."]
    for name, path in pictures.items():
        lines += ["", f"![{PICTURES[name]}]({path.name})"]
    return "\n".join(lines) + "\n", checks


def _opening(out: Path) -> list[str]:
    about = measure.machine()
    generated = sorted({name for name in CASES if (c := report.cell(out, f"{name}/pair")) and c["source"] != "read"})
    small = any((report.cell(out, f"{name}/pair") or {"spec": {}})["spec"].get("quick") for name in CASES)
    loads = sorted(report.busy(out))
    load = (
        f" The load when cells ended was {measure.middle(loads):.1f} in the middle, {loads[-1]:.1f} at most."
        if loads
        else ""
    )
    lines = [
        "# Speed",
        "",
        "Written by the benchmark from what it measured, not by hand; `make bench-quick` tells in minutes whether a change made it slower:",
        "",
        "```sh",
        "make bench DATA=DIR BEFORE=CHECKOUT",
        "python -m benchmarks report --page docs/speed.md",
        "```",
        "",
        f"{about['cpu']}, {_threads(out)} threads; Python {about['python']}, NumPy {about['numpy']}.{load}",
        "",
        ABOUT,
        "",
    ]
    if small:
        lines += ["**Small tensors: this only shows that it runs; the promises are for the real sizes.**", ""]
    elif generated:
        lines += [f"Generated data, for want of the real: {', '.join(generated)}.", ""]
    return lines


def _threads(out: Path) -> int:
    """Return how many threads the measured runs had."""
    profiles = (report.cell(out, f"{name}/profile") for name in CASES)
    return max((found["workers"] for found in profiles if found), default=1)


def _main_row(name: str, case: Case, by: dict[str, report.Row], checks: list[report.Check]) -> str:
    literal, default = by.get("literal"), by.get("qrank")
    value = {c.what: c.value for c in checks if c.case == name}

    def times(what: str, wanted: float) -> str:
        for prefix, said in (("", what), ("≥ ", f"{what}, {report.AT_LEAST}")):
            if said in value:
                return f"{prefix}{value[said]:.1f} ({wanted:g})"
        return tables.MISSING

    sign = "≥ " if literal and literal.note.startswith(report.AT_LEAST) else ""
    cells: list[Any] = [
        tables.title(case),
        literal and f"{sign}{literal.seconds:.0f}",
        default and f"{default.seconds:.1f}",
        times(report.WHOLE, case.whole),
        times(report.SAME_STEPS, case.per_step),
        times(report.SINGLE, report.FLOAT32),
        times(report.PEAK, report.MEMORY),
        literal and f"{literal.psnr:.2f}",
        default and f"{default.psnr:.2f}",
    ]
    return f"| {' | '.join(str(c or tables.MISSING) for c in cells)} |"


def in_short(out: Path) -> list[str]:
    """Return the small table that the README shows: each program's seconds, and when qrank was as good."""
    rows = []
    for data, source in field.DATA.items():
        paths = report.cells_of(out, f"field-{data}/path")
        if not paths:
            continue
        n3, n1, n2 = paths[0]["shape"]
        cells = [f"{source.about}, {n1} x {n2} x {n3}"]
        for name in RIVALS:
            found = report.cell(out, f"field-{data}/{name}")
            ours = tables.as_good(paths, found["error"]) if found else None
            shown = "never" if ours is None else f"{ours:.2g}"
            cells.append(f"{found['seconds']:.2g} : {shown}" if found else tables.MISSING)
        rows.append(cells)
    if not rows:
        return []
    header = "| | " + " | ".join(RIVALS[name].title.replace(" as printed", "") for name in RIVALS)
    said = (
        "**In short.** Seconds that other programs take, and after a colon those after which qrank is as good as they are at their end,"
        " on the same two cores."
    )
    return [said, "", *tables.table(header, rows)]


def _csv(path: Path, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
