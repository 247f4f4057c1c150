"""Whatever is given to `complete`: a finite answer of y's shape with known entries exact, or one sentence that says why not.

The number of cases is QRANK_FUZZ; without it there are few, the same in every run.
"""

import os
import warnings

import numpy as np
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import qrank
from qrank import ConvergenceWarning, InputError, KindError, NoiseWarning, UndeterminedWarning
from qrank.methods import METHODS

ASKED = os.environ.get("QRANK_FUZZ")
CASES = settings(
    max_examples=int(ASKED or 120),
    derandomize=ASKED is None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
MOST = 3000  # entries of an array: what is odd about a large one is odd about a small one, too
LENGTHS = [1, 1, 2, 3, 4, 5, 7, 9, 16, 40]
UNITS = [1.0, 1.0, 1.0, 1e-300, 1e-12, 1e12, 1e100, 1e300]
TYPES = ["f8", "f8", "f4", "f2", ">f8", ">f4", "i2", "u1", "?"]
WILD = [1e-300, 1e-5, 1.0, 1e8, 1e300]
OPTIONS = {
    "tol": [1e-300, 1e-12, 1e-2, 1e300],
    "max_steps": [1, 2, 30],
    "rho": [1, 1.01, 1.5, 10, 1e6],
    "mu0": WILD,
    "beta0": WILD,
    "eta0": WILD,
    "mu_max": WILD,
    "beta_max": WILD,
    "eta_min": WILD,
    "noise": [*WILD, "auto"],
    "outliers": [True, "entries", "fibres"],
    "outlier_weight": WILD,
    "penalty": ["nuclear", "log-sum", "log-sum:20", "p-shrinkage", "schatten", "grouped", "nonsense"],
    "absolute": [True, False],
    "update_every": [1, 2, 5],
    "r": [1, 2, 1000],
    "start": ["spun", "pca", "last"],
    "step_size": ["backtracking", "printed"],
    "descents": [1, 3],
    "accelerate": [True, False],
    "levels": [1, 2, 99],
    "filters": ["cubic", "linear"],
    "effort": ["fast", "balanced", "best"],
    "steps": [2, 5],
    "depth": [1.5, 1e6],
}
ABOUT = {  # the call, whatever the method
    "bounds": [(0, None), (None, 0.5), (-1e300, 1e300), (0.25, 0.75), (np.nan, 1), (1, 0)],
    "integer": [True],
    "units": [0, -1, 7],
}


def values(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return numbers of a kind."""
    x = rng.standard_normal(shape)
    if kind == "low rank":
        x = np.ones(shape)
        for axis, n in enumerate(shape):
            x = x * rng.standard_normal(n).reshape([-1 if a == axis else 1 for a in range(len(shape))])
    made = {
        "constant": np.full(shape, rng.choice([0.0, 1.0, -3.7, 255.0])),
        "whole": np.round(50 * x),
        "sparse": x * (rng.random(shape) < 0.05),
        "ramp": np.arange(x.size, dtype=float).reshape(shape),
        "duplicates": np.broadcast_to(x[..., :1], shape),
        "far apart": x * 10.0 ** rng.uniform(-30, 30, shape),
        "subnormal": x * 1e-318,
    }
    return made.get(kind, x)


def mask(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return what is known, one entry at least."""
    known = rng.random(shape) < {"few": 0.05, "half": 0.5, "most": 0.9}.get(kind, 0.6)
    if kind == "one":
        known[...] = False
    if kind == "lost":
        known[..., : (shape[-1] + 1) // 2] = False
    if kind == "rows":
        known &= (rng.random(shape[0]) < 0.5).reshape(-1, *[1] * (len(shape) - 1))
    if kind == "all":
        known[...] = True
    known.flat[rng.integers(known.size)] = True
    return known


@st.composite
def calls(draw):
    """Return an array, its mask, the name of a method, and options."""
    shape = tuple(draw(st.lists(st.sampled_from(LENGTHS), min_size=2, max_size=4)))
    while np.prod(shape) > MOST:
        shape = tuple(-(-n // 2) for n in shape)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = ["normal", "low rank", "constant", "whole", "sparse", "ramp", "duplicates", "far apart", "subnormal"]
    with np.errstate(all="ignore"):
        x = values(draw(st.sampled_from(kinds)), shape, rng) * draw(st.sampled_from(UNITS))
        dtype = np.dtype(draw(st.sampled_from(TYPES)))
        limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype) if dtype.kind in "iu" else None
        y = np.nan_to_num(x)
        y = (y if limits is None else np.clip(y, float(limits.min), float(limits.max))).astype(dtype)
    known = mask(draw(st.sampled_from(["few", "half", "most", "one", "lost", "rows", "all"])), shape, rng)
    axes = tuple(draw(st.permutations(range(len(shape))))[:2])
    name = draw(st.sampled_from(sorted(METHODS)))
    n3 = int(np.prod([n for axis, n in enumerate(shape) if axis not in axes]))
    given = [option for option in METHODS[name].options() if option in OPTIONS]
    chosen = draw(st.lists(st.sampled_from(given), max_size=2, unique=True)) if given else []
    options = {option: draw(st.sampled_from(OPTIONS[option])) for option in chosen}
    options.setdefault("max_steps", 100)
    if name in ("tqn", "tnn-linear"):
        options["q"] = np.linalg.qr(rng.standard_normal((n3, n3)))[0]
    if name == "tqn-oracle":
        options["truth"] = y
    if draw(st.integers(0, 9)) == 0:
        options["holdout"] = 0.3
    if draw(st.integers(0, 9)) == 0:
        options["patch"] = draw(st.sampled_from([2, 4]))
    for option, values_of in ABOUT.items():
        if draw(st.integers(0, 11)) == 0:
            options[option] = draw(st.sampled_from(values_of))
    if draw(st.integers(0, 9)) == 0:
        options["ignore"] = rng.random(shape) < draw(st.sampled_from([0.05, 0.5]))
    return y, known, name, axes, options


def check_sentence(message):
    assert "\n" not in message
    assert 10 < len(message) < 300


@CASES
@given(calls())
def test_complete_gives_a_sound_answer_or_says_why_not(call):
    y, known, name, axes, options = call
    before = y.copy()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UndeterminedWarning)
            warnings.simplefilter("ignore", NoiseWarning)
            result = qrank.complete(y, known, name, axes, **options)
    except (InputError, KindError) as error:
        event("refused")
        check_sentence(str(error))
        return
    event(result.status.name)
    assert result.x.shape == y.shape
    assert result.x.dtype == (y.dtype if y.dtype.kind == "f" else np.float64)
    left = options.get("ignore", np.zeros(y.shape, bool))
    np.testing.assert_array_equal(result.x[left], y[left])
    assert np.isfinite(result.x[~left]).all()
    if result.method.fit.exact:
        np.testing.assert_array_equal(result.x[known], y[known])
        low, high = options.get("bounds", (None, None))
        filled = result.x[~known & ~left].astype(float)
        most = np.finfo(result.x.dtype).max  # what a small type cannot hold is not infinite
        assert low is None or (filled >= max(low, -float(most))).all()
        assert high is None or (filled <= min(high, float(most))).all()
    for told in (result.error, result.outliers):
        assert told is None or np.isfinite(told).all()
    if result.error is not None:
        assert (result.error >= 0).all()
    np.testing.assert_array_equal(y, before)
