"""The unit of the data does not matter: complete(c y) = c complete(y), for every method."""

import numpy as np
import pytest

import qrank
from conftest import low_rank
from qrank.methods import METHODS

POWERS = (-1000, -300, -30, -19, 7, 22, 300, 1000)
# Single precision, in which these spend their time, rounds c y otherwise than y where c is no power of two.
SINGLE = ("views", "joined", "patches", "auto")


def asked(name, x):
    """The options without which a method does not run."""
    rng = np.random.default_rng(5)
    q = np.linalg.qr(rng.standard_normal((x.shape[2], x.shape[2])))[0]
    return {"tqn": {"q": q}, "tnn-linear": {"q": q + 0.1}, "tqn-oracle": {"truth": x}}.get(name, {})


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    x = low_rank(rng, (12, 10, 8)) + 0.05 * rng.standard_normal((12, 10, 8))
    return x / np.abs(x).max(), rng.random(x.shape) < 0.6


def completed(name, x, known, c):
    y, truth = np.where(known, c * x, np.nan), c * x
    return qrank.complete(y, method=name, slice_axes=(0, 1), max_steps=60, **asked(name, truth)).x / c


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
@pytest.mark.parametrize("name", METHODS)
def test_a_power_of_two_changes_nothing(name, data):
    x, known = data
    here = completed(name, x, known, 1.0)
    for power in POWERS if name != "auto" else POWERS[1::3]:
        np.testing.assert_allclose(
            completed(name, x, known, 2.0**power), here, rtol=0, atol=1e-13, err_msg=f"2^{power}"
        )


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
@pytest.mark.parametrize("name", METHODS)
def test_another_unit_changes_the_last_digits_only(name, data):
    x, known = data
    here = completed(name, x, known, 1.0)
    for c in (1e-12, 1e-100, 1e30):
        there = completed(name, x, known, c)
        assert np.abs(there - here).max() < (1e-3 if name in SINGLE else 2e-6), c


@pytest.mark.parametrize(
    ("name", "option"),
    [*((name, {"mu0": 1e3}) for name in ("vmtqn", "motqn", "tnn", "halrtc", "f-tnn", "slicewise")),
     ("silrtc", {"beta0": 1e3}), ("latent", {"eta0": 1e-4}), ("vmtqn", {"rho": 50.0}), ("latent", {"rho": 50.0})],
)  # fmt: skip
def test_a_run_that_is_over_before_anything_has_spread_says_so(name, option, data):
    """Its residuals are small, and its answer is near the zeros that it begins with."""
    x, known = data
    x = x + 5 * np.abs(x).max()
    with pytest.warns(qrank.ConvergenceWarning, match="missing entries are drawn towards 0"):
        off = qrank.complete(x, known, name, **option).x
    usual = qrank.complete(x, known, name).x
    assert off[~known].mean() < 0.5 * usual[~known].mean()
    assert usual[~known].mean() > 0.8 * x[~known].mean()


@pytest.mark.parametrize("option", [{"mu0": 1e8}, {"mu0": 1e300}, {"mu0": 1e-300}, {"mu_max": 1e-300}, {"rho": 1e200}])
@pytest.mark.parametrize("name", ["vmtqn", "motqn", "tnn", "halrtc", "f-tnn"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
def test_a_wild_mu_gives_numbers(name, option, dtype, data):
    x, known = data
    result = qrank.complete(x.astype(dtype), known, name, max_steps=40, **option)
    assert np.isfinite(result.x).all()
    assert all(np.isfinite(record.primal) for record in result.history)
