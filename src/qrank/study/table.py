"""Comparison: the table that compare() returns, as a data frame, text, curves and a page."""

from __future__ import annotations

import csv
import html
import io
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..atomic import saving, write_text
from ..errors import InputError, need
from ..report import write_comparison

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


def markdown(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table.

    >>> print(markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    first, *others = ("| " + " | ".join(row) + " |" for row in (head, *body))
    return "\n".join([first, "|---" * len(head) + "|", *others])


def csv_text(rows: Sequence[Mapping[str, Any]], end: str = "\r\n") -> str:
    """Return rows as comma-separated values; a row may lack some columns.

    >>> csv_text([{"a": 1}, {"a": 2, "b": 3}], end="\\n")
    'a,b\\n1,\\n2,3\\n'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator=end)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@dataclass(eq=False)
class Comparison:
    """One row for each method, rate and draw; each a dictionary of numbers.

    >>> table = Comparison([{"method": m, "rate": 0.3, "psnr": p} for m, p in (("a", 30.0), ("b", 31.5))])
    >>> print(table.to_markdown())
    | PSNR, dB | 0.3 |
    |---|---|
    | a | 30.00 |
    | b | **31.50** |
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    pattern: str = "random"
    pictures: dict[str, np.ndarray] = field(default_factory=dict, repr=False)  # method -> one completed slice
    truth_picture: np.ndarray | None = field(default=None, repr=False)
    holed_picture: np.ndarray | None = field(default=None, repr=False)  # NaN where missing

    def means(self, column: str = "psnr") -> dict[str, dict[float, float]]:
        """Return method -> rate -> mean over the draws.

        >>> Comparison([{"method": "a", "rate": 0.5, "psnr": p} for p in (1.0, 3.0)]).means()
        {'a': {0.5: 2.0}}
        """
        found: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in self.rows:
            value = row.get(column)
            found[row["method"]][row["rate"]].append(math.nan if value is None else float(value))
        return {method: {rate: float(np.mean(v)) for rate, v in sorted(at.items())} for method, at in found.items()}

    def best(self, rate: float, column: str = "psnr") -> str:
        """Return the method with the largest mean at a rate."""
        at = {method: values[rate] for method, values in self.means(column).items() if rate in values}
        if not at:
            raise InputError(f"the comparison has no rate {rate}")
        return max(at, key=lambda method: at[method])

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a data frame; needs pandas."""
        return need("pandas", "dev", "a data frame").DataFrame(self.rows)

    def to_csv(self) -> str:
        """Return the rows as comma-separated values."""
        return csv_text(self.rows)

    def to_markdown(self, column: str = "psnr") -> str:
        """Return the means as a Markdown table, methods by rates, the best of each rate in bold."""
        return markdown(*self._grid(column, "**{}**"))

    def _repr_html_(self) -> str:
        head, body = self._grid("psnr", "<b>{}</b>")
        cells = "".join(f"<th>{text}</th>" for text in head)
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th>" + "".join(f"<td>{text}</td>" for text in line) + "</tr>"
            for name, *line in body
        )
        return f"<table><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>"

    def _grid(self, column: str, best: str) -> tuple[list[str], list[list[str]]]:
        """Return the head and the lines of the table; ``best`` is the form of the best cell of each rate."""
        means = self.means(column)
        rates = sorted({rate for at in means.values() for rate in at})
        wanted = min if column in ("seconds", "rmse", "relative_error") else max
        top = {rate: wanted((at[rate] for at in means.values() if at.get(rate, math.nan) == at.get(rate)), default=None)
               for rate in rates}  # fmt: skip
        digits = 4 if column in ("ssim", "rmse", "relative_error") else 2
        body = []
        for name, at in means.items():
            texts = [f"{at[rate]:.{digits}f}" if rate in at else "" for rate in rates]
            forms = [best if at.get(rate) == top[rate] else "{}" for rate in rates]
            body.append([name, *(form.format(text) for form, text in zip(forms, texts, strict=True))])
        title = {"psnr": "PSNR, dB", "ssim": "SSIM"}.get(column, column)
        return [title, *(f"{rate:g}" for rate in rates)], body

    def plot(self, ax: Axes | None = None, column: str = "psnr") -> Axes:
        """Draw the mean of a column against the rate, one line a method; needs matplotlib."""
        if ax is None:
            figures = need("matplotlib.figure", "report", "plotting a comparison")
            ax = cast("Axes", figures.Figure(figsize=(6, 4), layout="constrained").add_subplot())
        for method, at in self.means(column).items():
            ax.plot(list(at), list(at.values()), marker="o", label=method)
        ax.set(xlabel=f"share observed ({self.pattern})", ylabel="PSNR, dB" if column == "psnr" else column)
        ax.grid(alpha=0.3)
        ax.legend()
        return ax

    def save(self, folder: str | os.PathLike[str], *, title: str = "Methods compared") -> list[Path]:
        """Write table.csv, table.md, curves.svg, curves.png and index.html into a folder; return their paths."""
        folder = Path(folder)
        paths = [folder / name for name in ("table.csv", "table.md", "curves.svg", "curves.png", "index.html")]
        columns = [name for name in ("psnr", "ssim", "seconds") if any(row.get(name) is not None for row in self.rows)]
        figure: Any = self.plot().figure
        write_text(paths[0], self.to_csv())
        write_text(paths[1], f"# {title}\n\n" + "\n\n".join(self.to_markdown(column) for column in columns) + "\n")
        for path, dpi in ((paths[2], "figure"), (paths[3], 150)):
            with saving(path) as temporary:
                figure.savefig(temporary, dpi=dpi)
        write_comparison(self, paths[4], title=title)
        return paths
