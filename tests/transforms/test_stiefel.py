import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrank.transforms import stiefel


def point(rng, n, r):
    return np.linalg.qr(rng.standard_normal((n, r)))[0]


@given(st.integers(1, 8), st.data())
def test_curve_stays_on_the_manifold_with_the_right_derivative(n, data):
    r = data.draw(st.integers(1, n))
    rng = np.random.default_rng(n)
    q, p = point(rng, n, r), rng.standard_normal((n, r))
    a = stiefel.tangent(q, p)
    for tau in (0.0, 0.3, 10.0):
        moved = stiefel.cayley(q, a, tau)
        np.testing.assert_allclose(moved.T @ moved, np.eye(r), atol=1e-12)
    np.testing.assert_allclose(stiefel.cayley(q, a, 0.0), q)
    h = 1e-6
    derivative = (stiefel.cayley(q, a, h) - stiefel.cayley(q, a, -h)) / (2 * h)
    np.testing.assert_allclose(derivative, -a @ q, atol=1e-7)


def test_slope_along_the_curve_is_half_the_norm(rng):
    """Lemma 5 of the paper: f'(0) = -1/2 ||A||_F^2, by finite differences."""
    m, q = rng.standard_normal((6, 6)), point(rng, 6, 4)
    m = m + m.T
    f = lambda q: float(np.trace(q.T @ m @ q))  # noqa: E731
    a = stiefel.tangent(q, 2 * m @ q)
    h = 1e-6
    slope = (f(stiefel.cayley(q, a, h)) - f(stiefel.cayley(q, a, -h))) / (2 * h)
    assert slope == pytest.approx(-0.5 * (a**2).sum(), rel=1e-6)


def test_descent_finds_the_smallest_eigenvalues(rng):
    m = rng.standard_normal((7, 7))
    m = m + m.T
    found = stiefel.descend(
        lambda q: (float(np.trace(q.T @ m @ q)), q), lambda q: 2 * m @ q, point(rng, 7, 3), steps=300
    )
    assert found.values[-1] == pytest.approx(np.linalg.eigvalsh(m)[:3].sum(), abs=1e-5)
    assert all(after < before for before, after in zip(found.values, found.values[1:], strict=False))
    np.testing.assert_allclose(found.q.T @ found.q, np.eye(3), atol=1e-10)


def test_a_stationary_point_stays(rng):
    q = point(rng, 5, 5)
    found = stiefel.descend(lambda q: (0.0, q), lambda q: np.zeros_like(q), q, steps=5)
    np.testing.assert_array_equal(found.q, q)
    assert found.values == [0.0]


def test_norm_bound(rng):
    a = stiefel.tangent(point(rng, 9, 9), rng.standard_normal((9, 9)))
    assert stiefel.norm_bound(a) >= np.linalg.norm(a, 2) - 1e-12


def test_printed_step_is_the_formula(rng):
    q, p = point(rng, 5, 5), rng.standard_normal((5, 5))
    a = stiefel.tangent(q, p)
    first, second = np.vdot(p, -a @ q), np.vdot(p, a @ a @ q)
    tau = stiefel.printed_step(q, p, a)
    assert tau <= 2 / np.linalg.norm(a, 2)
    assert tau == pytest.approx(min(1.98 / stiefel.norm_bound(a), -first / second if second > 0 else np.inf)) or (
        second <= 0 and tau == pytest.approx(1 / stiefel.norm_bound(a))
    )
