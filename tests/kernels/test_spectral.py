"""Sizes of slices, against SVDs."""

import numpy as np
import pytest

from qrank.kernels.spectral import LONG, energies, gram_safe, singular_values, spectral_norm, tells, vanish


@pytest.mark.parametrize(("kind", "safe"), [("f4", 1e-3), ("f8", 1e-6), ("c8", 1e-3), ("c16", 1e-6)])
def test_a_gram_matrix_tells_values_down_to_what_its_precision_holds(kind, safe):
    dtype = np.dtype(kind)
    assert gram_safe(dtype) == safe
    assert tells(4.0, 2.01 * safe, dtype)
    assert not tells(4.0, 1.99 * safe, dtype)


@pytest.mark.parametrize("shape", [(3, 4, 5), (0, 4, 5), (2, 1, LONG + 1), (40, 50, 60)])
def test_energies_are_squared_norms(shape, rng):
    g = rng.standard_normal(shape)
    np.testing.assert_allclose(energies(g), (g**2).sum(axis=(1, 2)))
    both = g + 1j * rng.standard_normal(shape)
    np.testing.assert_allclose(energies(both), (np.abs(both) ** 2).sum(axis=(1, 2)))
    assert energies(g.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("shape", [(3, 4, 6), (3, 6, 4), (0, 4, 6), (30, 50, 60)])
def test_singular_values_are_those_of_each_slice(shape, rng):
    g = rng.standard_normal(shape)
    np.testing.assert_allclose(singular_values(g), np.linalg.svd(g, compute_uv=False))


def test_the_spectral_norm_is_not_that_of_the_slice_with_the_largest_entries(rng):
    """A slice of many equal values has the larger Frobenius norm, one of rank 1 the larger singular value."""
    for turned in (False, True):
        g = np.zeros((4, 5, 7))
        g[1, :, :5] = 2 * np.eye(5)
        g[2] = 3 * np.outer(np.ones(5), np.ones(7)) / np.sqrt(35)
        g[3, 0, 0] = 2.5
        assert spectral_norm(g.swapaxes(1, 2) if turned else g) == pytest.approx(3)
    assert spectral_norm(np.zeros((2, 3, 3))) == 0


def test_parts_of_complex_slices_belong_together(rng):
    parts = rng.standard_normal((5, 4, 6))
    whole = [parts[0], parts[1] + 1j * parts[2], parts[3] + 1j * parts[4]]
    largest = max(np.linalg.norm(one, 2) for one in whole)
    assert spectral_norm(parts, np.array([1, 2, 0, 2, 0])) == pytest.approx(largest)
    assert spectral_norm(parts) == pytest.approx(max(np.linalg.norm(one, 2) for one in parts))


@pytest.mark.parametrize("kind", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("unit", [1e-15, 1.0, 1e15])
def test_slices_of_noise_are_known_to_vanish_without_a_decomposition(kind, unit, rng):
    """Never one that does not; and one of noise from where lam is a tenth above its largest singular value."""
    a = rng.standard_normal((20, 24, 40))
    a = (unit * (a + 1j * rng.standard_normal(a.shape) if kind[0] == "c" else a)).astype(kind)
    a[::2, 0] *= 3  # these are not noise alone
    gram, first = a @ a.conj().swapaxes(1, 2), np.linalg.svd(a.astype(complex), compute_uv=False)[:, 0]
    for lam in np.geomspace(0.3, 3, 9) * float(np.median(first)):
        assert not vanish(gram, lam)[first > lam * (1 + 1e-5)].any()
        assert vanish(gram, lam)[1::2][first[1::2] * 1.1 < lam].all()


def test_thresholds_beyond_the_digits_say_nothing():
    for lam in (1e-30, 1e30):
        assert not vanish(np.zeros((2, 3, 3), np.float32), lam).any()
