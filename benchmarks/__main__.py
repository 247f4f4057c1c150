"""The benchmark: ``python -m benchmarks --help``."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from . import cases, page, plots, report, schedule

ABOUT = """\
Time qrank against the paper's algorithms written literally in NumPy, and against other packages, on the same data.

Every cell (one run) is a process of its own and is saved as JSON: a benchmark that was stopped goes on where it was.
The report (report.md, runs.csv, checks.csv and pictures) is made from the cells that are there.
"""


def main() -> None:
    """Parse the command line and run."""
    names = [*cases.CASES, "rivals", "growth", "threads", "report"]
    parser = argparse.ArgumentParser("benchmarks", description=ABOUT, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="*", help="what to run, everything by default:\n" + "\n".join(names))
    parser.add_argument("--data", help="folder with the data sets (or QRANK_DATA); what it lacks is generated")
    parser.add_argument("--out", type=Path, help="where results go; out/bench, or out/bench-quick with --quick")
    parser.add_argument("--quick", action="store_true", help="small tensors, fewer runs: does it all work?")
    parser.add_argument("--full", action="store_true", help="run the literal algorithm to its end (hours)")
    parser.add_argument("--literal-steps", type=int, help="literal steps measured at each stage (3)")
    parser.add_argument("--stages", type=int, help="stages of the paper's run at which they are measured (5)")
    parser.add_argument("--through", type=int, help="the last step of the paper's run that is taken (its last)")
    parser.add_argument("--repeats", type=int, help="runs of qrank's default, between those stages (3)")
    parser.add_argument("--budget", type=float, help="seconds for choosing a rival's rank (600)")
    parser.add_argument("--limit", type=float, help="seconds after which a rival is stopped (3600)")
    parser.add_argument(
        "--page", type=Path, help="write the results in short to this Markdown file, pictures beside it"
    )
    parser.add_argument("--again", action="store_true", help="run what is there already once more")
    args = parser.parse_args()
    wanted = args.what[1:] if args.what[:1] == ["run"] else args.what
    if unknown := [name for name in wanted if name not in names]:
        parser.error(f"unknown: {', '.join(unknown)}; there are: {', '.join(names)}")
    quick = {"literal_steps": 1, "stages": 3, "repeats": 1, "budget": 2.0, "limit": 60.0} if args.quick else {}
    given = {name: value for name in quick_names() if (value := getattr(args, name)) is not None}
    out = args.out or Path("out/bench-quick" if args.quick else "out/bench")
    plan = schedule.Plan(
        out.resolve(),
        cases.folder(args.data),
        quick=args.quick,
        full=args.full,
        again=args.again,
        **{**quick, **given},
    )
    plan.out.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    if wanted != ["report"]:
        schedule.run(plan, [name for name in wanted if name != "report"])
    plots.draw(plan.out)
    print(report.write(plan.out))
    if args.page is not None:
        page.write(plan.out, args.page)
    print(f"{time.perf_counter() - started:.0f} s; results in {out}")


def quick_names() -> tuple[str, ...]:
    """Return the options whose defaults --quick changes."""
    return ("literal_steps", "stages", "through", "repeats", "budget", "limit")


if __name__ == "__main__":
    main()
