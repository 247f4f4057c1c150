"""Kill a completion again and again, at random moments, until many kills have hit the run and many the write; the last life is let live.

``python kills.py METHOD KILLS SEED FOLDER`` prints as JSON how many kills hit what, and whether answers are equal. Nothing is
computed in the process itself: each life is a fork of it, as new as the first. On an idle machine steps and writes of so
small an array are over before a signal arrives, so each of them is made to last SLOW seconds.
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


SLOW = 0.001  # seconds that a step, and a write, take more


def slowed(call):
    def slow(*given):
        time.sleep(SLOW)
        return call(*given)

    return slow


def live(method: str, checkpoint: Path | None, out: Path) -> tuple[int, int]:
    """Begin a life: a process that completes, or goes on where the last one was killed, and writes the answer.

    Returned with the end of a pipe into which it puts a byte after each step.
    """
    steps, told = os.pipe()
    process = os.fork()
    if process == 0:
        code = 1
        try:
            os.fsync = slowed(os.fsync)  # while the new file is there, and not yet whole for certain
            more = {} if checkpoint is None else {"checkpoint": checkpoint, "every": 0}
            tell = slowed(lambda record: os.write(told, b".") and None)
            result = qrank.complete(data(), method=method, on_step=tell, **more)
            with out.open("wb") as stream:
                np.savez(stream, x=result.x, steps=[record.step for record in result.history])
            code = 0
        finally:
            os._exit(code)
    os.close(told)
    os.set_blocking(steps, False)
    return process, steps


def stepped(steps: int) -> bool:
    """Whether there has been a step since this was last asked."""
    try:
        return bool(os.read(steps, 1 << 16))
    except BlockingIOError:
        return False


def ended(process: int, steps: int) -> int:
    os.close(steps)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def main(method: str, kills: int, seed: int, folder: Path) -> dict:
    rng = np.random.default_rng(seed)
    checkpoint, plain, out = folder / "run.ckpt", folder / "plain.npz", folder / "out.npz"
    new = tree.beside(checkpoint)
    assert ended(*live(method, None, plain)) == 0
    begun = time.monotonic()
    assert ended(*live(method, checkpoint, out)) == 0
    lasts = time.monotonic() - begun
    found = {"run": 0, "write": 0, "start": 0, "finished": 0}
    wanted = ["any", "run", "write"]
    while found["run"] + found["write"] + found["start"] < kills or min(found["run"], found["write"]) < kills // 3:
        new.unlink(missing_ok=True)
        goal, deadline = wanted[rng.integers(3)], time.monotonic() + rng.random() * 4 * lasts / kills
        process, steps = live(method, checkpoint, out)
        running = False
        while not os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            running = stepped(steps) or running
            writing = new.exists()
            if time.monotonic() > deadline and (goal == "any" or (running and writing == (goal == "write"))):
                break
        os.kill(process, signal.SIGKILL)
        running = running or stepped(steps)
        if ended(process, steps) == 0:
            found["finished"] += 1
            continue
        if checkpoint.exists():
            tree.load(checkpoint)  # it is whole, whatever happened
        found["write" if new.exists() else "run" if running else "start"] += 1
    assert ended(*live(method, checkpoint, out)) == 0
    one, other = np.load(plain), np.load(out)
    found["same"] = bool((one["x"] == other["x"]).all() and (one["steps"] == other["steps"]).all())
    return found | {"left": sorted(os.listdir(folder))}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))))
