"""What one would take instead: interpolation, inpainting, other packages' decompositions and imputers, on the same masks.

Ranks and thresholds are chosen fairly: of a small grid, the one with the least error on a twentieth of the known entries,
hidden for that. Where a program cannot fill an entry (a frame of which nothing is known), the mean of what is known stands.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...errors import need
from ...tensor import Layout
from .scenes import Scene

HIDDEN = 0.05  # share of the known entries that ranks and thresholds are chosen on
STEPS, TRIAL_STEPS = 100, 30  # iterations of the fit, and of each fit of the grid

Filled = tuple[np.ndarray, str]  # the answer, and what was chosen


@dataclass(frozen=True)
class Rival:
    """A program: what it is, what fills, the module it needs, and the number of entries up to which it is tried."""

    about: str
    fill: Callable[[np.ndarray, np.ndarray, Scene], Filled]  # of y, which is 0 where missing, and the mask
    module: str | None = None
    most: int = 3_000_000
    pictures: bool = False  # it is for pictures only
    axes: int = 0  # it is for arrays of so many axes at least


def linear(y: np.ndarray, known: np.ndarray, scene: Scene, axis: int) -> Filled:
    """Interpolate each fibre along an axis by straight lines.

    >>> from .scenes import scene
    >>> y = np.array([[1.0, 0, 3], [1, 1, 1]])
    >>> linear(y, y > 0, scene("camera"), 1)[0]
    array([[1., 2., 3.],
           [1., 1., 1.]])
    """
    x = np.where(known, y, y[known].mean())
    fibres, there = np.moveaxis(x, axis, -1), np.moveaxis(known, axis, -1)
    place = np.arange(fibres.shape[-1])
    for at in zip(*np.nonzero(there.any(axis=-1) & ~there.all(axis=-1)), strict=True):
        on = there[at]
        fibres[at] = np.interp(place, place[on], fibres[at][on])
    return x, ""


def _by_slice(y: np.ndarray, known: np.ndarray, scene: Scene, fill: Callable[..., np.ndarray]) -> Filled:
    """Fill slice by slice, where anything of a slice is known."""
    layout = Layout.of(y.shape, scene.slice_axes)
    x = np.array(layout.stack(np.where(known, y, y[known].mean())))
    for one, there in zip(x, layout.stack(known), strict=True):
        if there.any() and not there.all():
            one[...] = np.where(there, one, fill(one, there))
    return np.array(layout.outer(x)), ""


def biharmonic(y: np.ndarray, known: np.ndarray, scene: Scene) -> Filled:
    """Inpaint slices with scikit-image's biharmonic equation."""
    inpaint = need("skimage.restoration", "metrics", "biharmonic inpainting").inpaint_biharmonic
    return _by_slice(y, known, scene, lambda one, there: inpaint(one, ~there, split_into_regions=False))


def telea(y: np.ndarray, known: np.ndarray, scene: Scene) -> Filled:
    """Inpaint slices with OpenCV's fast marching (Telea 2004), radius 3, in 8 bits."""
    cv2 = need("cv2", "bench", "Telea's inpainting")

    def fill(one: np.ndarray, there: np.ndarray) -> np.ndarray:
        eight = (np.clip(one, 0, 1) * 255).round().astype(np.uint8)
        return cv2.inpaint(eight, (~there).astype(np.uint8), 3, cv2.INPAINT_TELEA) / 255

    return _by_slice(y, known, scene, fill)


def chosen(
    y: np.ndarray,
    known: np.ndarray,
    scene: Scene,
    fit: Callable[[np.ndarray, np.ndarray, Any, int], np.ndarray],
    grid: Callable[[tuple[int, ...]], Sequence[Any]],
) -> Filled:
    """Fit with the candidate of a grid that is best on hidden known entries."""
    hidden = known & (np.random.default_rng(3).random(y.shape) < HIDDEN)
    seen, errors = known & ~hidden, {}
    for candidate in grid(y.shape):
        x = fit(np.where(seen, y, 0), seen, candidate, TRIAL_STEPS)
        errors[candidate] = float(np.mean((x - y)[hidden] ** 2))
    best = min(errors, key=lambda candidate: errors[candidate] if np.isfinite(errors[candidate]) else np.inf)
    return fit(y, known, best, STEPS), f"{best}"


def cp(y: np.ndarray, known: np.ndarray, rank: int, steps: int) -> np.ndarray:
    """Fit TensorLy's parafac with a mask."""
    tensorly = need("tensorly", "bench", "CP decomposition")
    fit = need("tensorly.decomposition", "bench", "CP decomposition").parafac
    return tensorly.cp_to_tensor(fit(y, rank, n_iter_max=steps, tol=1e-6, mask=known.astype(float), random_state=0))


def tucker(y: np.ndarray, known: np.ndarray, rank: tuple[int, ...], steps: int) -> np.ndarray:
    """Fit TensorLy's tucker with a mask."""
    tensorly = need("tensorly", "bench", "Tucker decomposition")
    fit = need("tensorly.decomposition", "bench", "Tucker decomposition").tucker
    found = fit(y, rank=list(rank), n_iter_max=steps, tol=1e-6, mask=known.astype(float), random_state=0)
    return tensorly.tucker_to_tensor(found)


def softimpute(y: np.ndarray, known: np.ndarray, share: float, steps: int) -> np.ndarray:
    """Fit the matrix (first axis, all others): X = shrink(Y on Omega, X elsewhere), by a share of the largest value.

    R. Mazumder, T. Hastie, R. Tibshirani. Spectral Regularization Algorithms for Learning Large Incomplete Matrices. 2010.
    """
    matrix, there = y.reshape(len(y), -1), known.reshape(len(y), -1)
    wide = matrix.shape[0] <= matrix.shape[1]
    matrix, there = (matrix, there) if wide else (matrix.T, there.T)
    x, lam = np.zeros_like(matrix), share * np.linalg.norm(matrix, 2)
    for _ in range(steps):
        filled = np.where(there, matrix, x)
        squares, u = np.linalg.eigh(filled @ filled.T)
        s = np.sqrt(np.maximum(squares, 0))
        factor = np.maximum(s - lam, 0) / np.maximum(s, 1e-300)
        after = (u * factor) @ (u.T @ filled)
        moved, x = np.linalg.norm(after - x), after
        if moved <= 1e-5 * max(float(np.linalg.norm(x)), 1e-300):
            break
    return (x if wide else x.T).reshape(y.shape)


def imputed(y: np.ndarray, known: np.ndarray, scene: Scene, kind: str) -> Filled:
    """Fill the unfolding with an imputer of scikit-learn: slices are samples (knn) or features (iterative)."""
    need("sklearn.experimental.enable_iterative_imputer", "bench", "imputation by scikit-learn")
    impute = need("sklearn.impute", "bench", "imputation by scikit-learn")
    layout = Layout.of(y.shape, scene.slice_axes)
    stack = np.array(layout.stack(np.where(known, y, np.nan)))
    rows = stack.reshape(len(stack), -1)
    lost = np.isnan(rows).all(axis=0 if kind == "knn" else 1)  # an imputer puts 0 where a feature has no value at all
    mean = float(y[known].mean())
    if kind == "knn":
        x = impute.KNNImputer(n_neighbors=5, keep_empty_features=True).fit_transform(rows)
        x[:, lost] = mean
    else:
        several = {"n_nearest_features": 10} if len(rows) > 10 else {}
        solver = impute.IterativeImputer(max_iter=10, random_state=0, keep_empty_features=True, **several)
        x = solver.fit_transform(rows.T).T
        x[lost] = mean
    return np.array(layout.outer(x.reshape(stack.shape))), ""


def _cp_ranks(shape: tuple[int, ...]) -> list[int]:
    n = sorted(shape)[-3:][0]  # the least side, but for colours
    return sorted({max(2, n // 4), max(2, n // 2), n, 2 * n})


def _tucker_ranks(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [tuple(max(2, round(part * n)) for n in shape) for part in (0.0625, 0.125, 0.25, 0.5)]


def _thresholds(_: tuple[int, ...]) -> list[float]:
    return [0.01, 0.03, 0.1, 0.3]


RIVALS: dict[str, Rival] = {
    **{
        f"linear-{axis}": Rival(f"linear interpolation along axis {axis}", partial(linear, axis=axis), axes=axis + 1)
        for axis in range(3)
    },
    "inpaint-biharmonic": Rival(
        "scikit-image inpaint_biharmonic, slice by slice", biharmonic, "skimage.restoration", 800_000, pictures=True
    ),
    "inpaint-telea": Rival("OpenCV inpaint (Telea), slice by slice", telea, "cv2", pictures=True),
    "tensorly-cp": Rival(
        "TensorLy parafac(mask)", partial(chosen, fit=cp, grid=_cp_ranks), "tensorly", 700_000, axes=3
    ),
    "tensorly-tucker": Rival(
        "TensorLy tucker(mask)", partial(chosen, fit=tucker, grid=_tucker_ranks), "tensorly", 700_000, axes=3
    ),
    "softimpute": Rival(
        "SoftImpute of the unfolding", partial(chosen, fit=softimpute, grid=_thresholds), None, 1_600_000
    ),
    "knn": Rival(
        "scikit-learn KNNImputer, slices as samples", partial(imputed, kind="knn"), "sklearn", 600_000, axes=3
    ),
    "iterative": Rival(
        "scikit-learn IterativeImputer, slices as features",
        partial(imputed, kind="iterative"),
        "sklearn",
        600_000,
        axes=3,
    ),
}


def fill(name: str, y: np.ndarray, known: np.ndarray, scene: Scene) -> Filled:
    """Fill with a rival; known entries are as they were.

    >>> from .scenes import load, scene
    >>> truth = load("generated-counts", None)
    >>> x, _ = fill("linear-2", truth, np.random.default_rng(0).random(truth.shape) < 0.5, scene("generated-counts"))
    >>> x.shape
    (21, 16, 24)
    """
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        x, what = RIVALS[name].fill(np.where(known, y, 0.0), known, scene)
    return np.where(known, y, x), what
