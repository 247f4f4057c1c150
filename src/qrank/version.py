"""The version, and those of what numbers depend on."""

from __future__ import annotations

import platform

import numpy as np
import scipy

__version__ = "0.1.0"


def versions() -> dict[str, str]:
    """Return the versions that numbers depend on.

    >>> list(versions())
    ['qrank', 'numpy', 'scipy', 'python']
    """
    python = platform.python_version()
    return {"qrank": __version__, "numpy": np.__version__, "scipy": scipy.__version__, "python": python}
