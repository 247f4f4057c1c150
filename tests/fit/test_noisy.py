"""Fits: exact values stay, noisy ones are only near the truth."""

import cvxpy as cp
import numpy as np
import pytest

import qrank
from conftest import low_rank
from qrank.fit import Exact, Noisy
from qrank.problem import Problem


def test_exact_values_are_given_back_to_the_digit(rng):
    x = low_rank(rng, (8, 9, 6)).astype(np.longdouble) / 3
    observed = rng.random(x.shape) < 0.7
    result = qrank.complete(np.where(observed, x, np.nan))
    assert result.x.dtype == np.longdouble
    np.testing.assert_array_equal(result.x[observed], x[observed])


def test_the_fit_restores_and_nobody_else(rng, monkeypatch):
    """Without it, what was known comes back from the arithmetic, near but not the same."""
    x = low_rank(rng, (8, 9, 6))
    observed = rng.random(x.shape) < 0.7
    monkeypatch.setattr(Exact, "restore", lambda self, x, given, known: x + 1)
    result = qrank.complete(x, observed)
    assert np.abs(result.x - x)[observed].min() > 0.9


def test_noise_is_the_convex_problem_that_it_says(rng):
    """min ||X||_* + ||P_Omega(X - Y)||^2 / (2 tau), by an independent solver."""
    y, sigma = low_rank(rng, (7, 8, 1), rank=2, directions=1)[:, :, 0], 0.2
    y = y + sigma * rng.standard_normal(y.shape)
    observed = rng.random(y.shape) < 0.7
    tau = 0.7 * sigma * np.sqrt(observed.mean()) * (np.sqrt(7) + np.sqrt(8))
    v = cp.Variable(y.shape)
    miss = cp.sum_squares(cp.multiply(observed.astype(float), v - np.where(observed, y, 0)))
    best = cp.Problem(cp.Minimize(cp.normNuc(v) + miss / (2 * tau))).solve(solver=cp.CLARABEL)
    found = qrank.complete(y, observed, "slicewise", noise=sigma, tol=1e-9, max_steps=3000)
    value = np.linalg.norm(found.x, "nuc") + np.sum((found.x - y)[observed] ** 2) / (2 * tau)
    assert value == pytest.approx(best, rel=1e-6)
    assert np.abs(found.x - v.value).max() < 1e-3


def test_with_all_known_noise_is_the_prox_itself(rng):
    y, sigma = rng.standard_normal((6, 7, 4)), 0.3
    found = qrank.complete(y, method="slicewise", noise=sigma, tol=1e-9, max_steps=3000)
    wanted = qrank.prox_q_nuclear(y, np.eye(4), 0.7 * sigma * (np.sqrt(6) + np.sqrt(7)))
    np.testing.assert_allclose(found.x, wanted, atol=1e-6)
    assert found.status is qrank.Status.CONVERGED


@pytest.mark.parametrize("seed", range(3))
def test_a_learned_transform_does_not_go_round_for_ever(seed):
    """At the level of the noise Q and X of a natural array move round each other: these runs ended at their 500th step, no better."""
    rng = np.random.default_rng(seed)
    x = qrank.data.clip(12, 30, 36, colour=False, rng=seed)
    y, observed = x + 0.05 * rng.standard_normal(x.shape), rng.random(x.shape) < 0.3
    found = qrank.complete(y, observed, "vmtqn", (1, 2), noise=0.05)
    assert found.status in (qrank.Status.SETTLED, qrank.Status.CONVERGED)
    assert len(found.history) < 250
    best = qrank.complete(y, observed, "vmtqn", (1, 2), noise=0.05, on_step=lambda record: record.step == 300).x
    assert qrank.metrics.psnr(found.x, x) > qrank.metrics.psnr(best, x) - 0.1


@pytest.mark.parametrize("method", ["vmtqn", "views", "joined", "patches", "auto"])
def test_noise_is_taken_away(method, rng):
    x = np.repeat(low_rank(rng, (24, 22, 4), rank=2, directions=2), 4, axis=2)
    sigma = 0.3 * x.std()
    y, observed = x + sigma * rng.standard_normal(x.shape), rng.random(x.shape) < 0.7
    exact, noisy = (qrank.complete(y, observed, method, noise=noise, tol=1e-4) for noise in (None, sigma))
    assert qrank.metrics.psnr(noisy.x, x) > qrank.metrics.psnr(exact.x, x) + 3
    assert np.abs(noisy.x - y)[observed].max() > 0  # what was known was not the truth


def test_noise_has_the_unit_of_the_data(rng):
    y, observed = rng.standard_normal((8, 9, 5)), rng.random((8, 9, 5)) < 0.7
    one = qrank.complete(y, observed, "vmtqn", noise=0.2, tol=1e-4)
    other = qrank.complete(640 * y, observed, "vmtqn", noise=128.0, tol=1e-4)
    np.testing.assert_allclose(other.x, 640 * one.x, atol=1e-6 * 640)
    large = Problem.of(np.full((4, 9), 3.0 * 2**30))
    assert Noisy(0.5 * 2**30).tau(large) == pytest.approx(0.5 * 5 / 4)


def test_noise_that_makes_no_sense_is_refused():
    y = np.ones((4, 4, 4))
    with pytest.raises(qrank.InputError, match="noise must be above 0, not -1"):
        qrank.complete(y, noise=-1)
    with pytest.raises(qrank.InputError, match="for exact values"):
        qrank.complete(y, method="vmtqn", preset="paper", noise=0.1)
