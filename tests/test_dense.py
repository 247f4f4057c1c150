"""Gram matrices that are added up in place, and the largest eigenpairs of one large matrix."""

import numpy as np
import pytest

from qrank.dense import FEW, add_gram, eigh_above


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (1, 7), (5, 1), (4, 9), (9, 4)])
def test_gram_of_any_memory_order(dtype, n, k):
    big = np.random.default_rng(0).standard_normal((3 * n, 3 * k)).astype(dtype)
    before = big.copy()
    for a in (big[:n, :k], np.ascontiguousarray(big[:n, :k]), np.asfortranarray(big[:n, :k]), big[::3, ::3]):
        out = np.zeros((n, n), dtype)
        add_gram(a, out, first=True)
        add_gram(a, out, first=False)
        np.testing.assert_allclose(out, np.triu(2 * a @ a.T), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(big, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_largest_eigenpairs(dtype, n):
    rng = np.random.default_rng(1)
    a = rng.standard_normal((n, 2 * n)) * np.geomspace(1, 1e-2, n)[:, None]
    gram = (a @ a.T).astype(dtype)
    true, vectors = np.linalg.eigh(gram)
    eps = np.finfo(dtype).eps
    for count in {0, 1, n // FEW, n // FEW + 1, n}:
        levels = np.concatenate([[true[0] / 2], true, [2 * true[-1]]])
        above = float(levels[n - count : n - count + 2].mean())
        w, b = eigh_above(np.triu(gram), above)
        assert b.dtype == dtype
        assert w.shape == (count,)
        np.testing.assert_allclose(w, true[n - count :], atol=20 * n * eps * true[-1])
        np.testing.assert_allclose(b @ b.T, np.eye(count), atol=1000 * n * eps)
        kept = vectors[:, n - count :]
        np.testing.assert_allclose((b.T * w) @ b, (kept * true[n - count :]) @ kept.T, atol=1000 * n * eps * true[-1])


def test_equal_eigenvalues():
    q = np.linalg.qr(np.random.default_rng(2).standard_normal((40, 40)))[0]
    w, b = eigh_above((q * np.repeat([1.0, 2.0, 3.0], [20, 16, 4])) @ q.T, 2.5)
    np.testing.assert_allclose(w, [3.0] * 4)
    np.testing.assert_allclose(b.T @ b, q[:, 36:] @ q[:, 36:].T, atol=1e-12)


def test_what_is_not_finite_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        eigh_above(np.full((5, 5), np.nan), 1.0)
