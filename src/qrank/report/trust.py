"""How far the answer can be trusted: what its standard errors mean, and what was tried."""

from __future__ import annotations

import numpy as np

from ..choose.weigh import COVERED, NORMAL
from ..result import Choice, Completion
from ..text import duration, number, share


def meaning(result: Completion, x: np.ndarray, sure: np.ndarray, truth: np.ndarray | None) -> str:
    """Return what the standard errors mean, in a sentence; where the truth is known, a second one says if they do."""
    within = f"{COVERED:.0%} of the missing values are meant to lie within {NORMAL:.3f} times their standard error"
    if result.choice is not None and result.choice.error is not None:
        told = f"Calibrated on the {number(result.choice.hidden)} known entries that were hidden: {within}."
    else:
        told = f"What the model says of itself, calibrated on nothing: where it is right, {within}."
    if truth is None:
        return told
    sought = ~result.settled & np.isfinite(truth)
    count = int(np.count_nonzero(sought))
    inside = int(np.count_nonzero(np.abs(x[sought] - truth[sought]) <= NORMAL * sure[sought]))
    return f"{told} The truth is known: of {number(count)} missing values {share(inside, count)} do." if count else told


def candidates(choice: Choice | None) -> list[tuple[str, str, str, str]]:
    """Return a row for each candidate: its name, error on what was hidden, weight and time; none where nothing was tried.

    >>> from qrank.result import Trial
    >>> candidates(Choice((Trial("views", 0.02, 1.0, 3.0), Trial("smooth", 0.05, 0.0, 0.1)), 500, "the data", 5.2, 0.02))
    [('views', '0.02', '1.00', '3.0 s'), ('smooth', '0.05', '', '100 ms')]
    """
    if choice is None or choice.error is None:
        return []
    return [
        (
            one.name,
            "" if one.error is None else number(one.error),
            f"{one.weight:.2f}" if one.weight > 0 else "",
            duration(one.seconds),
        )
        for one in choice.trials
    ]
