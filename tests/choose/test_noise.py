"""noise="auto": the level that is found is that which was put in."""

import numpy as np
import pytest

import qrank
from conftest import low_rank
from qrank.choose.noise import level, noise_median
from qrank.experiments.field.scenes import load
from qrank.problem import Problem


def film(frames=16, height=36, width=48):
    return qrank.data.clip(frames=frames, height=height, width=width, colour=False)


@pytest.mark.parametrize("sigma", [0.01, 0.03, 0.1])
def test_nothing_missing(sigma, rng):
    x = film()
    found = level(Problem.of(x + sigma * rng.standard_normal(x.shape), slice_axes=(1, 2)), rng)
    assert found == pytest.approx(sigma, rel=0.15)


@pytest.mark.parametrize("shape", [(60, 50), (20, 22, 24), (9, 8, 10, 7)])
def test_where_neighbours_are_not_alike_the_tail_tells(shape, rng):
    """Low rank in random directions: small blocks are as rough as noise."""
    n, m = shape[0], int(np.prod(shape[1:]))
    x = (rng.standard_normal((n, 2)) @ rng.standard_normal((2, m))).reshape(shape)
    assert level(Problem.of(x + 0.2 * rng.standard_normal(shape)), rng) == pytest.approx(0.2, rel=0.15)


def test_noise_alone(rng):
    assert level(Problem.of(rng.standard_normal((20, 30, 10))), rng) == pytest.approx(1, rel=0.1)


def test_the_median_is_that_of_random_matrices(rng):
    for n, m in ((200, 200), (100, 400)):
        noise = rng.standard_normal((n, m))
        assert np.median(np.linalg.eigvalsh(noise @ noise.T / m)) == pytest.approx(noise_median(n / m), rel=0.03)


@pytest.mark.parametrize("sigma", [0.01, 0.03, 0.1])
def test_with_holes(sigma, rng):
    """What the model cannot tell of a hidden entry is not taken for noise: without that, 0.01 would be 0.017 here."""
    x = film(20, 48, 60)
    found = level(Problem.of(x + sigma * rng.standard_normal(x.shape), rng.random(x.shape) < 0.3, (1, 2)), rng)
    assert found == pytest.approx(sigma, rel=0.15)


def test_it_is_told_and_used(rng):
    x = np.repeat(low_rank(rng, (24, 22, 4), 2, 2), 4, axis=2)
    y = 1000 * (x + 0.2 * rng.standard_normal(x.shape))
    found = qrank.denoise(y, method="vmtqn")
    assert found.noise == pytest.approx(200, rel=0.15)
    np.testing.assert_array_equal(found.x, qrank.denoise(y, found.noise, method="vmtqn").x)
    assert qrank.complete(y, method="vmtqn", noise="auto", slice_axes=(0, 1)).noise == pytest.approx(found.noise)
    assert qrank.recover(y, np.ones(y.shape, bool), method="vmtqn", noise="auto").noise == pytest.approx(found.noise)


def test_bad_input_is_one_sentence(rng):
    y = rng.standard_normal((6, 7, 8))
    for method in ("auto", "vmtqn"):
        with pytest.raises(qrank.InputError, match=r"noise must be a standard deviation above 0, or 'auto', not 'x'"):
            qrank.complete(y, method=method, noise="x")
        with pytest.raises(qrank.InputError, match="cannot be told from outliers"):
            qrank.complete(y, method=method, noise="auto", outliers=True)
    with pytest.raises(qrank.InputError, match="4 known entries do not tell how noisy"):
        qrank.denoise(np.arange(4.0).reshape(2, 2))
    with pytest.raises(qrank.InputError, match="needs known entries"):
        qrank.recover(np.ones(20), rng.standard_normal((20, 24)), (4, 6), noise="auto")
    with pytest.warns(qrank.NoiseWarning, match=r"deviation 25 is more than the known values vary in all .*unit\?"):
        qrank.denoise(y, 25.0, method="vmtqn")


@pytest.mark.data
@pytest.mark.parametrize("name", ["balloons", "video-60", "smooth-60"])
def test_real_data(name, data, rng):
    """The smallest and the largest level, nothing missing."""
    x = load(name, data)
    for sigma in (0.01, 0.1):
        y = x + sigma * rng.standard_normal(x.shape)
        assert level(Problem.of(y, slice_axes=(1, 2)), rng) == pytest.approx(sigma, rel=0.15)
