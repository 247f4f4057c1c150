"""Which cells there are, in which order they run, and which are already there."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qrank.study.store import RunStore

from .cases import CASES, DATA
from .rivals import NAMES

GROWTH_N3 = (3000, 6000, 12000, 24000)
GROWTH_N = (64, 128, 256, 512)
QUICK_CASES = ("vmtqn-cifar-3000", "vmtqn-clip", "tnn-clip", "motqn-clip")


@dataclass(frozen=True)
class Plan:
    """The options of a benchmark."""

    out: Path
    folder: str | None
    quick: bool = False
    full: bool = False
    again: bool = False
    literal_steps: int = 3
    stages: int = 5
    through: int | None = None  # the last step of the paper's run that is taken; None: all of them
    repeats: int = 3
    budget: float = 600.0  # seconds for choosing a rival's rank
    limit: float = 3600.0  # seconds after which a rival is stopped


def run_cell(plan: Plan, name: str, between: list[Callable[[], Any]] | None = None, **spec: Any) -> dict[str, Any]:
    """Run a cell in a process of its own unless its file is there; whenever it pauses, one of ``between`` runs."""
    store = RunStore(plan.out)
    path = store.path(name)
    spec = {"out": str(path), **spec}
    queue = list(between or [])
    done = None if plan.again else store.load(name)
    if done is None or "failed" in done or done.get("spec") != json.loads(json.dumps(spec)):
        started = time.perf_counter()
        print(f"{name} ...", flush=True)
        path.unlink(missing_ok=True)
        child = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.cells", json.dumps(spec)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent,
        )
        _attend(child, queue, plan.limit if spec["kind"] == "rival" else None)
        done = store.load(name)
        if done is None:
            done = {"spec": spec, "failed": f"stopped after {time.perf_counter() - started:.0f} s"}
            store.save(name, done)
        outcome = done.get("failed") or f"{time.perf_counter() - started:.1f} s"
        print(f"{name}: {outcome}", flush=True)
    for job in queue:
        job()
    return done


def _attend(child: subprocess.Popen[str], queue: list[Callable[[], Any]], limit: float | None) -> None:
    """Wait for a cell; answer its pauses."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        if limit is not None:
            child.communicate(timeout=limit)
            return
        for line in child.stdout:
            if line.strip() == "pause":
                if queue:
                    queue.pop(0)()
                child.stdin.write("go\n")
                child.stdin.flush()
        child.wait()
    except subprocess.TimeoutExpired:
        pass
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def run_case(plan: Plan, name: str) -> None:
    """Run the cells of one case: repeated default runs fall between the stages of the literal one."""
    case = CASES[name]
    common: dict[str, Any] = {
        "method": case.method,
        "data": case.data,
        "p": case.p,
        "folder": plan.folder,
        "quick": plan.quick,
        "size": DATA[case.data].quick if plan.quick else DATA[case.data].shape,  # a cell of another size is run again
    }

    def completion(cell: str, **spec: Any) -> Callable[[], dict[str, Any]]:
        return lambda: run_cell(plan, f"{name}/{cell}", kind="completion", **common, **spec)

    # With ``through`` the paper's run is not followed to its end: the literal one takes at least so many steps.
    steps = plan.through or completion("paper", preset="paper")().get("steps", 0)
    if not steps:
        return
    repeated = [completion(f"default-{i}") for i in range(1, plan.repeats + 1)]
    repeated.insert(1, completion("default-float32", dtype="float32"))
    literal = {"stages": plan.stages, "literal_steps": min(plan.literal_steps, steps), "steps": steps}
    if plan.full:
        spec = {"kind": "literal", "full": True, "steps": steps, "pauses": len(repeated)}
        run_cell(plan, f"{name}/literal", repeated, **spec, **common)
        run_cell(plan, f"{name}/pair", kind="pair", **literal, **common)
    else:
        run_cell(plan, f"{name}/pair", repeated, kind="pair", **literal, **common)
        spec = {"kind": "literal", "full": False, "steps": 2, "pauses": 0}
        run_cell(plan, f"{name}/literal", **spec, **common)
    run_cell(plan, f"{name}/profile", kind="profile", **common)


def run_rivals(plan: Plan, data: str) -> None:
    """Run the rivals on one data set."""
    p = next(case.p for case in CASES.values() if case.data == data)
    size = DATA[data].quick if plan.quick else DATA[data].shape
    common = {"data": data, "p": p, "folder": plan.folder, "quick": plan.quick, "size": size, "budget": plan.budget}
    for rival in NAMES:
        run_cell(plan, f"rivals-{data}/{rival}", kind="rival", rival=rival, **common)


def run_growth(plan: Plan) -> None:
    """Run vmtqn on tensors that double."""
    shapes = [("n3", n, (n // (20 if plan.quick else 1), 32, 32)) for n in GROWTH_N3]
    shapes += [("n", n, (64, n // (4 if plan.quick else 1), n // (4 if plan.quick else 1))) for n in GROWTH_N]
    for kind, n, shape in shapes:
        if plan.quick and n in (24000, 512):
            continue
        spec = {"kind": "growth", "method": "vmtqn", "shape": shape, "p": 0.3, "max_steps": 20 if plan.quick else 40}
        run_cell(plan, f"growth/{kind}-{n}", **spec)


def run_threads(plan: Plan) -> None:
    """Check that the number of threads does not matter."""
    size = DATA["clip"].quick if plan.quick else DATA["clip"].shape
    common = {"data": "clip", "p": 0.3, "folder": plan.folder, "quick": plan.quick, "size": size}
    run_cell(plan, "threads", None, kind="threads", **common)


def run(plan: Plan, wanted: list[str]) -> None:
    """Run what is wanted: names of cases, ``rivals``, ``growth``, ``threads``; all of it where nothing is named."""
    cases = [name for name in wanted if name in CASES]
    if not wanted:
        cases = list(QUICK_CASES) if plan.quick else list(CASES)
    for name in cases:
        run_case(plan, name)
    data = {CASES[name].data for name in cases} if wanted else set(DATA)
    if plan.quick and not wanted:
        data = {"clip"}
    if not wanted or "rivals" in wanted:
        for name in (name for name in DATA if name in data or not cases):
            run_rivals(plan, name)
    if not wanted or "growth" in wanted:
        run_growth(plan)
    if not wanted or "threads" in wanted:
        run_threads(plan)
