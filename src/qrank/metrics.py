"""How near an answer is to the truth."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InputError, need
from .tensor import Layout


def _alike(x: Any, truth: Any) -> tuple[np.ndarray, np.ndarray]:
    x, truth = np.asarray(x, dtype=float), np.asarray(truth, dtype=float)
    if x.shape != truth.shape:
        raise InputError(f"the answer has shape {x.shape}, the truth has shape {truth.shape}")
    return x, truth


def _pair(x: Any, truth: Any, where: Any) -> tuple[np.ndarray, np.ndarray]:
    x, truth = _alike(x, truth)
    if where is None:
        return x.ravel(), truth.ravel()
    where = np.broadcast_to(where, x.shape)
    return x[where], truth[where]


def psnr(x: Any, truth: Any, where: Any = None) -> float:
    """Return the paper's PSNR in dB: 10 log10(n1 n2 n3 ||X0||_inf^2 / ||X - X0||_F^2), infinite for equal arrays.

    The peak is the largest absolute value *of the truth*. ``where``, boolean, restricts the error to some entries.

    >>> psnr(np.full((2, 2, 2), 0.9), np.ones((2, 2, 2))).__round__(6)
    20.0
    """
    peak = float(np.abs(np.asarray(truth, dtype=float)).max())
    x, truth = _pair(x, truth, where)
    error = float(np.mean((x - truth) ** 2))
    return float("inf") if error == 0 else 10 * float(np.log10(peak**2 / error))


def rmse(x: Any, truth: Any, where: Any = None) -> float:
    """Return the root mean square error.

    >>> rmse([1.0, 3.0], [1.0, 1.0]).__round__(6)
    1.414214
    """
    x, truth = _pair(x, truth, where)
    return float(np.sqrt(np.mean((x - truth) ** 2)))


def mape(x: Any, truth: Any, where: Any = None) -> float:
    """Return the mean absolute error relative to the truth, over entries whose truth is not zero, in percent.

    >>> mape([1.1, 5.0], [1.0, 0.0]).__round__(6)
    10.0
    """
    x, truth = _pair(x, truth, where)
    there = truth != 0
    if not there.any():
        raise InputError("the relative error is not defined: the truth is zero everywhere")
    return 100 * float(np.mean(np.abs(x[there] - truth[there]) / np.abs(truth[there])))


def relative_error(x: Any, truth: Any, where: Any = None) -> float:
    """Return ||X - X0||_F / ||X0||_F.

    >>> relative_error([1.0, 1.0], [1.0, 0.0])
    1.0
    """
    x, truth = _pair(x, truth, where)
    size = float(np.linalg.norm(truth))
    if size == 0:
        raise InputError("the relative error is not defined: the truth is zero everywhere")
    return float(np.linalg.norm(x - truth)) / size


def ssim(x: Any, truth: Any, slice_axes: tuple[int, int] = (0, 1)) -> float:
    """Return the mean structural similarity over the slices (scikit-image's, with the truth's range); needs scikit-image.

    >>> round(ssim(np.eye(16)[:, :, None], np.eye(16)[:, :, None]), 6)
    1.0
    """
    skimage = need("skimage.metrics", "metrics", "SSIM")
    x, truth = _alike(x, truth)
    layout = Layout.of(truth.shape, slice_axes)
    n1, n2 = layout.slice_shape
    if min(n1, n2) < 7:
        raise InputError(f"SSIM needs slices of at least 7 x 7, these are {n1} x {n2}")
    span = float(truth.max() - truth.min()) or 1.0
    pairs = zip(layout.stack(x), layout.stack(truth), strict=True)
    return float(np.mean([skimage.structural_similarity(b, a, data_range=span) for a, b in pairs]))
