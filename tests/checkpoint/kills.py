"""Kill a completion again and again, at random moments and while it writes; the last life is let live.

``python kills.py METHOD KILLS SEED FOLDER`` prints as JSON how many kills hit the run and the write, and whether answers are equal.
Nothing is computed in the process itself: each life is a fork of it, as new as the first.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

import qrank
from qrank.checkpoint import tree


def data() -> np.ndarray:
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((18, 3)) @ rng.standard_normal((3, 16 * 12))).reshape(18, 16, 12)
    return np.where(rng.random(x.shape) < 0.6, x + 0.05 * rng.standard_normal(x.shape), np.nan)


def live(method: str, checkpoint: Path | None, out: Path) -> int:
    """Begin a life: a process that completes, or goes on where the last one was killed, and writes the answer."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            more = {} if checkpoint is None else {"checkpoint": checkpoint, "every": 0}
            result = qrank.complete(data(), method=method, **more)
            with out.open("wb") as stream:
                np.savez(stream, x=result.x, steps=[record.step for record in result.history])
            code = 0
        finally:
            os._exit(code)
    return process


def ended(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def main(method: str, kills: int, seed: int, folder: Path) -> dict:
    rng = np.random.default_rng(seed)
    checkpoint, plain, out = folder / "run.ckpt", folder / "plain.npz", folder / "out.npz"
    begun = time.monotonic()
    assert ended(live(method, None, plain)) == 0
    assert ended(live(method, checkpoint, out)) == 0
    lasts = time.monotonic() - begun  # longer than a whole life
    found = {"run": 0, "write": 0, "none": 0, "finished": 0}
    while found["run"] + found["write"] + found["none"] < kills:
        new = tree.beside(checkpoint)
        new.unlink(missing_ok=True)
        at_write, deadline = rng.random() < 0.5, time.monotonic() + rng.random() * lasts / 12
        process = live(method, checkpoint, out)
        while time.monotonic() < deadline or (at_write and not new.exists()):
            if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
        os.kill(process, signal.SIGKILL)
        if ended(process) == 0:
            found["finished"] += 1
            continue
        kept = tree.load(checkpoint)["runs"] if checkpoint.exists() else []  # it is whole, whatever happened
        found["write" if new.exists() else "run" if any(run["k"] for run in kept) else "none"] += 1
    assert ended(live(method, checkpoint, out)) == 0
    one, other = np.load(plain), np.load(out)
    found["same"] = bool((one["x"] == other["x"]).all() and (one["steps"] == other["steps"]).all())
    return found | {"left": sorted(os.listdir(folder))}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))))
