"""The benchmark: ``python -m benchmarks --help``."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from . import cases, page, schedule

ABOUT = """\
Time qrank against the paper's algorithms written literally in NumPy, against its own version before, and against other programs.

Every cell (one run) is a process of its own and is saved as JSON: a benchmark that was stopped goes on where it was.
The report (report.md, checks.csv and pictures) is made from the cells that are there.
"""
OPTIONS = {  # of `schedule.Plan`, and what --quick makes of them
    "literal_steps": (int, 1, "literal steps measured at each stage (2); 0: the literal algorithm is left out"),
    "every": (int, 20, "steps of the paper's run from one stage to the next (60)"),
    "repeats": (int, 1, "whole runs, between those stages; none longer than 60 s is repeated (2)"),
    "budget": (float, 2.0, "processor seconds for choosing a rival's settings (600)"),
    "limit": (float, 60.0, "seconds after which a rival is stopped (1800)"),
}


def main() -> None:
    """Parse the command line and run."""
    names = [*cases.CASES, "field", "default", "fits", "growth", "threads", "report"]
    parser = argparse.ArgumentParser("benchmarks", description=ABOUT, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="*", help="what to run, everything by default:\n" + "\n".join(names))
    parser.add_argument("--data", help="folder with the data sets (or QRANK_DATA); what it lacks is generated")
    parser.add_argument(
        "--before", type=Path, help="another checkout (git worktree add DIR COMMIT) to compare with, in turn"
    )
    parser.add_argument("--out", type=Path, help="where results go; out/bench, or out/bench-tiny with --quick")
    parser.add_argument("--quick", action="store_true", help="tiny tensors, fewer runs: does it all work?")
    parser.add_argument("--full", action="store_true", help="run the literal algorithm to its end (hours)")
    for name, (kind, _, about) in OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, help=about)
    parser.add_argument("--page", type=Path, help="write the report to this Markdown file, too, pictures beside it")
    parser.add_argument("--again", action="store_true", help="run what is there already once more")
    args = parser.parse_args()
    if unknown := [name for name in args.what if name not in names]:
        parser.error(f"unknown: {', '.join(unknown)}; there are: {', '.join(names)}")
    if args.before is not None and not (args.before / "src" / "qrank").is_dir():
        parser.error(f"{args.before} is no checkout: it has no src/qrank")
    given = {name: value for name in OPTIONS if (value := getattr(args, name)) is not None}
    quick = {name: few for name, (_, few, _) in OPTIONS.items()} if args.quick else {}
    out = args.out or Path("out/bench-tiny" if args.quick else "out/bench")
    plan = schedule.Plan(
        out.resolve(),
        cases.folder(args.data),
        args.before,
        quick=args.quick,
        full=args.full,
        again=args.again,
        **{**quick, **given},
    )
    plan.out.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    if args.what != ["report"]:
        schedule.run(plan, [name for name in args.what if name != "report"])
    print(page.write(plan.out, plan.out / "report.md"))
    if args.page is not None:
        page.write(plan.out, args.page)
    print(f"{time.perf_counter() - started:.0f} s; results in {out}")


if __name__ == "__main__":
    main()
