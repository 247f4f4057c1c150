"""What is observed: entries at random, and the holes of real damage."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import ndimage

from ..errors import InputError, nearest
from ..tensor import Layout
from .strokes import Shape, scratches, text


def observed(
    shape: tuple[int, ...],
    rate: float,
    pattern: str = "random",
    slice_axes: tuple[int, int] = (0, 1),
    rng: np.random.Generator | int | None = None,
) -> np.ndarray:
    """Return a boolean array, True where an entry is observed; about the share ``rate`` of all entries is.

    | pattern | what is missing |
    |---|---|
    | ``random`` | every entry on its own |
    | ``fibres`` | whole fibres of the third mode: the same pixels of every slice |
    | ``frames`` | whole slices (where low rank alone cannot help) |
    | ``station-days`` | whole rows of slices, at random among slices and rows: with (places, hours) as slices, days of places |
    | ``stripes`` | whole columns, other ones in each slice: the dead detectors of a push-broom scanner |
    | ``blocks`` | small rectangles, other ones in each slice |
    | ``moving-block`` | one rectangle that moves by about an entry from slice to slice |
    | ``logo`` | one rectangle, the same in every slice |
    | ``text`` | lines of letters, the same in every slice |
    | ``scratches`` | thin curves, other ones in each slice |
    | ``clouds`` | smooth patches, from slice to slice a little alike |

    For a picture or clip whose colours are missing together, draw the mask without the axis of colours, and add that.

    >>> o = observed((20, 30, 5), 0.25, "fibres", rng=0)
    >>> bool((o == o[:, :, :1]).all()), round(float(o.mean()), 1)
    (True, 0.2)
    >>> o = observed((60, 80), 0.9, "scratches", rng=0)[:, :, None]  # of a colour picture, (60, 80, 3)
    >>> round(float(o.mean()), 1)
    0.9
    """
    if not 0 < rate <= 1:
        raise InputError(f"a rate is the share of entries observed, above 0 and up to 1, not {rate}")
    if pattern not in PATTERNS:
        raise InputError(f"unknown pattern '{pattern}'{nearest(pattern, PATTERNS)}")
    layout = Layout.of(shape, slice_axes)
    stack = PATTERNS[pattern]((layout.n3, *layout.slice_shape), rate, np.random.default_rng(rng))
    if not stack.any():
        stack[0, 0, 0] = True
    return np.ascontiguousarray(layout.outer(stack))


def _share(shape: Shape, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Return truth values of which a share, at least one, is true."""
    n = math.prod(shape)
    chosen = np.zeros(n, dtype=bool)
    chosen[rng.permutation(n)[: max(1, round(rate * n))]] = True
    return chosen.reshape(shape)


def _blocks(shape: Shape, rate: float, rng: np.random.Generator) -> np.ndarray:
    known = np.ones(shape, dtype=bool)
    _, n1, n2 = shape
    high, wide = max(1, n1 // 8), max(1, n2 // 8)
    least = rate * n1 * n2
    for frame in known:
        while frame.sum() > least:
            top, left = rng.integers(n1), rng.integers(n2)
            frame[top : top + rng.integers(1, high + 1), left : left + rng.integers(1, wide + 1)] = False
    return known


def _stripes(shape: Shape, rate: float, rng: np.random.Generator) -> np.ndarray:
    n3, n1, n2 = shape
    order = rng.random((n3, 1, n2)).argsort(axis=2).argsort(axis=2)
    return np.tile(order < round(rate * n2), (1, n1, 1))


def _rectangle(n1: int, n2: int, rate: float, rng: np.random.Generator) -> tuple[int, int]:
    """Return the sides of a rectangle that leaves this share of a slice, about as long to wide as the slice is."""
    area = (1 - rate) * n1 * n2
    high = min(n1, max(1, round(math.sqrt(area * n1 / n2) * rng.uniform(0.8, 1.25))))
    wide = min(n2, max(1, round(area / high)))
    return min(n1, max(1, round(area / wide))), wide


def _moving_block(shape: Shape, rate: float, rng: np.random.Generator) -> np.ndarray:
    n3, n1, n2 = shape
    high, wide = _rectangle(n1, n2, rate, rng)
    known, angle = np.ones(shape, dtype=bool), rng.uniform(0, 2 * math.pi)
    start, pace = rng.uniform(0, (2 * n1, 2 * n2)), 1.4 * np.array([math.sin(angle), math.cos(angle)])
    for i in range(n3 if rate < 1 else 0):
        top, left = (_bounced(v, n - side) for v, n, side in zip(start + i * pace, (n1, n2), (high, wide), strict=True))
        known[i, top : top + high, left : left + wide] = False
    return known


def _bounced(place: float, last: int) -> int:
    """Return where a thing is that goes back and forth between 0 and the last place."""
    return round(last - abs(last - place % (2 * last))) if last else 0


def _logo(shape: Shape, rate: float, rng: np.random.Generator) -> np.ndarray:
    n3, n1, n2 = shape
    known, (high, wide) = np.ones((1, n1, n2), dtype=bool), _rectangle(n1, n2, rate, rng)
    top, left = rng.integers(n1 - high + 1), rng.integers(n2 - wide + 1)
    known[:, top : top + high, left : left + wide] = rate == 1
    return np.tile(known, (n3, 1, 1))


def _clouds(shape: Shape, rate: float, rng: np.random.Generator) -> np.ndarray:
    width = max(1.0, math.sqrt(shape[1] * shape[2]) / 16)
    height = ndimage.gaussian_filter(rng.standard_normal(shape), (0.6, width, width), mode="wrap")
    return height <= np.quantile(height, rate)


PATTERNS: dict[str, Callable[[Shape, float, np.random.Generator], np.ndarray]] = {
    "random": lambda shape, rate, rng: rng.random(shape) < rate,
    "fibres": lambda shape, rate, rng: np.tile(_share((1, *shape[1:]), rate, rng), (shape[0], 1, 1)),
    "frames": lambda shape, rate, rng: np.tile(_share((shape[0], 1, 1), rate, rng), (1, *shape[1:])),
    "station-days": lambda shape, rate, rng: np.tile(_share((*shape[:2], 1), rate, rng), (1, 1, shape[2])),
    "stripes": _stripes,
    "blocks": _blocks,
    "moving-block": _moving_block,
    "logo": _logo,
    "text": text,
    "scratches": scratches,
    "clouds": _clouds,
}
