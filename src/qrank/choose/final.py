"""The last runs of `auto`: what has weight on all that is known, mixed as it comes in."""

from __future__ import annotations

import numpy as np

from ..methods.views import Views
from .candidates import Candidate
from .mixture import Mixture
from .runner import Runner, Stopped


def finals(weights: dict[str, float], trial: Runner, final: Runner, start: np.ndarray | None) -> Mixture:
    """Return the mixture of what has weight, each run on all that is known; of what is done as much as is needed is held."""
    mixture, waiting = Mixture(), [] if final.stopped else [name for name, weight in weights.items() if weight > 0]
    try:
        while waiting:
            _final(waiting[0], trial, final, start)
            name, *waiting = waiting
            _take(name, weights[name], final, mixture)
            final.forget(set(final.done) - _needed(waiting, trial, final))
    except Stopped:
        final.stopped = True
        for name in waiting:
            _take(name, weights[name], final, mixture)
    return mixture


def _needed(waiting: list[str], trial: Runner, final: Runner) -> set[str]:
    """Return whose answers those that wait are, or start from."""
    needed = set()
    for name in waiting:
        start: str | None = name
        while start is not None and start not in final.done:
            start = trial.done[start].candidate.after
        needed |= {start} - {None}
    return needed


def _take(name: str, weight: float, final: Runner, mixture: Mixture) -> None:
    if name in final.done:
        mixture.add(weight, final.done[name].x, final.done[name].doubt)
        final.done[name].doubt = None


def _final(name: str, trial: Runner, final: Runner, start: np.ndarray | None) -> np.ndarray:
    """Return the answer of a candidate on all that is known, after those that it starts from."""
    if name in final.done:
        return final.done[name].x
    tried = trial.done[name]
    if tried.candidate.after is not None:
        start = _final(tried.candidate.after, trial, final, start)
    elif not isinstance(tried.method, Views):
        start = None
    return final.run(Candidate(name, tried.method, tried.candidate.after), start).x
