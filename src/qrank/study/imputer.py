"""A scikit-learn style estimator over the same engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api import complete
from ..errors import InputError, nearest
from ..methods import METHODS


class TensorImputer:
    """Fill the missing entries (NaN, or a mask) of a d-way array: ``TensorImputer().fit_transform(y)``.

    Parameters are those of :func:`qrank.complete`; options of the method are given by name.

    After ``fit``: ``result_`` is the :class:`qrank.Completion`, ``transform_`` the learned transform.

    >>> y = np.outer(np.arange(1.0, 7), np.arange(1.0, 7))[:, :, None] * np.ones(4)
    >>> y[2, 3, 1] = np.nan
    >>> imputer = TensorImputer(method="tnn", tol=1e-6)
    >>> imputer
    TensorImputer(method='tnn', tol=1e-06)
    >>> round(float(imputer.fit_transform(y)[2, 3, 1]), 3)
    12.0
    """

    _defaults = dict(  # noqa: RUF012
        method="auto", slice_axes=None, preset=None, rng=0, holdout=0.0, patch=0, bounds=None
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
        **options: Any,
    ) -> None:
        self.method = method
        self.slice_axes = slice_axes
        self.preset = preset
        self.rng = rng
        self.holdout = holdout
        self.patch = patch
        self.bounds = bounds
        self._options = options

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters by name."""
        return {name: getattr(self, name) for name in self._defaults} | self._options

    def set_params(self, **params: Any) -> TensorImputer:
        """Set parameters by name."""
        method = params.get("method", self.method)
        options = METHODS[method].options() if method in METHODS else {}
        for name, value in params.items():
            if name in self._defaults:
                setattr(self, name, value)
            elif name in options:
                self._options[name] = value
            else:
                raise InputError(f"TensorImputer has no parameter '{name}'{nearest(name, [*self._defaults, *options])}")
        return self

    def fit(self, y: Any, target: Any = None) -> TensorImputer:
        """Complete y and keep the result; ``target`` is ignored, as scikit-learn's pipelines want it."""
        self.result_ = complete(y, **self.get_params())
        self.transform_ = self.result_.transform
        return self

    def fit_transform(self, y: Any, target: Any = None) -> np.ndarray:
        """Return y with its missing entries filled."""
        return self.fit(y).result_.x

    def __repr__(self) -> str:
        given = {name: value for name, value in self.get_params().items() if self._defaults.get(name, self) != value}
        return f"TensorImputer({', '.join(f'{name}={value!r}' for name, value in given.items())})"
