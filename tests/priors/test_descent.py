"""Where a descent starts and what it keeps; the paper's printed step."""

import numpy as np
import pytest

from qrank.kernels.memory import Workspace
from qrank.kernels.shrink import shrink
from qrank.penalties import Nuclear
from qrank.priors import ManifoldDescent, MaximalVariance, PrintedDescent
from qrank.priors.descent import REST, facing, nearest_orthogonal
from qrank.priors.qnorm import QState
from qrank.transforms import Matrix, stiefel


def envelope(t, q, lam=1.0):
    return shrink(Matrix(q).forward(t), lam, Nuclear()).envelope


def test_a_descent_from_the_last_q_starts_there_only_if_f_is_lower(rng):
    t = rng.standard_normal((6, 8, 9))
    best = ManifoldDescent(6, 200, "pca").prox(t, 1.0, Nuclear(), QState(), Workspace())
    pca = envelope(t, MaximalVariance(6).transform(t, np.empty_like(t), QState(), Workspace()).matrix)
    good, bad = best.state.q, np.eye(6)
    assert envelope(t, good) < pca < envelope(t, bad)
    for begin, q, start in (("last", good, envelope(t, good)), ("last", bad, pca), ("pca", good, pca)):
        found = ManifoldDescent(6, 1, begin).prox(t, 1.0, Nuclear(), QState(q=q), Workspace())
        assert found.learning[0] == pytest.approx(start)
    spun = ManifoldDescent(6, 1, "spun").prox(t, 1.0, Nuclear(), QState(q=good), Workspace(0))
    assert abs(spun.learning[0] - pca) > 1e-3
    assert abs(spun.learning[0] - envelope(t, good)) > 1e-3


@pytest.mark.parametrize("r", [6, 4])
def test_x_is_that_of_the_q_that_is_kept(r, rng):
    t = rng.standard_normal((6, 8, 9))
    found = ManifoldDescent(r, 3, "spun").prox(t, 1.0, Nuclear(), QState(), Workspace(0))
    q = found.state.q
    np.testing.assert_allclose(q.T @ q, np.eye(r), atol=1e-10)
    g = Matrix(q).forward(t)
    shrunk = shrink(g, 1.0, Nuclear())
    np.testing.assert_allclose(found.x, Matrix(q).backward(g), atol=1e-10)
    assert (found.value, found.rank, found.slices) == (pytest.approx(shrunk.value), shrunk.rank, shrunk.slices)
    assert found.state.tau > 0


@pytest.mark.parametrize("r", [5, 3])
def test_the_printed_step_follows_the_gradient_of_the_norm(r, rng):
    """P = T_(3)^T of the U V^T of the slices, made of SVDs here."""
    t, q = rng.standard_normal((5, 6, 7)), np.linalg.qr(rng.standard_normal((5, r)))[0]
    for given, start in ((q, q), (None, np.eye(5, r))):
        g = Matrix(start).forward(t)
        u, _, vh = np.linalg.svd(g, full_matrices=False)
        p = t.reshape(5, -1) @ (u @ vh).reshape(r, -1).T
        a = stiefel.tangent(start, p)
        wanted = stiefel.cayley(start, a, stiefel.printed_step(start, p, a))
        found = PrintedDescent(r, 1, "pca").prox(t, 1e-2, Nuclear(), QState(q=given), Workspace())
        np.testing.assert_allclose(found.state.q, wanted, atol=1e-5)
        norm = np.linalg.svd(g, compute_uv=False).sum()
        assert found.learning[0] == pytest.approx(norm, rel=1e-4)


def test_columns_face_one_side_whatever_their_sign(rng):
    v = rng.standard_normal((7, 30))
    signs = np.where(rng.random(30) < 0.5, -1.0, 1.0)
    np.testing.assert_allclose(v * facing(v), v * signs * facing(v * signs))
    assert set(facing(v)) == {-1.0, 1.0}
    assert facing(np.eye(7)).tolist() == [1.0] * 7
    assert facing(v.astype(np.float32)).dtype == np.float32


def test_the_nearest_orthogonal_matrix_is_nearest(rng):
    m = rng.standard_normal((4, 4))
    best = nearest_orthogonal(m)
    np.testing.assert_allclose(best.T @ best, np.eye(4), atol=1e-12)
    for _ in range(20):
        other = np.linalg.qr(best + 0.1 * rng.standard_normal((4, 4)))[0]
        other *= np.sign(np.diag(other.T @ best))
        assert np.linalg.norm(m - best) <= np.linalg.norm(m - other) + 1e-12


def test_descents_rest_where_they_gain_little_and_go_on_where_they_gain_much(rng):
    """Only where other rotations are drawn each time: the paper's starts descend in every update."""
    noise = rng.standard_normal((6, 30, 40))
    apart = np.einsum("kij,lk->lij", rng.standard_normal((3, 8, 1)) * rng.standard_normal((3, 1, 9)), np.eye(6)[:, :3])
    apart[1] += apart[0]  # two slices of rank 1 that a rotation tells apart, of like size
    for begin, t, tried in (
        ("spun", noise, [True] + [False] * REST + [True]),
        ("pca", noise, [True] * (REST + 2)),
        ("spun", apart, [True] * (REST + 2)),
    ):
        state, work, gained = QState(), Workspace(3), []
        for _ in range(REST + 2):
            found = ManifoldDescent(6, 1, begin).prox(t, 1e-2, Nuclear(), state, work)
            state = found.state
            gained.append(len(found.learning) > 1)
            q = state.q
            assert found.learning[-1] == pytest.approx(envelope(t, q, 1e-2))
            np.testing.assert_allclose(q.T @ q, np.eye(6), atol=1e-10)
        assert gained == tried, begin
