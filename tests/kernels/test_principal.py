"""Principal directions of the third mode, against the SVD of T_(3)."""

import numpy as np
import pytest

from qrank.kernels import principal
from qrank.kernels.memory import Workspace

SHAPES = [(5, 3, 4), (30, 3, 4), (12, 3, 4)]  # (n3, n1, n2): tall, wide, square


def stack(rng, shape, s):
    """A stack whose T_(3) has these singular values."""
    n3, n = shape[0], shape[1] * shape[2]
    u, v = (np.linalg.qr(rng.standard_normal((k, len(s))))[0] for k in (n3, n))
    return np.ascontiguousarray(((u * s) @ v.T).reshape(shape))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES)
def test_principal_directions_are_singular_vectors(shape, dtype, rng):
    s = np.array([9.0, 5.0, 2.0, 1.0])
    t = stack(rng, shape, s).astype(dtype)
    near = 1e-4 if dtype == np.float32 else 1e-8
    for r in (1, 3, 4):
        v, found = principal.principal(t, r)
        assert (v.shape, v.dtype) == ((shape[0], r), dtype)
        np.testing.assert_allclose(found, s[:r], rtol=near)
        np.testing.assert_allclose(v.T @ v, np.eye(r), atol=near)
        u = np.linalg.svd(t.reshape(shape[0], -1))[0][:, :r]
        np.testing.assert_allclose(v @ v.T, u @ u.T, atol=10 * near)
        under = principal.under_principal(t, r)
        np.testing.assert_allclose(np.linalg.norm(under.reshape(r, -1), axis=1), s[:r], rtol=near)
        np.testing.assert_allclose(
            np.einsum("kr,rij->kij", v @ v.T, t), np.einsum("kr,rij->kij", u @ u.T, t), atol=1e-3
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("s", [[9.0, 5.0], [9.0, 1e-4, 1e-7, 1e-9], [9.0, 2e-6, 1e-6]])
def test_directions_in_which_there_is_next_to_nothing_are_orthonormal_too(s, dtype, rng):
    t = stack(rng, (40, 3, 4), np.array(s)).astype(dtype)
    v, found = principal.principal(t, 12, np.full(t.shape, np.nan, dtype), Workspace())
    np.testing.assert_allclose(v.T @ v, np.eye(12), atol=1e-5 if dtype == np.float32 else 1e-12)
    assert found[0] == pytest.approx(9, rel=1e-5)


def test_a_value_that_squaring_would_lose_is_taken_from_t(rng):
    t = stack(rng, (40, 3, 4), np.array([1.0, 1e-5, 1e-9]))
    found = principal.principal(t, 3)[1]
    np.testing.assert_allclose(found[:2], [1.0, 1e-5], rtol=1e-4)
    assert found[2] < 1e-6


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("lam", [3.0, 0.5, 1e-2, 3e-4, 1e-8])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_short_side_above_lam(shape, lam, dtype, rng):
    """Rows are singular vectors of the shorter side; at least all those above lam are given, and T is theirs."""
    s = np.array([9.0, 5.0, 2.0, 1.0])
    t = stack(rng, shape, s).astype(dtype)
    flat = t.reshape(shape[0], -1)
    wide, near = shape[0] >= flat.shape[1], 2e-3 if dtype == np.float32 else 1e-6
    rows, found, sure = principal.short_side(t, lam, 3, Workspace())
    assert sure == (lam >= (1e-6 if dtype == np.float64 else 1e-3) * np.sqrt((s * s).sum()))
    above = min(3, int((s > lam).sum()))
    assert len(rows) == (above if sure else 3)
    np.testing.assert_allclose(found[:above], s[:above], rtol=near)
    np.testing.assert_allclose(rows @ rows.T, np.eye(len(rows)), atol=near)
    lengths = np.linalg.norm(flat @ rows.T, axis=0) if wide else np.linalg.norm(rows @ flat, axis=1)
    np.testing.assert_allclose(lengths, found, rtol=near)


@pytest.mark.parametrize("r", [2, 10])
def test_under_left_and_from_left_are_a_projection(r, rng):
    """G = U diag(s) and back is the projection of T onto its first r directions, by either way."""
    s = np.geomspace(9, 1, 12)
    t = stack(rng, (30, 3, 4), s)
    u, _, vt = np.linalg.svd(t.reshape(30, -1), full_matrices=False)
    work = Workspace()
    rows, found, _ = principal.short_side(t, 1e-2, r, work)
    g = principal.under_left(rows, found, t, work)
    assert g.shape == (r, 3, 4)
    np.testing.assert_allclose(np.linalg.norm(g.reshape(r, -1), axis=1), s[:r])
    x = principal.from_left(g, rows, found, t, work)
    np.testing.assert_allclose(x.reshape(30, -1), (u[:, :r] * s[:r]) @ vt[:r], atol=1e-9)


def test_nothing_gives_nothing():
    t, work = np.zeros((30, 3, 4)), Workspace()
    rows, s, _ = principal.short_side(t, 1.0, 4, work)
    x = principal.from_left(principal.under_left(rows, s, t, work), rows, s, t, work)
    assert not x.any()


def test_eigenpairs_descend_and_there_is_one_at_least(rng):
    square = np.diag([1.0, 9.0, 4.0])
    s, rows = principal.eigenpairs(square.copy(), 2.0)
    np.testing.assert_allclose(s, [3, 2])
    np.testing.assert_allclose(np.abs(rows), [[0, 1, 0], [0, 0, 1]])
    assert principal.eigenpairs(square.copy(), 100.0)[0].tolist() == [3.0]
    assert principal.eigenpairs(-square)[0].tolist() == [0, 0, 0]


def test_mending_makes_nearly_orthonormal_columns_so_and_says_where_it_cannot(rng):
    q = np.linalg.qr(rng.standard_normal((300, 4)))[0]
    bent = q + 1e-3 * rng.standard_normal(q.shape)
    assert principal._mended(bent)
    np.testing.assert_allclose(bent.T @ bent, np.eye(4), atol=1e-12)
    assert not principal._mended(np.ones((5, 2)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_columns_are_made_orthonormal_in_place_the_first_ones_first(dtype, rng):
    good = np.linalg.qr(rng.standard_normal((300, 4)))[0]
    q = np.column_stack([good, good[:, :1], np.zeros((300, 2)), rng.standard_normal((300, 1))]).astype(dtype)
    principal._orthonormal(q)
    near = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(q.T @ q, np.eye(8), atol=near)
    np.testing.assert_allclose(np.abs(q[:, :4].T @ good), np.eye(4), atol=near)


def test_columns_that_are_nearly_orthonormal_are_only_mended(rng, monkeypatch):
    """Unless that fails."""
    t, called = rng.standard_normal((15, 3, 3)), []
    monkeypatch.setattr(principal, "_orthonormal", called.append)
    q = principal.principal(t.astype(np.float32), 9)[0]  # 135 numbers: not a whole number of doubles
    np.testing.assert_allclose(q.T @ q, np.eye(9), atol=1e-5)
    assert not called
    monkeypatch.setattr(principal, "_mended", lambda q: False)
    principal.principal(t, 9)
    assert len(called) == 1


def test_values_that_drown_in_the_gram_matrix_are_taken_from_a_wide_t(rng):
    """1e-16 beside 1 is nothing, but lengths of the rows are true; the largest is that of the Gram matrix."""
    t = stack(rng, (40, 3, 4), np.array([1.0, 1e-4, *np.geomspace(1e-8, 1e-9, 10)]))
    rows, s, sure = principal.short_side(t, 1e-10, 12, Workspace())
    assert not sure
    np.testing.assert_allclose(s, np.linalg.norm(t.reshape(40, -1) @ rows.T, axis=0), rtol=1e-5)
    assert s[2:].max() < 2e-8
