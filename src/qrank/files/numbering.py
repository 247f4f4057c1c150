"""Pictures that lack in the numbering of the others: lost frames of a series."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import gcd

import numpy as np

from qrank.errors import InputError
from qrank.files.loaded import Loaded

MOST = 0.5  # of all that should be there: where more lack, the numbers count something else


def lost_names(names: Sequence[str]) -> dict[int, str]:
    """Return the names that lack in a numbering, by their places among all.

    Names must differ in their last number only. Where pictures are numbered 10, 20, 40, what lacks is 30.

    >>> lost_names(["a/img_08.jpg", "a/img_09.jpg", "a/img_11.jpg"]), lost_names(["p10.png", "p20.png", "p40.png"])
    ({2: 'a/img_10.jpg'}, {2: 'p30.png'})
    >>> lost_names(["1.png", "2.png", "3.png"]), lost_names(["IMG_1.png", "IMG_90.png"]), lost_names(["a1.png", "b3.png"])
    ({}, {}, {})
    """
    found = [re.fullmatch(r"(.*?)(\d+)(\D*)", name) for name in names]
    parts = [one.groups() for one in found if one is not None]
    if len(parts) != len(names) or len({(before, after) for before, _, after in parts}) != 1 or len(parts) < 3:
        return {}
    numbers = [int(number) for _, number, _ in parts]
    steps = np.diff(numbers)
    if (steps <= 0).any():
        return {}
    step = gcd(*map(int, steps))
    there, (before, first, after) = set(numbers), parts[0]
    whole = range(numbers[0], numbers[-1] + 1, step)
    if len(whole) - len(there) > MOST * len(whole):
        return {}
    return {k: f"{before}{n:0{len(first)}d}{after}" for k, n in enumerate(whole) if n not in there}


def lost(loaded: Loaded) -> dict[int, str]:
    """Return the pictures that lack in a folder, or a zip, by their places."""
    return lost_names(loaded.meta.get("names", ())) if loaded.frame_axis == 0 else {}


def with_lost(loaded: Loaded) -> tuple[Loaded, np.ndarray]:
    """Return a series with room for the pictures that lack, under their names, and True where these are."""
    gone = lost(loaded)
    if not gone:
        raise InputError(f"no picture lacks in the numbering of {loaded.name}: leave --missing-files out")
    count = len(loaded.data) + len(gone)
    there = np.setdiff1d(np.arange(count), list(gone))
    data = np.zeros((count, *loaded.data.shape[1:]), loaded.data.dtype)
    data[there] = loaded.data
    meta = dict(loaded.meta)
    for name, lacking in (("names", gone), ("infos", {})):
        kept = iter(loaded.meta.get(name, [{}] * len(there)))
        meta[name] = [lacking.get(k, {}) if k in gone else next(kept) for k in range(count)]
    if "alpha" in meta:
        alpha = meta["alpha"]
        opaque = np.iinfo(alpha.dtype).max if alpha.dtype.kind in "iu" else 1
        meta["alpha"] = np.full((count, *alpha.shape[1:]), opaque, alpha.dtype)
        meta["alpha"][there] = alpha
    empty = np.zeros(data.shape, bool)
    empty[list(gone)] = True
    return replace(loaded, data=data, meta=meta), empty
