"""What a command is to fill, and how: the data as they were read, the method, and what to say of both."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..api import Estimate, complete, estimated
from ..files import Loaded
from ..files.loaded import restore
from ..files.raster import without_nodata
from ..files.table_files import unfolded
from ..fit import Fit
from ..methods import Method, method_named  # noqa: F401  the latter for the example
from ..patches import Patches
from ..result import Completion
from ..tensor import Layout
from .progress import Stopper


@dataclass(frozen=True, eq=False)
class Job:
    """What is to be filled, and how."""

    loaded: Loaded
    layout: Layout
    gone: np.ndarray  # True where the file lacks an entry
    hidden: np.ndarray  # True where a known entry is left out to try things out
    missing: np.ndarray  # True where an entry is to be filled: it is gone or hidden
    method: Method
    dtype: np.dtype  # to compute in
    settings: dict[str, Any]  # patch, rng, holdout, checkpoint, bounds, integer and ignore of qrank.complete
    said: list[str]  # what was made of the data without being asked

    @property
    def to_do(self) -> bool:
        """Whether there is anything to do: something is missing, or what is known is not exact."""
        return bool(self.missing.any()) or not self.method.fit.exact

    @property
    def untold(self) -> np.ndarray:
        """True where the file does not tell what would be right: the entry is gone or ignored."""
        left = self.settings["ignore"]
        return self.gone if left is None else self.gone | left

    @property
    def holes(self) -> np.ndarray:
        """True where an entry is to be filled; without those that only pad a folded table."""
        return unfolded(self.missing, self.loaded)[0]

    def facts(self) -> dict[str, Any]:
        """Return what is known before the run, for scripts."""
        return {
            "shape": list(self.layout.shape),
            "axes": list(self.loaded.axes),
            "slice_axes": list(self.layout.slice_axes),
            "dtype": str(self.loaded.data.dtype),
            "missing": int(self.holes.sum()),
            "missing_share": float(self.holes.mean()),
            "patch": self.settings["patch"],
            "method": str(self.method),
        }

    def slices(self) -> str:
        """Return what a slice is, in words."""
        names, side = self.loaded.axes, self.settings["patch"]
        pair = " x ".join(names[axis] for axis in self.layout.slice_axes)
        if side:
            return f"patches of {side} x {side} in {pair} (--patch 0: the whole picture)"
        third = " and ".join(names[axis] for axis in self.layout.rest) or "none (a single slice)"
        return f"{pair}; third mode: {third}, length {self.layout.n3}"

    def estimate(self) -> Estimate:
        """Return what the run will take: of copies one in the type to compute in, the problem's, and one without what is held out."""
        side, n = self.settings["patch"], self.missing.size
        cut = Patches(self.layout, side) if side else None
        layout = self.layout if cut is None else Layout.of(cut.parted, cut.slice_axes)
        arrays = (self.loaded.data.dtype != self.dtype) + 1 + bool(self.settings["holdout"])
        copies = arrays * n * self.dtype.itemsize + (2 + bool(self.settings["holdout"])) * n
        return estimated(layout, self.dtype, self.method, 1 - float(self.missing.mean()), copies)

    def run(self, stopper: Stopper, progress: bool) -> Completion:
        """Fill what is missing; the answer has the type that is computed in."""
        work, axes = self.loaded.data.astype(self.dtype, copy=False), self.layout.slice_axes
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # the status says it
            watched: dict[str, Any] = {"on_step": stopper.on_step, "progress": progress}
            return complete(work, ~self.missing, self.method, axes, **watched, **self.settings)


def native(x: np.ndarray, loaded: Loaded, fit: Fit, known: np.ndarray) -> np.ndarray:
    """Return the answer in the data's own type, rounded and clipped to its range; what was known is as the fit wants it.

    >>> loaded = Loaded(np.array([[250, 7]], np.uint8), ("height", "width"), (0, 1), "image")
    >>> exact = method_named("vmtqn").configured().fit
    >>> native(np.array([[250.2, 270.0]]), loaded, exact, np.array([[True, False]]))
    array([[250, 255]], dtype=uint8)
    """
    if loaded.data.dtype.kind == "f":
        return x
    x = without_nodata(restore(x, loaded.data.dtype, loaded.name), loaded.meta.get("nodata"), ~known)
    return fit.restore(x, loaded.data, known)
