"""Singular values of complete data under TNN's transform and under the learned one (Figure 1, and a part of Figure 8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..kernels import threads
from ..study.store import RunStore
from ..transforms import Fourier, Matrix, pca
from ..version import versions
from . import sources
from .cells import SLICES_SHOWN
from .plans import Size, rank_data

KEPT = 500  # the paper shows the first 500


def data_sets(name: str, size: Size) -> list[str]:
    """Return the data sets whose spectra an experiment shows."""
    return {"spectrum": ["video-60" if size is Size.QUICK else "video"], "rank": [rank_data(size)[0]]}.get(name, [])


def of(x: np.ndarray) -> dict[str, list[float]]:
    """Return the largest singular values of a stack under the unitary Fourier transform and under PCA, and of its unfolding.

    >>> found = of(np.ones((4, 3, 3)))
    >>> found["fourier"][0].__round__(6), found["learned"][0].__round__(6), len(found["fourier"])
    (6.0, 6.0, 12)
    """
    learned = Matrix(pca(x, slice_axes=(1, 2)))
    with threads.own_threads():
        pairs, under_q = Fourier(len(x)).singular_values(x), learned.singular_values(x)
    unfolded = np.linalg.norm(learned.forward(x).reshape(learned.r, -1), axis=1)  # those of X_(3), by Lemma 2

    def largest(values: np.ndarray) -> list[float]:
        return np.sort(values.ravel())[::-1][:KEPT].tolist()

    return {
        "fourier": largest(pairs),
        "learned": largest(under_q),
        "fourier_sum": [float(pairs.sum())],
        "learned_sum": [float(under_q.sum())],
        "unfolding": np.sort(unfolded)[::-1].tolist(),
    }


def measure(data: str, out: Path, folder: Path | None) -> dict[str, Any]:
    """Return the spectra of a data set, measured at most once."""
    x = sources.load(data, folder)
    kept, _ = load(data, out)
    if kept is not None and kept["fingerprint"] == sources.fingerprint(x):
        return kept
    found = {**of(x), "fingerprint": sources.fingerprint(x), "versions": versions(), "shape": x.shape}
    some = (x[[int(share * len(x)) for share in SLICES_SHOWN]] * 255).astype(np.uint8)
    RunStore(out / "spectra").save(data, found, {"frames": some})
    return found


def load(data: str, out: Path) -> tuple[dict[str, Any] | None, np.ndarray | None]:
    """Return the spectra that were measured and some frames of the data; None for what is not there."""
    store = RunStore(out / "spectra")
    return store.load(data), store.arrays(data).get("frames")
