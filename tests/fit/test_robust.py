"""Outliers: robust tensor PCA, against its published algorithm and an independent solver."""

import cvxpy as cp
import numpy as np
import pytest

import qrank
from conftest import low_rank
from qrank.experiments.field.scenes import load
from qrank.metrics import psnr


def spoilt(x, share, rng):
    wrong = rng.random(x.shape) < share
    return np.where(wrong, x + np.where(rng.random(x.shape) < 0.5, -1, 1) * 3 * x.std(), x), wrong


def published(y, steps=200):
    """Algorithm 4 of Lu et al. 2020, as printed: L, S and the multiplier, their norm, unnormalised FFT along the third axis."""
    n1, n2, n3 = y.shape
    weight, mu, rho = 1 / np.sqrt(max(n1, n2) * n3), 1e-3, 1.1
    low, sparse, z = (np.zeros(y.shape) for _ in range(3))
    for _ in range(steps):
        freq = np.fft.fft(y - sparse - z / mu, axis=2).transpose(2, 0, 1)
        u, s, vh = np.linalg.svd(freq, full_matrices=False)
        freq = (u * np.maximum(s - 1 / mu, 0)[:, None, :]) @ vh
        low = np.fft.ifft(freq.transpose(1, 2, 0), axis=2).real
        left = y - low - z / mu
        sparse = np.sign(left) * np.maximum(np.abs(left) - weight / mu, 0)
        z += mu * (low + sparse - y)
        mu = min(rho * mu, 1e10)
    return low, sparse


def test_tnn_is_the_published_algorithm(rng):
    """Within 0.1 dB, on a film with noise besides its outliers, so that there is something to tell apart."""
    x = np.repeat(low_rank(rng, (24, 26, 3), 2, 2), 4, axis=2) + 0.05 * rng.standard_normal((24, 26, 12))
    y, _ = spoilt(x, 0.08, rng)
    low, _ = published(y)
    found = qrank.separate(y, method="tnn", rho=1.1, tol=1e-7)
    assert abs(psnr(found.x, x) - psnr(low, x)) < 0.1


@pytest.mark.parametrize("method", ["vmtqn", "tnn", "motqn"])
def test_exact_recovery_of_both_parts(method, rng):
    x = np.repeat(low_rank(rng, (40, 40, 3), 1, 2), 4, axis=2)
    y, wrong = spoilt(x, 0.05, rng)
    found = qrank.separate(y, method=method, penalty="nuclear")
    assert np.linalg.norm(found.x - x) < 2e-3 * np.linalg.norm(x)
    np.testing.assert_array_equal(np.abs(found.outliers) > x.std(), wrong)


def test_whole_fibres(rng):
    x = np.repeat(low_rank(rng, (40, 40, 3), 1, 2), 4, axis=2)
    gone = rng.random((40, 40, 1)) < 0.05
    y = np.where(gone, x + 3 * x.std() * rng.standard_normal(x.shape), x)
    found = qrank.separate(y, method="tnn", kind="fibres")
    assert np.linalg.norm(found.x - x) < 1e-2 * np.linalg.norm(x)
    size = np.linalg.norm(found.outliers, axis=2)
    np.testing.assert_array_equal(size > x.std(), gone[..., 0])
    assert (size[~gone[..., 0]] == 0).mean() > 0.8  # whole fibres, or nothing


def test_it_is_the_convex_problem_that_it_says(rng):
    """min ||X||_* + w ||S||_1 with X + S = Y on Omega, by an independent solver."""
    y, observed = low_rank(rng, (7, 8, 1), 2, 1)[:, :, 0], rng.random((7, 8)) < 0.8
    y = y + 4 * (rng.random(y.shape) < 0.1)
    w = 1 / np.sqrt(observed.mean() * 8)
    x = cp.Variable(y.shape)
    best = cp.Problem(cp.Minimize(cp.normNuc(x) + w * cp.sum(cp.abs(cp.multiply(observed, x - y))))).solve(
        solver=cp.CLARABEL
    )
    found = qrank.separate(y, observed, "slicewise", tol=1e-9, rho=1.005, max_steps=8000)
    value = np.linalg.norm(found.x, "nuc") + w * np.abs(found.outliers).sum()
    np.testing.assert_allclose((found.x + found.outliers)[observed], y[observed], atol=1e-6)
    assert value == pytest.approx(best, rel=1e-3)
    assert (found.outliers[~observed] == 0).all()


def test_outliers_among_missing_entries(rng):
    x = np.repeat(low_rank(rng, (40, 40, 3), 1, 2), 4, axis=2)
    y, _ = spoilt(x, 0.05, rng)
    observed = rng.random(x.shape) < 0.6
    one, other = (psnr(qrank.complete(y, observed, "vmtqn", outliers=given).x, x) for given in (None, True))
    assert other > one + 20


def test_noise_besides(rng):
    x = np.repeat(low_rank(rng, (40, 40, 3), 1, 2), 4, axis=2)
    sigma = 0.1 * x.std()
    y, wrong = spoilt(x + sigma * rng.standard_normal(x.shape), 0.05, rng)
    alone, both = (qrank.separate(y, method="vmtqn", noise=noise) for noise in (None, sigma))
    assert psnr(both.x, x) > psnr(alone.x, x)
    assert both.noise == sigma
    assert np.mean((np.abs(both.outliers) > x.std()) == wrong) > 0.999


def test_units(rng):
    x = low_rank(rng, (12, 13, 6), 1, 1)
    y, _ = spoilt(x, 0.05, rng)
    one, other = qrank.separate(y), qrank.separate(1e9 * y)
    np.testing.assert_allclose(other.x, 1e9 * one.x, rtol=1e-6, atol=1)
    np.testing.assert_allclose(other.outliers, 1e9 * one.outliers, rtol=1e-6, atol=1)


def test_bad_input_is_one_sentence():
    y = np.ones((4, 4, 4))
    with pytest.raises(qrank.InputError, match="outliers must be True, 'entries' or 'fibres', not 'pixels'"):
        qrank.complete(y, outliers="pixels")
    with pytest.raises(qrank.InputError, match="for exact values"):
        qrank.complete(y, method="vmtqn", preset="paper", outliers=True)
    with pytest.raises(qrank.InputError, match="has no option 'outliers'"):
        qrank.complete(y, method="halrtc", outliers=True)


@pytest.mark.data
def test_salt_and_pepper_on_the_still_clip(data, rng):
    """10 % of what is known is black or white, and half is missing; a part of the clip, for the time it takes."""
    x = load("smooth-60", data)[:40]
    y = np.where(rng.random(x.shape) < 0.1, rng.random(x.shape) < 0.5, x)
    observed = rng.random(x.shape) < 0.5
    exact, robust = (qrank.complete(y, observed, "vmtqn", (1, 2), outliers=given).x for given in (None, True))
    assert psnr(robust, x) > psnr(exact, x) + 3
