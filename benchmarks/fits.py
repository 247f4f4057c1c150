"""What a fit costs: a step with noise, with outliers and with an operator, over one with known entries alone."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import measure
from .common import NORM, Spec, data_of, described

SIGMA, WRONG = 0.05, 0.05  # standard deviation of the noise, share of the known entries that are outliers
FITS = {"exact": "known entries", "noise": "noise", "outliers": "outliers", "operator": "operator"}


def runs_of(y: np.ndarray, observed: np.ndarray, method: str) -> dict[str, Callable[[Any], Any]]:
    """Return a run of each fit on the same data, as a function of what is to be called after each step.

    The operator is a cheap one, half the sum of every four neighbours in a row; there, what is not known counts as 0.
    """
    import qrank

    rng = np.random.default_rng(5)
    wrong = observed & (rng.random(y.shape) < WRONG)
    noisy = np.where(observed, y + SIGMA * rng.standard_normal(y.shape), 0.0)
    spoilt = np.where(wrong, rng.random(y.shape), y)

    def forward(x: np.ndarray) -> np.ndarray:
        return x.reshape(-1, 4).sum(axis=1) / 2

    def adjoint(b: np.ndarray) -> np.ndarray:
        return np.repeat(b / 2, 4).reshape(y.shape)

    def completed(given: np.ndarray, **options: Any) -> Callable[[Any], Any]:
        return lambda on_step: qrank.complete(given, observed, method, (1, 2), on_step=on_step, **NORM, **options)

    return {
        "exact": completed(y),
        "noise": completed(noisy, noise=SIGMA),
        "outliers": completed(spoilt, outliers="entries"),
        "operator": lambda on_step: qrank.recover(
            forward(y), (forward, adjoint), y.shape, slice_axes=(1, 2), method=method, on_step=on_step, **NORM
        ),
    }


def costs(spec: Spec) -> Spec:
    """Run each fit in turn, and again; return the seconds of a step, of the run of least mean."""
    data = data_of(spec)
    measure.gemm_rate(seconds=0.1)
    runs = runs_of(data.y, data.observed, spec["method"])
    found: dict[str, dict[str, float]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(spec["rounds"]):
            for name, run in runs.items():
                stamps = [time.perf_counter()]
                run(lambda record, stamps=stamps: stamps.append(time.perf_counter()))
                each = np.diff(stamps)[1:]  # the first step's time has all that comes before it
                one = {"step": float(each.mean()), "steps": len(stamps) - 1, "first_ten": float(each[:10].mean())}
                if name not in found or one["step"] < found[name]["step"]:
                    found[name] = one
    return described(data) | {"fits": found}
