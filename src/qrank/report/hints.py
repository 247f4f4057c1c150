"""What to try next: only where the run itself has seen a sign that something else may be better."""

from __future__ import annotations

from ..methods import METHODS, Auto
from ..result import Completion, Status
from ..text import number
from .view import View

BETTER = 0.98  # a candidate whose error is below so much of the answer's has been better
ALIKE = 1.04  # candidates whose errors are within so much of the best err alike
KINDS = 3  # candidates of so many kinds must err alike before noise is taken for the reason
SHARE = 0.5  # of the weight: where no candidate has so much, none is clearly the best


def hints(result: Completion, view: View) -> list[str]:
    """Return a sentence for each thing that is worth a try, what promises most first; none where there is no sign of any.

    >>> from qrank.result import Choice, Trial
    >>> trials = Trial("kriging", 0.05, 1.0, 3.0), Trial("vmtqn", 0.04, 0.0, 1.0)
    >>> import numpy as np
    >>> x = np.zeros((3, 4, 5))
    >>> about = (METHODS["auto"].configured(), None, x == 0, (1, 2), None, Choice(trials, 500, "the data", 4.2, 0.05))
    >>> hints(Completion(x, Status.SETTLED, [], *about), View.of(x, x == 0, (1, 2)))[0]
    "On the hidden entries vmtqn alone erred by 0.04, the answer by 0.05; it was not taken because it was not better throughout. Try method='vmtqn', if you trust that."
    """
    if result.status in (Status.COMPLETE, Status.DIVERGED):
        return []
    found = [_better_candidate(result), _more_effort(result), _noise(result), _overfit(result), _fold(result, view)]
    return [hint for hint in found if hint is not None]


def _better_candidate(result: Completion) -> str | None:
    """Return that a candidate was better on the hidden entries than the answer is."""
    choice = result.choice
    tried = [] if choice is None else [one for one in choice.trials if one.error is not None]
    if choice is None or choice.error is None or not tried:
        return None
    best = min(tried, key=lambda one: one.error or 0.0)
    if best.error is None or best.error >= BETTER * choice.error:
        return None
    how = f"Try method='{best.name}', if you trust that." if best.name in METHODS else "effort='best' may tell more."
    return (
        f"On the hidden entries {best.name} alone erred by {number(best.error)}, the answer by {number(choice.error)}; it was not"
        f" taken because it was not better throughout. {how}"
    )


def _more_effort(result: Completion) -> str | None:
    """Return that more effort may pay: nothing was tried, or no candidate was clearly the best, or only a part was looked at."""
    method, choice = result.method, result.choice
    if not isinstance(method, Auto) or choice is None or method.outliers is not None:
        return None
    if method.effort == "fast":
        return "Nothing was tried. effort='balanced' tries several methods on hidden entries, and tells how far each filled entry may be off."
    if method.effort != "balanced" or choice.error is None:
        return None
    if choice.tried_on == "a part of the data":
        return "Candidates were tried on a part of the data. effort='best' takes a part four times as large, and more candidates."
    if max(one.weight for one in choice.trials) < SHARE:
        return "No candidate was clearly the best: the answer is a mean of several. effort='best' takes more of them, and more steps."
    return None


def _noise(result: Completion) -> str | None:
    """Return that different methods err alike, as they do where what they fill is noisy."""
    choice = result.choice
    if choice is None or choice.error is None or getattr(result.method, "noise", None) is not None:
        return None
    errors = [one.error for one in choice.trials if one.error]
    if not errors:
        return None
    low = min(errors)
    alike = {one.name.split()[0].strip(",") for one in choice.trials if one.error and one.error <= ALIKE * low}
    if len(alike) < KINDS:
        return None
    return (
        f"{', '.join(sorted(alike))} err alike, by {number(low, 3)} to {number(ALIKE * low, 3)}: what is left may be noise, which none"
        f" can fill. noise=… (a standard deviation, here up to {number(low, 2)}) takes it off the known entries, too."
    )


def _overfit(result: Completion) -> str | None:
    """Return that the error on held-out entries was lower before the run ended."""
    records = next(iter(result.runs.values()), [])
    held = [(record.holdout, step) for step, record in enumerate(records, 1) if record.holdout is not None]
    if len(held) < 3 or getattr(result.method, "noise", None) is not None:
        return None
    (least, step), last = min(held), held[-1][0]
    if least >= BETTER * last:
        return None
    return (
        f"The error on held-out entries was lowest at step {step}, {number(least)}, and {number(last)} at the end: the known entries"
        f" are noisy, or their rank is not low. Try noise=…, method='auto', or max_steps={step}."
    )


def _fold(result: Completion, view: View) -> str | None:
    """Return that a matrix of a table can be folded by its period."""
    if len(view.shape) != 2 or view.picture:
        return None
    return (
        "A matrix has one low rank to go by. If its rows are times, fold it by their period (fold='day', or a number of rows;"
        " --fold): (column, time of day, day) has three."
    )
