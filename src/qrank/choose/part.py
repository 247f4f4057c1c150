"""Which part of large data candidates are tried on."""

from __future__ import annotations

import numpy as np

from ..methods.auto import sides


def part(observed: np.ndarray, most: int, rng: np.random.Generator) -> tuple[slice, ...] | None:
    """Return a box of about so many entries whose share of known entries is that of the whole; None: all of it."""
    lengths = sides(observed.shape, most)
    if lengths == observed.shape:
        return None
    share, best, least = observed.mean(), None, np.inf
    for k in range(6):
        room = [n - side for n, side in zip(observed.shape, lengths, strict=True)]
        begin = [r // 2 if k == 0 else int(rng.integers(r + 1)) for r in room]
        box = tuple(slice(b, b + side) for b, side in zip(begin, lengths, strict=True))
        apart = abs(observed[box].mean() - share)
        if apart < least and observed[box].any() and not observed[box].all():
            best, least = box, apart
    return best
