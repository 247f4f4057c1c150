"""The smooth fill: a mean of what is near, in the units and the order of the data, whatever is missing."""

import numpy as np
import pytest
from scipy import ndimage

from qrank.kernels.smoothing import smooth_fill, smoothness


def waves(shape):
    """A sum of one slow wave along each axis."""
    return sum(np.sin(i / 7 + a) for a, i in enumerate(np.indices(shape)))


@pytest.mark.parametrize("shape", [(60, 50), (12, 30, 40), (6, 20, 25, 3)])
def test_smooth_data_are_found_again(shape, rng):
    x = waves(shape)
    known = rng.random(shape) < 0.3
    miss = (smooth_fill(np.where(known, x, 0), known) - x)[~known]
    assert np.sqrt(np.mean(miss**2)) < 0.2 * x.std()


def test_known_entries_stay_and_what_stands_in_the_holes_is_not_looked_at(rng):
    x, known = waves((20, 30)), rng.random((20, 30)) < 0.4
    filled = smooth_fill(x, known)
    assert (filled[known] == x[known]).all()
    np.testing.assert_allclose(smooth_fill(np.where(known, x, 77.0), known), filled, rtol=1e-12)


def test_a_constant_is_filled_with_itself_however_little_is_known():
    for shape in [(9, 1), (5, 7), (4, 5, 6), (3, 4, 5, 6)]:
        known = np.zeros(shape, bool)
        known.reshape(-1)[known.size // 2] = True
        np.testing.assert_allclose(smooth_fill(np.where(known, 3.0, 0), known), 3.0, rtol=1e-12)


def test_a_hole_wider_than_every_width_is_between_the_values_around_it():
    x = np.add.outer(np.linspace(1, 2, 150), np.linspace(0, 1, 150))
    known = np.ones(x.shape, bool)
    known[20:130, 20:130] = False
    filled = smooth_fill(np.where(known, x, 0), known)
    assert 1.0 <= filled.min() <= filled.max() <= 3.0
    assert abs(filled[75, 75] - x[75, 75]) < 0.1


def test_axes_in_random_order_are_left_alone(rng):
    """Rows that have nothing to do with each other are filled each from its own entries."""
    x = np.add.outer(100.0 * rng.permutation(40), np.sin(np.arange(80) / 9))
    known = rng.random(x.shape) < 0.3
    assert smoothness(x, known)[0] > 0.8
    assert np.abs(smooth_fill(np.where(known, x, 0), known) - x).max() < 1.5


def test_values_in_random_order_get_the_mean(rng):
    x, known = rng.normal(5, 1, (30, 40)), rng.random((30, 40)) < 0.5
    np.testing.assert_allclose(smooth_fill(np.where(known, x, 0), known)[~known], x[known].mean())


def test_it_moves_and_grows_with_the_data(rng):
    x, known = waves((15, 20, 10)), rng.random((15, 20, 10)) < 0.3
    y = np.where(known, x, 0)
    np.testing.assert_allclose(smooth_fill(3 * y - 2, known), 3 * smooth_fill(y, known) - 2, atol=1e-10)


def test_single_precision_stays(rng):
    x, known = waves((20, 30)), rng.random((20, 30)) < 0.4
    filled = smooth_fill(np.where(known, x, 0).astype(np.float32), known)
    assert filled.dtype == np.float32
    np.testing.assert_allclose(filled, smooth_fill(np.where(known, x, 0), known), atol=1e-4)


def test_smoothness_is_the_difference_of_neighbours(rng):
    x = rng.normal(size=(200, 300))
    np.testing.assert_allclose(smoothness(x, rng.random(x.shape) < 0.5), 1, atol=0.03)
    ramp = np.tile(np.arange(100.0), (20, 1))  # differences of 1, standard deviation n / sqrt(12)
    np.testing.assert_allclose(smoothness(ramp, ramp >= 0), [0, np.sqrt(6) / 100], atol=1e-4)
    every_other = np.broadcast_to(np.arange(100) % 2 == 0, ramp.shape)  # no direct neighbours along the rows
    assert smoothness(ramp, every_other)[1] < 0.06
    assert (smoothness(np.ones((1, 5)), np.ones((1, 5), bool)) == [1, 0]).all()


def test_small_widths_are_the_formula(rng):
    """x_w = (V N + c x_w') / (D + c), written out from the widest to the narrowest, wider along the smoother axis."""
    rows, columns = np.mgrid[:30, :60]
    x = np.sin(rows / 2.5) + np.sin(columns / 10)
    known = rng.random(x.shape) < 0.4
    y, rough = np.where(known, x, 0), smoothness(x, known)
    assert 0.02 < rough[1] < 0.6 * rough[0] < 0.5
    scale = rough.min() / rough
    n, d, done, means = y, known.astype(float), 0.0, []
    for width in (0.7, 1.0, 1.4):
        step = np.sqrt(width**2 - done**2) * scale
        n, d = (ndimage.gaussian_filter(a, step, mode="constant", truncate=3.0) for a in (n, d))
        means.append((n, d, np.prod(np.maximum(1, 2 * np.sqrt(np.pi) * width * scale))))
        done = width
    wanted = (y.sum() + 0.8 * x[known].mean()) / (known.sum() + 0.8)
    for n, d, sees in means[::-1]:
        wanted = (sees * n + 0.8 * wanted) / (sees * d + 0.8)
    found = smooth_fill(y, known, (0.7, 1.0, 1.4))
    np.testing.assert_allclose(found[~known], wanted[~known], atol=1e-10)
    np.testing.assert_array_equal(found[known], x[known])
