"""qrank: fill what is missing in images, videos and any multi-way data.

Low-rank tensor completion with a transform learned from the data (tensor Q-rank; Kong, Lu, Lin).

>>> import numpy as np, qrank
>>> y = np.outer(np.arange(1.0, 7), np.arange(1.0, 7))[:, :, None] * np.ones(4)
>>> y[2, 3, 1] = np.nan
>>> round(float(qrank.complete(y).x[2, 3, 1]), 2)
12.0
"""

from . import metrics, penalties, stiefel, transforms
from .api import complete
from .errors import ConvergenceWarning, FileError, InputError, KindError, MissingExtra
from .learn import pca
from .methods import METHODS, Method
from .solve import Completion, Record, Status

__version__ = "0.1.0"
