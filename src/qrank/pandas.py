"""``df.qrank.complete()``: importing this module gives every ``DataFrame`` and ``Series`` of pandas an accessor.

>>> import numpy as np, pandas as pd, qrank.pandas
>>> days = pd.date_range("2024-01-01", periods=96, freq="h")
>>> df = pd.DataFrame({"a": np.sin(np.arange(96) / 24 * 2 * np.pi), "b": np.arange(96) % 24.0}, index=days)
>>> df.iloc[30, 0] = np.nan
>>> bool(abs(df.qrank.complete().x.iloc[30, 0] - 1) < 0.05)
True
"""

from __future__ import annotations

from typing import Any

from .api import complete
from .errors import need
from .result import Completion
from .study.inspect import Inspection, inspect

_extensions = need("pandas.api.extensions", "tables", "the accessor of pandas")


@_extensions.register_dataframe_accessor("qrank")
@_extensions.register_series_accessor("qrank")
class Accessor:
    """What ``df.qrank`` and ``series.qrank`` offer."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def complete(self, *args: Any, **options: Any) -> Completion:
        """Fill what is missing: ``qrank.complete`` of this table."""
        return complete(self._table, *args, **options)

    def inspect(self, *args: Any, **options: Any) -> Inspection:
        """Look at what is missing: ``qrank.inspect`` of this table."""
        return inspect(self._table, *args, **options)
