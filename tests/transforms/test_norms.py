"""The definitions and theorems of the paper, checked numerically."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qrank
from qrank import InputError
from qrank.tensor import mode_product, unfold
from qrank.transforms import Fourier


def orthonormal(rng, n, r):
    return np.linalg.qr(rng.standard_normal((n, r)))[0]


def slices(x, q):
    return np.moveaxis(mode_product(x, q), 2, 0)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 6), st.data())
def test_definitions_against_plain_numpy(n1, n2, n3, data):
    rng = np.random.default_rng(n1 * 36 + n2 * 6 + n3)
    x, q = rng.standard_normal((n1, n2, n3)), orthonormal(rng, n3, data.draw(st.integers(1, n3)))
    s = np.linalg.svd(slices(x, q), compute_uv=False)
    np.testing.assert_allclose(qrank.q_singular_values(x, q), s, atol=1e-10)
    assert qrank.q_nuclear_norm(x, q) == pytest.approx(s.sum())
    assert qrank.q_spectral_norm(x, q) == pytest.approx(s.max())
    assert qrank.q_rank(x, q) == sum(np.linalg.matrix_rank(g) for g in slices(x, q))


@pytest.mark.parametrize("n3", [5, 6])
def test_tnn_is_the_fourier_definition(rng, n3):
    x = rng.standard_normal((4, 3, n3))
    g = np.moveaxis(np.fft.fft(x, axis=2), 2, 0)
    s = np.linalg.svd(g, compute_uv=False)
    assert qrank.tensor_nuclear_norm(x) == pytest.approx(s.sum() / n3)
    ours = np.sort(qrank.q_singular_values(x, Fourier(n3)).ravel())
    np.testing.assert_allclose(ours, np.sort(s.ravel() / np.sqrt(n3)), atol=1e-10)
    np.testing.assert_array_equal(qrank.multi_rank(x), [np.linalg.matrix_rank(m) for m in g])


def test_snn(rng):
    x = rng.standard_normal((3, 4, 5, 2))
    wanted = sum(np.linalg.norm(unfold(x, mode), "nuc") for mode in range(4))
    assert qrank.sum_of_nuclear_norms(x) == pytest.approx(wanted)


def test_the_norms_are_dual(rng):
    """<X, W> <= ||X||_{Q,*} ||W||_{Q,sigma} for all W, with equality for W = U V^T in every slice (Property 2)."""
    x, q = rng.standard_normal((4, 5, 6)), orthonormal(rng, 6, 6)
    for _ in range(50):
        w = rng.standard_normal(x.shape)
        assert np.vdot(x, w) <= qrank.q_nuclear_norm(x, q) * qrank.q_spectral_norm(w, q) + 1e-9
    u, _, vh = np.linalg.svd(slices(x, q), full_matrices=False)
    w = mode_product(np.moveaxis(u @ vh, 0, 2), q.T)
    assert qrank.q_spectral_norm(w, q) == pytest.approx(1)
    assert np.vdot(x, w) == pytest.approx(qrank.q_nuclear_norm(x, q))


def test_norms_are_convex(rng):
    q = orthonormal(rng, 5, 3)
    for _ in range(20):
        a, b, share = rng.standard_normal((3, 4, 5)), rng.standard_normal((3, 4, 5)), rng.random()
        for norm in (qrank.q_nuclear_norm, qrank.q_spectral_norm):
            assert norm(share * a + (1 - share) * b, q) <= share * norm(a, q) + (1 - share) * norm(b, q) + 1e-9


def test_envelope_inequality_in_the_unit_ball(rng):
    """||X||_{PCA,*} <= rank_PCA(X) where ||X||_{PCA,sigma} <= 1 (Theorem 3), with equality for unit singular values."""
    for _ in range(20):
        x = rng.standard_normal((4, 3, 5)) @ np.diag(rng.integers(0, 2, 5))
        if not x.any():
            continue
        q = qrank.pca(x)
        x /= qrank.q_spectral_norm(x, q)
        assert qrank.q_nuclear_norm(x, q) <= qrank.q_rank(x, q, tol=1e-9) + 1e-9


@given(st.lists(st.floats(0, 10), min_size=2, max_size=6), st.integers(0, 999))
def test_lemma_1_variance_and_sum_go_opposite_ways(a, seed):
    a = np.array(a)
    if not a.any():
        return
    b = np.abs(np.random.default_rng(seed).standard_normal(len(a)))
    b *= np.linalg.norm(a) / np.linalg.norm(b)
    assert (a.var() >= b.var()) == (a.sum() <= b.sum()) or abs(a.sum() - b.sum()) < 1e-9
    one = np.zeros_like(a)
    one[0] = np.linalg.norm(a)
    assert one.var() >= a.var() - 1e-9


@pytest.mark.parametrize("shape", [(8, 5), (4, 7)])
def test_lemma_2_and_theorem_2_right_singular_vectors_are_optimal(rng, shape):
    x = rng.standard_normal(shape)
    r = min(shape)
    v = qrank.pca(x[:, None, :], r)
    best = np.linalg.norm(x @ v, axis=0).sum()
    assert best == pytest.approx(np.linalg.norm(x, "nuc"))
    for _ in range(200):
        q = v @ orthonormal(rng, r, r)  # all Q with X Q Q^T = X
        np.testing.assert_allclose(x @ q @ q.T, x, atol=1e-9)
        assert np.linalg.norm(x @ q, axis=0).sum() >= best - 1e-9


@pytest.mark.parametrize("r", [2, 4, 6])
def test_prox_is_the_minimiser(rng, r):
    """Algorithm 3 beats random perturbations of every size, and T - X is lam times a subgradient."""
    t, q, lam = rng.standard_normal((4, 5, 6)), orthonormal(rng, 6, r), 0.8
    x = qrank.prox_q_nuclear(t, q, lam)
    f = lambda x: lam * qrank.q_nuclear_norm(x, q) + 0.5 * ((x - t) ** 2).sum()  # noqa: E731
    for size in (1e-4, 1e-2, 1):
        for _ in range(30):
            assert f(x + size * rng.standard_normal(x.shape)) >= f(x) - 1e-12
    z = (t - x) / lam
    assert qrank.q_spectral_norm(z, q) <= 1 + 1e-9
    assert np.vdot(z, x) == pytest.approx(qrank.q_nuclear_norm(x, q))
    outside = np.eye(6) - q @ q.T
    np.testing.assert_allclose(mode_product(x, outside), mode_product(t, outside), atol=1e-12)


def test_prox_under_fourier_is_that_of_its_full_matrix(rng):
    t = rng.standard_normal((3, 4, 6))
    g = np.moveaxis(np.fft.fft(t, axis=2, norm="ortho"), 2, 0)
    u, s, vh = np.linalg.svd(g, full_matrices=False)
    wanted = np.fft.ifft(np.moveaxis((u * np.maximum(s - 0.5, 0)[:, None, :]) @ vh, 0, 2), axis=2, norm="ortho").real
    np.testing.assert_allclose(qrank.prox_q_nuclear(t, Fourier(6), 0.5), wanted, atol=1e-12)


def test_pca_of_any_axes_and_its_range(rng):
    x = rng.standard_normal((2, 4, 5, 3))
    q = qrank.pca(x, slice_axes=(1, 2))
    assert q.shape == (6, 6)
    flat = np.moveaxis(x, 3, 1).reshape(6, 20)
    np.testing.assert_allclose(np.linalg.norm(q.T @ flat, axis=1), np.linalg.svd(flat, compute_uv=False), atol=1e-10)
    with pytest.raises(InputError, match="from 1 to"):
        qrank.pca(x, 7, slice_axes=(1, 2))
