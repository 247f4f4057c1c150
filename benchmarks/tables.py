"""The tables of the page, each from its cells: against the version before, the limit, the field, the fits, the default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import field, fits, measure, report
from .cases import CASES, DATA, Case
from .report import Check
from .rivals import RIVALS
from .schedule import PATH

Lines = list[str]
BEFORE, FEWER_STEPS, ENOUGH_CASES, WORSE, MOTQN, SECOND_HALF = 1.7, 1.5, 4, 0.02, 1.6, 2.0
LIMIT, SOONER, FIT = 0.6, 10.0, 1.5
TIMES = {"views": 2.0, "auto": 5.0}  # vmtqn's time, at most
NAMES = {"cifar-3000": "CIFAR-10", "cifar-10000": "CIFAR-10", "coil": "COIL-20", "clip": "HMDB51, change of scene"}
MISSING = "not measured"


def title(case: Case) -> str:
    """Return a case in words.

    >>> title(CASES["tnn-clip"])
    'tnn, HMDB51, change of scene 240 x 432 x 48, p = 0.3'
    """
    n3, n1, n2 = DATA[case.data].shape
    return f"{case.method}, {NAMES[case.data]} {n1} x {n2} x {n3}, p = {case.p}"


def table(header: str, rows: list[list[Any]]) -> Lines:
    """Return a table in Markdown; None is a cell that was not measured.

    >>> table("| a", [[1.25, None]])
    ['| a |', '|---|', '| 1.2 | not measured |']
    """

    def shown(value: Any) -> str:
        return MISSING if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)

    rule = "|" + "---|" * header.count("|")
    return [f"{header} |", rule, *(f"| {' | '.join(map(shown, row))} |" for row in rows)]


def second_half(found: report.Row) -> float:
    """Return the mean time of a step in the second half of a run."""
    stamps = found.stamps
    middle = len(stamps) // 2
    return (stamps[-1] - stamps[middle - 1]) / (len(stamps) - middle)


def before(out: Path) -> tuple[Lines, list[Check]]:
    """Return how much faster than the version before all six cases are, in how many steps, and what it costs."""
    rows, checks, fewer = [], [], 0
    for name, case in CASES.items():
        by = report.rows_of(out, name)
        old, new = by.get("before"), by.get("qrank")
        if not (old and new):
            rows.append([title(case), *[None] * 9])
            continue
        ratio, steps = old.seconds / new.seconds, old.steps / new.steps
        fewer += steps >= FEWER_STEPS
        checks.append(Check(name, "before / now, whole runs", ratio, BEFORE))
        checks.append(Check(name, "dB below before", old.psnr - new.psnr, WORSE, at_least=False))
        checks.append(Check(name, "peak memory, now / before", new.memory / old.memory, 1.0, at_least=False))
        half = None
        if case.data.startswith("cifar"):
            half = second_half(old) / second_half(new)
            checks.append(Check(name, "before / now, a step in the second half of a run", half, SECOND_HALF))
        rows.append(
            [
                title(case),
                old.seconds,
                new.seconds,
                f"{ratio:.2f} ({BEFORE:g})",
                "" if half is None else f"{half:.2f} ({SECOND_HALF:g})",
                old.steps,
                new.steps,
                f"{new.psnr - old.psnr:+.3f}",
                old.memory,
                new.memory,
            ]
        )
    if not checks:
        return [], []
    if not any(None in row for row in rows):
        checks.append(
            Check("all six", f"cases with steps before / now of {FEWER_STEPS:g} or more", fewer, ENOUGH_CASES)
        )
    version = next(c["spec"]["version"] for name in CASES for c in report.cells_of(out, f"{name}/before"))
    header = "| | s, before | s, now | as fast | a step, second half | steps, before | now | dB, now - before | memory, before | now"
    said = f"**Against the version before.** Whole runs of commit {version} and of today, in turn; in brackets what is promised."
    return [said, "", *table(header, rows), *_motqn(out, checks)], checks


def _motqn(out: Path, checks: list[Check]) -> Lines:
    """Return the sentence on motqn's time over vmtqn's."""
    slow, quick = (report.rows_of(out, f"{method}-clip").get("qrank") for method in ("motqn", "vmtqn"))
    if not (slow and quick):
        return []
    ratio = slow.seconds / quick.seconds
    checks.append(Check("motqn-clip", "motqn / vmtqn, whole runs", ratio, MOTQN, at_least=False))
    return ["", f"motqn takes {ratio:.2f} times vmtqn's time on the clip (promised: at most {MOTQN:g})."]


def limit(out: Path) -> tuple[Lines, list[Check]]:
    """Return what the steps must compute, how fast they do, and how fast a large product is in the same run."""
    rows, checks = [], []
    for name, case in CASES.items():
        default, profile = report.rows_of(out, name).get("qrank"), report.cell(out, f"{name}/profile")
        if not (default and profile and len(profile["flops"]) == default.steps):
            rows.append([title(case), *[None] * 7])
            continue
        work, seconds = sum(profile["flops"]), default.stamps[-1]
        least = sum(
            flops / (profile["gemm32" if single else "gemm"] * 1e9)
            for flops, single in zip(profile["flops"], profile["single"], strict=True)
        )
        share = least / seconds
        wanted = case.data in ("coil", "clip")
        if wanted:
            checks.append(Check(name, "share of the limit", share, LIMIT))
        rows.append(
            [
                title(case),
                work / default.steps / 1e9,
                f"{sum(profile['single'])} of {default.steps}",
                work / seconds / 1e9,
                profile["gemm"],
                profile["gemm32"],
                f"{share:.2f}" + (f" ({LIMIT:g})" if wanted else ""),
                spent(profile),
            ]
        )
    if all(None in row for row in rows):
        return [], []
    said = (
        "**The limit.** Operations that a step must do by textbook counts (`benchmarks/flops.py`), in units of 10^9, on average; what the"
        " whole run reached; and a product of matrices 2000 x 2000 in the same run, in double and in single precision. The last column is the"
        " time that the steps would take at the product's rate in their own precision, over the time that they took; and where it went."
    )
    header = "| | GFLOP a step | steps in single precision | GFLOP/s reached | product, double | product, single | share of the limit | the time"
    return [said, "", *table(header, rows)], checks


def spent(profile: report.Cell) -> str:
    """Return the shares of a run's time, the largest first: why it is not at the limit.

    >>> kernels = [{"kind": "products", "name": "syrk", "seconds": 2.0, "gflops": 90.0, "calls": 4}]
    >>> spent({"kernels": kernels, "seconds": 4.0})
    'other 50 %, products 50 % (90 GFLOP/s)'
    """
    parts = []
    for kind, share in sorted(report.shares(profile).items(), key=lambda item: -item[1]):
        rows = [row for row in profile["kernels"] if row["kind"] == kind and row["gflops"]]
        seconds = sum(row["seconds"] for row in rows)
        rate = sum(row["gflops"] * row["seconds"] for row in rows) / seconds if seconds else 0.0
        if share >= 0.005:
            parts.append(f"{kind} {100 * share:.0f} %" + (f" ({rate:.0f} GFLOP/s)" if rate else ""))
    return ", ".join(parts)


def against(out: Path) -> tuple[Lines, list[Check]]:
    """Return each rival's time and quality, and when qrank was as good."""
    rows, checks = [], []
    for data, source in field.DATA.items():
        if not (paths := report.cells_of(out, f"field-{data}/path")):
            continue
        run = field.best_of(paths)
        n3, n1, n2 = run["shape"]
        where = f"{source.about}, {n1} x {n2} x {n3}, p = {source.p:g}"
        for name, rival in RIVALS.items():
            found, settings = report.cell(out, f"field-{data}/{name}"), report.cell(out, f"field-{data}/{name}-choice")
            if not (found and settings):
                rows.append([where, rival.title, *[None] * 6])
                continue
            seconds, choosing = found["seconds"], settings["choosing"]
            ours = as_good(paths, found["error"])
            ratio = seconds / ours if ours else 0.0
            checks.append(Check(data, f"times as soon as {rival.title}", ratio, SOONER))
            near = f"{settled(found):.2f}" if len(found["stamps"]) > 1 else ""
            said = [f"{ours:.2f}", f"{ratio:.1f} ({SOONER:g})"] if ours else ["never"] * 2
            rows.append([where, rival.title, found["told"], f"{seconds:.2f}", near, *said, f"{choosing:.0f}"])
        end = [run["told"], f"{run['seconds']:.2f}", f"{settled(run):.2f}"]
        rows.append([where, f"qrank, `{PATH['method']}`, to its end", *end, "", "", ""])
    if not rows:
        return [], []
    options = "".join(f", {key}={value!r}" for key, value in PATH["options"].items())
    said = (
        "**Against the field.** The same data, mask, machine and run: how good each program ends and after how many seconds, and when"
        f' `qrank.complete(y, method="{PATH["method"]}"{options})` was as good on its way; in brackets how many times sooner is promised.'
        " HaLRTC and LRTC-TNN are written as their papers print them (`benchmarks/printed.py`). Ranks, thresholds and truncation were chosen"
        " on hidden known entries, which is not counted: the last column has what it took on one core; qrank has none to choose. Of counts the error is over"
        " missing ones that are not 0. Where a program's steps can be watched, *near* is when its own error came within 1 % of the final one for"
        " good: it stops by its authors' rule, which does not know that."
    )
    why = (
        "Where it is less than ten times: a rival with few numbers to fit, as Tucker's with small ranks, is quick for what it reaches; and on"
        " small arrays the three unfoldings of LRTC-TNN cost next to nothing, while a step of `views` shrinks more arrangements of the array than that."
    )
    more = ["", why] if not all(c.kept for c in checks) else []
    header = "| | | quality | s | near | s until qrank is as good | times sooner | choosing, s"
    return [said, "", *table(header, rows), *more], checks


def settled(found: report.Cell) -> float:
    """Return when the error of a run came within 1 % of its final one for good.

    >>> settled({"stamps": [1.0, 2.0, 3.0], "errors": [9.0, 4.02, 4.0]})
    2.0
    """
    final, at = found["errors"][-1], found["stamps"][-1]
    for stamp, error in zip(found["stamps"][::-1], found["errors"][::-1], strict=True):
        if abs(error / final - 1) > 0.01:
            break
        at = stamp
    return at


def as_good(paths: list[report.Cell], error: float) -> float | None:
    """Return when qrank was as good as this: the middle of its runs, or None where it never was."""
    times = [field.reached(one["stamps"], one["errors"], error) for one in paths]
    found = [t for t in times if t is not None]
    return measure.middle(found) if len(found) == len(times) else None


def fit_costs(out: Path) -> tuple[Lines, list[Check]]:
    """Return what a step of each fit costs over one with known entries alone."""
    found = report.cell(out, "fits")
    if not found:
        return [], []
    base, rows, checks = found["fits"]["exact"], [], []
    for name, called in fits.FITS.items():
        one = found["fits"][name]
        ratio = one["step"] / base["step"]
        rows.append(
            [called, one["steps"], f"{1000 * one['step']:.0f}", "" if name == "exact" else f"{ratio:.2f} ({FIT:g})"]
        )
        if name != "exact":
            checks.append(Check("vmtqn-clip", f"a step with {called} / a masked one", ratio, FIT, at_least=False))
    said = "**Fits.** vmtqn on the clip, p = 0.3: the mean step of a run with each kind of measurement over that with known entries alone."
    return [said, "", *table("| | steps | ms a step | times a masked step", rows)], checks


def default(out: Path) -> tuple[Lines, list[Check]]:
    """Return what `views` and `auto` take on the clip, over vmtqn."""
    found = {name: c for name in ("vmtqn", "views", "auto") if (c := report.cell(out, f"default/{name}"))}
    if "vmtqn" not in found:
        return [], []
    rows, checks = [], []
    for name, one in found.items():
        ratio = one["seconds"] / found["vmtqn"]["seconds"]
        if name in TIMES:
            checks.append(Check("clip", f"{name} / vmtqn, whole runs", ratio, TIMES[name], at_least=False))
        times = f"{ratio:.1f} ({TIMES[name]:g})" if name in TIMES else ""
        rows.append([f"`{name}`", one["seconds"], times, f"{one['psnr']:.2f}", one["memory"] / one["bytes64"]])
    said = (
        "**The default.** `auto` is what `qrank.complete` does unless a method is named, `views` what it builds on: on the clip, p = 0.3, each"
        " with its own options; more data in [default.md](default.md)."
    )
    return [said, "", *table("| | s | times vmtqn | dB | memory", rows)], checks
