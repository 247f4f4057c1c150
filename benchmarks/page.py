"""The page in docs/: the tables and pictures of a benchmark's folder in short, ``python -m benchmarks report --page FILE``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qrank.atomic import write_text

from . import measure, plots, report
from .cases import CASES, DATA, Case

NAMES = {"cifar-3000": "CIFAR-10", "cifar-10000": "CIFAR-10", "coil": "COIL-20", "clip": "HMDB51, change of scene"}
PICTURES = {
    "quality": "PSNR over time",
    "time-shares": "where the time goes",
    "growth": "growth of a step with the size",
}


def title(case: Case) -> str:
    """Return a case in words.

    >>> title(CASES["tnn-clip"])
    'tnn, HMDB51, change of scene 240 x 432 x 48, p = 0.3'
    """
    n3, n1, n2 = DATA[case.data].shape
    return f"{case.method}, {NAMES[case.data]} {n1} x {n2} x {n3}, p = {case.p}"


def write(out: Path, path: Path) -> None:
    """Write the page and, beside it, its pictures."""
    pictures = plots.draw(out, path.parent, prefix=f"{path.stem}-", dpi=75)
    write_text(path, "\n".join(_lines(out, pictures)) + "\n")


def _lines(out: Path, pictures: dict[str, Path]) -> list[str]:
    about = measure.machine()
    rows = {name: report.rows_of(out, name, case) for name, case in CASES.items()}
    rows = {name: found for name, found in rows.items() if found}
    checks = [c for name, found in rows.items() for c in report.checks_of(out, name, CASES[name], found)]
    checks += report.growth_checks(out) + report.thread_checks(out)
    lines = [
        "# Speed",
        "",
        "Written by the benchmark from what it measured, not by hand:",
        "",
        "```sh",
        "python -m benchmarks --data DIR",
        "python -m benchmarks report --page docs/speed.md",
        "```",
        "",
        f"{about['cpu']}, {_threads(out)} threads; Python {about['python']}, NumPy {about['numpy']}.",
        "",
        "*Literal* is the paper's algorithm with the paper's settings as a careful NumPy user writes it",
        "(`benchmarks/literal.py`). Its whole time is that of steps measured at several stages of the run, put together for all",
        "steps, the number of which is that of qrank with the same settings; where a ≥ stands, qrank was stopped before the",
        "paper's rule was met, so that the literal run would take longer still. *qrank* is `qrank.complete` with its defaults",
        "and the paper's norm, `penalty=\"nuclear\"`, which is not motqn's default (that takes as many steps).",
        "*A step* compares the two in the same steps with the same settings. Memory is the peak above the input over the",
        "tensor's bytes in float64. The shares of time are those of the default run's steps; BLAS's",
        "inner products and scaled sums of vectors count as BLAS.",
        "",
        "**Speed.** Seconds of a whole run on two cores, and how many times as fast; in brackets what is promised: at least, and of memory at most.",
        "",
        "| | literal | qrank | faster | a step, faster | float32, faster | memory | dB, literal | dB, qrank |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [_main_row(name, CASES[name], found, checks) for name, found in rows.items()]
    lines += ["", "**Promises.** Everything that the project promises about speed, as measured.", ""]
    lines += ["| | | measured | wanted | kept |", "|---|---|---|---|---|"]
    for c in checks:
        sign = "≥" if c.at_least else "≤"
        lines.append(f"| {c.case} | {c.what} | {c.value:.3g} | {sign} {c.bound:g} | {'yes' if c.kept else '**no**'} |")
    others = [r for name, found in rows.items() if CASES[name].method == "vmtqn" for r in _others(name, found)]
    if others:
        lines += [
            "",
            "**Other packages.** The same data and mask; their ranks chosen on hidden known entries, which is not counted.",
            "",
            "| | | s | dB | memory | |",
            "|---|---|---|---|---|---|",
            *others,
        ]
    for name, path in pictures.items():
        lines += ["", f"![{PICTURES[name]}]({path.name})"]
    return lines


def _threads(out: Path) -> int:
    """Return how many threads the measured runs had."""
    profiles = (report.cell(out, f"{name}/profile") for name in CASES)
    return max((found["workers"] for found in profiles if found), default=1)


def _main_row(name: str, case: Case, rows: list[report.Row], checks: list[report.Check]) -> str:
    by = {row.contender: row for row in rows}
    literal, default = by.get("literal"), by.get("qrank")
    value = {c.what: c.value for c in checks if c.case == name}

    def times(what: str, wanted: float) -> str:
        for prefix, said in (("", what), ("≥ ", f"{what}, {report.AT_LEAST}")):
            if said in value:
                return f"{prefix}{value[said]:.1f} ({wanted:g})"
        return ""

    sign = "≥ " if literal and literal.note.startswith(report.AT_LEAST) else ""

    cells: list[Any] = [
        title(case),
        literal and literal.seconds and f"{sign}{literal.seconds:.0f}",
        default and default.seconds and f"{default.seconds:.1f}",
        times(report.WHOLE, case.whole),
        times("literal / qrank, same steps", case.per_step),
        times("float64 / float32, whole runs", report.FLOAT32),
        times("peak memory / tensor's bytes", report.MEMORY),
        literal and literal.psnr and f"{literal.psnr:.2f}",
        default and default.psnr and f"{default.psnr:.2f}",
    ]
    return f"| {' | '.join(str(c or '') for c in cells)} |"


def _others(name: str, rows: list[report.Row]) -> list[str]:
    """Return the lines of the packages on one data set, qrank first; none where none has run."""
    ours = [row for row in rows if row.contender == "qrank"]
    theirs = [
        row for row in rows if not row.contender.startswith(("literal", "qrank")) and not row.note.startswith("failed")
    ]
    lines = []
    for row in ours + theirs if theirs else ():
        psnr, memory = ("" if v is None else f"{v:.{n}f}" for v, n in ((row.psnr, 2), (row.memory, 1)))
        seconds = "" if row.seconds is None else f"{row.seconds:.3g}"
        lines.append(
            f"| {name.removeprefix('vmtqn-')} | {row.contender} | {seconds} | {psnr} | {memory} | {row.note} |"
        )
    return lines
