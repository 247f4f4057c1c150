"""separate() and denoise(): known values that are wrong in some places, or a little everywhere."""

from __future__ import annotations

from typing import Any

from ..methods import Method
from ..result import Completion
from .complete import complete


def separate(
    y: Any, observed: Any = None, method: str | Method = "vmtqn", kind: str = "entries", **options: Any
) -> Completion:
    """Split what is known into an array of low Q-rank and outliers: Y = X + S, S zero but in some places (robust tensor PCA).

    Parameters
    ----------
    y, observed, method
        As for ``qrank.complete``; entries may be missing, too.
    kind
        "entries": single values are wrong (dead pixels, a moving foreground); "fibres": whole fibres along the third mode are.
    **options
        Those of ``qrank.complete`` and of the method; ``noise``: there is noise of this standard deviation besides;
        ``outlier_weight``: other than Lu et al.'s, which needs no tuning.

    Returns
    -------
    Completion
        ``x``: the array without outliers, everywhere; ``outliers``: S, of the same shape, zero elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = np.einsum("i,j,k->ijk", rng.random(30), rng.random(30), rng.random(10))
    >>> wrong = rng.random(x.shape) < 0.05
    >>> found = separate(np.where(wrong, 5.0, x), method="tnn")
    >>> bool(np.abs(found.x - x).max() < 1e-3), bool(((np.abs(found.outliers) > 1) == wrong).all())
    (True, True)
    """
    return complete(y, observed, method, outliers=kind, **options)


def denoise(y: Any, sigma: float | str = "auto", method: str | Method = "auto", **options: Any) -> Completion:
    """Take noise away from an array of which nothing is missing, or fill it as well where something is.

    ``sigma``: the standard deviation of the noise, in y's unit; "auto" estimates it (``result.noise``). All else is as for
    ``qrank.complete``.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = np.einsum("i,j,k->ijk", rng.random(30), rng.random(30), rng.random(10))
    >>> found = denoise(x + 0.1 * rng.standard_normal(x.shape), 0.1)
    >>> bool(np.sqrt(np.mean((found.x - x) ** 2)) < 0.05)
    True
    """
    return complete(y, method=method, noise=sigma, **options)
