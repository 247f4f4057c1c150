"""Products and transforms in pieces, against NumPy's of the whole, in one and in several threads."""

import numpy as np
import pytest
import scipy.sparse

from qrank.kernels import products, threads


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"])
def shared(request, monkeypatch):
    monkeypatch.setattr(threads, "count", lambda: request.param)


@pytest.mark.parametrize("length", [1, 5, 1100])
def test_gram_matrices(length, shared, rng):
    a = rng.standard_normal((4, length))
    np.testing.assert_allclose(products.gram(a), a @ a.T, atol=1e-10)
    out, spare = np.empty((4, 4)), np.empty(64)
    assert products.gram(a, out, spare) is out
    np.testing.assert_allclose(out, a @ a.T, atol=1e-10)
    np.testing.assert_allclose(products.gram(a, None, np.empty(3)), a @ a.T, atol=1e-10)  # too little to be used
    single = a.astype(np.float32)
    exact = products.double_gram(single)
    assert exact.dtype == np.float64
    wanted = np.triu(single.astype(float) @ single.astype(float).T)
    np.testing.assert_allclose(np.triu(exact), wanted, rtol=1e-12, atol=1e-12)


def test_matmul_of_any_memory(shared, rng):
    a, b = rng.standard_normal((6, 8)), rng.standard_normal((4, 7))
    for left in (np.ascontiguousarray(a[:3, ::2]), a[:3, ::2], a[:4, :3].T[:, :]):
        found = products.matmul(left, b[: left.shape[1]])
        np.testing.assert_allclose(found, left @ b[: left.shape[1]], atol=1e-12)


@pytest.mark.parametrize("place", ["new", "elsewhere", "in place"])
def test_product_along_the_third_mode(place, shared, rng):
    t, m = rng.standard_normal((5, 9, 8)), rng.standard_normal((5, 5))
    wanted = np.einsum("kl,lij->kij", m, t)
    out = {"new": None, "elsewhere": np.empty_like(t), "in place": t}[place]
    found = products.product(m, t, out)
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    assert out is None or found is out


def test_product_in_place_in_many_pieces_and_with_fewer_rows(rng):
    t = rng.standard_normal((3, 500, 400))  # more columns than are taken at a time
    before = t.copy()
    found = products.product(np.array([[1.0, 2.0, -1.0], [0.0, 1.0, 0.5], [3.0, 0.0, 0.0]]), t, t)
    np.testing.assert_allclose(found[0], before[0] + 2 * before[1] - before[2], atol=1e-12)
    np.testing.assert_allclose(found[2], 3 * before[0], atol=1e-12)
    few = products.product(np.array([[1.0, 2.0, -1.0]]), before)
    np.testing.assert_allclose(few[0], before[0] + 2 * before[1] - before[2], atol=1e-12)


def test_product_with_a_sparse_matrix(rng):
    t = rng.standard_normal((4, 2, 3))
    m = scipy.sparse.csr_array(np.diag([1.0, 2.0, 3.0, 4.0]))
    wanted = t * np.array([1.0, 2.0, 3.0, 4.0])[:, None, None]
    np.testing.assert_allclose(products.product(m, t), wanted)
    out = np.empty_like(t)
    assert products.product(m, t, out) is out
    np.testing.assert_allclose(out, wanted)


@pytest.mark.parametrize("length", [40, 1500])
def test_slope_is_its_formula(length, shared, rng):
    b, prox = rng.standard_normal((6, length)), rng.standard_normal((4, length))
    turn, v = rng.standard_normal((6, 4)), rng.standard_normal((6, 6))
    np.testing.assert_allclose(products.slope(turn, b, prox), b @ (turn.T @ b - prox).T, atol=1e-9)
    base = v.T @ b
    np.testing.assert_allclose(products.slope(turn, b, prox, v), base @ (turn.T @ base - prox).T, atol=1e-8)


@pytest.mark.parametrize("n3", [1, 4, 7])
def test_fourier_slices_are_those_of_the_unitary_transform(n3, rng):
    """Re 0, Re 1, Im 1, …: each with the weight that its place in the whole spectrum has."""
    t = rng.standard_normal((n3, 3, 2))
    g, wanted = products.fourier(t), np.fft.fft(t, axis=0, norm="ortho")
    np.testing.assert_allclose(g[0], wanted[0].real, atol=1e-12)
    for k in range(1, (n3 + 1) // 2):
        np.testing.assert_allclose(g[2 * k - 1] + 1j * g[2 * k], wanted[k], atol=1e-12)
    np.testing.assert_allclose(products.fourier(g, inverse=True), t, atol=1e-12)
    same = t.copy()
    assert products.fourier(same, same) is same
    np.testing.assert_allclose(same, g)
    np.testing.assert_allclose(products.cosine(products.cosine(t), inverse=True), t, atol=1e-12)
    assert np.linalg.norm(products.cosine(t)) == pytest.approx(np.linalg.norm(t))


def test_copies_and_sums(rng):
    t = rng.standard_normal((2, 3, 4))
    assert products.copy(t) is not t
    np.testing.assert_array_equal(products.copy(t), t)
    assert products.copy(t, t) is t
    out = np.empty_like(t)
    assert products.copy(t, out) is out
    np.testing.assert_array_equal(out, t)
    long = rng.standard_normal(3 * products.CACHED + 5)
    assert products.sums(lambda a: (float(a.sum()),), long)[0] == pytest.approx(long.sum())
    x, known = np.array([1.0, 2.0, 3.0]), np.array([True, False, True])
    products.keep_known(x, np.array([5.0, 0.0, -6.0]), known)
    np.testing.assert_array_equal(x, [5, 2, -6])
