"""Thin things drawn over pictures: scratches and letters."""

from __future__ import annotations

import math

import numpy as np

Shape = tuple[int, int, int]  # of a stack: n3, n1, n2
LETTER = 9  # rows from the foot of a letter to its top, of a slice of up to ten times as many
CORNERS = np.array([(row, column) for row in (0.0, 0.5, 1.0) for column in (0.0, 0.5)])  # where strokes of letters meet


def scratches(shape: Shape, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Return a stack with curves, False, through each slice, other ones in each, until this share is left.

    >>> known = scratches((2, 50, 60), 0.9, np.random.default_rng(0))
    >>> known.shape, bool((known[0] == known[1]).all())
    ((2, 50, 60), False)
    """
    known = np.ones(shape, dtype=bool)
    for frame in known:
        while frame.mean() > rate:
            over = _curve(shape[1], shape[2], rng)
            _cover(frame, over, rate)
    return known


def _cover(frame: np.ndarray, over: np.ndarray, rate: float) -> None:
    """Make entries, given as rows and columns, False in their order until the share is reached."""
    rows, columns = over
    inside = (rows >= 0) & (rows < frame.shape[0]) & (columns >= 0) & (columns < frame.shape[1])
    places = rows[inside] * frame.shape[1] + columns[inside]
    flat = frame.reshape(-1)
    _, first = np.unique(places, return_index=True)
    new = places[np.sort(first)]
    new = new[flat[new]]
    flat[new[: max(1, math.ceil(flat.sum() - rate * flat.size))]] = False


def _curve(n1: int, n2: int, rng: np.random.Generator) -> np.ndarray:
    """Return the entries of a slightly bent line through a slice, one or two wide: rows and columns, shape (2, n)."""
    length = rng.uniform(0.3, 1.5) * max(n1, n2)
    t = np.arange(0, length + 1, 0.5)
    bend = rng.normal(0, 1.0) * t / max(n1, n2) + 0.3 * np.sin(t / length * rng.uniform(3, 12) + rng.uniform(0, 6))
    angle = rng.uniform(0, 2 * math.pi) + bend
    path = np.cumsum(0.5 * np.stack([np.sin(angle), np.cos(angle)]), axis=1)
    path += rng.uniform(0, (n1, n2))[:, None] - path[:, [len(t) // 2]]
    return _drawn(path, int(rng.integers(1, 3)) * max(1, round(max(n1, n2) / 400)))


def _drawn(path: np.ndarray, width: int) -> np.ndarray:
    """Return the entries under a path (2, n) drawn with a square pen."""
    pen = np.stack(np.meshgrid(np.arange(width), np.arange(width), indexing="ij")).reshape(2, 1, -1)
    return (np.round(path).astype(int)[:, :, None] + pen).reshape(2, -1)


def text(shape: Shape, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Return a stack with lines of letters, False, the same in each slice, until this share is left.

    >>> known = text((2, 50, 60), 0.9, np.random.default_rng(0))
    >>> round(float(known.mean()), 2), bool((known[0] == known[1]).all())
    (0.9, True)
    """
    n3, n1, n2 = shape
    page = np.ones((n1, n2), dtype=bool)
    high = max(LETTER, round(n1 / 12))
    wide, apart, pen = round(0.6 * high), round(1.6 * high), max(1, round(high / 8))
    while page.mean() > rate:
        tops = rng.permutation(np.arange(rng.integers(-high // 2, apart // 2 + 1), n1, apart))
        for top in tops:
            left = int(rng.integers(-wide, wide))
            while left < n2 and page.mean() > rate:
                if rng.random() < 0.85:  # else a space between words
                    _cover(page, _letter(high, wide, pen, rng) + np.array([[top], [left]]), rate)
                left += wide + pen + 2
    return np.tile(page, (n3, 1, 1))


def _letter(high: int, wide: int, pen: int, rng: np.random.Generator) -> np.ndarray:
    """Return the entries of a made-up letter: a stem, and strokes between its corners; rows and columns, shape (2, n)."""
    ends = [(0, 4)] if rng.random() < 0.7 else []
    while len(ends) < 3:
        a, b = rng.choice(len(CORNERS), 2, replace=False)
        ends.append((int(a), int(b)))
    along = np.linspace(0, 1, 2 * high)
    size = np.array([high - pen, 2 * (wide - pen)])
    strokes = [np.outer(CORNERS[a] * size, 1 - along) + np.outer(CORNERS[b] * size, along) for a, b in ends]
    return _drawn(np.concatenate(strokes, axis=1), pen)
