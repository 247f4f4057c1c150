"""One pass from X to the next T."""

import numpy as np
import pytest

from qrank.kernels.advance import PASSED, advance, known_entries


def test_a_fixed_point_stays_put(rng):
    """At mu -> infinity T = X = Y on Omega: a converged answer is left where it is."""
    x = rng.standard_normal((6, 5, 4))
    t, observed = np.moveaxis(x, 2, 0).copy(), rng.random((4, 6, 5)) < 0.5
    y = np.where(observed, t, 0)
    before = t.copy()
    x = before.copy()
    residuals = advance(t, x, y, observed, 0.9)
    np.testing.assert_allclose(x, before, atol=1e-14)
    assert residuals.primal == residuals.change == residuals.dual == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("relax", "more"), [(0.0, 0.0), (0.6, 0.0), (0.8, 0.8)])
@pytest.mark.parametrize(("size", "share"), [(5, 0.5), (PASSED, 0.3), (2 * PASSED + 17, 0.9), (3 * PASSED, 0.0)])
def test_one_pass_is_the_papers_updates(dtype, relax, more, size, share, rng):
    """E, Z and the residuals written out, against the pass in pieces; a piece with nothing known, too."""
    observed = rng.random(size) < share
    observed[-PASSED:] &= size <= 2 * PASSED
    y = np.where(observed, rng.standard_normal(size), 0)
    t, x, x_old, ratio = rng.standard_normal(size), rng.standard_normal(size), rng.standard_normal(size), 0.8
    x_old[~observed] = t[~observed]  # off Omega T is the last X
    z = np.where(observed, t - x, 0)  # Z / mu, where the multiplier grows by all of mu (Y - X)
    state, last = x.astype(dtype), known_entries(x_old.astype(dtype), observed)
    found = advance(t.astype(dtype), state, y.astype(dtype), observed, ratio, last, relax, more)
    near = {"rtol": 1e-4, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-14}
    np.testing.assert_allclose(state, np.where(observed, y + ratio * (z + more * (y - x)), x + relax * (x - t)), **near)
    np.testing.assert_allclose(np.concatenate(last), x[observed], **near)
    norms = np.linalg.norm((y - x)[observed]), np.linalg.norm((x - t)[~observed]), np.linalg.norm(z)
    largest = np.abs((y - x)[observed]).max(initial=0), np.abs(x - x_old).max()
    assert found.t is state
    np.testing.assert_allclose(found[:-1], (*norms, *largest), **near)


def test_largest_entries_are_zero_unless_they_are_asked_for(rng):
    t, x, y = rng.standard_normal((3, 2, 4, 5))
    found = advance(t, x, y, y > 0, 0.8)
    assert (found.primal_max, found.change_max) == (0, 0)
    assert min(found.primal, found.change, found.dual) > 0


def test_with_both_it_is_the_over_relaxed_admm(rng):
    """X + E = Y, in the letters of the paper, with a X + (1 - a) (Y - E) for X in the E- and Z-update (Eckstein and Bertsekas 1992)."""
    y, observed, alpha, rho, mu = rng.standard_normal(40), rng.random(40) < 0.5, 1.7, 1.2, 1.0
    y *= observed
    e, z, t = np.zeros(40), np.zeros(40), y.copy()
    for _ in range(5):
        x = 0.7 * (y - e + z / mu)  # any prox would do
        np.testing.assert_allclose(0.7 * t, x, atol=1e-13)
        beyond = alpha * x + (1 - alpha) * (y - e)
        e = np.where(observed, 0, y - beyond + z / mu)
        z = z + mu * (y - beyond - e)
        advance(t, x, y, observed, 1 / rho, relax=alpha - 1, more=alpha - 1)
        mu, t = rho * mu, x
