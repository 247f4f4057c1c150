"""auto: the right candidate for each kind of hole, honest errors, and what happens when it is stopped."""

import numpy as np
import pytest

import qrank
from conftest import low_rank
from qrank.choose import auto, candidates, plane
from qrank.choose.auto import part
from qrank.choose.weigh import Spread, clearly_better, weights
from qrank.metrics import psnr, rmse
from qrank.problem import Problem


@pytest.fixture(scope="module")
def film():
    return qrank.data.clip(16, 40, 48, colour=False).astype(np.float32)


def best_of(choice):
    return min(choice.trials, key=lambda one: one.error)


def test_it_is_the_default_and_says_what_it_did(film, rng):
    known = rng.random(film.shape) < 0.3
    result = qrank.complete(film, known)
    assert result.method.name == "auto"
    assert sum(one.weight for one in result.choice.trials) == pytest.approx(1)
    assert result.choice.trials[0].name in str(result.choice)
    assert result.choice.to_markdown().count("\n") == len(result.choice.trials) + 1
    assert result.choice.error <= 1.001 * best_of(result.choice).error
    np.testing.assert_array_equal(result.x[known], film[known])
    assert psnr(result.x, film, ~known) > psnr(qrank.complete(film, known, "vmtqn", (1, 2)).x, film, ~known) + 1


def test_the_same_call_gives_the_same_answer(film, rng):
    known = rng.random(film.shape) < 0.4
    one, other = (qrank.complete(film, known, effort=effort) for effort in ("balanced", "balanced"))
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(one.error, other.error)


def test_errors_are_honest(rng):
    """Nine tenths of the truth lie within 1.645 standard errors, and large errors are where they are said to be."""
    film = qrank.data.clip(24, 48, 60, colour=False)
    known = rng.random(film.shape) < 0.3
    result = qrank.complete(film, known)
    assert result.error.shape == film.shape
    assert not result.error[known].any()
    miss, told = np.abs(result.x - film)[~known], result.error[~known]
    assert (told > 0).all()
    assert (miss <= 1.645 * told).mean() == pytest.approx(0.9, abs=0.03)
    unsure = told > np.quantile(told, 0.9)
    assert np.sqrt(np.mean(miss[unsure] ** 2)) > 2 * np.sqrt(np.mean(miss[~unsure] ** 2))


def test_noise_is_known_to_all_that_is_tried(rng):
    """Known entries become estimates with errors of their own, and the local model gains on the views alone."""
    film, sigma = qrank.data.clip(20, 40, 48, colour=False), 0.05
    y, known = film + sigma * rng.standard_normal(film.shape), rng.random(film.shape) < 0.4
    found, views = (qrank.complete(y, known, noise=sigma, effort=effort) for effort in ("balanced", "fast"))
    assert {one.name.split(",")[0] for one in found.choice.trials} == {"views", "vmtqn"}
    assert len(found.choice.trials) >= 4
    assert psnr(found.x, film) > psnr(views.x, film) + 0.3
    for some in (known, ~known):
        miss, told = np.abs(found.x - film)[some], found.error[some]
        assert (miss <= 1.645 * told).mean() == pytest.approx(0.9, abs=0.06)
    assert (found.error[known] < sigma).all()
    assert np.sqrt(np.mean(np.square(found.x - film)[known])) < 0.7 * sigma


def test_kriging_is_for_places_and_days_not_for_text_on_a_film(film):
    """Both lack whole fibres; in a picture the neighbours tell, and kriging would take most of the time."""
    known = np.ones(film.shape, bool)
    known[:, 10:14, 8:30:3] = False
    problem = Problem.of(film, known, (1, 2))
    assert candidates.lacks_fibres(problem.observed)
    assert "kriging" not in {one.name for one in candidates.single(problem, "balanced")}
    assert "kriging" in {one.name for one in candidates.single(problem, "best")}
    colours = np.stack([film, 1 - film, 0 * film], axis=3)  # as unlike as colours may be
    assert "kriging" not in {
        one.name for one in candidates.single(Problem.of(colours, known[..., None].repeat(3, 3), (1, 2)), "balanced")
    }
    shuffled = Problem.of(film[:, np.random.default_rng(0).permutation(40)], known, (1, 2))
    assert "kriging" in {one.name for one in candidates.single(shuffled, "balanced")}


def test_lost_frames_are_never_black(film):
    known = np.ones(film.shape, bool)
    known[[4, 9]] = False
    result = qrank.complete(film, known)
    line = qrank.complete(film, known, "interpolate", (1, 2), axis=0)
    assert rmse(result.x, film, ~known) < 1.02 * rmse(line.x, film, ~known)
    assert result.x[4].mean() > 0.5 * film.mean()


def test_poor_frames_are_not_worse_than_a_line(rng):
    """Some frames of a film are known to a fifth: the answer is not 0.1 dB below the plain candidates; its errors are told."""
    film = qrank.data.clip(18, 32, 40, colour=False)
    known = np.ones(film.shape, bool)
    known[[3, 8, 9, 14]] = rng.random((4, 32, 40)) < 0.2
    result = qrank.complete(film, known, slice_axes=(1, 2))
    for name, options in (("interpolate", {"axis": 0}), ("smooth", {}), ("vmtqn", {})):
        other = qrank.complete(film, known, name, (1, 2), **options)
        assert psnr(result.x, film, ~known) > psnr(other.x, film, ~known) - 0.1
    covered = np.abs(result.x - film)[~known] <= 1.645 * result.error[~known]
    assert covered.mean() == pytest.approx(0.9, abs=0.05)


def test_exactly_low_rank_is_recovered(rng):
    x = low_rank(rng, (20, 22, 18))
    result = qrank.complete(x, rng.random(x.shape) < 0.6)
    assert qrank.metrics.relative_error(result.x, x) < 1e-3


def test_days_of_sensors_are_kriged(rng):
    """Profiles of places scale with the day: low rank alone cannot tell a day that is lost as a whole."""
    places, days = rng.uniform(1, 3, (12, 1, 1)), rng.uniform(0.5, 1.5, (1, 14, 1))
    x = places * days * (2 + np.sin(np.arange(24) / 4)) + 0.05 * rng.standard_normal((12, 14, 24))
    known = np.broadcast_to((rng.random((12, 14)) < 0.7)[:, :, None], x.shape)
    result = qrank.complete(x, known)
    assert "kriging" in {one.name for one in result.choice.trials if one.weight > 0}
    assert rmse(result.x, x, ~known) < 0.3


def test_a_run_that_is_stopped_gives_what_there_is(film, rng):
    known = rng.random(film.shape) < 0.3
    for steps in (1, 10, 70):
        result = qrank.complete(film, known, on_step=lambda record, last=steps: record.step >= last)
        assert result.status is qrank.Status.INTERRUPTED
        assert np.isfinite(result.x).all()
        np.testing.assert_array_equal(result.x[known], film[known])
        assert result.x[~known].std() > 0


def test_fast_tries_nothing(film, rng):
    result = qrank.complete(film, rng.random(film.shape) < 0.3, effort="fast")
    assert [one.error for one in result.choice.trials] == [None]
    assert result.error is None
    assert "nothing was tried" in str(result.choice)


def test_large_arrays_are_tried_in_part(film, rng, monkeypatch):
    monkeypatch.setattr("qrank.choose.auto.PART", 5000)
    known = rng.random(film.shape) < 0.4
    result = qrank.complete(film, known)
    assert result.choice.tried_on == "a part of the data"
    assert result.x.shape == result.error.shape == film.shape
    assert psnr(result.x, film, ~known) > 20
    stopped = qrank.complete(film, known, on_step=lambda record: True)
    assert stopped.status is qrank.Status.INTERRUPTED
    assert np.isfinite(stopped.x).all()


def test_a_part_has_the_share_of_the_whole(rng):
    known = np.zeros((40, 60, 80), bool)
    known[:, :, :40] = True
    box = part(known, 50_000, rng)
    assert known[box].size <= 50_000
    assert 0 < known[box].mean() < 1
    assert part(known, 10**6, rng) is None


def test_pixels_keep_their_range(rng):
    film = (255 * qrank.data.clip(8, 24, 32, colour=False)).round().astype(np.uint8)
    film[:, :8] = 255
    result = qrank.complete(film, rng.random(film.shape) < 0.3)
    assert result.x.max() <= 255
    assert result.x.min() >= 0
    low = qrank.complete(film.astype(float), rng.random(film.shape) < 0.3, "vmtqn", (1, 2), bounds=(None, 100.0))
    assert np.where(low.observed, 0, low.x).max() <= 100


def test_a_sum_is_taken_where_it_pays(rng):
    truth = rng.standard_normal(2000)
    noise = rng.standard_normal((2000, 3))
    even = weights(truth[:, None] + 0.1 * noise, truth, rng)
    np.testing.assert_allclose(even, 1 / 3, atol=0.06)
    np.testing.assert_array_equal(weights(truth[:, None] + noise * [0.1, 2, 2], truth, rng) > 0, [True, False, False])
    same = 0.1 * noise[:, :1] * [1, 1.2, 1.4]  # they err alike: nothing is gained by a sum
    np.testing.assert_array_equal(weights(truth[:, None] + same, truth, rng), [1, 0, 0])


def test_a_few_lost_frames_do_not_tell_much(rng):
    """An answer that is better by luck on one of three frames is not clearly better."""
    truth, groups = np.zeros(30), np.repeat(np.arange(3), 10)
    answers = np.stack([np.ones(30), np.where(groups == 0, 0, 1.01)], axis=1)
    np.testing.assert_array_equal(clearly_better(answers, truth, 0, groups), [True, False])
    many = np.repeat(np.arange(10), 3)
    np.testing.assert_array_equal(clearly_better(answers * [1, 0.5], truth, 0, many), [True, True])


def test_standard_errors_follow_their_signs(rng):
    size = rng.uniform(0.1, 3, 5000)
    errors = size * rng.standard_normal(5000)
    spread = Spread.learned(np.stack([np.ones(5000), size, rng.random(5000)], axis=1), errors)
    fresh = rng.uniform(0.1, 3, 5000)
    told = spread([lambda: np.ones(5000), lambda: fresh, lambda: rng.random(5000)], (5000,))
    assert (np.abs(fresh * rng.standard_normal(5000)) <= 1.645 * told).mean() == pytest.approx(0.9, abs=0.02)
    assert np.corrcoef(told, fresh)[0, 1] > 0.95
    assert not Spread.learned(np.ones((5, 1)), np.zeros(5)).factors.any()


def test_the_plane_of_pictures():
    assert plane((30, 40, 3), (0.1, 0.1, 0.2)) == (0, 1)
    assert plane((60, 80, 74), (0.25, 0.22, 0.1)) == (0, 1)
    assert plane((2, 3), (1.0, 1.0)) == (0, 1)


def test_limits_hold_for_every_run(film, rng):
    known = rng.random(film.shape) < 0.4
    short = qrank.complete(film, known, max_steps=3)
    assert len(short.history) <= 3 * len(short.choice.trials)
    assert not np.array_equal(short.x, qrank.complete(film, known).x)


def test_a_part_of_the_data_does_not_set_the_errors_of_all(monkeypatch):
    """The box that is tried on is smooth, most around it rough; a few entries kept back say so."""
    monkeypatch.setattr(auto, "PART", 12_000)
    box = (slice(6, 18), slice(16, 48), slice(16, 48))
    monkeypatch.setattr(auto, "part", lambda *_: box)
    rng = np.random.default_rng(3)
    rows, columns = np.mgrid[:64, :64]
    film = np.sin(rows / 9 + np.arange(24)[:, None, None] / 6) + np.cos(columns / 11)
    noise = 0.2 * rng.standard_normal(film.shape)
    noise[box] = 0
    film += noise
    known = rng.random(film.shape) < 0.4
    result = qrank.complete(film, known, slice_axes=(1, 2))
    assert result.choice.tried_on == "a part of the data"
    np.testing.assert_array_equal(result.x[known], film[known])
    assert not result.error[known].any()
    covered = np.abs(result.x - film)[~known] <= 1.645 * result.error[~known]
    assert covered.mean() == pytest.approx(0.9, abs=0.05)


def test_what_nothing_hidden_tells_of_is_interpolated(rng):
    """Scattered holes, and one station of which nothing is known: its values come from those beside it, and it says so."""
    daily = 1 + 0.4 * np.sin(np.arange(24) / 24 * 2 * np.pi)
    x = np.linspace(40, 90, 12)[:, None, None] * np.ones((1, 30, 1)) * daily + rng.standard_normal((12, 30, 24))
    known = rng.random(x.shape) < 0.7
    known[5] = False
    with pytest.warns(qrank.UndeterminedWarning, match="interpolated along the smoothest axis"):
        result = qrank.complete(x, known)
    assert rmse(result.x, x, result.undetermined) < 3
    assert result.error[5].min() > 10 * np.median(result.error[~known & ~result.undetermined])
