"""Known values that are not exact: ``--noise`` and ``--outliers``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from rich.console import Console
from typer import Option

from ..errors import InputError
from ..result import Completion

Noise = Annotated[
    str | None, Option(help="Known values are noisy: auto, or their standard deviation in the data's unit.")
]
Outliers = Annotated[str | None, Option(help="Some known values are wrong: entries, or whole fibres.")]


@dataclass(frozen=True)
class NoiseOptions:
    """What is wrong with what is known."""

    noise: Noise = None
    outliers: Outliers = None

    def settings(self) -> dict[str, Any]:
        """Return the options of a method; None: not given."""
        return {"noise": parse_noise(self.noise), "outliers": self.outliers}


def parse_noise(text: str | None) -> float | str | None:
    """Return a level of noise from the command line.

    >>> parse_noise("auto"), parse_noise("12.5"), parse_noise(None)
    ('auto', 12.5, None)
    """
    if text is None or text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--noise is a standard deviation in the data's unit, or auto, not {text}") from None


def found_noise(result: Completion, known: np.ndarray, out: Console) -> dict[str, Any]:
    """Say what was taken for noise and for outliers among the known values, and return it for scripts."""
    facts: dict[str, Any] = {}
    if result.noise is not None:
        facts["noise"], spread = result.noise, float(known.std(dtype=float))
        more = f", more than the known values vary in all ({spread:.4g}): is it in their unit?"
        out.print(f"noise: standard deviation {result.noise:.4g}" + (more if result.noise > spread else ""))
    if result.outliers is not None:
        facts["outliers"] = int(np.count_nonzero(result.outliers))
        out.print(f"outliers: {facts['outliers']} of {np.count_nonzero(result.observed)} known entries")
    return facts
