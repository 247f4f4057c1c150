"""A folder of finished runs, so that what was stopped goes on where it was."""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic import make_folder, saving, write_text


class RunStore:
    """One JSON file of numbers for each run and, where a run has arrays, an ``.npz`` file beside it.

    A key may hold slashes: it is a path in the folder. Files that are damaged or of another kind count as none.

    >>> import tempfile
    >>> store = RunStore(Path(tempfile.mkdtemp()))
    >>> store.save("tnn/first", {"psnr": 31.5}, {"picture": np.zeros((2, 3))})
    >>> store.load("tnn/first"), list(store.arrays("tnn/first")), store.load("tnn/second")
    ({'psnr': 31.5}, ['picture'], None)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: str, suffix: str = ".json") -> Path:
        """Return the file of a run."""
        return self.folder / (key + suffix)

    def load(self, key: str) -> dict[str, Any] | None:
        """Return the numbers of a run, or None where it is not finished."""
        try:
            found = json.loads(self.path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(found, dict):
            return None
        return {name: math.inf if value == "inf" else value for name, value in found.items()}

    def arrays(self, key: str) -> dict[str, np.ndarray]:
        """Return the arrays that were kept of a run."""
        try:
            with np.load(self.path(key, ".npz"), allow_pickle=False) as file:
                return dict(file)
        except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile, zlib.error):
            return {}

    def save(self, key: str, numbers: Mapping[str, Any], arrays: Mapping[str, np.ndarray] | None = None) -> None:
        """Keep a finished run; the JSON file comes last, so that it never stands for half a run."""
        if arrays:
            path = self.path(key, ".npz")
            make_folder(path.parent)
            with saving(path) as temporary:
                np.savez_compressed(temporary, **dict[str, Any](arrays))
        # JSON has no infinity, and an exact answer has an infinite PSNR.
        plain = {name: "inf" if value == math.inf else value for name, value in numbers.items()}
        write_text(self.path(key), json.dumps(plain))
