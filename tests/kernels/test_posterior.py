"""Conditional means and variances against the textbook's formula with dense covariances."""

import numpy as np
import pytest

from qrank.kernels.posterior import Gaussian, conditional, inverses, pairs


def dense(law: Gaussian, y: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E and Var of x + e given y = (x + e)_o, for x + e ~ N(m, S), S = B B^T + e2 I; but of x plus a *new* e where known."""
    signal = law.b @ law.b.T
    s_oo = signal[np.ix_(known, known)] + law.e2 * np.eye(known.sum())
    gain = np.linalg.solve(s_oo, signal[known]).T
    return law.m + gain @ (y - law.m)[known], np.diag(signal - gain @ signal[known]) + law.e2


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    law = Gaussian(rng.standard_normal(30), rng.standard_normal((30, 11)), 0.2)
    y = law.m + rng.standard_normal((40, 11)) @ law.b.T + 0.2**0.5 * rng.standard_normal((40, 30))
    known = rng.random(y.shape) < 0.4
    known[0], known[1] = False, True  # nothing, and all
    return law, y, known


@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_mean_and_variance_are_those_of_the_dense_conditional(drawn, dtype, tol):
    law, y, known = drawn
    single = Gaussian(law.m.astype(dtype), law.b.astype(dtype), law.e2)
    found = conditional(single, pairs(single.b), np.where(known, y, 0).astype(dtype), known)
    assert found.mean.dtype == found.variance.dtype == dtype
    for i in range(len(y)):
        mean, variance = dense(law, y[i], known[i])
        np.testing.assert_allclose(found.mean[i], mean, rtol=tol, atol=tol)
        np.testing.assert_allclose(found.variance[i], variance, rtol=tol)


@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_with_noise_x_is_what_bayes_says_of_it_everywhere(drawn, dtype, tol):
    """x ~ N(m, S), S = B B^T + e2 I, y = (x + noise)_o: E x = m + S_:o (S_oo + s2 I)^-1 (y - m)_o, known or not."""
    law, y, known = drawn
    law = law._replace(s2=0.7)
    single = law._replace(m=law.m.astype(dtype), b=law.b.astype(dtype))
    found = conditional(single, pairs(single.b), np.where(known, y, 0).astype(dtype), known)
    s = law.b @ law.b.T + law.e2 * np.eye(30)
    for i in range(len(y)):
        o = known[i]
        gain = np.linalg.solve(s[np.ix_(o, o)] + law.s2 * np.eye(o.sum()), s[o]).T
        np.testing.assert_allclose(found.mean[i], law.m + gain @ (y[i] - law.m)[o], rtol=tol, atol=tol)
        np.testing.assert_allclose(found.variance[i], np.diag(s - gain @ s[o]), rtol=tol)


def test_leaving_out_is_what_hiding_the_entry_gives(drawn):
    law, y, known = drawn
    found = conditional(law, pairs(law.b), np.where(known, y, 0), known)
    for i, j in [(1, 0), (5, int(np.flatnonzero(known[5])[0])), (9, int(np.flatnonzero(known[9])[-1]))]:
        hidden = known[i].copy()
        hidden[j] = False
        mean, variance = dense(law, y[i], hidden)
        assert found.error[i, j] == pytest.approx(y[i, j] - mean[j], rel=1e-8)
        assert found.expected[i, j] == pytest.approx(variance[j], rel=1e-8)
    assert not found.error[~known].any()


def test_single_precision_stands_a_law_of_high_contrast(drawn):
    law, y, known = drawn
    law = Gaussian(law.m, law.b * np.logspace(0, -2.5, 11), 1e-6)
    single = Gaussian(law.m.astype(np.float32), law.b.astype(np.float32), law.e2)
    y = law.m + (y - law.m) @ np.linalg.pinv(law.b).T @ law.b.T
    found = conditional(single, pairs(single.b), np.where(known, y, 0).astype(np.float32), known)
    many = known.sum(1) > 11
    exact = np.array([dense(law, *pair)[0] for pair in zip(y[many], known[many], strict=True)])
    assert np.abs(found.mean[many] - exact).max() < 1e-3 * np.abs(y - law.m).max()


@pytest.mark.parametrize("r", [1, 7, 8, 9, 40])
def test_inverses(r):
    b = np.random.default_rng(r).standard_normal((6, r, r + 3))
    a = b @ b.swapaxes(1, 2)
    np.testing.assert_allclose(inverses(a) @ a, np.broadcast_to(np.eye(r), a.shape), atol=1e-7)
