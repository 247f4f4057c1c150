"""What errors are told by: distances found slab by slab, and mixtures that hold one answer at a time."""

import numpy as np
import pytest
from scipy import ndimage

from qrank.choose import signs
from qrank.choose.mixture import Mixture


@pytest.mark.parametrize(("shape", "share"), [((48, 20, 30), 0.003), ((300, 7), 0.004), ((6, 7, 200), 0.0003)])
@pytest.mark.parametrize("rough", [None, 0, -1])
def test_distances_slab_by_slab_are_those_of_the_whole(shape, share, rough, rng, monkeypatch):
    monkeypatch.setattr(signs, "SLAB", 200)
    known, smoothness = rng.random(shape) < share, np.full(len(shape), 0.1)
    known.flat[17] = True
    if rough is not None:
        smoothness[rough] = 0.95
    step = np.where(smoothness < 0.8, 1.0, signs.FAR)
    whole = np.minimum(ndimage.distance_transform_edt(~known, sampling=step) / signs.FAR, 1)
    np.testing.assert_array_equal(signs.distance(known, smoothness), whole.astype(np.float32))


def test_a_mixture_is_the_weighted_mean_and_spread_of_all(rng):
    answers, weights = rng.standard_normal((4, 5, 6)) + 100, np.array([0.1, 0.5, 0.3, 0.1])
    doubts = rng.random((4, 5, 6))
    mixture = Mixture()
    for k in range(4):
        mixture.add(float(weights[k]), answers[k], None if k == 2 else doubts[k])
    mean = np.average(answers, axis=0, weights=weights)
    np.testing.assert_allclose(mixture.mean, mean, rtol=1e-14)
    around = np.sqrt(np.average(np.square(answers - mean), axis=0, weights=weights))
    np.testing.assert_allclose(mixture.apart(), around, rtol=1e-5)
    doubts[2] = 0
    np.testing.assert_allclose(
        mixture.own(), np.sqrt(np.average(np.square(doubts), axis=0, weights=weights)), rtol=1e-5
    )


@pytest.mark.parametrize("factors", [(0.7, 2.0), (0.0, 2.0), (0.7, 0.0), (0.0, 0.0)])
def test_what_counts_is_told_alike_whether_factors_were_known_or_not(factors, rng):
    answers, doubts = rng.standard_normal((2, 3, 5, 6)).astype(np.float32)
    knows, asks = Mixture(factors), Mixture()
    for k, weight in enumerate((0.2, 0.5, 0.3)):
        for mixture in (knows, asks):
            mixture.add(weight, answers[k], doubts[k])

    def told(mixture):
        return factors[0] * np.square(mixture.apart()) + factors[1] * np.square(mixture.own()) + np.zeros((5, 6))

    np.testing.assert_allclose(told(knows), told(asks), rtol=1e-5)


def test_of_a_mixture_one_array_is_held_beside_the_mean():
    mixture = Mixture((0.5, 0.5))
    for k in range(3):
        mixture.add(1.0, np.full((4, 5), float(k)), np.ones((4, 5)))
    assert [mixture.apart().shape, mixture.own().shape] == [(4, 5), (1, 1)]


def test_a_mixture_is_in_the_finest_type_of_its_answers(rng):
    mixture = Mixture()
    mixture.add(1.0, np.ones(3, np.float32), None)
    mixture.add(1.0, np.full(3, 1 + 1e-12), None)
    assert mixture.mean.dtype == np.float64
    assert (mixture.mean > 1).all()
