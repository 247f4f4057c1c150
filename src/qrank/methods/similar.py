"""Patches from elsewhere in the picture: for scratches, text and blocks on photographs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import ndimage

from ..kernels.memory import Workspace
from ..kernels.plates import thin_plate
from ..kernels.similar import Model, from_similar
from ..kernels.smoothing import smooth_fill
from ..problem import Problem
from ..result import Step
from .base import Method

TOGETHER = 4  # slices at most whose patches are taken together: the colours of a picture
MEMBRANE = 1e3  # tension beside which bending does not count
THIN = 3  # steps from the middle of a hole to what is known, up to which small patches are enough


class State(NamedTuple):
    """What a step hands to the next."""

    x: np.ndarray
    variance: np.ndarray  # 0 where known, and before the first step
    k: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Similar(Method):
    """What the patches most like those around a hole say about it, in a few rounds (`qrank.kernels.similar`).

        xhat = m + B' (B_o B_o' + e I)^-1 B_o (y_o - m_o),   m, B from the ``count`` patches nearby most like it

    A patch is ``side`` x ``side`` of a slice, through up to four slices (the last axis of the third mode: the colours). It
    starts from ``problem.start`` if there is one, else from thin plates near the edge of a hole and membranes deep in it.
    The answer is cut to the range of the known entries. ``deviation`` is the spread of the Gaussian that the patches are
    taken for. Slices of which nothing is known stay as they start. It takes time for each patch with something missing, and sees
    next to nothing of other frames: clips are better served by others.

    >>> from qrank import complete
    >>> x = np.sin(np.add.outer(np.arange(40) / 2, np.arange(50) / 9))
    >>> y = np.where(np.arange(50) % 10 < 8, x, np.nan)
    >>> bool(np.abs(complete(y, method="similar").x - x).max() < 0.1)
    True
    """

    name: ClassVar[str] = "similar"
    about: ClassVar[str] = "similar patches of the same slice, mixed as a Gaussian: for damaged photographs"
    shares_out: ClassVar[bool] = True

    rounds: int = 3  # each begins with what the one before has filled
    side: int | None = None  # None: 6, or 9 where some hole is wide
    stride: int = 2  # between the patches that are looked at
    reach: int = 12  # how far corners of similar patches are looked for
    count: int | None = None  # None: 80, or 120 with patches of 9
    ridge: float = 0.3  # how little the few patches' covariance is believed

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("rounds", "stride", "reach", at_least=1, whole=True)
        self.check("side", "count", at_least=2, whole=True)
        self.check("ridge", above=0)

    def undetermined(self, problem: Problem) -> np.ndarray:
        """Return that nothing is: every entry follows from others."""
        return np.zeros(problem.observed.shape, dtype=bool)

    def init(self, problem: Problem, work: Workspace) -> State:
        """Start from an earlier answer, or from what is smooth."""
        x = edges_and_middle(problem.y, problem.observed) if problem.start is None else problem.start
        return State(np.where(problem.observed, problem.y, x), np.zeros_like(problem.y), 0)

    def step(self, problem: Problem, state: State, work: Workspace) -> tuple[State, Step]:
        """Improve all missing entries by similar patches, once."""
        y, k = problem.y, state.k + 1
        deep, (n1, n2) = (y.shape[-3] if y.ndim > 2 else 1), y.shape[-2:]
        wide = self.side is None and depth(problem.observed) > THIN
        model = Model(
            self.side or (9 if wide else 6), self.stride, self.reach, self.count or (120 if wide else 80), self.ridge
        )
        known = y[problem.observed]
        x, variance, moved = state.x.reshape(-1, deep, n1, n2).copy(), state.variance.reshape(-1, deep, n1, n2), 0.0
        observed = problem.observed.reshape(x.shape)
        for i in range(len(x)):
            there = np.flatnonzero(
                np.logical_or.reduce(observed[i], axis=(1, 2))
            )  # a lost slice has nothing to compare
            for part in np.array_split(there, math.ceil(len(there) / TOGETHER)) if len(there) else []:
                at = (i, part)
                if not observed[at].all():
                    better, variance[at] = from_similar(x[at], observed[at], model, work.rng)
                    better = np.where(observed[at], x[at], np.clip(better, known.min(), known.max()))
                    moved += float(np.square(better - x[at]).sum(dtype=float))
                    x[at] = better
        change = math.sqrt(moved) / problem.size
        step = Step(0.0, 0.0, change, change, 0.0, 0, problem.layout.n3, settled=k >= self.rounds)
        return State(x.reshape(y.shape), variance.reshape(y.shape), k), step

    def answer(self, problem: Problem, state: State, work: Workspace) -> np.ndarray:
        """Return X."""
        return state.x

    def deviation(self, problem: Problem, state: State, work: Workspace) -> np.ndarray:
        """Return the standard deviation of the Gaussian of similar patches, 0 where known."""
        return np.sqrt(state.variance)


def depth(observed: np.ndarray) -> int:
    """Return the most steps, diagonal ones as well, from a missing entry to a known one of its slice (..., n1, n2).

    >>> hole = np.ones((1, 20, 20), bool)
    >>> hole[0, 5:10, 3:12] = False
    >>> depth(hole)
    3
    """
    missing, steps = ~observed.reshape(-1, *observed.shape[-2:]), 0
    missing = missing[~missing.all(axis=(1, 2))]
    while missing.any() and steps <= THIN:  # more than that is all the same
        missing = ndimage.binary_erosion(missing, np.ones((1, 3, 3)), border_value=1)
        steps += 1
    return steps


def edges_and_middle(y: np.ndarray, observed: np.ndarray, trusted: float = 3.0) -> np.ndarray:
    """Return (..., n1, n2) filled by thin plates near what is known, by membranes deep in a hole.

    With r the distance to the nearest known entry of the slice, the plate's share is 1 / (1 + (r / trusted)^2): its slopes are
    right at the edge, and lead beyond anything seen in the middle of a wide hole.

    >>> x = np.add.outer(np.arange(30.0), np.arange(20.0))
    >>> known = np.random.default_rng(0).random(x.shape) < 0.8
    >>> bool(np.abs(edges_and_middle(x, known) - x).max() < 1)
    True
    """
    x, plate = thin_plate(y, observed, MEMBRANE), thin_plate(y, observed).reshape(-1, *y.shape[-2:])
    lost = ~np.logical_or.reduce(observed, axis=(-2, -1))
    if lost.any():
        x[lost] = smooth_fill(y, observed)[lost]
    known, flat = observed.reshape(plate.shape), x.reshape(plate.shape)
    values = y[observed]
    for one, bent, seen in zip(flat, plate, known, strict=True):
        if seen.any() and not seen.all():
            share = 1 / (1 + np.square(np.asarray(ndimage.distance_transform_edt(~seen)) / trusted))
            one += share * (np.clip(bent, values.min(), values.max()) - one)
    return flat.reshape(y.shape)
