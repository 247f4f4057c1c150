"""Dask arrays: a run works on blocks, chunks in a store that tasks read and write; only numbers and small matrices come back."""

from typing import Any

from ...errors import need
from .blocks import Blocks
from .given import DaskKernels
from .kinds import BlocksKernels


def kinds() -> list[tuple[type, Any]]:
    """Return the types of arrays and their kernels."""
    array = need("dask.array", "dask", "working on Dask arrays").Array
    return [(array, DaskKernels()), (Blocks, BlocksKernels())]
