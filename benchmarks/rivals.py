"""What a user would take instead: HaLRTC and LRTC-TNN as printed, TensorLy's masked CP and Tucker, SoftImpute.

Ranks, thresholds and truncation are chosen fairly: of a small grid, what has the least error on a twentieth of the known
entries, hidden for that. The time that counts is that of the fit with the chosen one; what choosing took stands beside it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from . import printed

HIDDEN = 0.05
GROWTH, WHOLE = 1.05, 200  # of rho in a step, as the authors of LRTC-TNN have it, and their number of steps

Settings = Any  # what the grid holds and JSON can: a number or a list of numbers


@dataclass(frozen=True)
class Rival:
    """A program: ``fit`` of the zero-filled array, the mask, settings and a number of steps yields one answer or one a step."""

    title: str
    fit: Callable[[np.ndarray, np.ndarray, Settings, int], Iterable[np.ndarray]]
    grid: Callable[[tuple[int, ...]], list[Settings]]
    steps: int
    trial: int = 30  # steps of each fit of the grid
    module: str | None = None


def cp(y: np.ndarray, observed: np.ndarray, rank: Settings, steps: int) -> Iterator[np.ndarray]:
    """Fit TensorLy's parafac with a mask."""
    import tensorly
    from tensorly.decomposition import parafac

    fit = parafac(y, int(rank), n_iter_max=steps, tol=1e-6, mask=observed.astype(y.dtype), random_state=0)
    yield tensorly.cp_to_tensor(fit)


def cp_grid(shape: tuple[int, ...]) -> list[int]:
    """Return ranks to try: CP may go beyond the sizes of the slices."""
    n = min(shape)
    return sorted({max(2, n // 4), max(2, n // 2), n, 2 * n, 4 * n})


def tucker(y: np.ndarray, observed: np.ndarray, rank: Settings, steps: int) -> Iterator[np.ndarray]:
    """Fit TensorLy's tucker with a mask."""
    import tensorly
    from tensorly.decomposition import tucker as fit

    core, factors = fit(y, rank=list(rank), n_iter_max=steps, tol=1e-6, mask=observed.astype(y.dtype), random_state=0)
    yield tensorly.tucker_to_tensor((core, factors))


def tucker_grid(shape: tuple[int, ...]) -> list[list[int]]:
    """Return shares of the sizes, none larger than 256 so that a fit takes minutes."""
    shares = (0.03125, 0.0625, 0.125, 0.25, 0.5)
    return [[max(2, min(256, round(share * n))) for n in shape] for share in shares]


def softimpute(y: np.ndarray, observed: np.ndarray, threshold: Settings, steps: int) -> Iterator[np.ndarray]:
    """Fit fancyimpute's SoftImpute to the mode-3 unfolding, the shorter side as columns."""
    import fancyimpute.soft_impute
    import fancyimpute.solver

    for module in (fancyimpute.soft_impute, fancyimpute.solver):
        setattr(module, "check_array", _check_array)  # noqa: B010
    matrix = np.where(observed, y, np.nan).reshape(len(y), -1)
    solver = fancyimpute.soft_impute.SoftImpute(
        shrinkage_value=float(threshold) * np.linalg.norm(np.nan_to_num(matrix), 2), max_iters=steps, verbose=False
    )
    yield solver.fit_transform(matrix).reshape(y.shape)


def _check_array(array: Any, **options: Any) -> Any:
    """Call scikit-learn's check_array; fancyimpute 0.7 uses the name of an option that 1.8 has removed."""
    from sklearn.utils import check_array

    if "force_all_finite" in options:
        options["ensure_all_finite"] = options.pop("force_all_finite")
    return check_array(array, **options)


def halrtc(y: np.ndarray, observed: np.ndarray, share: Settings, steps: int) -> Iterator[np.ndarray]:
    """Run HaLRTC to the authors' tolerance."""
    return printed.halrtc(y, observed, float(share), growth(steps), steps, 1e-5)


def lrtc_tnn(y: np.ndarray, observed: np.ndarray, settings: Settings, steps: int) -> Iterator[np.ndarray]:
    """Run LRTC-TNN to the authors' tolerance."""
    theta, share = settings
    return printed.lrtc_tnn(y, observed, theta, share, growth(steps), steps, 1e-4)


def growth(steps: int) -> float:
    """Return how fast rho grows: in a trial of few steps as far as in a whole run, or the choice would be that of its beginning.

    >>> growth(500), round(growth(50), 3)
    (1.05, 1.216)
    """
    return GROWTH ** max(1.0, WHOLE / steps)


RIVALS = {
    "halrtc": Rival("HaLRTC as printed", halrtc, lambda _: [0.03, 0.1, 0.3], 500, 50),
    "lrtc-tnn": Rival(
        "LRTC-TNN as printed",
        lrtc_tnn,
        lambda _: [list(pair) for pair in product((0.05, 0.1, 0.2), (0.5, 1.0))],
        WHOLE,
        50,
    ),
    "cp": Rival("TensorLy parafac(mask)", cp, cp_grid, 100, module="tensorly.decomposition"),
    "tucker": Rival("TensorLy tucker(mask)", tucker, tucker_grid, 100, module="tensorly.decomposition"),
    "softimpute": Rival(
        "fancyimpute SoftImpute of the unfolding",
        softimpute,
        lambda _: [0.02, 0.1, 0.2, 0.4],  # shares of the largest singular value; the package's default is 0.02
        100,
        module="fancyimpute.soft_impute",
    ),
}


def load(name: str) -> None:
    """Import what a rival needs, so that this counts neither as its time nor as its memory."""
    if (module := RIVALS[name].module) is not None:
        importlib.import_module(module)


def fitted(name: str, y: np.ndarray, known: np.ndarray, settings: Settings) -> Iterator[np.ndarray]:
    """Yield the answer of a rival, or that after each of its steps; what it prints or warns of is not shown."""
    rival = RIVALS[name]
    yield from _quietly(rival.fit(y, known, settings, rival.steps))


def chosen(name: str, y: np.ndarray, known: np.ndarray, budget: float) -> dict[str, Any]:
    """Return the settings that are best on hidden known entries; a trial is begun only while the budget lasts.

    That, and what choosing took, are seconds of the processors, whatever else the machine does.
    """
    rival = RIVALS[name]
    hidden = known & (np.random.default_rng(3).random(y.shape) < HIDDEN)
    seen = known & ~hidden
    grid, errors = rival.grid(y.shape), []
    begun = time.process_time()
    for settings in grid:
        if errors and time.process_time() - begun > budget:
            break
        answers = _quietly(rival.fit(np.where(seen, y, 0), seen, settings, rival.trial))
        x = deque(answers, maxlen=1)[0]
        errors.append(float(np.sqrt(np.mean((x - y)[hidden] ** 2))))
        del answers, x
    if not np.isfinite(errors).any():
        raise ArithmeticError("no candidate gave a finite error")
    return {
        "title": rival.title,
        "chosen": grid[int(np.nanargmin(np.where(np.isfinite(errors), errors, np.inf)))],
        "tried": [[settings, error] for settings, error in zip(grid, errors, strict=False)],
        "not_tried": grid[len(errors) :],
        "choosing": time.process_time() - begun,
    }


def _quietly(answers: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    steps = iter(answers)
    while True:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            x = next(steps, None)
        if x is None:
            return
        yield x
