"""Charts by Matplotlib as SVG inside the page, in the page's own colours, so that they follow its theme."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import need
from ..result import Record
from ..transforms.base import Transform

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours that Matplotlib draws with, and what the page's style puts in their place.
INK, FAINT = "#010101", "#020202"
SERIES = tuple(f"#0303{k:02x}" for k in range(1, 9))
STYLED = {INK: "var(--ink-2)", FAINT: "var(--line)"} | {c: f"var(--series-{k})" for k, c in enumerate(SERIES, 1)}
DASHES = ("-", "--", ":", "-.")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST_POINTS = 400
NOTHING = 1e-16  # what is smaller, as a share of the largest, is zero but for rounding
METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))  # None: the page is the same each time it is made
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "qrank",
    "font.size": 10,
    "axes.edgecolor": FAINT,
    **dict.fromkeys(("axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    **dict.fromkeys(("axes.grid", "axes.axisbelow", "path.simplify"), True),
    "grid.color": FAINT,
    "grid.linewidth": 0.7,
    **dict.fromkeys(("xtick.major.size", "ytick.major.size", "ytick.minor.size"), 0),
    "lines.linewidth": 1.6,
    "legend.handlelength": 1.8,
}


class Chart(NamedTuple):
    """A chart, what it is called and what it says."""

    title: str
    note: str
    svg: str


def draw(name: str, paint: Callable[[Axes], Any], size: tuple[float, float] = (4.7, 3.0)) -> str:
    """Return as SVG what ``paint`` draws on axes; ``name`` sets its ids apart from those of other charts."""
    matplotlib = need("matplotlib", "report", "a report")
    with matplotlib.rc_context(STYLE):
        figure = need("matplotlib.figure", "report", "a report").Figure(figsize=size, layout="constrained")
        paint(figure.add_subplot())
        stream = io.StringIO()
        figure.savefig(stream, format="svg", transparent=True, metadata=METADATA)
    svg = "<svg" + stream.getvalue().partition("<svg")[2]
    for sentinel, style in STYLED.items():
        svg = svg.replace(sentinel, style)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    return re.sub(
        r'<svg ([^>]*?)width="[^"]*" height="[^"]*"|<svg height="[^"]*" width="[^"]*"', r"<svg \1", svg, count=1
    )


def thin(values: np.ndarray, most: int = MOST_POINTS) -> np.ndarray:
    """Return at most ``most`` positions that stand for all, dense at the start where sorted curves bend.

    >>> thin(np.zeros(3)), len(thin(np.zeros(100000))) <= 400
    (array([0, 1, 2]), True)
    """
    n = len(values)
    if n <= most:
        return np.arange(n)
    return np.unique((np.linspace(0, 1, most) ** 2 * (n - 1)).round().astype(int))


def _log_scale(ax: Axes) -> None:
    """Make y logarithmic where it spans enough for that, its numbers written as plain text."""
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    if high < 4 * low:
        ax.set_yscale("linear")
    elif high < 50 * low:
        ax.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
        ax.yaxis.set_minor_formatter(lambda y, _: f"{y:g}" if f"{y:e}"[0] in "235" else "")
    else:
        ax.yaxis.set_major_formatter(lambda y, _: "10" + str(round(np.log10(y))).translate(RAISED))
        ax.yaxis.set_minor_formatter(lambda y, _: "")


def _lines(ax: Axes, x: Any, xlabel: str, curves: dict[str, Any], log: bool) -> None:
    for k, (label, y) in enumerate(curves.items()):
        y = np.asarray(y, dtype=float)
        y = np.where(np.isfinite(y), y, np.nan)
        if log:
            y = np.where(y > NOTHING * np.nanmax(y, initial=0), y, np.nan)
        marker = "o" if len(y) < 8 else ""
        ax.plot(x, y, color=SERIES[k % len(SERIES)], ls=DASHES[k % len(DASHES)], marker=marker, ms=3, label=label)
    if log and any(np.isfinite(np.asarray(line.get_ydata())).any() for line in ax.lines):
        _log_scale(ax)
    if len(curves) > 1:
        ax.legend()
    ax.set(xlabel=xlabel, ylabel="" if len(curves) > 1 else next(iter(curves), ""))


class RunCharts(NamedTuple):
    """One of the runs that made the answer: its name, what is said of it, and its curves by steps and by seconds."""

    name: str
    note: str
    pairs: list[tuple[Chart, Chart]]


def convergence(history: list[Record], mark: str = "run", of: str = "") -> list[tuple[Chart, Chart]]:
    """Return the curves of one run, each against its steps and against seconds; those of a single step are none.

    ``mark`` sets the ids apart from those of other runs, and ``of`` the titles.
    """
    if len(history) < 2:
        return []
    distances = "how far the answer is from the known entries, and how far it still moves"
    kinds: list[tuple[str, str, dict[str, list[Any]], bool]] = []
    objective = [r.objective for r in history]
    if any(objective):  # a method that has none says 0
        kinds.append(
            (
                "Objective",
                "what the method goes by: the norm that it minimises, or its misfit",
                {"objective": objective},
                False,
            )
        )
    if residuals := _residuals(history):
        kinds.append(("Residuals", distances, residuals, True))
    if any(r.holdout is not None for r in history):
        held = {"held-out RMSE": [np.nan if r.holdout is None else r.holdout for r in history]}
        kinds.append(("Hold-out error", "on known entries that the method did not see", held, False))
    clocks = {"step": _steps(history), "seconds": [r.seconds for r in history]}

    def chart(title: str, note: str, curves: dict[str, list[Any]], log: bool, clock: str) -> Chart:
        def paint(ax: Axes) -> None:
            _lines(ax, clocks[clock], "step" if clock == "step" else "seconds since the start", curves, log)
            if clock == "step":
                ax.locator_params("x", integer=True)

        name = f"{mark}-{title.split()[0].lower()}-{clock}"
        return Chart(title + (f": {of}" if of else ""), note, draw(name, paint))

    return [(chart(*kind, "step"), chart(*kind, "seconds")) for kind in kinds]


def _steps(history: list[Record]) -> list[int]:
    """Return the steps of one run, counted from its own first; the records count those of all runs."""
    return [r.step - history[0].step + 1 for r in history]


def _residuals(history: list[Record]) -> dict[str, list[Any]]:
    found = {"primal residual": [r.primal for r in history], "change": [r.change for r in history]}
    return {name: values for name, values in found.items() if any(values)}  # where known entries are kept, primal is 0


def small_convergence(history: list[Record]) -> str:
    """Return one small chart of the residuals of a run, for a notebook."""

    def paint(ax: Axes) -> None:
        _lines(ax, _steps(history), "step", _residuals(history), True)
        ax.locator_params("x", integer=True)

    return draw("small", paint, (3.4, 1.9))


def spectra(values: dict[str, np.ndarray], stride: int) -> Chart:
    """Return the sorted Q-singular values under several transforms."""
    note = "the faster they fall, the lower the rank that the transform sees"
    if stride > 1:
        note += f"; measured on one row and one column in {stride}"

    def paint(ax: Axes) -> None:
        for k, (name, sigma) in enumerate(values.items()):
            at = thin(sigma)
            share = sigma[at] / (sigma[0] or 1.0)
            ax.plot(at + 1, np.where(share > 1e-8, share, np.nan), color=SERIES[k], ls=DASHES[k], label=name)
        _log_scale(ax)
        ax.set(xlabel="Q-singular value, sorted", ylabel="share of the largest")
        ax.legend()

    return Chart("Q-singular values", note, draw("spectra", paint))


def ranks(counts: np.ndarray, most: int) -> Chart:
    """Return the rank of every slice of the transformed array."""

    def paint(ax: Axes) -> None:
        shown = counts[np.linspace(0, len(counts) - 1, min(len(counts), 600)).round().astype(int)]
        edges = np.linspace(0.5, len(counts) + 0.5, len(shown) + 1)
        ax.stairs(shown, edges, fill=True, color=SERIES[0], alpha=0.25)
        ax.stairs(shown, edges, color=SERIES[0])
        ax.set(xlabel="slice of the transformed array", ylabel="rank", ylim=(0, None))
        ax.locator_params("x", integer=True)

    note = f"Q-singular values above 1/1000 of the largest; a slice has at most {most}"
    return Chart("Rank of each slice", note, draw("ranks", paint))


def picture_of(transform: Transform) -> Chart:
    """Return Q itself as a picture."""

    def paint(ax: Axes) -> None:
        q = np.real(transform.matrix)
        q = q[:: -(-q.shape[0] // 800), :: -(-q.shape[1] // 800)]
        limit = float(np.abs(q).max()) or 1.0
        extent = (0.5, transform.matrix.shape[1] + 0.5, transform.matrix.shape[0] + 0.5, 0.5)
        image = ax.imshow(q, "RdBu_r", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest", extent=extent)
        ax.grid(False)
        ax.locator_params("both", integer=True)
        ax.set(xlabel="column of Q", ylabel="place along the third mode")
        ax.figure.colorbar(image, ax=ax).outline.set_visible(False)  # pyright: ignore

    return Chart("The transform Q", "one column is one basis vector", draw("q", paint))


def colour_bar(name: str, low: float, high: float, colours: str, label: str) -> str:
    """Return the key to a colour map."""
    matplotlib = need("matplotlib", "report", "a report")

    def paint(ax: Axes) -> None:
        key = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(low, high), colours)
        ax.figure.colorbar(key, cax=ax, orientation="horizontal", label=label).outline.set_visible(False)  # pyright: ignore

    return draw(name, paint, (3.4, 0.6))


def curves(name: str, points: dict[str, list[tuple[float, float]]], x: str, y: str, log: bool = False) -> str:
    """Return one line for each entry of ``points``, with a key below."""

    def paint(ax: Axes) -> None:
        for k, (label, pairs) in enumerate(points.items()):
            at, values = zip(*sorted(pairs), strict=True)
            style = DASHES[k // len(SERIES) % len(DASHES)]
            ax.plot(at, values, color=SERIES[k % len(SERIES)], ls=style, marker="o", ms=3.5, label=label)
        if log:
            _log_scale(ax)
        ax.set(xlabel=x, ylabel=y)
        ax.figure.legend(loc="outside lower center", ncols=min(4, len(points)))

    return draw(name, paint, (4.7, 3.4))
