"""How near a filled file is to what was dropped from it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from .. import metrics
from ..errors import InputError, MissingExtra


def quality(
    x: np.ndarray, truth: np.ndarray, hidden: np.ndarray, gone: np.ndarray, slice_axes: tuple[int, int]
) -> dict[str, float]:
    """Return PSNR over the hidden entries; where the whole truth is known also over all of it, and SSIM.

    >>> quality(np.full((4, 4), 0.9), np.ones((4, 4)), np.ones((4, 4), bool), np.zeros((4, 4), bool), (0, 1))
    {'psnr_hidden': 20.0, 'psnr': 20.0}
    """
    found = {"psnr_hidden": round(metrics.psnr(x, np.where(gone, 0, truth), hidden), 6)}
    if gone.any():
        return found
    found["psnr"] = round(metrics.psnr(x, truth), 6)
    with suppress(MissingExtra, InputError):  # not installed, or slices too small for it
        found["ssim"] = metrics.ssim(x, truth, slice_axes)
    return found


def sentence(found: dict[str, Any]) -> str:
    """Return the measures as a line.

    >>> sentence({"psnr_hidden": 28.04, "psnr": 30.1, "ssim": 0.91})
    'against what was dropped: PSNR 30.10 dB (28.04 dB over the dropped entries), SSIM 0.9100'
    """
    hidden = f"{found['psnr_hidden']:.2f} dB over the dropped entries"
    measured = f"{found['psnr']:.2f} dB ({hidden})" if "psnr" in found else hidden
    return f"against what was dropped: PSNR {measured}" + (f", SSIM {found['ssim']:.4f}" if "ssim" in found else "")
