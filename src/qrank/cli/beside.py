"""What is written beside the output, where it is asked for: the standard errors and the report."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from typer import Option

from .. import files
from ..errors import InputError
from ..files import Loaded
from ..files.errors_like import check_floating, errors_like
from ..methods import METHODS, Auto, Method
from ..report import write_report
from ..result import Completion
from .outcome import check_apart

Error = Annotated[
    Path | None, Option(help="Write the standard error estimated for each filled entry, 0 where it was known.")
]


@dataclass(frozen=True)
class ErrorOptions:
    """Where the standard errors go."""

    error: Error = None

    def check(self, loaded: Loaded, method: Method, others: Iterable[str | os.PathLike[str] | None]) -> None:
        """Refuse what cannot be written, before time is spent."""
        if self.error is None:
            return
        check_floating(self.error, files.check_output(self.error, loaded))
        check_apart(self.error, "the file of standard errors", others)
        if not estimates_errors(method):
            able = ", ".join(name for name, kind in METHODS.items() if kind.deviation is not Method.deviation)
            told = "auto with effort=fast" if isinstance(method, Auto) else method.name
            raise InputError(
                f"{told} estimates no standard errors, so that --error has none to write: take auto, {able}"
            )

    def facts(self) -> dict[str, str]:
        """Return where they go, for scripts."""
        return {} if self.error is None else {"error": str(self.error)}

    def write(self, result: Completion | None, loaded: Loaded) -> list[str]:
        """Write the standard errors, zeros where nothing was missing; return what their file could not keep."""
        if self.error is None:
            return []
        error = np.zeros(loaded.data.shape) if result is None else result.error
        if error is None:
            raise InputError(f"no standard errors were estimated in this run, and {self.error} was not written")
        error = np.asarray(error)
        return files.write(self.error, error, like=errors_like(error, loaded))


def estimates_errors(method: Method) -> bool:
    """Return whether a method tells how far filled entries may be off.

    >>> estimates_errors(METHODS["auto"].configured()), estimates_errors(METHODS["tnn"].configured())
    (True, False)
    """
    if isinstance(method, Auto):
        return method.effort != "fast"
    return type(method).deviation is not Method.deviation


def report_on(
    result: Completion, loaded: Loaded, untold: np.ndarray, hidden: np.ndarray, source: str, path: Path
) -> None:
    """Write the page of a run; what was hidden to try things out is its truth, of what is ``untold`` there is none."""
    truth, table = None, loaded.meta.get("table")
    if hidden.any():
        truth = np.where(untold, np.nan, loaded.data.astype(float)) if untold.any() else loaded.data
    write_report(
        result,
        path,
        title=Path(source).name,
        truth=truth,
        axes=loaded.axes,
        command=shlex.join(["qrank", *sys.argv[1:]]),
        value_range=(0, 255) if loaded.data.dtype == np.uint8 else None,
        meta={"file": source, "kind": loaded.kind},
        labels=None if table is None else {0 if "fold" in loaded.meta else 1: table.labels},
    )
