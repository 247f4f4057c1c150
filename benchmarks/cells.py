"""One cell of the benchmark: a run in a process of its own, its numbers written to a JSON file.

``python -m benchmarks.cells SPEC`` with SPEC a JSON object; `benchmarks.schedule` starts these. A long cell pauses now
and then: it writes a line and waits for one, so that others can run in between and noise hits all of them.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from . import field, fits, sizes, steps
from .common import Spec, completion

KINDS: dict[str, Callable[[Spec], Spec]] = {
    "completion": completion,
    "profile": steps.profile,
    "pair": steps.pair,
    "literal": steps.whole_literal,
    "growth": sizes.growth,
    "threads": sizes.thread_counts,
    "fits": fits.costs,
    "choice": field.choice,
    "fit": field.fit,
    "path": field.path,
}


def main() -> None:
    """Run the cell named on the command line."""
    spec: Spec = json.loads(sys.argv[1])
    try:
        found = KINDS[spec["kind"]](spec)
    except Exception as error:
        found = {"failed": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
    from qrank.study.store import RunStore  # only now: `profile` compiles the package in its own way

    path = Path(spec["out"])
    RunStore(path.parent).save(path.stem, {"spec": spec, "load": os.getloadavg()[0], **found})


if __name__ == "__main__":
    main()
