"""What hidden entries tell of the errors of the answer: signs of how sure it is, and how far it is off.

Entries that are lost together err together: of four lost frames that are hidden, each is one observation. Answers that take no
time, simple fills, are therefore tried on further sets of hidden entries, so that the errors of lost frames are told by many.
"""

from __future__ import annotations

import numpy as np

from ..methods import Auto
from ..methods.fill import Fill
from ..problem import Problem
from . import candidates
from .hide import hidden
from .mixture import Mixture
from .runner import Runner
from .signs import signs_of
from .weigh import Spread

AGAIN = 5  # further sets of hidden entries: a third to a half of all frames then is hidden once, where a tenth is lost


def spread_of(trial: Runner, region: Problem, weights: dict[str, float], cut: bool) -> Spread:
    """Return how errors of the weighted mean are told, learned on what is hidden in a trial and, of simple fills, on more of it."""
    names = [name for name, weight in weights.items() if weight > 0]
    across = lost_with_others(trial.problem)
    told = [_told(trial, weights, cut, across)]
    if across is not None and not trial.stopped and all(isinstance(trial.done[name].method, Fill) for name in names):
        for _ in range(AGAIN):
            again = Runner(
                region.without(np.flatnonzero(hidden(region.observed, trial.rng, region.ignored))),
                trial.rng,
                None,
                trial.journal,
                trial.limits,
            )
            for name in names:
                again.run(trial.done[name].candidate)
            told.append(_told(again, weights, cut, across))
    signs, errors, groups = (np.concatenate(part) for part in zip(*told, strict=True))
    return Spread.learned(signs, errors, None if across is None else groups, trial.s2)


def lost_with_others(problem: Problem) -> int | None:
    """Return the axis across which planes are lost that differ from those that are hidden; None: hidden entries are among the missing.

    Of a plane that is only poor known entries are hidden, and they tell of that very plane; of a lost one others must tell.
    """
    across = candidates.lost_planes(problem.settled)
    if across is None or problem.held_out is None:
        return None
    gone = ~problem.settled
    at = np.zeros(gone.shape, dtype=bool)
    at.reshape(-1)[problem.held_out] = True
    others = tuple(axis for axis in range(gone.ndim) if axis != across)
    witnesses, missing = at.sum(axis=others), (gone & ~at).sum(axis=others)
    return None if missing[witnesses > 0].sum() > missing.sum() / 2 else across


def _told(
    trial: Runner, weights: dict[str, float], cut: bool, across: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return signs (n, k) at the hidden entries, errors (n,) of the weighted mean, and the planes (n,) that they lie in."""
    problem = trial.problem
    assert problem.held_out is not None
    mixture = Mixture.of(weights, trial.done)
    x = mixture.filled(problem, known_range(problem) if cut else None, trial.limits.fit.exact)
    signs = signs_of(problem, x, mixture, trial.limits.fit.exact)
    at = problem.held_out
    found = np.stack([np.broadcast_to(sign(), problem.y.shape).reshape(-1)[at] for sign in signs], axis=1)
    return found, x.reshape(-1)[at] - problem.held_out_values, np.unravel_index(at, problem.y.shape)[across or 0]


def known_range(problem: Problem) -> tuple[float, float]:
    """Return the least and the largest known value, scaled."""
    known = problem.y[problem.observed]
    return float(known.min()), float(known.max())


def told_error(
    problem: Problem, x: np.ndarray, spread: np.ndarray, blind: np.ndarray, judged: bool, s2: float
) -> np.ndarray:
    """Return the standard errors, made of the spread in place, and put what is known exactly into x.

    Of what is known with noise of variance s2 the other entries tell with the error e that missing ones have, and the two together have
    the variance e^2 s2 / (e^2 + s2). Where nothing that was hidden tells of entries, they may be anywhere among the known values.
    """
    if s2 > 0:
        error = spread
        np.copyto(error, error * np.sqrt(s2 / (np.square(error) + s2)), where=problem.observed)
    else:
        np.copyto(x, problem.y, where=problem.observed, casting="same_kind")
        error = np.multiply(spread, ~problem.observed, out=spread)
    if not judged:
        np.copyto(error, np.maximum(error, problem.spread), where=blind)
    return error


def were_hidden(problem: Problem, auto: Auto) -> bool:
    """Return whether of the hidden entries about as many as of the missing ones are such that low rank says nothing of them."""
    blind = auto.undetermined(problem)
    at = np.zeros(problem.y.shape, dtype=bool)
    at.reshape(-1)[problem.held_out] = True
    missing = ~problem.settled & ~at
    return bool(blind[at].mean() >= blind[missing].mean() / 2) if at.any() and missing.any() else False
