"""TensorImputer: a transformer of scikit-learn's over the same engine; without scikit-learn it is the same but for its base."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np

from ..api import checked_bounds, complete
from ..errors import InputError, KindError, nearest
from ..kernels.against import Subspace, subspace_of
from ..methods import method_named
from ..result import Completion
from . import samples

try:  # this module is imported when the imputer is first asked for, not with qrank
    from sklearn.base import BaseEstimator, TransformerMixin

    BASES: tuple[Any, ...] = (TransformerMixin, BaseEstimator)
except ImportError:
    BASES = (object,)

OWN = ("fold", "add_indicator")  # parameters that are not those of `complete`


class TensorImputer(*BASES):  # pyright: ignore[reportUntypedBaseClass]
    """Fill the missing entries (NaN, or a mask) of an array whose first axis is that of the samples.

    ``fit`` completes the array and learns in which directions its samples vary; ``transform`` fills new samples by what
    is expected of them given what is known of each, and gives the fitted answer for the array that was fitted. Known entries
    are never changed. Where scikit-learn is installed it is one of its transformers: for pipelines, searches, ``set_output``.

    Parameters
    ----------
    method, slice_axes, preset, rng, holdout, patch, bounds, **options
        Those of ``qrank.complete``; options of the method (``tol``, ``effort``, …) are given by name.
    fold
        Shape that the features of a sample are arranged in: ``(7, 24)`` of 168 columns makes hours of days; ``(24,)`` makes as
        many rows of 24 as there are. ``slice_axes`` are then axes of (samples, \\*fold). Arrays of more axes need none.
    add_indicator
        Append a column for each feature that had missing entries when fitted: 1 where it was missing, else 0.

    Attributes
    ----------
    result_ : the ``qrank.Completion``; ``transform_``, its learned transform
    subspace_ : mean, directions and variances of the samples, against which new ones are completed

    >>> y = np.outer(np.arange(1.0, 7), np.arange(1.0, 7))[:, :, None] * np.ones(4)
    >>> y[2, 3, 1] = np.nan
    >>> imputer = TensorImputer(method="tnn", tol=1e-6)
    >>> imputer
    TensorImputer(method='tnn', tol=1e-06)
    >>> round(float(imputer.fit_transform(y)[2, 3, 1]), 3)
    12.0
    >>> new = 10 * np.arange(1.0, 7)[None, :, None] * np.ones(4)
    >>> new[0, 3, 1] = np.nan
    >>> round(float(imputer.transform(new)[0, 3, 1]))
    40
    """

    _defaults = dict(  # noqa: RUF012
        method="auto",
        slice_axes=None,
        preset=None,
        rng=0,
        holdout=0.0,
        patch=0,
        bounds=None,
        fold=None,
        add_indicator=False,
    )

    def __init__(
        self,
        method: str = "auto",
        slice_axes: tuple[int, int] | None = None,
        preset: str | None = None,
        rng: Any = 0,
        holdout: float = 0.0,
        patch: int = 0,
        bounds: tuple[float | None, float | None] | None = None,
        fold: tuple[int, ...] | None = None,
        add_indicator: bool = False,
        **options: Any,
    ) -> None:
        self.method = method
        self.slice_axes = slice_axes
        self.preset = preset
        self.rng = rng
        self.holdout = holdout
        self.patch = patch
        self.bounds = bounds
        self.fold = fold
        self.add_indicator = add_indicator
        for name, value in options.items():
            setattr(self, name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters by name, options of the method among them."""
        given = {name: value for name, value in vars(self).items() if name[0] != "_" and name[-1] != "_"}
        return {name: getattr(self, name) for name in self._defaults} | given

    def set_params(self, **params: Any) -> TensorImputer:
        """Set parameters by name."""
        method = params.get("method", self.method)
        try:
            options = list(method_named(method).options())
        except (InputError, AttributeError):  # told when fitting
            options = []
        for name, value in params.items():
            if name not in self._defaults and name not in options:
                raise InputError(f"TensorImputer has no parameter '{name}'{nearest(name, [*self._defaults, *options])}")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # pyright: ignore[reportAttributeAccessIssue]
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _more_tags(self) -> dict[str, Any]:  # of scikit-learn before 1.6
        return {"allow_nan": True, "preserves_dtype": [np.float64, np.float32]}

    def fit(self, X: Any, y: Any = None) -> TensorImputer:
        """Complete X and keep the result; y is ignored, as pipelines want it."""
        X = samples.checked(self, X, reset=True)
        table = X.ndim == 2
        if self.add_indicator and not table:
            raise InputError("add_indicator appends columns to a table: the array has more than two axes")
        arranged = samples.folded(X, self.fold)
        options = {name: value for name, value in self.get_params().items() if name not in OWN}
        self.result_: Completion = complete(arranged, **options)
        self.transform_ = self.result_.transform
        self.n_features_in_ = math.prod(X.shape[1:])
        filled, known = (samples.flat(a) for a in (self.result_.x, self.result_.observed))
        self.subspace_: Subspace = subspace_of(filled, noise=samples.noise(filled, known))
        self.indicator_ = np.flatnonzero(~known.all(axis=0))
        return self

    def transform(self, X: Any) -> Any:
        """Return X with its missing entries filled: the fitted answer for the fitted array, else sample by sample."""
        samples.check_fitted(self)
        X = samples.checked(self, X, reset=False)
        shape, result = samples.folded(X, self.fold).shape, self.result_
        if shape[1:] != np.shape(result.x)[1:]:
            raise InputError(f"samples of shape {shape[1:]} were given, fitted were those of {np.shape(result.x)[1:]}")
        rows, known = samples.parts(X)
        filled, seen = (samples.flat(a) for a in (result.x, result.observed))
        fitted = (
            rows.shape == filled.shape and np.array_equal(known, seen) and np.array_equal(rows[known], filled[seen])
        )
        if not fitted:
            filled = rows.copy()
            some = np.flatnonzero(~known.all(axis=1))
            low, high = checked_bounds(self.bounds, X)
            found = np.clip(self.subspace_.completed(rows[some], known[some]), low, high)
            filled[some] = np.where(known[some], rows[some], found)
        filled = filled.reshape(X.shape).astype(rows.dtype, copy=fitted)
        if not self.add_indicator:
            return filled
        return np.hstack([filled, ~known[:, self.indicator_]], dtype=filled.dtype, casting="unsafe")

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Return X with its missing entries filled."""
        if fit_params:
            raise KindError(f"fit takes no {next(iter(fit_params))}")
        found = self.fit(X).result_.x
        return found if self.fold is None and not self.add_indicator and np.ndim(found) > 2 else self.transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that come out: those that went in, and ``missingindicator_…``."""
        samples.check_fitted(self)
        names = samples.names_in(self, input_features)
        marks = [f"missingindicator_{names[k]}" for k in self.indicator_] if self.add_indicator else []
        return np.array([*names, *marks], dtype=object)

    def __repr__(self, **_: Any) -> str:
        given = {name: value for name, value in self.get_params().items() if self._defaults.get(name, self) != value}
        return f"TensorImputer({', '.join(f'{name}={value!r}' for name, value in given.items())})"


# scikit-learn takes every name of the signature for a parameter: options of the methods are none that it could set to anything.
_signature = inspect.signature(TensorImputer.__init__)
TensorImputer.__signature__ = _signature.replace(  # pyright: ignore[reportAttributeAccessIssue]
    parameters=[p for p in list(_signature.parameters.values())[1:] if p.kind is not p.VAR_KEYWORD]
)
