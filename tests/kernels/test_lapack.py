"""Gram matrices that are added up in place, and the largest eigenpairs of one large matrix."""

import numpy as np
import pytest

import qrank
from qrank.kernels import lapack
from qrank.kernels.lapack import FEW, add_gram, axpy, eigh_above, space_needed
from qrank.kernels.memory import scratch


@pytest.fixture(params=["LAPACK", "NumPy"], autouse=True)
def way(request, monkeypatch):
    """Every test runs twice: by the C functions, and by NumPy, as on a build whose functions are not as expected."""
    monkeypatch.setattr(lapack, "ONE_CALL", 0)
    if request.param == "NumPy":
        monkeypatch.setattr(lapack, "as_expected", lambda kind: False)
    return request.param


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (1, 7), (5, 1), (4, 9), (9, 4)])
def test_gram_of_any_memory_order(dtype, n, k):
    big = np.random.default_rng(0).standard_normal((3 * n, 3 * k)).astype(dtype)
    before = big.copy()
    for a in (big[:n, :k], np.ascontiguousarray(big[:n, :k]), np.asfortranarray(big[:n, :k]), big[::3, ::3]):
        out = np.zeros((n, n), dtype)
        add_gram(a, out, first=True)
        add_gram(a, out, first=False)
        np.testing.assert_allclose(np.triu(out), np.triu(2 * a @ a.T), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(big, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 7, 60, 128])
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
            scratch("eigh work", (space_needed(n) - n * n,), np.dtype(dtype))[:] = np.nan
            noise = rng.integers(-(2**31), 2**31 - 1, 10 * n)
            scratch("eigh integers", (10 * n,), np.dtype(np.intc))[:] = noise
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("n", [1, 2, 31, 64, 90])  # of 64 rows the eigenvectors lie further apart
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99, 2.0])
def test_eigenpairs_above_a_level(n, dtype, share, rng):
    a = rng.standard_normal((n, n + 2)) + 1j * rng.standard_normal((n, n + 2))
    a = (a if np.dtype(dtype).kind == "c" else a.real).astype(dtype)
    k = a @ a.conj().T
    true = np.linalg.eigvalsh(k.astype(np.complex128))
    above = share * float(true[-1])
    tolerance = 1e-3 if np.finfo(dtype).eps > 1e-10 else 1e-10
    for least in (0, 1):
        space = np.empty(space_needed(n), dtype) if least else None
        w, b = eigh_above(np.triu(k), above, least, space)
        kept = max(least, int((true > above).sum()))
        assert b.shape == (kept, n)
        np.testing.assert_allclose(w, true[n - kept :], atol=tolerance * true[-1])
        np.testing.assert_allclose(b @ k, w[:, None] * b, atol=tolerance * true[-1])
        np.testing.assert_allclose(b @ b.conj().T, np.eye(kept), atol=tolerance)


def test_a_scaled_sum(rng):
    x, y = rng.standard_normal((2, 1000)).astype(np.float32)
    wanted = y + np.float32(0.3) * x
    axpy(0.3, x, y)
    np.testing.assert_allclose(y, wanted, atol=1e-6)


def test_a_signature_that_is_not_the_expected_one_is_not_called(monkeypatch):
    """Integers of 64 bits would be read where 32 were written: such a build gets NumPy's way, and the same answer."""
    x = qrank.data.low_q_rank((70, 72, 6), r=2, rng=0)
    known = qrank.data.observed(x.shape, 0.5, rng=0)
    usual = qrank.complete(x, known, "tnn", tol=1e-3)
    monkeypatch.undo()
    genuine = lapack._kinds
    monkeypatch.setattr(lapack, "_kinds", lambda signature: genuine(signature.replace("int *", "long *")))
    for kept in (lapack.routine, lapack.as_expected):
        kept.cache_clear()
    try:
        assert not lapack.as_expected("d")
        assert lapack.routine("syrk", "d") is None
        other = qrank.complete(x, known, "tnn", tol=1e-3)
    finally:
        monkeypatch.undo()
        for kept in (lapack.routine, lapack.as_expected):
            kept.cache_clear()
    assert lapack.as_expected("d")
    np.testing.assert_allclose(other.x, usual.x, atol=1e-9)


def test_a_routine_that_is_not_there_is_not_called(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(lapack, "_published", dict)
    lapack.routine.cache_clear()
    try:
        assert lapack.routine("axpy", "f") is None
    finally:
        lapack.routine.cache_clear()


def test_signatures_of_this_build():
    assert all(lapack.routine(name, kind) for name in lapack.SIGNATURES for kind in "fdFD")
