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


@pytest.mark.parametrize("seed", range(6))
def test_printed_step_in_both_cases(seed):
    """With g'(0) = -<P, A Q> < 0: -g'(0) / g''(0) where g'' > 0, else 1 / ||A||; never beyond 2 / ||A||."""
    rng = np.random.default_rng(seed)
    q, p = point(rng, 4, 2), rng.standard_normal((4, 2))
    p *= 10 ** (seed - 3.0)
    if seed % 2:
        p = -q @ np.diag([3.0, 1.0]) + 0.1 * p  # g'' > 0 or not hangs on the sign of what P has along Q
    a = stiefel.tangent(q, p)
    first, second = -np.vdot(p, a @ q), np.vdot(p, a @ (a @ q))
    bound = stiefel.norm_bound(a)
    wanted = min(1.98 / bound, -first / second) if second > 0 else 1 / bound
    assert first < 0
    assert stiefel.printed_step(q, p, a) == pytest.approx(wanted, rel=1e-12)


def quadratic(rng, n=6):
    m = rng.standard_normal((n, n))
    m = m + m.T
    seen = []

    def value(q):
        seen.append(q)
        return float(np.trace(q.T @ m @ q)), q

    return value, lambda q: 2 * m @ q, seen


def test_the_first_trial_is_one_over_the_bound_or_the_given_step_up_to_two(rng):
    value, gradient, seen = quadratic(rng)
    q = point(rng, 6, 3)
    a = stiefel.tangent(q, gradient(q))
    bound = stiefel.norm_bound(a)
    for given_tau, tau in ((None, 1 / bound), (0.0, 1 / bound), (0.3 / bound, 0.3 / bound), (9 / bound, 2 / bound)):
        seen.clear()
        stiefel.descend(value, gradient, q, steps=1, tau=given_tau)
        assert seen[0] is q
        np.testing.assert_allclose(seen[1], stiefel.cayley(q, a, tau), atol=1e-12)


def test_the_second_trial_is_barzilai_and_borweins(rng):
    """tau = <ds, ds> / |<ds, dy>|, ds and dy how Q and A Q have changed."""
    value, gradient, seen = quadratic(rng)
    q0 = point(rng, 6, 3)
    one = stiefel.descend(value, gradient, q0, steps=1)
    seen.clear()
    two = stiefel.descend(value, gradient, q0, steps=2)
    a0, a1 = (stiefel.tangent(q, gradient(q)) for q in (q0, one.q))
    ds, dy = one.q - q0, a1 @ one.q - a0 @ q0
    tau = min(np.vdot(ds, ds) / abs(np.vdot(ds, dy)), 2 / stiefel.norm_bound(a1))
    second = seen[next(i for i, q in enumerate(seen) if np.allclose(q, one.q)) + 1]
    np.testing.assert_allclose(second, stiefel.cayley(one.q, a1, tau), atol=1e-12)
    assert len(two.values) == 3


def test_a_start_that_is_known_is_not_evaluated(rng):
    value, gradient, seen = quadratic(rng)
    q = point(rng, 6, 3)
    start = value(q)
    seen.clear()
    found = stiefel.descend(value, gradient, q, start, steps=1)
    assert not any(other is q for other in seen)
    assert found.values[0] == start[0]
    assert found.payload is found.q


def test_a_refused_step_is_shortened_by_four_until_it_gains_enough(rng):
    """f must fall by 1e-4 of what the slope promises, tau ||A||^2 / 2; here that is so from the third trial on."""
    q, tried = np.eye(2), []
    p = np.array([[0.0, 1.0], [-1.0, 0.0]])  # A = 2 P: half the squared norm is 4, the bound 2

    def fall(enough):
        tried.clear()

        def value(r):
            angle = abs(np.arctan2(r[0, 1], r[0, 0]))
            if angle == 0:
                return 0.0, r
            tau = np.tan(angle / 2)  # that of the Cayley curve with A = [[0, 2], [-2, 0]]
            tried.append(tau)
            return (-4.0 * tau * (2e-4 if len(tried) > 2 else enough)), r

        return stiefel.descend(value, lambda r: p, q, steps=1)

    found = fall(0.9e-4)
    np.testing.assert_allclose(tried, [0.5, 0.125, 0.5 / 16])
    assert found.tau == pytest.approx(0.5 / 16)
    assert len(found.values) == 2
    fall(1.1e-4)
    np.testing.assert_allclose(tried, [0.5])
    found = fall(-1.0)
    assert len(tried) == 3


def test_a_step_that_never_gains_is_given_up_after_twelve(rng):
    q, p, tried = np.eye(2), np.array([[0.0, 1.0], [-1.0, 0.0]]), []

    def value(r):
        tried.append(r)
        return float(len(tried)) * 1e-12, r

    found = stiefel.descend(value, lambda r: p, q, steps=3)
    assert len(tried) == 1 + 12
    np.testing.assert_array_equal(found.q, q)
    assert found.tau == pytest.approx(0.5 * 0.25**12)


def test_a_gain_that_f_cannot_show_ends_the_descent_and_the_next_may_try_more(rng):
    q, p = np.eye(2), np.array([[0.0, 1e-9], [-1e-9, 0.0]])
    found = stiefel.descend(lambda r: (1e9, r), lambda r: p, q, steps=3, tau=1e-3)
    assert found.tau == pytest.approx(4e-3)
    np.testing.assert_array_equal(found.q, q)
