"""Arrays with named axes (xarray's): axes by their names, masks along the axes that have the same names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError, KindError, nearest
from ..kernels import Kernels

ATTRIBUTES = ("dims", "coords", "attrs")  # that labelled arrays have


def names_of(array: Any) -> tuple[str, ...]:
    """Return the names of an array's axes, none where it has no names.

    >>> import xarray
    >>> names_of(xarray.DataArray(np.zeros((2, 3)), dims=("lat", "lon"))), names_of(np.zeros((2, 3)))
    (('lat', 'lon'), ())
    """
    if not all(hasattr(array, name) for name in ATTRIBUTES):
        return ()
    if hasattr(array, "data_vars"):
        raise KindError(
            "a Dataset has several arrays: take one, ds['name'], or import qrank.xarray and call ds.qrank.complete()"
        )
    return tuple(map(str, array.dims))


def axes_of(axes: Any, array: Any) -> Any:
    """Return slice axes as numbers: names are looked up, all else comes back as it is.

    >>> import xarray
    >>> axes_of(("lat", "lon"), xarray.DataArray(np.zeros((2, 3, 4)), dims=("time", "lat", "lon")))
    (1, 2)
    """
    names = names_of(array)
    if not isinstance(axes, tuple | list) or not any(isinstance(axis, str) for axis in axes):
        return axes
    if not names:
        raise InputError(
            f"slice_axes {tuple(axes)!r} are names, and the axes of this array have none: give their numbers"
        )
    return tuple(_number(axis, names) if isinstance(axis, str) else axis for axis in axes)


def _number(name: str, names: tuple[str, ...]) -> int:
    if name not in names:
        raise InputError(f"there is no axis '{name}'{nearest(name, names)}")
    return names.index(name)


def along(mask: Any, array: Any) -> Any:
    """Return a mask with named axes along those of the array that have these names, of length 1 along all others.

    >>> import xarray
    >>> y = xarray.DataArray(np.zeros((5, 2, 3)), dims=("time", "lat", "lon"))
    >>> along(xarray.DataArray(np.ones((3, 2), bool), dims=("lon", "lat")), y).shape
    (1, 2, 3)
    """
    own, names = names_of(mask), names_of(array)
    if not own or not names:
        return mask
    for name in own:
        _number(name, names)
        mask = _in_order(mask, array, name)
    plain = np.asarray(mask).transpose([own.index(name) for name in names if name in own])
    return np.expand_dims(plain, [axis for axis, name in enumerate(names) if name not in own])


def _in_order(mask: Any, array: Any, name: str) -> Any:
    """Return a mask with its places along an axis in the order of the array's, where both say which these are."""
    if name not in mask.coords or name not in array.coords:
        return mask
    own, wanted = (np.asarray(one.coords[name]) for one in (mask, array))
    if own.shape != wanted.shape or _alike(own, wanted):
        return mask  # whether the lengths fit is looked at with the shapes
    order, place = np.argsort(own), np.argsort(np.argsort(wanted))
    if not _alike(own[order], np.sort(wanted)):
        raise InputError(
            f"the mask has other values of '{name}' than the array: give it as an array of NumPy to go by position"
        )
    return mask.isel({name: order[place]})


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether coordinates are equal; numbers to the precision that single ones have."""
    if one.dtype.kind in "fiu" and other.dtype.kind in "fiu":
        return bool(np.allclose(one, other, rtol=1e-6, atol=0, equal_nan=True))
    return bool(np.array_equal(one, other))


def like_labels(mask: np.ndarray, array: Any) -> Any:
    """Return a mask of an array's shape with its labels, where it has any."""
    return array.copy(data=mask) if names_of(array) else mask


def ignored_of(ignore: Any, array: Any, kind: Kernels, known: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return what is known without what is to be ignored, and the latter; None where there is no such thing."""
    if ignore is None:
        return known, None
    try:
        left = kind.known(np.zeros(known.shape, dtype=bool), along(ignore, array))
    except InputError as error:
        raise InputError(str(error).replace("observed has", "ignore has")) from None
    except KindError:
        raise KindError("ignore must be boolean, True where an entry is neither known nor to be filled") from None
    if left.all():
        raise InputError("all entries are ignored: there is nothing to complete")
    return known & ~left, left if left.any() else None


def as_given(x: Any, error: Any, array: Any, kind: Kernels, ignored: np.ndarray | None) -> tuple[Any, Any]:
    """Return the answer and its errors as arrays of the kind that was given; what is ignored is as it was given."""
    if ignored is not None:
        x, error = kind.keep(x, array, ignored), None if error is None else error * ~ignored
    shown = None if error is None else kind.like(kind.typed(error, array), array)
    x = kind.like(x, array)
    if ignored is not None and isinstance(x, np.ma.MaskedArray):
        x[ignored & np.ma.getmaskarray(array)] = np.ma.masked
    return x, shown
