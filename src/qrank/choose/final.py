"""The last runs of `auto`: what has weight on all that is known, mixed as it comes in."""

from __future__ import annotations

import numpy as np

from ..methods.views import Views
from .candidates import Candidate
from .mixture import Mixture
from .runner import Runner, Stopped
from .weigh import weights as weighed

GAINS = 0.99  # what does not take the error below this part of what it was is not worth another run


def without_slight(weights: dict[str, float], errors: dict[str, float], trial: Runner) -> dict[str, float]:
    """Return the weights with those of what hardly gained on what it started from given to that: on large data a run is dear.

    ``errors`` are those of the trial; the noise of the hidden entries, which is in all of them, is no gain.
    """
    found, errors = dict(weights), {name: trial.beyond_noise(error) for name, error in errors.items()}
    for name in reversed(weights):  # what starts from another comes after it
        after = trial.done[name].candidate.after
        heirs = any(found[one] > 0 for one in weights if trial.done[one].candidate.after == name)
        if after in found and found[name] > 0 and not heirs and errors[name] >= GAINS * errors[after]:
            found[after] += found[name]
            found[name] = 0.0
    return found


def finals(
    weights: dict[str, float], trial: Runner, final: Runner, start: np.ndarray | None, factors: tuple[float, float]
) -> tuple[Mixture, dict[str, float]]:
    """Return the mixture of what has weight, each run on all that is known, and the weights; of what is done as much as is needed is held.

    Where candidates were tried on a part of the data only, known entries of all of it were kept back from the last runs. They
    weigh each answer against the mixture of those before it, and where one errs more there than the one that it started from, what
    would start from it is not run: a part of the data may be rougher than the whole, and has less that repeats itself.
    ``factors``: by which how far the answers are apart, and what they say of themselves, count.
    """
    mixture, waiting = Mixture(factors), [] if final.stopped else _in_order(weights, trial)
    taken: dict[str, float] = {}
    errors: dict[str, float] = {}  # on what was kept back
    while waiting and not final.stopped:
        name, *waiting = waiting
        tried, weight = trial.done[name], weights.get(name, 0.0)
        after = tried.candidate.after
        if after is not None and after not in final.done:
            continue  # it has come to nothing
        candidate, doubted = Candidate(name, tried.method, after), weight > 0 or final.keeps_back
        try:
            if after is not None:
                final.run(candidate, _handed_over(after, waiting, trial, final), doubted=doubted)
            else:
                final.run(candidate, start if isinstance(tried.method, Views) else None, doubted=doubted)
        except Stopped:
            final.stopped = True
        if name in final.done:
            found = final.done[name]
            if final.keeps_back:
                errors[name] = final.held_out(found.x)
                weight = _worth(found.x, mixture, final)
                if weight == np.inf:
                    mixture, weight = Mixture(factors), 1.0
                    taken.clear()
            if weight > 0:
                mixture.add(weight, found.x, found.doubt)
                taken[name] = weight
            found.doubt = None
            if after in errors and errors[name] > errors[after]:
                waiting = _without_heirs(name, waiting, trial)
        final.forget(set(final.done) - {trial.done[one].candidate.after for one in waiting})
    total = sum(taken.values())
    return mixture, {name: weight / total for name, weight in taken.items()}


def _worth(x: np.ndarray, mixture: Mixture, final: Runner) -> float:
    """Return the weight of an answer beside a mixture by what was kept back; infinite where the mixture is to be left."""
    if mixture.mean is None:
        return 1.0
    at, truth = final.problem.held_out, final.problem.held_out_values
    assert at is not None
    assert truth is not None
    both = np.stack([mixture.mean.reshape(-1)[at], x.reshape(-1)[at]], axis=1)
    before, now = weighed(both, truth, final.rng, final.s2)
    return mixture.weight * float(now / before) if before > 0 else np.inf


def _without_heirs(name: str, waiting: list[str], trial: Runner) -> list[str]:
    """Return those that wait without what would start from a run, or from such a one."""
    gone, left = {name}, []
    for one in waiting:
        if trial.done[one].candidate.after in gone:
            gone.add(one)
        else:
            left.append(one)
    return left


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
