"""Samples as an estimator is given them: checked, arranged, and how far what is learned of some tells of others."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from .. import kernels
from ..errors import InputError
from ..kernels.against import subspace_of

LEVELS = (1e-3, 1e-2, 1e-1, 1.0)  # noise of a sample's entries, in units of their mean variance
TELLING = 200  # samples that tell it


def checked(estimator: Any, given: Any, reset: bool) -> Any:
    """Return samples as an array of numbers with NaN where entries are missing; tables by scikit-learn's rules where it is there."""
    if isinstance(given, np.ma.MaskedArray):
        given = np.ma.filled(given.astype(np.result_type(given.dtype, np.float32)), np.nan)
    if len(getattr(given, "shape", (0, 0))) > 2:
        return given  # as `complete` takes it: xarray's, for instance
    if not _has_scikit_learn():
        return np.asarray(given) if np.ndim(given) > 1 else _too_flat(given)
    from sklearn.utils import validation

    rules: dict[str, Any] = dict(dtype=[np.float64, np.float32], allow_nd=True, ensure_min_samples=1, reset=reset)
    if hasattr(validation, "validate_data"):
        return validation.validate_data(estimator, given, ensure_all_finite="allow-nan", **rules)
    return estimator._validate_data(given, force_all_finite="allow-nan", **rules)


def _has_scikit_learn() -> bool:
    try:
        importlib.import_module("sklearn")
    except ImportError:
        return False
    return True


def _too_flat(given: Any) -> Any:
    raise InputError(f"samples are the first axis of an array of at least two, this one has shape {np.shape(given)}")


def check_fitted(estimator: Any) -> None:
    """Say that an estimator has not been fitted, as scikit-learn does where it is there."""
    if hasattr(estimator, "result_"):
        return
    if not _has_scikit_learn():
        raise InputError("this TensorImputer is not fitted yet: call fit first")
    from sklearn.exceptions import NotFittedError

    raise NotFittedError("this TensorImputer is not fitted yet: call fit first")


def names_in(estimator: Any, given: Any) -> list[str]:
    """Return the names of the features that were fitted: those of their table, or x0, x1, …"""
    fitted = getattr(estimator, "feature_names_in_", None)
    if given is None:
        return [f"x{k}" for k in range(estimator.n_features_in_)] if fitted is None else [str(name) for name in fitted]
    if fitted is not None and list(given) != list(fitted):
        raise InputError("input_features is not equal to feature_names_in_")
    if len(given) != estimator.n_features_in_:
        raise InputError(f"input_features should have length equal to number of features ({estimator.n_features_in_})")
    return [str(name) for name in given]


def folded(x: Any, fold: Any) -> Any:
    """Return samples (n, features) with their features in the shape ``fold``; as they are where it is None.

    >>> folded(np.zeros((5, 48)), (24,)).shape, folded(np.zeros((5, 48)), (2, -1, 3)).shape
    ((5, 2, 24), (5, 2, 8, 3))
    """
    if fold is None:
        return x
    sides, features = tuple(np.atleast_1d(fold).tolist()), math.prod(x.shape[1:])
    if -1 not in sides and math.prod(sides) != features:
        sides = (-1, *sides)
    try:
        return np.reshape(x, (len(x), *sides))
    except (ValueError, TypeError):
        raise InputError(f"{features} features of a sample cannot be folded to {fold!r}") from None


def flat(x: Any) -> np.ndarray:
    """Return samples as rows."""
    x = np.ma.getdata(np.asanyarray(x))
    return x.reshape(len(x), -1)


def parts(x: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return samples as rows, zero where they are missing, and which entries are known."""
    kind = kernels.of(x)
    known, values = kind.known(x, None), kind.values(x)
    return flat(np.where(known, values, values.dtype.type(0))), flat(known)


def noise(filled: np.ndarray, known: np.ndarray) -> float:
    """Return how much of an entry, of its mean variance, the directions of other samples do not tell.

    Those of one half of the samples complete the other half, of each of which every third known entry is hidden.
    """
    order = np.random.default_rng(0).permutation(len(filled))[: 2 * TELLING]
    half, other = order[::2], order[1::2]
    if len(other) < 4:
        return LEVELS[1]
    turn = np.cumsum(known[other], axis=1) % 3 == 0
    hidden = known[other] & turn
    seen = known[other] & ~turn
    if not hidden.any():
        return LEVELS[1]
    errors = []
    for level in LEVELS:
        found = subspace_of(filled[half], noise=level).completed(filled[other], seen)
        errors.append(float(np.square(found - filled[other])[hidden].mean()))
    return LEVELS[int(np.argmin(errors))]
