"""How good the answers are, in dB on real data: ``python -m benchmarks.quality --data DIR``.

Runs a grid of cells (data set, method, options, sampling rate, draw), each saved as soon as it is done, so that a
second start goes on where the first was stopped, and writes `docs/quality.md` from the cells that are there.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import qrank
from qrank.data import low_q_rank

from . import cases

PAGE, README = Path("docs/quality.md"), Path("README.md")
RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
SMOOTH = "hmdb51/SchoolRulesHowTheyHelpUs_wave_f_nm_np1_ba_med_0.avi"
ABOUT = {
    "cifar": "CIFAR-10, 32 x 32 x 3000",
    "coil": "COIL-20, 128 x 128 x 1440",
    "coil-64": "COIL-20, 64 x 64 x 360 (every 2nd pixel, every 4th view)",
    "clip": "HMDB51, change of scene, 240 x 432 x 48",
    "smooth": "HMDB51, still background, 240 x 320 x 74",
    "balloons": "CAVE balloons, 128 x 128 x 31; error over the missing entries only",
    "synthetic": "the paper's synthetic tensor, 50 x 50 x 50; the rate is p, the option is the Q-rank r",
}


@dataclass(frozen=True)
class Group:
    """Cells that differ in rate and draw."""

    data: str
    method: str
    rates: tuple[float, ...]
    draws: int = 1
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What the row is called."""
        return ", ".join([self.method, *(f"{name} {value}" for name, value in self.options.items())])


P = {"penalty": "p-shrinkage"}
PAPER = {"preset": "paper"}
GRID = [
    Group("cifar", "vmtqn", RATES, 3),
    Group("cifar", "vmtqn", (0.1, 0.3, 0.5), 1, PAPER),
    *(Group("cifar", method, RATES) for method in ("tnn", "tnn-c", "ttnn", "tqn-random")),
    Group("cifar", "tqn-oracle", RATES, 1, PAPER),
    *(Group("coil-64", m, (0.2, 0.3, 0.5)) for m in ("tnn", "vmtqn", "motqn")),
    Group("coil-64", "motqn", (0.3, 0.5), 1, {"start": "last"}),
    *(Group("coil-64", "vmtqn", (0.2, 0.5), 1, {"penalty": p}) for p in ("p-shrinkage", "log-sum", "schatten")),
    *(Group("clip", m, (0.2, 0.5)) for m in ("tnn", "vmtqn", "motqn")),
    *(Group("clip", "vmtqn", (0.2, 0.5), 1, {"penalty": p}) for p in ("p-shrinkage", "log-sum", "schatten")),
    Group("clip", "vmtqn", (0.2, 0.5), 1, PAPER),
    *(Group("smooth", m, RATES[1:]) for m in ("tnn", "vmtqn")),
    *(Group("balloons", m, (0.1,), 3) for m in ("tnn", "vmtqn", "motqn")),
    *(Group("balloons", "vmtqn", (0.1,), 3, {"penalty": p}) for p in ("p-shrinkage", "log-sum", "schatten")),
    *(Group("synthetic", m, (0.2, 0.4, 0.6, 0.8), 1, {"r": r}) for m in ("tnn", "vmtqn", "motqn") for r in (2, 5, 10, 20)),
    Group("coil", "vmtqn", (0.1, 0.3, 0.5)),
    Group("coil", "tnn", (0.3,)),
]  # fmt: skip


def tensor(name: str, folder: Path, options: dict[str, Any], draw: int) -> np.ndarray:
    """Return a data set as (n3, n1, n2)."""
    if name == "synthetic":
        return np.moveaxis(low_q_rank((50, 50, 50), options["r"], draw), 2, 0)
    if name == "balloons":
        return np.moveaxis(np.load(folder / "hyperspectral/balloons-128.npz")["cube"] / 65535.0, 2, 0)
    if name == "smooth":
        import av

        with av.open(str(folder / SMOOTH), metadata_errors="ignore") as film:
            return np.stack([frame.to_ndarray(format="rgb24") @ cases.GREY for frame in film.decode(video=0)]) / 255
    kind = {"cifar": "cifar-3000", "coil-64": "coil"}.get(name, name)
    x = cases.DATA[kind].read(folder)
    return x[::4, ::2, ::2] if name == "coil-64" else x


def run(group: Group, rate: float, draw: int, folder: Path) -> dict[str, Any]:
    """Run one cell."""
    x = np.ascontiguousarray(tensor(group.data, folder, group.options, draw))
    observed = np.random.default_rng(draw).random(x.shape) < rate
    options = {name: value for name, value in group.options.items() if group.data != "synthetic" or name != "r"}
    if group.method == "tqn-oracle":
        options["truth"] = x
    result = qrank.complete(x, observed, group.method, (1, 2), rng=draw, **options)
    where = ~observed if group.data == "balloons" else None
    return {
        "psnr": qrank.metrics.psnr(result.x, x, where),
        "seconds": result.seconds,
        "steps": len(result.history),
        "status": result.status.name,
        "method": str(result.method) if group.method != "tqn-oracle" else group.label,
        "version": qrank.__version__,
    }


def cells() -> Iterator[tuple[Group, float, int, str]]:
    """Yield every cell with the name of its file."""
    for group in GRID:
        for rate in group.rates:
            for draw in range(group.draws):
                yield group, rate, draw, f"{group.data}_{group.label}_{rate}_{draw}.json".replace(" ", "-")


def write(out: Path, page: Path) -> None:
    """Write the page from the cells that are there."""
    found: dict[tuple[str, str], dict[float, list[dict]]] = defaultdict(lambda: defaultdict(list))
    for group, rate, _, name in cells():
        if (out / name).exists():
            found[group.data, group.label][rate].append(json.loads((out / name).read_text()))
    lines = [
        "# Measured quality",
        "",
        "PSNR in dB as the paper defines it, [0, 1] grey, Bernoulli mask, default options unless the row says otherwise:",
        "the mean over the draws, with their number in brackets where there are several. Made by",
        "`python -m benchmarks.quality --data DIR`; nothing is typed in by hand.",
    ]
    for data, about in ABOUT.items():
        rows = {label: by_rate for (name, label), by_rate in found.items() if name == data}
        if not rows:
            continue
        rates = sorted({rate for by_rate in rows.values() for rate in by_rate})
        lines += ["", f"## {about}", "", "| method | " + " | ".join(f"p = {rate}" for rate in rates) + " |"]
        lines.append("|---" * (len(rates) + 1) + "|")
        for label, by_rate in rows.items():
            texts = []
            for rate in rates:
                values = [cell["psnr"] for cell in by_rate.get(rate, [])]
                draws = f" ({len(values)})" if len(values) > 1 else ""
                texts.append(f"{np.mean(values):.2f}{draws}" if values else "")
            lines.append(f"| {label} | " + " | ".join(texts) + " |")
    page.write_text("\n".join(lines) + "\n")
    if page == PAGE and README.exists():  # the README shows the same tables, between two marks
        before, mark, rest = README.read_text().partition("<!-- quality -->\n")
        tables = "\n".join(lines[6:]).replace("## ", "**")
        tables = "\n".join(line + "**" if line.startswith("**") else line for line in tables.splitlines())
        README.write_text(before + mark + tables.strip("\n") + "\n" + rest[rest.index("<!-- end of quality -->") :])


def main() -> None:
    """Run the cells that are not there yet and write the page."""
    parser = argparse.ArgumentParser("benchmarks.quality", description=__doc__)
    parser.add_argument(
        "--data", default=os.environ.get("QRANK_DATA"), help="folder with the data sets (or QRANK_DATA)"
    )
    parser.add_argument("--out", type=Path, default=Path("out/quality"), help="where the cells are saved")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write")
    parser.add_argument("--only", default="", help="run only cells whose name contains this")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.data is None:
        parser.error("name the folder of the data sets: --data DIR or QRANK_DATA")
    for group, rate, draw, name in cells():
        if args.only in name and not (args.out / name).exists():
            cell = run(group, rate, draw, Path(args.data))
            beside = args.out / (name + ".part")
            beside.write_text(json.dumps(cell))
            beside.replace(args.out / name)
            print(f"{name}: {cell['psnr']:.2f} dB, {cell['steps']} steps, {cell['seconds']:.0f} s", flush=True)
    write(args.out, args.page)


if __name__ == "__main__":
    main()
