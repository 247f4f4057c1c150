"""qrank: fill what is missing in images, videos and any multi-way data.

Low-rank tensor completion with a transform learned from the data (tensor Q-rank; Kong, Lu, Lin).

>>> import numpy as np, qrank
>>> y = np.outer(np.arange(1.0, 7), np.arange(1.0, 7))[:, :, None] * np.ones(4)
>>> y[2, 3, 1] = np.nan
>>> round(float(qrank.complete(y).x[2, 3, 1]), 2)
12.0
"""

from typing import TYPE_CHECKING, Any

from . import data, metrics, penalties, transforms
from . import report as _report  # noqa: F401  draws completions from now on
from .api import complete, denoise, load, recover, separate
from .checkpoint import Checkpoint
from .errors import (
    CheckpointWarning,
    ConvergenceWarning,
    FileError,
    InputError,
    KindError,
    MissingExtra,
    NoiseWarning,
    TooLarge,
    UndeterminedWarning,
)
from .files import read, write
from .methods import METHODS, Method
from .result import Completion, Record, Status
from .study.compare import compare
from .study.inspect import inspect
from .transforms import load as load_transform
from .transforms import pca, stiefel
from .transforms.norms import (
    multi_rank,
    prox_q_nuclear,
    q_nuclear_norm,
    q_rank,
    q_singular_values,
    q_spectral_norm,
    sum_of_nuclear_norms,
    tensor_nuclear_norm,
)
from .version import __version__ as __version__

if TYPE_CHECKING:
    from .study.imputer import TensorImputer

__all__ = [
    "METHODS",
    "Checkpoint",
    "CheckpointWarning",
    "Completion",
    "ConvergenceWarning",
    "FileError",
    "InputError",
    "KindError",
    "Method",
    "MissingExtra",
    "NoiseWarning",
    "Record",
    "Status",
    "TensorImputer",
    "TooLarge",
    "UndeterminedWarning",
    "compare",
    "complete",
    "data",
    "denoise",
    "inspect",
    "load",
    "load_transform",
    "metrics",
    "multi_rank",
    "pca",
    "penalties",
    "prox_q_nuclear",
    "q_nuclear_norm",
    "q_rank",
    "q_singular_values",
    "q_spectral_norm",
    "read",
    "recover",
    "separate",
    "stiefel",
    "sum_of_nuclear_norms",
    "tensor_nuclear_norm",
    "transforms",
    "write",
]


def __getattr__(name: str) -> Any:
    if name == "TensorImputer":  # it imports scikit-learn where that is installed, which takes a second
        from .study.imputer import TensorImputer

        return TensorImputer
    raise AttributeError(f"module 'qrank' has no attribute '{name}'")
