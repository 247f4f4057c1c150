import numpy as np
import pytest
import pywt
from hypothesis import given
from hypothesis import strategies as st

import qrank
from qrank import FileError, InputError, KindError
from qrank.transforms import Cosine, Fourier, Identity, Matrix, load, random_orthogonal, transform_of
from qrank.transforms.wavelets import daubechies, wavelet

KINDS = {
    "fourier": Fourier,
    "cosine": Cosine,
    "identity": Identity,
    "wavelet": wavelet,
    "random": lambda n3: random_orthogonal(n3, n3, np.random.default_rng(0)),
}


@given(st.sampled_from(sorted(KINDS)), st.integers(1, 40), st.sampled_from([np.float32, np.float64]))
def test_isometry_and_inverse(kind, n3, dtype):
    transform = KINDS[kind](n3)
    t = np.random.default_rng(n3).standard_normal((n3, 3, 2)).astype(dtype)
    g = transform.forward(t)
    weights = np.ones(transform.r) if transform.multiplicity is None else transform.multiplicity
    tolerance = 1e-5 if dtype == np.float32 else 1e-11
    assert (weights @ (np.abs(g) ** 2).sum(axis=(1, 2))) == pytest.approx((t**2).sum(), rel=10 * tolerance)
    back = transform.backward(g)
    assert back.dtype == dtype
    np.testing.assert_allclose(back, t, atol=tolerance)


@pytest.mark.parametrize("n3", [1, 2, 7, 8, 30])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_matrix_is_the_transform(kind, n3, rng):
    transform = KINDS[kind](n3)
    q, t = transform.matrix, rng.standard_normal((n3, 2, 3))
    np.testing.assert_allclose(q.conj().T @ q, np.eye(n3), atol=1e-10)
    g = np.einsum("kij,kl->lij", t, q)
    np.testing.assert_allclose(transform.forward(t), g[: transform.r], atol=1e-10)


def test_large_sparse_wavelet_equals_its_dense_matrix(rng):
    transform = wavelet(301)
    t = rng.standard_normal((301, 2, 2))
    dense = Matrix(transform.matrix)
    np.testing.assert_allclose(transform.forward(t), dense.forward(t), atol=1e-12)
    np.testing.assert_allclose(transform.backward(t), dense.backward(t), atol=1e-12)


@pytest.mark.parametrize("moments", [1, 2, 4])
def test_daubechies_filters_are_those_of_pywavelets(moments):
    np.testing.assert_allclose(daubechies(moments), pywt.Wavelet(f"db{moments}").rec_lo, atol=1e-9)


def test_wavelet_has_vanishing_moments():
    """Away from the periodic seam, db4 details of a cubic polynomial are zero."""
    t = (np.linspace(0, 1, 64) ** 3)[:, None, None]
    detail = wavelet(64, levels=1).forward(t)[32:, 0, 0]
    assert np.abs(detail[:-4]).max() < 1e-9
    assert np.abs(detail).max() > 1e-3


def test_save_load_apply(tmp_path, rng):
    q = random_orthogonal(6, 3, rng)
    q.save(tmp_path / "q.npz")
    x = rng.standard_normal((4, 5, 6))
    np.testing.assert_array_equal(load(tmp_path / "q.npz").apply(x), q.apply(x))
    np.testing.assert_allclose(q.apply(x), np.einsum("ijk,kl->ijl", x, q.matrix))
    (tmp_path / "bad.npz").write_bytes(b"PK")
    with pytest.raises(FileError, match="not a transform"):
        load(tmp_path / "bad.npz")
    with pytest.raises(FileError, match="cannot write"):
        q.save(tmp_path / "no" / "q.npz")
    with pytest.raises(InputError, match="third mode of length 6"):
        q.apply(rng.standard_normal((4, 5, 7)))


def test_learned_transform_serves_another_call(rng):
    from conftest import low_rank

    x = low_rank(rng)
    observed = rng.random(x.shape) < 0.6
    first = qrank.complete(x, observed, "vmtqn")
    assert first.transform is not None
    again = qrank.complete(x, observed, method="tqn", q=first.transform)
    assert qrank.metrics.relative_error(again.x, x) < 1e-3


@pytest.mark.parametrize(
    ("q", "kind", "message"),
    [
        (np.ones((4, 4)), InputError, "must be orthonormal"),
        (np.eye(3), InputError, "length 3"),
        (np.eye(4)[:2], InputError, "at most as many columns"),
        (np.eye(4) * 1j, KindError, "real matrix"),
        (np.full((4, 4), np.nan), InputError, "not finite"),
        ("fourier", InputError, "matrix"),
    ],
)
def test_bad_q(q, kind, message):
    with pytest.raises(kind, match=message):
        transform_of(q, 4)


def test_plot(rng):
    pytest.importorskip("matplotlib").use("Agg")
    ax = random_orthogonal(5, 3, rng).plot()
    assert ax.images[0].get_array().shape == (5, 3)


@pytest.mark.parametrize("n3", [1, 2, 3, 8, 9])
def test_packed_fourier_is_fourier_with_parts_as_slices(n3, rng):
    t = rng.standard_normal((n3, 4, 5))
    g, packed = Fourier(n3).forward(t), Fourier(n3).packed.forward(t)
    weights = Fourier(n3).packed.multiplicity
    np.testing.assert_allclose(packed[weights > 0], g.real, atol=1e-12)
    np.testing.assert_allclose(packed[weights == 0], g.imag[1 : (n3 + 1) // 2], atol=1e-12)


@pytest.mark.parametrize("kind", ["packed", "cosine", "random", "identity"])
def test_backward_in_place(kind, rng):
    """G and the result may be the same memory, also where there are fewer slices in G."""
    transform = {**KINDS, "packed": lambda n3: Fourier(n3).packed}[kind](12)
    g = rng.standard_normal((12, 30, 40))
    wanted = transform.backward(g.copy(), out=np.empty_like(g))
    np.testing.assert_allclose(transform.backward(g, out=g), wanted, atol=1e-12)
    few = random_orthogonal(12, 5, rng)
    memory = rng.standard_normal((12, 30, 40))
    wanted = few.backward(memory[:5].copy())
    np.testing.assert_allclose(few.backward(memory[:5], out=memory), wanted, atol=1e-12)
