"""The Q-norm's prox under a fixed Q, under PCA, and under a descended Q."""

import numpy as np
import pytest

import qrank
from qrank.kernels.memory import Workspace
from qrank.kernels.shrink import shrink
from qrank.penalties import Nuclear, PShrinkage
from qrank.priors import Fixed, ManifoldDescent, MaximalVariance, QNorm
from qrank.priors.descent import Envelope, spin
from qrank.priors.qnorm import QState
from qrank.transforms import Fourier, Matrix


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


class Watched(MaximalVariance):
    """A learner that tells in which steps it was asked."""

    def prox(self, t, lam, penalty, state, work):
        asked.append(state.k + 1)
        return super().prox(t, lam, penalty, state, work)


asked: list[int] = []


@pytest.mark.parametrize(
    ("every", "steps"), [(1, [1, 2, 3, 4, 5, 6, 7]), (2, [1, 3, 5, 7]), (3, [1, 2, 5]), (4, [1, 3, 7])]
)
def test_q_is_chosen_in_the_first_step_and_where_k_mod_K_is_K_minus_1(every, steps, rng):
    t = rng.standard_normal((5, 6, 7))
    learner = Watched(5, lasting=True)
    prior = QNorm(learner, Nuclear(), every) if every > 1 else QNorm(learner, Nuclear())
    state = prior.start(t, Workspace())
    assert state == QState(0, None, 0.0)
    asked.clear()
    for k in range(1, 8):
        found = prior(t, 1.0, state, Workspace())
        state = found.state
        assert state.k == k
        if every > 1:
            kept = state.q
            g = Matrix(kept).forward(t)
            shrink(g, 1.0, Nuclear())
            np.testing.assert_allclose(found.x, Matrix(kept).backward(g), atol=1e-8)
    assert asked == steps


def test_what_is_told_of_x_is_true_of_it(rng):
    """Value, rank and the number of slices, counted by SVDs of X itself; one slice is below lam and goes."""
    q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    g = rng.standard_normal((4, 5, 6))
    g[3] *= 1e-3
    t = Matrix(q).backward(g)
    found = QNorm(Fixed(Matrix(q)), Nuclear())(t, 1.5, QState(), Workspace())
    s = np.linalg.svd(Matrix(q).forward(found.x), compute_uv=False)
    assert found.value == pytest.approx(s.sum())
    assert (found.rank, found.slices) == ((s > 1e-9).sum(), 3)
    np.testing.assert_allclose(s, np.maximum(np.linalg.svd(g, compute_uv=False) - 1.5, 0), atol=1e-10)


def test_slices_of_a_packed_fourier_transform_count_as_those_of_the_whole(rng):
    t = rng.standard_normal((5, 4, 6))
    found = QNorm(Fixed(Fourier(5)), Nuclear())(t, 1.5, QState(), Workspace())
    s = np.linalg.svd(np.fft.fft(found.x, axis=0, norm="ortho"), compute_uv=False)
    assert found.value == pytest.approx(s.sum())
    assert (found.rank, found.slices) == ((s > 1e-9).sum(), 5)


def test_sizes_are_the_largest_singular_value(rng):
    t = rng.standard_normal((5, 6, 7))
    q = np.linalg.qr(rng.standard_normal((5, 3)))[0]
    largest = np.linalg.svd(Matrix(q).forward(t), compute_uv=False).max()
    for given in (Matrix(q), lambda rng: Matrix(q)):
        prior = QNorm(Fixed(given), Nuclear())
        state = prior.start(t, Workspace())
        assert prior.size(t, state, Workspace()) == pytest.approx(largest)
        np.testing.assert_array_equal(prior.transform(t, t, state, Workspace()).matrix, q)
        assert prior(t, 1.01 * largest, state, Workspace()).rank == 0
    pca = Matrix(qrank.pca(t, 3, (1, 2)))
    prior = QNorm(MaximalVariance(3), Nuclear())
    wanted = np.linalg.svd(pca.forward(t), compute_uv=False).max()
    assert prior.size(t, QState(), Workspace()) == pytest.approx(wanted)


@pytest.mark.parametrize("shape", [(50, 5, 6), (10, 11, 12)])
def test_the_transform_that_is_learned_is_pca_of_the_answer(shape, rng):
    x = rng.standard_normal(shape)
    found = MaximalVariance(4).transform(x, np.empty_like(x), QState(), Workspace())
    wanted = qrank.pca(x, 4, (1, 2))
    np.testing.assert_allclose(np.abs(found.matrix.T @ wanted), np.eye(4), atol=1e-8)
    assert ManifoldDescent(4, 1, "pca").transform(x, x, QState(), Workspace()) is None
    kept = ManifoldDescent(4, 1, "pca").transform(x, x, QState(q=wanted), Workspace())
    np.testing.assert_array_equal(kept.matrix, wanted)


@pytest.mark.parametrize("shape", [(30, 5, 6), (29, 5, 6), (31, 5, 6), (9, 3, 3)])
@pytest.mark.parametrize("lasting", [False, True])
def test_pca_around_the_square(shape, lasting, rng):
    """Where n3 and n1 n2 meet: the shorter side is taken, and X, value and rank are those of SVDs."""
    t, lam = rng.standard_normal(shape), 1.7
    found = MaximalVariance(min(shape[0], shape[1] * shape[2]), lasting).prox(t, lam, Nuclear(), QState(), Workspace())
    u, s, vt = np.linalg.svd(t.reshape(shape[0], -1), full_matrices=False)
    g = (s[:, None] * vt).reshape(-1, *shape[1:])
    a, values, b = np.linalg.svd(g, full_matrices=False)
    shrunk = np.maximum(values - lam, 0)
    x = (u @ ((a * shrunk[:, None]) @ b).reshape(len(g), -1)).reshape(shape)
    np.testing.assert_allclose(found.x, x, atol=1e-7)
    assert found.value == pytest.approx(shrunk.sum(), rel=1e-6)
    assert (found.rank, found.slices) == ((shrunk > 0).sum(), (shrunk > 0).any(axis=1).sum())


@pytest.mark.parametrize("shape", [(6, 9, 8), (60, 3, 4), (60, 12, 4)])
@pytest.mark.parametrize("lam", [0.5, 3.0])
def test_x_made_in_the_memory_of_t_is_the_same(shape, lam, rng):
    t, r = rng.standard_normal(shape), min(shape[0], shape[1] * shape[2])
    apart = MaximalVariance(r).prox(t, lam, Nuclear(), QState(), Workspace())
    room = t.copy()
    onto = MaximalVariance(r, onto=True).prox(room, lam, Nuclear(), QState(), Workspace())
    assert np.shares_memory(onto.x, room)
    assert not np.shares_memory(apart.x, t)
    np.testing.assert_allclose(onto.x, apart.x, atol=1e-12)
    assert (onto.value, onto.rank) == (pytest.approx(apart.value), apart.rank)
