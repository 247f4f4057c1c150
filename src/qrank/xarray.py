"""``da.qrank.complete(dims=("lat", "lon"))``: importing this module gives every ``DataArray`` and ``Dataset`` an accessor.

>>> import numpy as np, xarray, qrank.xarray
>>> sea = np.sin(np.arange(8)[:, None, None] / 3 + np.add.outer(np.arange(12), np.arange(14)) / 5)
>>> gaps = xarray.DataArray(sea, dims=("time", "lat", "lon"), attrs={"units": "K"}).where(lambda x: abs(x) > 0.2)
>>> found = gaps.qrank.complete(dims=("lat", "lon"))
>>> found.x.dims, found.x.attrs, int(found.x.isnull().sum())
(('time', 'lat', 'lon'), {'units': 'K'}, 0)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import kernels
from .api import complete, names_of
from .errors import InputError, nearest, need
from .result import Completion
from .study.inspect import Inspection, inspect

_xarray = need("xarray", "files", "the accessor of xarray")
VARIABLE = "variable"  # the axis along which variables are completed together


@_xarray.register_dataarray_accessor("qrank")
class Array:
    """What ``da.qrank`` offers."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def complete(self, observed: Any = None, *args: Any, dims: Any = None, **options: Any) -> Completion:
        """Fill what is missing: ``qrank.complete`` of this array, slices along the two dimensions ``dims``."""
        return complete(self._array, observed, *args, **_axes(dims, options))

    def inspect(self, *args: Any, dims: Any = None, **options: Any) -> Inspection:
        """Look at what is missing: ``qrank.inspect`` of this array."""
        return inspect(self._array, *args, **_axes(dims, options))


@dataclass(frozen=True, eq=False)
class Completed:
    """A ``Dataset`` that was completed: its variables filled, all others as they were."""

    x: Any
    error: Any = field(repr=False)  # the standard errors of the variables that have any, a Dataset
    undetermined: Any = field(repr=False)  # True where the model says nothing of a filled entry, a Dataset
    results: Mapping[str, Completion] = field(repr=False)  # of each variable; together, all have the same one


@_xarray.register_dataset_accessor("qrank")
class Dataset:
    """What ``ds.qrank`` offers."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def complete(
        self, variables: Iterable[str] | None = None, *, dims: Any = None, together: bool = False, **options: Any
    ) -> Completed:
        """Fill what is missing in some variables, by default in all of numbers and two or more dimensions that lack entries.

        ``together``: as one array with one more axis, so that what is known of one helps the others; they must have the same
        dimensions, and each is brought to mean 0 and standard deviation 1 first. ``dims`` names the dimensions of a slice.

        >>> wave = np.sin(np.add.outer(np.arange(9), np.arange(20)) / 4)
        >>> ds = _xarray.Dataset({"a": (("y", "x"), wave), "b": (("y", "x"), 300 + 5 * wave)})
        >>> ds["b"][4, 3:5] = np.nan
        >>> found = ds.qrank.complete(["a", "b"], together=True)
        >>> bool(abs(found.x["b"][4, 3] - (300 + 5 * wave[4, 3])) < 0.5)
        True
        """
        names = self._chosen(variables, together)
        options = _axes(dims, options)
        results = self._together(names, options) if together else self._each(names, options)
        found = {name: (one.x, one.error, one.undetermined) for name, one in results.items()}
        if together:
            found = self._apart(names, next(iter(results.values())))
        x = self._dataset.assign({name: parts[0] for name, parts in found.items()})
        for name in names:
            x[name].encoding = dict(self._dataset[name].encoding)
        errors = {name: parts[1] for name, parts in found.items() if parts[1] is not None}
        return Completed(
            x,
            _xarray.Dataset(errors) if errors else None,
            _xarray.Dataset({name: parts[2] for name, parts in found.items()}),
            results,
        )

    def _chosen(self, variables: Iterable[str] | None, together: bool) -> list[str]:
        arrays = {str(name): one for name, one in self._dataset.data_vars.items()}
        if variables is None:
            able = [name for name, one in arrays.items() if one.dtype.kind in "fiub" and one.ndim > 1]
            names = able if together else [name for name in able if not _known(arrays[name]).all()]
        else:
            names = [variables] if isinstance(variables, str) else [str(name) for name in variables]
        for name in names:
            if name not in arrays:
                raise InputError(f"there is no variable '{name}'{nearest(name, arrays)}")
        if not names:
            raise InputError("no variable of numbers lacks entries: name those that are to be completed")
        dims = {arrays[name].dims for name in names}
        if together and len(dims) > 1:
            listed = ", ".join(f"{name} ({' x '.join(map(str, arrays[name].dims))})" for name in names)
            raise InputError(f"variables that are completed together need the same dimensions: {listed}; name some")
        return names

    def _each(self, names: list[str], options: dict[str, Any]) -> dict[str, Completion]:
        return {name: complete(self._dataset[name], **options) for name in names}

    def _together(self, names: list[str], options: dict[str, Any]) -> dict[str, Completion]:
        arrays = [self._dataset[name] for name in names]
        arrays = [one.astype(float).where(_known(one)) for one in arrays]
        stack = _xarray.concat(arrays, dim=_xarray.Variable(VARIABLE, names), coords="minimal", compat="override")
        if VARIABLE in names_of(arrays[0]):
            raise InputError(f"a dimension is named '{VARIABLE}': rename it to complete variables together")
        found = complete(stack, units=VARIABLE, **options)
        return dict.fromkeys(names, found)

    def _apart(self, names: list[str], found: Completion) -> dict[str, tuple[Any, Any, Any]]:
        """Return each variable of a common answer in its own type, what is known of it as it was."""
        parts = {}
        for k, name in enumerate(names):
            given, own = self._dataset[name], found.x.isel({VARIABLE: k}, drop=True).values
            known = found.observed[k] if found.ignored is None else found.observed[k] | found.ignored[k]
            whole = given.dtype if given.dtype.kind == "f" else np.dtype(float)
            x = given.astype(whole).copy(data=np.where(known, given.values, own).astype(whole))
            x.attrs = dict(given.attrs)
            error = None if found.error is None else x.copy(data=found.error.isel({VARIABLE: k}).values)
            parts[name] = (x, error, given.copy(data=found.undetermined.isel({VARIABLE: k}).values))
        return parts


def _known(array: Any) -> Any:
    """Return where an array holds what is neither NaN nor its mark of a missing entry."""
    return array.copy(data=kernels.of(array).known(array, None))


def _axes(dims: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with the dimensions of a slice among them."""
    if dims is None:
        return options
    if "slice_axes" in options:
        raise InputError("dims and slice_axes say the same: give one of them")
    return {**options, "slice_axes": tuple(dims)}
