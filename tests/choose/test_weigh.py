"""Weights of answers and the width of errors."""

import numpy as np
import pytest

from qrank.choose.weigh import Spread, calibrated, weights, widened


@pytest.mark.parametrize("seed", range(5))
def test_answers_as_good_as_each_other_count_alike(seed):
    """Few entries do not tell them apart, and a weight of 1 for the luckier one would lose what the mean gains."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(200)
    found = weights(truth[:, None] + 0.3 * rng.standard_normal((200, 3)), truth, rng)
    assert (np.abs(found - 1 / 3) < 0.2).all()


def test_many_entries_are_believed(rng):
    truth = rng.standard_normal(20000)
    noise = rng.standard_normal((20000, 2)) * [0.10, 0.104]
    noise[:, 1] += 1.02 * noise[:, 0]  # whatever the second gets wrong beyond the first is its own
    np.testing.assert_allclose(weights(truth[:, None] + noise, truth, rng), [1, 0])


def test_a_bad_answer_has_no_weight(rng):
    truth = rng.standard_normal(200)
    noise = rng.standard_normal((200, 2)) * [0.1, 5.0]
    np.testing.assert_allclose(weights(truth[:, None] + noise, truth, rng), [1, 0])


def test_an_answer_without_error_is_taken(rng):
    truth = rng.standard_normal(50)
    np.testing.assert_allclose(weights(np.stack([truth, truth + 0.1], axis=1), truth, rng), [1, 0])


def test_nine_of_ten_errors_lie_within(rng):
    errors, told = rng.standard_normal(10000), np.full(10000, 0.5)
    factor = widened(errors, told)
    assert factor == pytest.approx(2, rel=0.05)
    assert (np.abs(errors) <= 1.645 * factor * told).mean() == pytest.approx(0.9, abs=0.002)


def test_groups_that_err_together_tell_of_other_groups():
    """Frames err by very different amounts: what six of them tell must hold for others, on average over many draws."""
    alone, together = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(12), 200)
        signs = np.abs(rng.standard_normal((12, 5)))[groups]  # the same in all entries of a frame, and telling nothing
        errors = np.exp(0.6 * rng.standard_normal(12))[groups] * rng.standard_normal(len(groups))
        seen, new = groups < 6, groups >= 6
        for covered, given in ((alone, None), (together, groups[seen])):
            found = Spread.learned(signs[seen], errors[seen], given)
            told = np.sqrt(np.maximum(np.square(signs[new]) @ found.factors, 1e-3 * np.mean(errors[seen] ** 2)))
            covered.append(np.mean(np.abs(errors[new]) <= 1.645 * told))
    assert np.mean(together) == pytest.approx(0.9, abs=0.03)
    assert np.mean(alone) < np.mean(together) - 0.03


def test_errors_of_hidden_entries_are_not_forgotten_where_the_signs_vanish(rng):
    errors = 0.3 * rng.standard_normal(400)
    found = Spread.learned(np.abs(errors)[:, None], errors)
    np.testing.assert_allclose(found([lambda: np.zeros((5, 4))], (5, 4)), np.sqrt(np.mean(errors**2)), rtol=1e-6)


@pytest.mark.parametrize("told", [0.0, 0.01, 7.0])
def test_standard_errors_follow_the_errors_that_were_seen_whatever_was_told(rng, told):
    errors, at = rng.standard_normal(500), np.arange(0, 1500, 3)
    found = calibrated(np.full((30, 50), told, np.float32), at, errors)
    assert (np.abs(errors) <= 1.645 * found.reshape(-1)[at]).mean() == pytest.approx(0.9, abs=0.004)
    np.testing.assert_array_equal(calibrated(np.zeros((3, 4)), np.arange(4), np.zeros(4)), 0)  # all were exact


def test_a_gain_that_hangs_on_a_few_entries_makes_no_sum():
    rng = np.random.default_rng(10)
    first = rng.standard_t(1.8, 1300)  # a few entries make most of the error
    second = 0.8 * first + 0.9 * rng.standard_t(1.8, 1300)
    found = weights(np.stack([first, second], axis=1), np.zeros(1300), np.random.default_rng(0))
    np.testing.assert_array_equal(found, [1.0, 0.0])  # by the mean gain alone, whatever its error, it would be a sum
    alike = rng.standard_normal((1300, 2))
    assert (weights(alike, np.zeros(1300), np.random.default_rng(0)) > 0.3).all()


def test_noisy_entries_that_tell_nothing_apart_leave_the_mean(rng):
    """Two answers, one a little better, on hidden entries whose noise is five times their errors; a third is clearly worse."""
    least, mean = [], []
    for _ in range(20):
        truth = rng.standard_normal(400)
        answers = truth[:, None] + rng.standard_normal((400, 3)) * [0.2, 0.21, 3.0]
        found = weights(answers, truth + rng.standard_normal(400), rng, 1.0)
        assert found[2] == 0
        mean.append(np.square(answers @ found - truth).mean())
        least.append(np.square(answers - truth[:, None]).mean(axis=0).min())
    assert np.mean(mean) < 0.7 * np.mean(least)  # half of it, had both always the same weight
