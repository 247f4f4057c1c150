"""Which known entries to hide from the candidates: those that look like the holes.

What fills scattered holes best may be the worst for a lost frame, so entries are hidden as entries are missing: under copies of
the holes at other places, under some planes of such copies, or at random. Of all these proposals the one is taken whose hidden
entries see what the missing ones see: along each axis, how far the nearest known entry is, and how many are known at all.

Where what is missing lies in poor planes, frames of which a little is known, that little is the best witness: it tells of those
very frames, and not of others that may move less. Some of it is hidden then, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

SHARE = 0.06  # of the known entries that are to be hidden at random, about
COPIED = (
    0.12  # of the known entries that are to be hidden under copies of the holes: they hang together, so it takes more
)
MOST, LEAST = 0.3, 0.002  # shares beyond which a proposal is thinned out, or left out
FEWEST = 40  # hidden entries that tell anything
SHIFTS = 16  # sets of copies of the holes that are looked at
COPIES = 6  # of small holes in one set
LOOKED_AT = 1500  # entries whose surroundings are compared
FAR = 32  # distances beyond are alike
POOR = 0.5  # planes of missing entries are poor if less than this part of what is known of all planes is known of them
SPARED = 0.25  # of what is known of a poor plane that is hidden: the rest must do what it did before
ALIKE = (
    1.0  # squared deviations, in all, below which hidden entries see what the missing ones see; beside a logo it is 700
)
WITNESSES = (
    200  # hidden entries of poor planes that are enough to weigh answers by: their 90 % interval is known to 2 points
)


def hidden(known: np.ndarray, rng: np.random.Generator, ignored: np.ndarray | None = None) -> np.ndarray:
    """Return the known entries to hide, a boolean array of the mask's shape; at least one stays known.

    Entries that are ``ignored``, neither known nor to be filled, are no holes: nothing is hidden in their pattern.

    >>> known = np.ones((12, 20, 30), dtype=bool)
    >>> known[[2, 7]] = False  # two frames are lost
    >>> found = hidden(known, np.random.default_rng(0))
    >>> {int(frame.sum()) for frame in found} == {0, 600}
    True
    """
    missing = ~known if ignored is None else ~(known | ignored)
    count = int(np.count_nonzero(known))
    wanted = surroundings(known, _some(missing, rng)) if missing.any() else None
    best, least = _thinned(known, SHARE, None, rng), np.inf
    if wanted is None:
        return best
    centre, scale = wanted.mean(axis=0), wanted.std(axis=0) + 0.15
    witnesses = of_poor_planes(known, rng, missing)
    if witnesses is not None:
        found = surroundings(known & ~witnesses, _some(witnesses, rng))
        if float(np.square((found.mean(axis=0) - centre) / scale).sum()) < ALIKE:
            return witnesses
    for proposal, aim in _proposals(known, missing, rng):
        share = np.count_nonzero(proposal) / count
        if not LEAST <= share <= MOST or share * count < min(FEWEST, 0.1 * count):
            continue
        found = surroundings(known & ~proposal, _some(proposal, rng))
        apart = float(np.square((found.mean(axis=0) - centre) / scale).sum())
        apart += 0.05 * np.log(share / aim) ** 2
        if apart < least:
            best, least = proposal, apart
    return best


def of_poor_planes(known: np.ndarray, rng: np.random.Generator, missing: np.ndarray | None = None) -> np.ndarray | None:
    """Return known entries of the planes in which most is missing, in each as many as are missing there; None: no planes are poor.

    POOR and SPARED follow from what is compared: hidden entries must be in the planes of the missing ones, and these be left
    about as poor as they are. They were not tuned.

    >>> known = np.ones((12, 40, 50), dtype=bool)
    >>> known[[2, 7]] = np.random.default_rng(0).random((2, 40, 50)) < 0.3
    >>> found = of_poor_planes(known, np.random.default_rng(0))
    >>> [int(plane) for plane in np.flatnonzero(found.any(axis=(1, 2)))], bool((found & ~known).any())
    ([2, 7], False)
    """
    for axis in range(known.ndim if known.ndim > 2 else 0):
        planes = np.moveaxis(known, axis, 0).reshape(known.shape[axis], -1)
        holes = ~planes if missing is None else np.moveaxis(missing, axis, 0).reshape(planes.shape)
        count, gone = planes.sum(axis=1), holes.sum(axis=1)
        if (count * gone).sum() >= POOR * planes.mean() * planes.shape[1] * gone.sum():
            continue
        some = SPARED * np.minimum(gone * ((count * gone).sum() / np.square(gone).sum()), count)
        chosen = planes & (rng.random(planes.shape) < (some / np.maximum(count, 1))[:, None])
        reached = gone[chosen.any(axis=1)].sum() / gone.sum()
        if np.count_nonzero(chosen) >= WITNESSES and reached > 1 - POOR:
            return np.moveaxis(chosen.reshape(np.moveaxis(known, axis, 0).shape), 0, axis)
    return None


def surroundings(known: np.ndarray, at: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return what entries see along each axis: log2(1 + distance to the nearest known one), and the share that is known.

    >>> surroundings(np.array([[True, False, False]]), (np.array([0]), np.array([2])))
    array([[5.04439412, 0.        , 1.5849625 , 0.33333333]])
    """
    found = []
    for axis, n in enumerate(known.shape):
        others = tuple(where for other, where in enumerate(at) if other != axis)
        fibres = np.moveaxis(known, axis, -1)[others]  # (entries, n)
        apart = np.abs(np.arange(n) - at[axis][:, None])
        nearest = np.where(fibres, apart, FAR).min(axis=1)
        found += [np.log2(1 + np.minimum(nearest, FAR)), fibres.mean(axis=1)]
    return np.stack(found, axis=1)


def _some(where: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return the places of a few of the entries that are chosen."""
    flat = np.flatnonzero(where)
    return np.unravel_index(flat if len(flat) <= LOOKED_AT else rng.choice(flat, LOOKED_AT, replace=False), where.shape)


def _proposals(known: np.ndarray, missing: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, float]]:
    """Yield sets of known entries to hide, and the share that is aimed at: at random, and under copies of the holes.

    Small holes are copied to several places, large ones thinned out.
    """
    yield _thinned(known, SHARE, None, rng), SHARE
    d, count = known.ndim, np.count_nonzero(known)
    for k in range(SHIFTS):
        # along one axis in turn, then along several
        moved = [axis for axis in range(d) if (k % d == axis if k < 2 * d else rng.random() < 0.6)]
        copy = np.zeros_like(known)
        for _ in range(COPIES):
            shift = [int(rng.integers(1, max(2, known.shape[axis]))) if axis in moved else 0 for axis in range(d)]
            more = copy | (np.roll(missing, shift, axis=tuple(range(d))) & known)
            if np.count_nonzero(more) > MOST * count and copy.any():
                break
            copy = more
            if np.count_nonzero(copy) > 0.7 * COPIED * count:
                break
        yield copy, COPIED
        share = np.count_nonzero(copy) / count
        if share > SHARE:
            yield _thinned(copy, SHARE / share, None, rng), SHARE
        if share > COPIED:
            for axis in range(d):
                yield _thinned(copy, COPIED / share, axis, rng), COPIED


def _thinned(where: np.ndarray, share: float, axis: int | None, rng: np.random.Generator) -> np.ndarray:
    """Return about a share of the entries that are chosen: at random, or all that lie in some planes across an axis."""
    if axis is None:
        chosen = np.zeros(where.size, dtype=bool)
        flat = np.flatnonzero(where)
        chosen[rng.choice(flat, min(len(flat), max(1, round(share * len(flat)))), replace=False)] = True
        return chosen.reshape(where.shape)
    n = where.shape[axis]
    planes = np.zeros(n, dtype=bool)
    full = np.flatnonzero(where.any(axis=tuple(a for a in range(where.ndim) if a != axis)))
    planes[rng.choice(full, max(1, round(share * len(full))), replace=False)] = True
    return where & planes.reshape([-1 if a == axis else 1 for a in range(where.ndim)])
