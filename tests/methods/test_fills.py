"""Simple fills: formulas of what is known, on the common loop."""

import numpy as np
import pytest

import qrank
from qrank.kernels import plates
from qrank.kernels.interpolation import interpolated
from qrank.kernels.plates import thin_plate
from qrank.methods import METHODS
from qrank.methods.fill import Fill

FILLS = [name for name, kind in METHODS.items() if issubclass(kind, Fill)]


def surface(shape):
    """A bent surface, shifted from slice to slice, far from 0."""
    return 10 + np.sin(sum((0.05 + 0.03 * a) * i for a, i in enumerate(np.indices(shape))))


@pytest.mark.parametrize("name", FILLS)
@pytest.mark.parametrize("pattern", ["random", "frames", "scratches", "logo", "station-days"])
def test_a_fill_takes_one_step_and_is_never_zero(name, pattern):
    x = surface((24, 30, 8))
    known = qrank.data.observed(x.shape, 0.7, pattern, rng=0)
    result = qrank.complete(np.where(known, x, np.nan), method=name)
    assert len(result.history) == 1
    assert result.status.name == "SETTLED"
    assert (result.x[known] == x[known]).all()
    assert np.abs(result.x - x)[~known].max() < 2.5  # of values between 9 and 11


@pytest.mark.parametrize("name", FILLS)
def test_fills_take_any_order_unit_and_precision(name, rng):
    for shape, axes in [((20, 30), (0, 1)), ((4, 12, 14, 3), (1, 2)), ((9, 10, 11), (2, 0))]:
        x, known = surface(shape), rng.random(shape) < 0.6
        y = np.where(known, x, np.nan)
        result = qrank.complete(y, method=name, slice_axes=axes)
        assert np.sqrt(np.mean((result.x - x)[~known] ** 2)) < 0.5 * x.std()
        np.testing.assert_allclose(qrank.complete(1e6 * y, method=name, slice_axes=axes).x, 1e6 * result.x, rtol=1e-6)
        single = qrank.complete(y.astype(np.float32), method=name, slice_axes=axes).x
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, result.x, atol=2e-2)


@pytest.mark.parametrize("name", FILLS)
def test_one_known_entry_is_enough(name):
    y = np.full((9, 10, 3), np.nan)
    y[4, 5, 1] = 7
    np.testing.assert_allclose(qrank.complete(y, method=name).x, 7, rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_interpolation_is_that_of_numpy(axis, rng):
    y, known = rng.normal(size=(6, 7, 8)), rng.random((6, 7, 8)) < 0.4
    x, there = interpolated(y, known, axis)
    rows = zip(*(np.moveaxis(a, axis, -1).reshape(-1, y.shape[axis]) for a in (x, there, y, known)), strict=True)
    for got, reached, values, seen in rows:
        assert (reached == seen.any()).all()
        places = np.flatnonzero(seen)
        expected = np.interp(np.arange(len(values)), places, values[places]) if len(places) else values
        np.testing.assert_allclose(got, expected, atol=1e-12)


def test_interpolation_takes_the_smoothest_axis_and_the_one_that_is_named(rng):
    x = np.add.outer(rng.normal(size=30), np.linspace(0, 1, 40))[:, :, None] + np.zeros(25)
    known = rng.random(x.shape) < 0.5
    y = np.where(known, x, np.nan)
    np.testing.assert_allclose(qrank.complete(y, method="interpolate", axis=2).x, x, atol=0.1)
    assert (qrank.complete(y, method="interpolate").x == qrank.complete(y, method="interpolate", axis=2).x).all()
    first = qrank.complete(y, method="interpolate", axis=0, slice_axes=(1, 2)).x
    assert (first == qrank.complete(y, method="interpolate", axis=-3).x).all()
    assert np.abs(first - x).max() > 0.5
    with pytest.raises(qrank.InputError, match="axis 3: there are the axes 0 to 2"):
        qrank.complete(y, method="interpolate", axis=3)
    with pytest.raises(qrank.KindError, match="axis must be a number"):
        qrank.complete(y, method="interpolate", axis="time")


def test_lost_frames_are_between_their_neighbours():
    x = np.multiply.outer(np.arange(10.0), np.random.default_rng(0).random((20, 20)))  # a clip that grows brighter
    known = np.ones(10, bool)
    known[[3, 6, 7]] = False
    result = qrank.complete(x, known[:, None, None], "interpolate", (1, 2))
    np.testing.assert_allclose(result.x, x, atol=1e-12)


def test_a_thin_plate_bends_least(rng):
    """Its energy cannot be lowered by moving missing entries; planes are found again from what is known around."""
    y, known = rng.normal(size=(2, 9, 11)), rng.random((2, 9, 11)) < 0.5
    x = thin_plate(np.where(known, y, 0), known)

    def energy(z):
        rr, cc, rc = np.diff(z, 2, axis=1), np.diff(z, 2, axis=2), np.diff(np.diff(z, axis=1), axis=2)
        return (rr**2).sum() + (cc**2).sum() + 2 * (rc**2).sum()

    least = energy(x)
    assert least < energy(np.where(known, y, 0))
    for _ in range(20):
        assert energy(x + 1e-2 * np.where(known, 0, rng.normal(size=x.shape))) > least
    slope = np.add.outer(3 * np.arange(30.0), -np.arange(40.0))[None]
    hole = np.ones(slope.shape, bool)
    hole[:, 5:25, 10:35] = False
    np.testing.assert_allclose(thin_plate(np.where(hole, slope, 0), hole), slope, atol=1e-3)


def test_large_holes_are_solved_by_steps_to_nearly_the_same(monkeypatch):
    x = surface((60, 70))[None]
    known = np.ones(x.shape, bool)
    known[:, 15:45, 20:50] = False
    exact = thin_plate(np.where(known, x, 0), known)
    monkeypatch.setattr(plates, "DIRECT", 10)
    np.testing.assert_allclose(thin_plate(np.where(known, x, 0), known), exact, atol=0.1)


def test_a_membrane_is_the_mean_of_its_neighbours_and_stays_in_range():
    x = surface((30, 40))[None]
    known = np.ones(x.shape, bool)
    known[:, 8:22, 10:30] = False
    z = thin_plate(np.where(known, x, 0), known, tension=1e6)[0]
    mean = (z[7:21, 10:30] + z[9:23, 10:30] + z[8:22, 9:29] + z[8:22, 11:31]) / 4
    np.testing.assert_allclose(z[8:22, 10:30], mean, atol=1e-4)
    assert x[known].min() <= z.min() <= z.max() <= x[known].max()
