"""What `auto` tries: which methods, with which options, from which start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.smoothing import ROUGH
from ..methods import METHODS, Method
from ..methods.gaussian import FEWEST, GaussianPatches
from ..methods.joined import Joined
from ..problem import Problem

SHORT = 4  # axes up to this length are colours
WHOLE = 0.5  # share of the missing entries that lie together, from which on that is the pattern
SMALL = 300_000  # entries up to which whole runs of the slower methods are cheap
PLAIN = 0.5  # axes smoother than this are sides of a picture
MORE_STEPS, MORE_PAIRS = 8, 100  # of `joined`, where there is time for them
PICTURE = 4  # slices up to which an array is a picture


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method to try, by a name of its own; ``after`` is the candidate whose answer it starts from."""

    name: str
    method: Method
    after: str | None = None


def simple(problem: Problem) -> list[Candidate]:
    """Return the simple fills: along every axis that is smooth, and what classical inpainting would do."""
    axes = problem.layout.rest + problem.layout.slice_axes
    found = [Candidate("smooth", METHODS["smooth"].configured())]
    for inner in np.flatnonzero(problem.smoothness < ROUGH):
        if problem.y.shape[inner] > SHORT:
            axis = int(axes[inner])
            found.append(Candidate(f"interpolate along axis {axis}", METHODS["interpolate"].configured(axis=axis)))
    if is_picture(problem):
        found.append(Candidate("biharmonic", METHODS["biharmonic"].configured()))
    return found


def single(problem: Problem, effort: str, noise: float | None = None) -> list[Candidate]:
    """Return the methods of one view, where they can win: small arrays, few slices; all of them for the best effort.

    With noise those that know of it.
    """
    names = []
    if problem.y.size <= SMALL or effort == "best":
        names += ["vmtqn"]
    if problem.layout.n3 > SHORT and (effort == "best" or lost_planes(problem.settled) is not None):
        names += ["tnn-c"]
    found = [Candidate(name, METHODS[name].configured(noise=noise)) for name in names]
    if effort == "best":
        found.append(Candidate("motqn, log-sum", METHODS["motqn"].configured(penalty="log-sum", noise=noise)))
    if noise is not None:
        return found
    if lacks_fibres(problem.settled) and (effort == "best" or not spoilt_picture(problem)):
        found.append(Candidate("kriging", METHODS["kriging"].configured()))
    if is_picture(problem) and effort != "fast":
        found.append(Candidate("similar", METHODS["similar"].configured()))
    return found


def views(problem: Problem, effort: str, noise: float | None = None) -> Candidate:
    """Return the mean over views, its weights judged by what is hidden."""
    steps = 100 if effort == "best" else None
    return Candidate("views", METHODS["views"].configured(judged=True, steps=steps, noise=noise))


def joined(
    problem: Problem, after: str, depth: float, effort: str, noise: float | None = None, thorough: bool = True
) -> list[Candidate]:
    """Return the local Gaussian model beside the views in their last steps, on blocks of several shapes.

    ``thorough``: with more eigenpairs and in more steps than is worth its time on large data. Chosen on two generated clips and two
    generated spectra: together 0.4 to 1.4 dB more on three of them, the same on one.
    """

    def configured(shape: str) -> Method:
        more: dict[str, Any] = {"steps": MORE_STEPS, "eigenpairs": _eigenpairs(problem, shape)} if thorough else {}
        return METHODS["joined"].configured(shape=shape, judged=True, depth=depth, noise=noise, **more)

    return [
        Candidate(f"{after}, joined by {shape} patches", configured(shape), after)
        for shape in block_shapes(problem, effort)
    ]


def _eigenpairs(problem: Problem, shape: str) -> int:
    """Return how many eigenpairs blocks of a shape are given where there is time for them: three quarters of their known entries."""
    block = GaussianPatches(shape=shape).block(problem.y.shape)
    return int(min(max(FEWEST, 0.75 * math.prod(block) * problem.count / problem.y.size), MORE_PAIRS))


def alone(after: Candidate, joined: Joined, before: Candidate, k: int, noise: float | None = None) -> Candidate:
    """Return round k of the model alone, on the blocks of the one that joined the views, from the answer before it."""
    name = f"{after.name}, then these alone" + (f" ({k} rounds)" if k > 1 else "")
    options: dict[str, Any] = {"shape": joined.shape, "eigenpairs": joined.eigenpairs, "rounds": 1, "noise": noise}
    return Candidate(name, METHODS["patches"].configured(**options), before.name)


def block_shapes(problem: Problem, effort: str) -> list[str]:
    """Return the shapes of blocks that may win."""
    front = [n for n in problem.y.shape[:-2] if n > SHORT]
    lost, shapes = lost_planes(problem.settled) is not None, []
    if math.prod(front) <= 128:
        shapes.append("fibre")
    if front and max(front) >= 8 and (not shapes or lost or effort == "best"):
        shapes.append("cube")
    if front and (lost or effort == "best"):
        shapes.append("slice")
    if min(problem.y.shape[-2:]) < 4:
        shapes = []
    return shapes


def is_picture(problem: Problem) -> bool:
    """Return whether an array is one picture: few slices, smooth in the plane."""
    return problem.layout.n3 <= PICTURE and bool((problem.smoothness[-2:] < ROUGH).all())


def lacks_fibres(observed: np.ndarray) -> bool:
    """Return whether most of what is missing is whole fibres along a long axis, but not whole planes: days of sensors.

    >>> known = np.ones((6, 7, 8), dtype=bool)
    >>> known[2, 3] = known[4, 5] = False
    >>> lacks_fibres(known), lacks_fibres(known.swapaxes(0, 2)), lacks_fibres(np.arange(336).reshape(6, 7, 8) % 5 > 0)
    (True, True, False)
    """
    if observed.ndim < 3:
        return False
    missing = int(np.count_nonzero(~observed))
    fibres, planes = [0], [0]
    for axis, n in enumerate(observed.shape):
        if n > SHORT:
            fibres.append(int(np.count_nonzero(~observed.any(axis=axis))) * n)
            across = ~observed.any(axis=tuple(a for a in range(observed.ndim) if a != axis))
            planes.append(int(np.count_nonzero(across)) * (observed.size // n))
    return max(fibres) >= WHOLE * missing > 0 and max(planes) < (1 - WHOLE) * missing


def spoilt_picture(problem: Problem) -> bool:
    """Return whether the plane in which fibres are missing is a picture: text on a film, a dead pixel of a cube.

    Then what is nearby tells of a hole. Kriging, which takes minutes there, is for places and days whose order means little. (The
    clips and the cube at hand have at most 0.41 in their planes, the stations of the metro 0.69 to 0.78.) Colours, which may
    differ as they like, are no side of a picture.
    """
    shape = problem.y.shape
    lost = int(np.argmax([np.count_nonzero(~problem.settled.any(axis=a)) * n for a, n in enumerate(shape)]))
    sides = [a for a, n in enumerate(shape) if a != lost and n > SHORT]
    return bool(sides) and bool((problem.smoothness[sides] < PLAIN).all())


def lost_planes(observed: np.ndarray) -> int | None:
    """Return the axis across which some plane has hardly any known entry beside the others, a lost frame; None: no axis.

    >>> known = np.ones((5, 4, 4), dtype=bool)
    >>> known[2] = False
    >>> lost_planes(known), lost_planes(known[:2])
    (0, None)
    """
    if observed.ndim < 3 or lacks_fibres(observed):
        return None
    for axis, n in enumerate(observed.shape):
        if n > SHORT:
            share = observed.mean(axis=tuple(a for a in range(observed.ndim) if a != axis))
            if share.min() < 0.3 * np.median(share):
                return axis
    return None


def plane(shape: Sequence[int], smoothness: Sequence[float] | np.ndarray) -> tuple[int, int]:
    """Return the two axes that are most like the sides of a picture: smooth alike, long alike, no colours.

    >>> plane((48, 240, 432), (0.4, 0.2, 0.2)), plane((3000, 32, 32), (1.0, 0.3, 0.3)), plane((40, 60, 80, 3), (0.3, 0.1, 0.1, 0.2))
    ((1, 2), (1, 2), (1, 2))
    """
    return planes(shape, smoothness)[0][1]


def planes(shape: Sequence[int], smoothness: Sequence[float] | np.ndarray) -> list[tuple[float, tuple[int, int]]]:
    """Return pairs of axes and how much they are like the sides of a picture, from 0 to 1, the most alike first.

    >>> [pair for _, pair in planes((40, 60, 80, 3), (0.3, 0.1, 0.1, 0.2))]
    [(1, 2), (0, 1), (0, 2)]
    """
    axes = [axis for axis in range(len(shape)) if shape[axis] > SHORT]
    axes = axes if len(axes) > 1 else sorted(range(len(shape)), key=lambda axis: -shape[axis])[:2]
    pairs = [(i, j) for i in sorted(axes) for j in sorted(axes) if i < j]

    def alike(pair: tuple[int, int]) -> tuple[float, int]:
        i, j = pair
        rough = [max(0.02, min(1.0, float(smoothness[axis]))) for axis in pair]
        smooth = 1.0 if max(rough) < ROUGH else 0.1
        long = min(shape[i], shape[j]) / max(shape[i], shape[j])
        return smooth * long * min(rough) / max(rough), j - i == 1

    ranked = sorted(pairs, key=alike, reverse=True)
    return [(alike(pair)[0], pair) for pair in ranked]
