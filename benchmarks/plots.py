"""Pictures of the cells: time against PSNR, where the time goes, and growth."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from . import field, report
from .cases import CASES
from .rivals import RIVALS

KINDS = {
    "products": "#4477aa",
    "decompositions": "#ee6677",
    "FFT": "#228833",
    "BLAS on vectors": "#66ccee",
    "element-wise": "#ccbb44",
    "other": "#bbbbbb",
}


def draw(out: Path, to: Path | None = None, prefix: str = "", dpi: int = 130) -> dict[str, Path]:
    """Draw what there is data for; return the files by the name of the picture."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    files = {}
    for paint in (against, quality, time_shares, growth):
        figure = paint(plt, out)
        if figure is not None:
            name = paint.__name__.replace("_", "-")
            files[name] = (to or out) / f"{prefix}{name}.png"
            figure.savefig(files[name], dpi=dpi, bbox_inches="tight")
            plt.close(figure)
    return files


def quality(plt: Any, out: Path) -> Any:
    """PSNR over time, one panel a case; a run whose steps were not watched is a point."""
    found = {name: rows for name in CASES if (rows := report.rows_of(out, name))}
    if not found:
        return None
    columns = min(3, len(found))
    lines = -(-len(found) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(4.2 * columns, 3.2 * lines), squeeze=False)
    for ax, (name, rows) in zip(axes.flat, found.items(), strict=False):
        for row in rows.values():
            if row.curve:
                ax.plot(row.stamps, row.curve, label=row.contender, lw=1.6)
            else:
                ax.plot([row.seconds], [row.psnr], "o", ms=5, label=row.contender)
        ax.set(xscale="log", xlabel="seconds", ylabel="PSNR in dB", title=name)
        ax.grid(alpha=0.3)
        ax.legend(fontsize=6, loc="lower right")
    for ax in list(axes.flat)[len(found) :]:
        ax.remove()
    figure.tight_layout()
    return figure


def against(plt: Any, out: Path) -> Any:
    """The error of qrank over time, one panel a data set of the field, and where the rivals end."""
    found = {name: paths for name in field.DATA if (paths := report.cells_of(out, f"field-{name}/path"))}
    if not found:
        return None
    figure, axes = plt.subplots(1, len(found), figsize=(4.2 * len(found), 3.2), squeeze=False)
    for ax, (data, paths) in zip(axes.flat, found.items(), strict=True):
        run = field.best_of(paths)
        ax.plot(run["stamps"], run["errors"], "k", lw=1.6, label="qrank")
        for name, rival in RIVALS.items():
            if (cell := report.cell(out, f"field-{data}/{name}")) is None:
                continue
            (line,) = ax.plot([cell["seconds"]], [cell["error"]], "o", ms=5, label=rival.title)
            if len(cell["stamps"]) > 1:
                ax.plot(cell["stamps"], cell["errors"], color=line.get_color(), lw=1)
        ax.set(xscale="log", yscale="log", xlabel="seconds", ylabel="RMSE of what is missing", title=data)
        ax.grid(alpha=0.3)
        ax.legend(fontsize=6)
    figure.tight_layout()
    return figure


def time_shares(plt: Any, out: Path) -> Any:
    """One bar a case: the share of products, decompositions, FFT and the rest, with the rate of the largest kernel."""
    found = {name: cell for name in CASES if (cell := report.cell(out, f"{name}/profile"))}
    if not found:
        return None
    figure, ax = plt.subplots(figsize=(8, 0.5 * len(found) + 1.4))
    for y, (name, profile) in enumerate(found.items()):
        left = 0.0
        for kind, share in report.shares(profile).items():
            ax.barh(y, share, left=left, color=KINDS[kind], label=kind if y == 0 else None)
            left += share
        top = next((k for k in profile["kernels"] if k["gflops"]), None)
        if top:
            ax.text(1.01, y, f"{top['name']} {top['gflops']:.0f} of {profile['gemm']:.0f} GFLOP/s", va="center")
        ax.text(-0.01, y, name, ha="right", va="center")
    ax.set(yticks=[], xlim=(0, 1), xlabel="share of the steps' time")
    ax.invert_yaxis()
    ax.legend(ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    return figure


def growth(plt: Any, out: Path) -> Any:
    """Time of a step over the size that doubles, beside what is promised."""
    found = report.growth_of(out)
    if not any(found.values()):
        return None
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
    titles = {"n3": ("32 x 32 x $n_3$", "$n_3$"), "n": ("n x n x 64", "n")}
    for ax, (kind, cells) in zip(axes, found.items(), strict=True):
        if not cells:
            continue
        sizes, steps = [n for n, _ in cells], [c["step"] for _, c in cells]
        ax.plot(sizes, steps, "o-", label="a step of vmtqn (mean of 40)")
        if kind == "n3":
            bound = [steps[0] * 2.2 ** math.log2(n / sizes[0]) for n in sizes]
            ax.plot(sizes, bound, "k--", lw=1, label="2.2-fold a doubling")
        else:
            ax.plot(sizes, [c["kernel"] for _, c in cells], "s-", label="eigh of the slices alone")
            ax.plot(sizes, [steps[-1] * (n / sizes[-1]) ** 3 for n in sizes], "k--", lw=1, label="cubic")
        title, label = titles[kind]
        ax.set(xscale="log", yscale="log", xlabel=label, ylabel="seconds", title=title)
        ax.set_xticks(sizes, [str(n) for n in sizes])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
        ax.legend(fontsize=7)
    figure.tight_layout()
    return figure
