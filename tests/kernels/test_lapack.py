"""Gram matrices that are added up in place, and the largest eigenpairs of one large matrix."""

import numpy as np
import pytest

from qrank.kernels import lapack, threads
from qrank.kernels.dense import FEW, add_gram, eigh_above


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_the_workspace_holds_does_not_matter(dtype):
    """LAPACK has been seen to follow indices that it had not set, where no eigenvalue was wanted."""
    rng = np.random.default_rng(0)
    for n in range(2, 40):
        a = rng.standard_normal((n, 50)).astype(dtype)
        true = np.linalg.eigvalsh(a @ a.T)
        for above, wanted in ((1.1 * true[-1], 0), ((true[-1] + true[-2]) / 2, 1), (float(true[-1]), None)):
            threads.scratch("dense work", (lapack.work_size(n),), np.dtype(dtype))[:] = np.nan
            noise = rng.integers(-(2**31), 2**31 - 1, 10 * n)
            threads.scratch("dense integers", (10 * n,), np.dtype(np.intc))[:] = noise
            gram = np.zeros((n, n), dtype)
            add_gram(a, gram, first=True)
            w, b = eigh_above(gram, float(above))
            assert len(w) == len(b) <= 1
            if wanted is not None:
                assert len(w) == wanted
                np.testing.assert_allclose(w, true[n - wanted :], rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_levels_at_which_a_pivot_vanishes(dtype):
    """A level equal to a diagonal entry divides by zero in the Sturm sequence of a tridiagonal matrix."""
    chain = 2 * np.eye(9, dtype=dtype) + np.eye(9, k=1, dtype=dtype) + np.eye(9, k=-1, dtype=dtype)
    true = 2 + 2 * np.cos(np.arange(9, 0, -1) * np.pi / 10)
    for level in (0.0, 1.0, 2.0, 3.0):
        w, _ = eigh_above(np.triu(chain), level + 1e-3)
        np.testing.assert_allclose(w, true[true > level + 1e-3], atol=1e-5)
    assert len(eigh_above(np.array([[2, 1], [0, 2]], dtype), 2.0)[0]) == 1
