"""The last runs of `auto`: what has weight on all that is known, mixed as it comes in."""

from __future__ import annotations

import numpy as np

from ..methods.views import Views
from .candidates import Candidate
from .mixture import Mixture
from .runner import Runner, Stopped


def finals(
    weights: dict[str, float], trial: Runner, final: Runner, start: np.ndarray | None, factors: tuple[float, float]
) -> Mixture:
    """Return the mixture of what has weight, each run on all that is known; of what is done as much as is needed is held.

    ``factors``: by which how far the answers are apart, and what they say of themselves, count.
    """
    mixture, waiting = Mixture(factors), [] if final.stopped else _in_order(weights, trial)
    while waiting and not final.stopped:
        name, *waiting = waiting
        tried, weight = trial.done[name], weights.get(name, 0.0)
        after = tried.candidate.after
        if after is not None and after not in final.done:
            continue  # it has come to nothing
        candidate = Candidate(name, tried.method, after)
        try:
            if after is not None:
                final.run(candidate, _handed_over(after, waiting, trial, final), doubted=weight > 0)
            else:
                final.run(candidate, start if isinstance(tried.method, Views) else None, doubted=weight > 0)
        except Stopped:
            final.stopped = True
        if weight > 0 and name in final.done:
            mixture.add(weight, final.done[name].x, final.done[name].doubt)
            final.done[name].doubt = None
        final.forget(set(final.done) - {trial.done[one].candidate.after for one in waiting})
    return mixture


def _handed_over(name: str, waiting: list[str], trial: Runner, final: Runner) -> np.ndarray:
    """Return an answer to start from, which is not kept for others where none of those that wait starts from it."""
    x = final.done[name].x
    if all(trial.done[one].candidate.after != name for one in waiting):
        final.forget([name])
    return x


def _in_order(weights: dict[str, float], trial: Runner) -> list[str]:
    """Return what has weight, and what that starts from, each after the one that it starts from."""
    found: list[str] = []
    for name in (name for name, weight in weights.items() if weight > 0):
        chain: list[str] = []
        after: str | None = name
        while after is not None and after not in found:
            chain.insert(0, after)
            after = trial.done[after].candidate.after
        found += chain
    return found
