import numpy as np
import pytest

from qrank import InputError, metrics


def test_psnr_is_the_papers_formula(rng):
    truth = -3 * rng.random((3, 4, 5))
    x = truth + 0.1 * rng.standard_normal(truth.shape)
    wanted = 10 * np.log10(60 * np.abs(truth).max() ** 2 / ((x - truth) ** 2).sum())
    assert metrics.psnr(x, truth) == pytest.approx(wanted)
    assert metrics.psnr(truth, truth) == np.inf
    where = rng.random(truth.shape) < 0.5
    wanted = 10 * np.log10(np.abs(truth).max() ** 2 / ((x - truth)[where] ** 2).mean())
    assert metrics.psnr(x, truth, where) == pytest.approx(wanted)


def test_the_others(rng):
    truth, x = np.array([2.0, 0.0, -4.0]), np.array([1.0, 1.0, -4.0])
    assert metrics.rmse(x, truth) == pytest.approx(np.sqrt(2 / 3))
    assert metrics.mape(x, truth) == pytest.approx(25)
    assert metrics.relative_error(x, truth) == pytest.approx(np.sqrt(2 / 20))
    picture = rng.random((16, 16, 3))
    assert metrics.ssim(picture, picture) == pytest.approx(1)
    assert metrics.ssim(rng.random((16, 16, 3)), picture) < 0.5


def test_bad_pairs():
    with pytest.raises(InputError, match="shape"):
        metrics.psnr(np.ones(3), np.ones(4))
    with pytest.raises(InputError, match="zero everywhere"):
        metrics.relative_error(np.ones(3), np.zeros(3))
    with pytest.raises(InputError, match="zero everywhere"):
        metrics.mape(np.ones(3), np.zeros(3))
    with pytest.raises(InputError, match="7 x 7"):
        metrics.ssim(np.ones((4, 4, 2)), np.ones((4, 4, 2)))
