"""The figures, drawn from finished cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic import make_folder, saving
from ..errors import need
from . import spectra
from .cells import Cell
from .grid import Store
from .plans import ROWS, Size, Square, named, q_sizes, rank_data, square
from .tables import means, printed

WHITE = 40.0  # dB: white in the grey-scale pictures, as in the paper


def _figure(width: float, height: float) -> Any:
    return need("matplotlib.figure", "report", "a figure").Figure(figsize=(width, height), layout="constrained")


def _save(figure: Any, path: Path, grey: bool = False) -> Path:
    """Write the figure; a grey one as such, in half the bytes."""
    make_folder(path.parent)
    with saving(path) as temporary:
        figure.savefig(temporary, dpi=110)
        if grey:
            image = need("PIL.Image", "report", "a figure")
            with image.open(temporary) as drawn:
                plain = drawn.convert("L")
            plain.save(temporary, optimize=True)
    return path


def _line(i: int) -> dict[str, str]:
    """Return how the i-th line is drawn: the second ten are dotted."""
    return {"color": f"C{i % 10}", "ls": "-" if i < 10 else ":"}


def curves(store: Store, plan: Sequence[Cell], sets: dict[str, str], path: Path) -> Path | None:
    """Draw PSNR against the sampling rate for each data set, the paper's figures dashed."""
    there = {data: means(store, [cell for cell in plan if cell.data == data]) for data in sets}
    there = {data: found for data, found in there.items() if any(len(at) > 1 for at in found.values())}
    if not there:
        return None
    figure = _figure(5.2 * len(there) + 1.2, 4)
    axes = figure.subplots(1, len(there), squeeze=False)[0]
    for ax, (data, found) in zip(axes, there.items(), strict=True):
        lowest, top = np.inf, 0.0
        for i, label in enumerate(ROWS):  # the same colour in every panel: they share a legend
            if label not in found:
                continue
            ours = {p: float(np.mean(values)) for p, values in sorted(found[label].items())}
            ax.plot(list(ours), list(ours.values()), marker="o", ms=3, label=ROWS[label], **_line(i))
            theirs = {p: v for p in ours if isinstance(v := printed(data, label, p), float)}
            ax.plot(list(theirs), list(theirs.values()), ls="--", lw=0.8, color=f"C{i % 10}")
            lowest = min([lowest, *ours.values(), *theirs.values()])
            if label != "tqn-oracle":
                top = max([top, *ours.values(), *theirs.values()])
        ax.set(title=sets[data], xlabel="sampling rate p", ylabel="PSNR, dB", ylim=(lowest - 1, top + 3))
        ax.grid(alpha=0.3)
    lines = {line.get_label(): line for ax in axes for line in ax.get_legend_handles_labels()[0]}
    names = [name for name in ROWS.values() if name in lines]
    figure.legend([lines[name] for name in names], names, loc="outside right center", fontsize="small")
    return _save(figure, path)


def pictures(store: Store, plan: Sequence[Cell], data: str, path: Path, tall: bool = False) -> Path | None:
    """Draw two slices of the truth, of what is seen, and of every answer.

    A figure that is there stays as long as the slices of a finished cell are missing (see `grid.adopt`).
    """
    panels: dict[str, np.ndarray] = {}
    join, some = (np.hstack, [1, 3]) if tall else (np.vstack, [0, 2])
    for cell, numbers in store.finished(cell for cell in plan if cell.data == data and cell.pictures).items():
        kept = store.pictures(cell)
        if kept and not panels:
            panels["truth"] = join(list(kept["truth"][some]))
            panels[f"seen: {cell.p:.0%}"] = join(list(np.where(kept["known"], kept["truth"], 0)[some]))
        if kept:
            panels[f"{named(cell.label)}: {numbers['psnr']:.2f} dB"] = join(list(kept["x"][some]))
        elif path.exists():
            return path
    if len(panels) < 3:
        return None
    columns = min(5, len(panels))
    lines = -(-len(panels) // columns)
    height, width = next(iter(panels.values())).shape
    figure = _figure(11, lines * (11 / columns * height / width + 0.3))
    axes = figure.subplots(lines, columns, squeeze=False).ravel()
    for ax in axes:
        ax.set_axis_off()
    for ax, (title, picture) in zip(axes, panels.items(), strict=False):
        ax.imshow(picture, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        ax.set_title(title, fontsize="small")
    return _save(figure, path, grey=True)


def recovered(store: Store, grid: Square, cells: Sequence[Cell]) -> np.ndarray:
    """Return the mean PSNR over the trials, ranks by rates; NaN where nothing was run."""
    values: dict[tuple[int, float], list[float]] = {}
    for cell, numbers in store.finished(cells).items():
        if cell.r is not None:
            values.setdefault((cell.r, cell.p), []).append(min(numbers["psnr"], 400.0))
    return np.array([[np.mean(values.get((r, p), [np.nan])) for p in grid.rates] for r in grid.ranks])


def squares(store: Store, grid: Square, panels: Mapping[str, Sequence[Cell]], path: Path) -> Path | None:
    """Draw grey-scale squares of PSNR over sampling rate and Q-rank; 40 dB is white."""
    found = {title: recovered(store, grid, cells) for title, cells in panels.items()}
    if all(np.isnan(values).all() for values in found.values()):
        return None
    colormaps = need("matplotlib", "report", "a figure").colormaps
    grey = colormaps["gray"].with_extremes(bad="lightsteelblue")  # a cell that was not run must not look recovered
    figure = _figure(4 * len(found) + 0.6, 3.9)
    axes = figure.subplots(1, len(found), squeeze=False, sharey=True)[0]
    for ax, (title, values) in zip(axes, found.items(), strict=True):
        ax.imshow(values, cmap=grey, vmin=0, vmax=WHITE, origin="lower", aspect="auto", interpolation="nearest")
        ax.set_xticks(range(len(grid.rates)), [f"{p:g}" for p in grid.rates], fontsize="x-small", rotation=90)
        ax.set_yticks(range(len(grid.ranks)), [str(r) for r in grid.ranks], fontsize="x-small")
        ax.set(title=title, xlabel="sampling rate p")
    axes[0].set_ylabel("Q-rank r of the truth")
    figure.colorbar(axes[-1].images[0], ax=list(axes), label="PSNR, dB (white: 40 and more; blue: not run)", shrink=0.9)
    return _save(figure, path)


def times(store: Store, plan: Sequence[Cell], path: Path) -> Path | None:
    """Draw the time of an iteration of each method, and PSNR against time; like `pictures`, it needs all curves."""
    found = store.finished(cell for cell in plan if cell.curve)
    runs = {cell.label: numbers for cell, numbers in found.items() if numbers.get("curve")}
    if len(runs) < len(found) and path.exists():
        return path
    if not runs:
        return None
    figure = _figure(12, 4)
    left, right = figure.subplots(1, 2)
    each = [run["seconds"] / run["steps"] for run in runs.values()]
    bars = left.barh([named(label) for label in runs], each, color=[_line(i)["color"] for i in range(len(runs))])
    left.bar_label(bars, fmt="%.2g", padding=3)
    left.invert_yaxis()
    left.margins(x=0.12)
    left.set(xlabel="seconds per iteration")
    left.grid(alpha=0.3, axis="x")
    for i, (label, run) in enumerate(runs.items()):
        if label != "tqn-oracle":  # far above all others
            right.plot(run["stamps"], run["curve"], label=named(label), **_line(i))
    right.set(xlabel="seconds", ylabel="PSNR, dB", xscale="log")
    right.grid(alpha=0.3)
    figure.legend(*right.get_legend_handles_labels(), loc="outside right center", fontsize="small")
    return _save(figure, path)


def spectrum(data: str, out: Path, path: Path) -> Path | None:
    """Draw the sorted singular values under both transforms beside some frames."""
    found, frames = spectra.load(data, out)
    if found is None or frames is None:
        return None
    figure = _figure(11, 4)
    left, right = figure.subplots(1, 2)
    left.plot(found["fourier"], label="TNN: Fourier (unitary)")
    left.plot(found["learned"], label="learned Q: PCA")
    left.set(xlabel=f"the first {len(found['learned'])} of all, sorted", ylabel="singular value", yscale="log")
    left.grid(alpha=0.3)
    left.legend()
    right.imshow(np.vstack([np.hstack(list(frames[:2])), np.hstack(list(frames[2:]))]), cmap="gray")
    right.set_axis_off()
    right.set_title("four of the frames")
    return _save(figure, path)


def influence_of_r(store: Store, plan: Sequence[Cell], size: Size, out: Path, path: Path) -> Path | None:
    """Draw time and PSNR against r, TNN as a line, and the singular values of the unfolding."""
    data, _ = rank_data(size)
    there = store.finished(cell for cell in plan if cell.data == data)
    runs = {int(cell.label.rsplit(" ", 1)[1]): numbers for cell, numbers in there.items() if cell.method == "vmtqn"}
    tnn = next((numbers for cell, numbers in there.items() if cell.method == "tnn"), None)
    found, _ = spectra.load(data, out)
    if len(runs) < 2 or tnn is None or found is None:
        return path if path.exists() and found is None else None
    figure = _figure(11, 3.6)
    axes = figure.subplots(1, 3)
    for ax, column, ylabel in zip(axes, ("seconds", "psnr"), ("seconds", "PSNR, dB"), strict=False):
        ax.plot(list(runs), [run[column] for run in runs.values()], marker="o", label="VMTQN")
        ax.axhline(tnn[column], color="C1", label="TNN")
        ax.set(xlabel="r", ylabel=ylabel)
    axes[2].plot(np.arange(1, len(found["unfolding"]) + 1), found["unfolding"])
    axes[2].set(xlabel="i", ylabel="singular value i of the mode-3 unfolding", yscale="log")
    for ax in axes:
        ax.grid(alpha=0.3)
    axes[0].legend()
    return _save(figure, path)


def sizes_of_q(store: Store, plan: Sequence[Cell], size: Size, path: Path) -> Path | None:
    """Draw the synthetic square for three sizes of Q."""
    grid, n3 = square(size), max(q_sizes(size))
    labels = {f"Q: {n3} x {r}": "vmtqn" if r == n3 else f"vmtqn, r {r}" for r in q_sizes(size)}
    mine = [cell for cell in plan if cell.data == grid.data]
    panels = {title: [cell for cell in mine if cell.label == label] for title, label in labels.items()}
    return squares(store, grid, panels, path)
