"""Past memory: `qrank fill` by chunks on a generated array with a known truth, in processes and out of core, measured.

    python -m benchmarks.scale                 512 x 512 x 6000 in float32, 6.3 GB: two workers of 2 GB; one process of 3 GB
    python -m benchmarks.scale --small         a tenth of it, with limits to match
    python -m benchmarks.scale --cost          seconds a step of NumPy, threads, disk and two processes at 240 x 432 x 480

Every case is saved into out/scale.json as it ends, and all of them into the tables of docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

ROOT = Path(__file__).resolve().parents[1]
PAGE, SAVED = ROOT / "docs" / "scale.md", ROOT / "out" / "scale.json"
DIRECTIONS, RANK, NOISE, KNOWN = 8, 4, 0.02, 0.5  # the truth has rank 32 x 32 x 8, and a standard deviation of about 1
FRAMES, SIDE = 12, 6  # over so many frames, and entries of a picture's side, the truth is alike
AXES = (0, 2)  # of a slice: then the third mode is 512, and not 6000
# mu grows so fast that few passes over the data are needed
OPTIONS: dict[str, Any] = {"r": 40, "rho": 2.0, "max_steps": 10}
PASSES = {"gram_of": "Gram matrix", "written_of": "G", "shrink_of": "shrink", "advance_of": "X and T"}
BEGIN, END = "<!-- measured -->", "<!-- end -->"


def smooth(rng: np.random.Generator, many: int, n: int, width: float) -> np.ndarray:
    """Random functions of a standard deviation of 1, which are smooth over a width, (many, n)."""
    found = gaussian_filter1d(rng.standard_normal((many, n)), width, mode="wrap")
    return (found / found.std(axis=1, keepdims=True)).astype(np.float32)


def course(n3: int) -> np.ndarray:
    return smooth(np.random.default_rng(1), DIRECTIONS, n3, FRAMES)


def pictures(n1: int, n2: int) -> np.ndarray:
    rng = np.random.default_rng(2)
    sides = (smooth(rng, DIRECTIONS * RANK, n, SIDE).reshape(DIRECTIONS, RANK, n) for n in (n1, n2))
    return np.einsum("ari,arj->aij", *sides, optimize=True) / np.float32(RANK * DIRECTIONS) ** 0.5


def truth(shape: tuple[int, int, int], first: int, last: int) -> np.ndarray:
    """The frames from first to last, (n1, n2, last - first)."""
    n1, n2, n3 = shape
    return np.einsum("aij,ak->ijk", pictures(n1, n2), course(n3)[:, first:last], optimize=True)


def make(path: Path, shape: tuple[int, int, int], frames: int) -> None:
    """Write the array, NaN where missing, a few frames at a time."""
    import zarr

    group = zarr.open_group(str(path), mode="w")
    array = group.create_array("video", shape=shape, dtype="float32", chunks=(*shape[:2], frames), compressors=None)
    for first in range(0, shape[2], frames):
        rng, last = np.random.default_rng((3, first)), min(first + frames, shape[2])
        x = truth(shape, first, last)
        x += np.float32(NOISE) * rng.standard_normal(x.shape, dtype=np.float32)
        x[rng.random(x.shape, dtype=np.float32) > KNOWN] = np.nan
        array[:, :, first:last] = x


def error(source: Path, found: Path, shape: tuple[int, int, int], frames: int) -> float:
    """The relative error on what was missing, a few frames at a time."""
    import zarr

    given, filled = zarr.open_array(f"{source}/video", mode="r"), zarr.open_array(f"{found}/video", mode="r")
    off = size = 0.0
    for first in range(0, shape[2], frames):
        last = min(first + frames, shape[2])
        gone, x = np.isnan(np.asarray(given[:, :, first:last])), truth(shape, first, last)
        off += float(np.square((np.asarray(filled[:, :, first:last]) - x)[gone], dtype=float).sum())
        size += float(np.square(x[gone], dtype=float).sum())
    return (off / size) ** 0.5


def moved() -> np.ndarray:
    """The bytes that this process, and all that has ended and was started by it, have read and written."""
    io = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return np.array([int(io["rchar"]), int(io["wchar"])])


class Watch(threading.Thread):
    """Peak memory of a process and of all that it starts."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.peak = pid, {}

    def run(self) -> None:
        while Path(f"/proc/{self.pid}").exists():
            for pid in self._family(self.pid):
                with suppress(OSError):
                    status = Path(f"/proc/{pid}/status").read_text()
                    if "VmHWM" in status:
                        self.peak[pid] = int(status.split("VmHWM:")[1].split()[0]) * 1024
            time.sleep(0.2)

    def _family(self, pid: int) -> list[int]:
        children: list[str] = []
        for task in Path(f"/proc/{pid}/task").glob("*/children"):  # any thread may have started one
            with suppress(OSError):
                children += task.read_text().split()
        return [pid, *(one for child in children for one in self._family(int(child)))]


def fill(source: Path, output: Path, scratch: Path, *where: str) -> dict[str, Any]:
    """Run the command; return what it tells, and what was measured."""
    command = [sys.executable, "-m", "qrank", "fill", f"{source}::video", "-o", f"{output}::video", *where]
    command += ["--method", "vmtqn", "--slice-axes", ",".join(map(str, AXES)), "--scratch", str(scratch), "--json"]
    command += [word for name, value in OPTIONS.items() for word in ("--option", f"{name}={value}")]
    start, before = time.perf_counter(), moved()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    watch = Watch(process.pid)
    watch.start()
    told, _ = process.communicate()
    watch.join()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    facts = json.loads(told)
    read, written = map(int, moved() - before)
    client = watch.peak.pop(process.pid)
    return {
        "where": " ".join(where),
        "steps": facts["steps"],
        "seconds a step": facts["seconds"] / facts["steps"],
        "seconds in all": time.perf_counter() - start,
        "peak of the client": client,
        "largest peak of a worker": max(watch.peak.values(), default=0),
        "bytes read": read,
        "bytes written": written,
        "busy": os.getloadavg()[0],
    }


def scale(shape: tuple[int, int, int], wheres: Sequence[tuple[str, ...]], frames: int, folder: str) -> Iterator[Any]:
    """Yield what was measured in each place."""
    with tempfile.TemporaryDirectory(dir=folder) as inner:
        source = Path(inner, "given.zarr")
        make(source, shape, frames)
        for where in wheres:
            output = Path(inner, "filled.zarr")
            one = fill(source, output, Path(inner), *where)
            one |= {"shape": " x ".join(map(str, shape)), "error": error(source, output, shape, frames)}
            print(json.dumps(one), flush=True)
            shutil.rmtree(output)
            yield one


class Passes:
    """Seconds that the client has waited for each kind of pass of a run on Dask."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __enter__(self) -> dict[str, float]:
        from qrank.kernels.chunked.space import Space

        self.usual = run = Space.run

        def timed(space: Any, job: Any, *args: Any, **settings: Any) -> Any:
            start = time.perf_counter()
            found = run(space, job, *args, **settings)
            name = PASSES.get(job.__name__, "before and after")
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
            return found

        setattr(Space, "run", timed)  # noqa: B010
        return self.seconds

    def __exit__(self, *_: Any) -> None:
        from qrank.kernels.chunked.space import Space

        setattr(Space, "run", self.usual)  # noqa: B010


def cost(steps: int) -> list[dict[str, Any]]:
    """Seconds a step of the same run in four places, and of what they consist."""
    import dask.array as da
    from dask import config
    from distributed import Client, LocalCluster

    import qrank

    shape = (240, 432, 480)
    x = truth(shape, 0, shape[2]) + np.float32(NOISE) * np.random.default_rng(0).standard_normal(shape, np.float32)
    known = np.random.default_rng(1).random(shape, np.float32) < KNOWN

    def timed(name: str, y: Any, observed: Any, client: Any = None) -> dict[str, Any]:
        times: list[float] = []
        worked: list[float] = []
        at: list[dict[str, float]] = []

        def on_step(_: Any) -> None:
            times.append(time.perf_counter())
            worked.append(time.process_time() + sum(client.run(time.process_time).values() if client else ()))
            at.append(dict(seconds))

        with Passes() as seconds, warnings.catch_warnings(action="ignore"):
            options: dict[str, Any] = {**OPTIONS, "max_steps": steps}
            method = qrank.METHODS["vmtqn"].configured(**options)
            qrank.complete(y, observed, method, on_step=on_step)
        each = {name: (at[-1][name] - at[0].get(name, 0)) / (steps - 1) for name in PASSES.values() if name in at[-1]}
        one = {"shape": "240 x 432 x 480", "where": name, "seconds a step": (times[-1] - times[0]) / (steps - 1)}
        one["CPU seconds a step"] = (worked[-1] - worked[0]) / (steps - 1)  # which others on the machine change little
        print(json.dumps(one := one | {"passes": each, "busy": os.getloadavg()[0]}), flush=True)
        return one

    chunks: Any = (240, 432, 12)
    lazy = da.from_array(x, chunks), da.from_array(known, chunks)
    found = [timed("NumPy", x, known)]
    with config.set({"scheduler": "threads"}):
        found.append(timed("Dask, threads, in memory", *lazy))
        with config.set({"qrank.memory": "600MB"}):
            found.append(timed("Dask, threads, out of core", *lazy))
    two: dict[str, Any] = dict(n_workers=2, threads_per_worker=1, memory_limit="2GB", dashboard_address=":0")
    with LocalCluster(**two) as cluster, Client(cluster) as client:
        found.append(timed("Dask, two processes", *lazy, client))
    return found


def page(saved: dict[str, list[dict[str, Any]]]) -> None:
    """Write what is saved into the tables of the page."""
    rows = ["| array | where | steps | error | seconds a step | peak: client, worker | read, written a step | load |"]
    rows.append("|---|---|---|---|---|---|---|---|")
    for one in (one for name, cases in saved.items() if name != "cost" for one in cases):
        peaks = f"{one['peak of the client'] / 1e9:.2f} GB, {one['largest peak of a worker'] / 1e9:.2f} GB"
        moved = f"{one['bytes read'] / one['steps'] / 1e9:.2f} GB, {one['bytes written'] / one['steps'] / 1e9:.2f} GB"
        told = (
            f"{one['steps']} | {one['error']:.1%} | {one['seconds a step']:.1f} | {peaks} | {moved} | {one['busy']:.0f}"
        )
        rows.append(f"| {one['shape']} | `{one['where']}` | {told} |")
    if cost := saved.get("cost"):
        names = list(PASSES.values())
        told = "seconds a step | times NumPy's | CPU s a step | times NumPy's"
        rows += ["", f"| 240 x 432 x 480, float32 | {told} | {' | '.join(names)} | client | load |"]
        rows.append("|---" * (7 + len(names)) + "|")
        for one in cost:
            whole, passes = one["seconds a step"], one["passes"]
            each = [f"{passes[name]:.2f}" if name in passes else "" for name in names]
            left = f"{whole - sum(passes.values()):.2f}" if passes else ""
            pairs = ((whole, "seconds a step"), (one["CPU seconds a step"], "CPU seconds a step"))
            ratios = [f"{value:.2f} | {value / cost[0][name]:.2f}" for value, name in pairs]
            rows.append(f"| {' | '.join([one['where'], *ratios, *each, left])} | {one['busy']:.0f} |")
    rows += predicted(saved)
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(before + "\n".join([BEGIN, *rows, END]) + after, encoding="utf-8")


def predicted(saved: dict[str, list[dict[str, Any]]]) -> list[str]:
    """What the formulas of the page say of 1 TB, with the bytes a second that a worker has gone through here."""
    case = next(
        (one for name in ("large", "small") for one in saved.get(name, []) if "--workers" in one["where"]), None
    )
    if case is None:
        return []
    n1, n2, n3 = (int(n) for n in case["shape"].split(" x "))
    each = (
        5.25 * n1 * n2 * n3 * 4 / 2 / case["seconds a step"]
    )  # bytes a second of one of two workers, all work included
    size, side = 1e12, 1220  # float32; a daily record of 2600 x 2700 x 1220 is a thirtieth of it
    rows = [
        "",
        f"1 TB of float32 with n3 = {side}, at the {each / 1e6:.0f} MB/s that a worker went through here (work and load included),",
    ]
    rows += ["a store that keeps up with all workers, and 1 GB/s into the client:", ""]
    rows += ["| workers | chunks, s a step | Gram matrices to the client, s a step | in all |", "|---|---|---|---|"]
    for workers in (16, 64, 256):
        chunks, client = 5.25 * size / each / workers, workers * side * side * 4 / 1e9
        rows.append(f"| {workers} | {chunks:.0f} | {client:.1f} | {chunks + client:.0f} |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--only", choices=["workers", "alone"], help="one of the two commands")
    parser.add_argument("--folder", help="for the data and the chunks: 60 GB for the large array")
    asked = parser.parse_args()
    saved = json.loads(SAVED.read_text()) if SAVED.exists() else {}
    SAVED.parent.mkdir(exist_ok=True)
    if asked.cost:
        saved["cost"] = cost(6)
    else:
        name, shape, frames = ("small", (512, 512, 600), 6) if asked.small else ("large", (512, 512, 6000), 30)
        workers, alone = ("700MB", "700MB") if asked.small else ("2GB", "3GB")
        wheres = {"workers": ("--workers", "2", "--memory", workers), "alone": ("--memory", alone)}
        wheres = wheres if asked.only is None else {asked.only: wheres[asked.only]}
        for one in scale(shape, list(wheres.values()), frames, asked.folder):
            others = [case for case in saved.get(name, []) if case["where"] != one["where"]]
            saved[name] = sorted([*others, one], key=lambda case: case["where"], reverse=True)
            SAVED.write_text(json.dumps(saved, indent=1))
    SAVED.write_text(json.dumps(saved, indent=1))
    page(saved)


if __name__ == "__main__":
    main()
