"""The Q-norm's prox under a fixed Q, under PCA, and under a descended Q."""

import numpy as np
import pytest

import qrank
from qrank.kernels.memory import Workspace
from qrank.kernels.shrink import shrink
from qrank.penalties import Nuclear, PShrinkage
from qrank.priors import ManifoldDescent, MaximalVariance, QNorm
from qrank.priors.descent import Envelope, spin
from qrank.priors.qnorm import QState
from qrank.transforms import Matrix


@pytest.mark.parametrize("shape", [(6, 5, 50), (12, 11, 10)])
def test_pca_learner_on_both_sides_of_square(shape, rng):
    """Wide (n1 n2 < n3) and tall unfoldings: prox under PCA(T) agrees with one written out by SVDs."""
    t = np.ascontiguousarray(np.moveaxis(rng.standard_normal(shape), 2, 0))
    lam = 2.0
    q = qrank.pca(t, slice_axes=(1, 2))
    g = Matrix(q).forward(t)
    shrink(g, lam, Nuclear())
    wanted = Matrix(q).backward(g)
    for lasting in (False, True):
        prior = QNorm(MaximalVariance(q.shape[1], lasting), Nuclear())
        found = prior(t, lam, prior.start(t, Workspace()), Workspace())
        np.testing.assert_allclose(found.x, wanted, atol=1e-8)
        assert (found.state.q is not None) == lasting


@pytest.mark.parametrize("penalty", [Nuclear(), PShrinkage(0.5)], ids=str)
def test_gradient_of_the_manifold_objective(penalty, rng):
    """P = T_(3)^T (G - prox(G))_(3) / lam against central differences of the envelope, in every entry of Q."""
    t, lam, h = rng.standard_normal((5, 6, 7)), 1.7, 1e-5
    q = np.linalg.qr(rng.standard_normal((5, 5)))[0]

    def f(q):
        g = Matrix(q).forward(t)
        return shrink(g, lam, penalty).envelope

    g = Matrix(q).forward(t)
    x = g.copy()
    shrink(x, lam, penalty)
    p = t.reshape(5, -1) @ (g - x).reshape(5, -1).T / lam
    for i, j in np.ndindex(5, 5):
        step = np.zeros((5, 5))
        step[i, j] = h
        assert (f(q + step) - f(q - step)) / (2 * h) == pytest.approx(p[i, j], rel=1e-5, abs=1e-6)


def test_motqn_finds_a_lower_envelope_than_pca(rng):
    t = rng.standard_normal((6, 8, 9))
    one, many = (ManifoldDescent(6, n, "pca").prox(t, 1.0, Nuclear(), QState(), Workspace()) for n in (1, 40))
    assert many.learning[0] == pytest.approx(one.learning[0])
    assert many.learning[-1] < many.learning[0] - 0.1
    g = Matrix(many.state.q).forward(t)
    assert shrink(g, 1.0, Nuclear()).envelope == pytest.approx(many.learning[-1])
    np.testing.assert_allclose(many.x, Matrix(many.state.q).backward(g), atol=1e-10)


def test_spinning_mixes_only_directions_of_like_singular_values(rng):
    s = np.array([100.0, 90.0, 80.0, 20.0, 19.0, 1e-3, 0.0, 0.0])
    for _ in range(20):
        q = spin(s, rng)
        np.testing.assert_allclose(q.T @ q, np.eye(8), atol=1e-12)
        assert not q[:3, 3:].any()
        assert not q[3:5, 5:].any()
        assert abs(q[7, 6]) > 0  # nothing tells these two apart
    edges = {bool(spin(s, rng)[0, 2] == 0) for _ in range(200)}
    assert edges == {True, False}  # where blocks begin is random, so that no two neighbours stay apart
    np.testing.assert_array_equal(np.abs(spin(np.zeros(1), rng)), [[1.0]])


@pytest.mark.parametrize("r", [5, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gradient_in_the_rotation(r, dtype, rng):
    """The gradient that the descent uses, against central differences; float32 takes another way."""
    t, lam, h = rng.standard_normal((5, 6, 7)), 1.7, 1e-5
    v = qrank.pca(t, r, (1, 2))
    exact = Envelope(t, v, lam, Nuclear(), np.empty((r, 6, 7)))
    f = Envelope(t.astype(dtype), v.astype(dtype), lam, Nuclear(), np.empty((r, 6, 7), dtype))
    rotation = np.linalg.qr(rng.standard_normal((r, r)))[0]
    p = f.gradient(f.value(rotation.astype(dtype))[1])
    near = 1e-5 if dtype == np.float64 else 1e-3
    for i, j in np.ndindex(r, r):
        step = np.zeros((r, r))
        step[i, j] = h
        slope = (exact.value(rotation + step)[0] - exact.value(rotation - step)[0]) / (2 * h)
        assert slope == pytest.approx(p[i, j], rel=near, abs=10 * near)
