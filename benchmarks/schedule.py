"""Which cells there are, in which order they run, and which are already there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qrank.study.store import RunStore

from . import field, rivals
from .cases import CASES, DATA

GROWTH_N3 = (3000, 6000, 12000, 24000)
GROWTH_N = (64, 128, 256, 512)
QUICK_CASES = ("vmtqn-cifar-3000", "vmtqn-clip", "tnn-clip", "motqn-clip")
HOME = Path(__file__).parent.parent
LONG = 60.0  # seconds: a run that takes longer is not repeated
PATHS = 3  # runs of qrank between those of the rivals, on each data set
PATH: dict[str, Any] = {"method": "views", "options": {}}  # the qrank that races against the field: one for all data


@dataclass(frozen=True)
class Plan:
    """The options of a benchmark."""

    out: Path
    folder: str | None
    before: Path | None = None  # another checkout, to compare with
    quick: bool = False
    full: bool = False
    again: bool = False
    literal_steps: int = 2
    every: int = 60  # steps of the paper's run between those at which literal ones are measured
    repeats: int = 2
    budget: float = 600.0  # processor seconds for choosing a rival's settings
    limit: float = 1800.0  # seconds after which a rival is stopped


def version(checkout: Path) -> str:
    """Return the commit of a checkout in short, or nothing where git knows none."""
    command = ["git", "-C", str(checkout), "rev-parse", "--short=9", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def run_cell(
    plan: Plan, name: str, between: list[Callable[[], Any]] | None = None, source: Path | None = None, **spec: Any
) -> dict[str, Any]:
    """Run a cell in a process of its own unless its file is there; whenever it pauses, one of ``between`` runs.

    ``source``: the checkout whose package is run, this one by default; the benchmark's own code is always that of here.
    """
    store = RunStore(plan.out)
    path = store.path(name)
    spec = {"out": str(path), **spec} | ({"version": version(source)} if source else {})
    queue = list(between or [])
    done = None if plan.again else store.load(name)
    if done is None or "failed" in done or done.get("spec") != json.loads(json.dumps(spec)):
        started = time.perf_counter()
        print(f"{name} ...", flush=True)
        path.unlink(missing_ok=True)
        first = [str((source or HOME).resolve() / "src"), str(HOME)]
        child = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.cells", json.dumps(spec)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=HOME,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(first)},
        )
        _attend(child, queue, plan.limit if spec["kind"] in ("choice", "fit") else None)
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


def common(plan: Plan, data: str, p: float) -> dict[str, Any]:
    """Return what the specs of all cells on one of the four data sets say."""
    size = DATA[data].quick if plan.quick else DATA[data].shape  # a cell of another size is run again
    return {"data": data, "p": p, "folder": plan.folder, "quick": plan.quick, "size": size}


def run_case(plan: Plan, name: str) -> None:
    """Run the cells of one case: whole runs of today and of before fall, in turn, between the stages of the literal one."""
    case = CASES[name]
    shared: dict[str, Any] = {"method": case.method, **common(plan, case.data, case.p)}

    def completion(cell: str, **spec: Any) -> Callable[[], Any]:
        return lambda: run_cell(plan, f"{name}/{cell}", kind="completion", **shared, **spec)

    def unless_long(cell: str, like: str, **spec: Any) -> Callable[[], Any]:
        """Return the same for a run that the page can do without where one like it took long."""

        def run() -> None:
            if (RunStore(plan.out).load(f"{name}/{like}") or {}).get("seconds", 0.0) < LONG:
                completion(cell, **spec)()

        return run

    versions = {"default": {}} | ({"before": {"source": plan.before}} if plan.before else {})
    rounds = [completion(f"{cell}-1", **spec) for cell, spec in versions.items()]
    for k in range(2, plan.repeats + 1):
        rounds += [unless_long(f"{cell}-{k}", f"{cell}-1", **spec) for cell, spec in versions.items()]
    rounds += [completion("float32", dtype="float32"), unless_long("double", "default-1", double=True)]
    literal = {
        "every": plan.every,
        "literal_steps": plan.literal_steps,
        "through": None if plan.quick else case.through,
    }
    if plan.full:
        spec = {"kind": "literal", "every": plan.every}
        run_cell(plan, f"{name}/literal", rounds, **spec, **shared)
        run_cell(plan, f"{name}/pair", kind="pair", **literal, **shared)
    elif plan.literal_steps:
        run_cell(plan, f"{name}/pair", rounds, kind="pair", **literal, **shared)
    else:
        for job in rounds:
            job()
    run_cell(plan, f"{name}/profile", kind="profile", **shared)


def run_field(plan: Plan, data: str) -> None:
    """Run the rivals on one data set, and qrank between them."""
    shared = {"data": data, "folder": plan.folder, "quick": plan.quick}
    paths = [
        lambda k=k: run_cell(plan, f"field-{data}/path-{k}", kind="path", **PATH, **shared) for k in range(1, PATHS + 1)
    ]
    for name in rivals.RIVALS:
        settings = run_choice(plan, data, name)
        if paths:
            paths.pop(0)()
        if "chosen" in settings:
            run_cell(plan, f"field-{data}/{name}", kind="fit", rival=name, chosen=settings["chosen"], **shared)


def run_choice(plan: Plan, data: str, name: str) -> dict[str, Any]:
    """Choose a rival's settings for a data set."""
    spec = {"rival": name, "trial": rivals.RIVALS[name].trial, "data": data, "folder": plan.folder, "quick": plan.quick}
    return run_cell(plan, f"field-{data}/{name}-choice", kind="choice", budget=plan.budget, **spec)


def run_growth(plan: Plan) -> None:
    """Run vmtqn on tensors that double."""
    shapes = [("n3", n, (n // (20 if plan.quick else 1), 32, 32)) for n in GROWTH_N3]
    shapes += [("n", n, (64, n // (4 if plan.quick else 1), n // (4 if plan.quick else 1))) for n in GROWTH_N]
    for kind, n, shape in shapes:
        if plan.quick and n in (24000, 512):
            continue
        options = {"penalty": "nuclear", "max_steps": 20 if plan.quick else 40}
        spec = {"kind": "growth", "method": "vmtqn", "shape": shape, "p": 0.3, "options": options}
        run_cell(plan, f"growth/{kind}-{n}", **spec)


def run_others(plan: Plan, wanted: list[str]) -> None:
    """Run what is measured on the clip alone: threads, the fits, and the default beside `views`."""
    shared = common(plan, "clip", 0.3)
    if "threads" in wanted:
        run_cell(plan, "threads", None, kind="threads", thinned=1 if plan.quick else 2, **shared)
    if "fits" in wanted:
        run_cell(plan, "fits", None, kind="fits", method="vmtqn", rounds=2, **shared)
    if "default" in wanted:
        for method in ("vmtqn", "views", "auto"):
            run_cell(plan, f"default/{method}", None, kind="completion", method=method, options={}, **shared)


def run(plan: Plan, wanted: list[str]) -> None:
    """Run what is wanted: names of cases, ``field``, ``growth``, ``threads``, ``fits``, ``default``; all where nothing is named."""
    everything = [*(QUICK_CASES if plan.quick else CASES), "field", "default", "fits", "growth", "threads"]
    wanted = wanted or everything
    for name in (name for name in CASES if name in wanted):
        run_case(plan, name)
    for data in field.DATA if "field" in wanted else ():
        run_field(plan, data)
    run_others(plan, wanted)
    if "growth" in wanted:
        run_growth(plan)
