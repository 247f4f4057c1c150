"""The Q-singular values of an answer, under its own transform and under Fourier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..result import Completion
from ..tensor import Layout
from ..transforms import Fourier, Transform

WORK = 4e10  # multiplications; beyond that every second (third, …) row and column stand for all
RANK_SHARE = 1e-3


@dataclass(frozen=True)
class Spectrum:
    """Sorted Q-singular values by transform, and the rank of each slice under the first."""

    values: dict[str, np.ndarray]
    ranks: np.ndarray
    most: int  # the largest rank that a slice can have
    stride: int

    @classmethod
    def of(cls, result: Completion, x: np.ndarray) -> Spectrum:
        """Measure the answer; the sorting is that of all slices together."""
        layout = Layout.of(x.shape, result.slice_axes)
        n1, n2 = layout.slice_shape
        stride = max(1, round((layout.n3 * n1 * n2 * min(n1, n2) / WORK) ** (1 / 3)))
        stack = np.ascontiguousarray(layout.stack(x)[:, ::stride, ::stride]).astype(float, copy=False)
        named: dict[str, Transform] = {"Fourier": Fourier(layout.n3)}
        if result.transform is not None and not isinstance(result.transform, Fourier):
            named = {f"Q of {result.method.name}": result.transform} | named
        sigmas = {name: q.singular_values(stack) for name, q in named.items()}
        first = next(iter(sigmas.values()))
        ranks = (first > RANK_SHARE * first.max()).sum(axis=1) if first.max() > 0 else np.zeros(len(first), int)
        values = {name: np.sort(sigma, axis=None)[::-1] for name, sigma in sigmas.items()}
        return cls(values, ranks, first.shape[1], stride)
