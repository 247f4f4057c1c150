"""patches: the local Gaussian model as a method, on arrays of two, three and four axes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import qrank
from qrank.kernels.posterior import Gaussian, conditional, pairs
from qrank.methods.gaussian import GaussianPatches
from qrank.problem import Problem
from qrank.run import Run


def textures(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Two Gaussian fields side by side, one smooth along the rows, one along the columns, each with its mean; some noise."""
    rng = np.random.default_rng(seed)
    widths = [0.0] * (len(shape) - 2)
    left, right = (gaussian_filter(rng.standard_normal(shape), [*widths, *w]) for w in ((0.6, 3.0), (3.0, 0.6)))
    side = np.arange(shape[-1]) < shape[-1] // 2
    return np.where(side, left / left.std(), 4 + right / right.std()) + 0.1 * rng.standard_normal(shape)


def started(x: np.ndarray, known: np.ndarray, start: np.ndarray | None = None, dtype: type = float) -> Problem:
    """The problem as a run sees it: slice axes are the last two already."""
    problem = Problem.of(np.where(known, x, np.nan).astype(dtype), slice_axes=(x.ndim - 2, x.ndim - 1))
    return problem if start is None else replace(problem, start=(start / problem.scale).astype(dtype))


def run_of(problem: Problem, rng: int = 0, **options: Any) -> Run:
    run = Run(problem, GaussianPatches.configured(**options), rng)
    for _ in run:
        pass
    return run


SHAPES = [(72, 84), (5, 48, 60), (4, 3, 36, 48)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_mends_a_noisy_fill_and_keeps_what_is_known(shape, dtype):
    x = textures(shape)
    rng = np.random.default_rng(1)
    known = rng.random(shape) < 0.5
    start = x + rng.standard_normal(shape)
    problem = started(x, known, start, dtype)
    run = run_of(problem, clusters=8, eigenpairs=12)
    answer, deviation = run.answer(), run.deviation()
    assert answer.dtype == deviation.dtype == np.float32  # a covariance of few blocks has no more digits
    assert answer.shape == deviation.shape == shape
    np.testing.assert_array_equal(answer[known], problem.single.y[known])
    assert not deviation[known].any()
    assert (deviation[~known] > 0).all()
    missing = (answer * problem.scale - x)[~known]
    assert np.sqrt(np.mean(missing**2)) < 0.75 * np.sqrt(np.mean((start - x)[~known] ** 2))
    assert run.status is qrank.Status.SETTLED
    assert run.k == 3


def test_the_deviation_is_honest_on_a_mixture_of_gaussian_laws():
    """Nine tenths of the truth lie within 1.645 deviations."""
    rng = np.random.default_rng(2)
    x = textures((4, 120, 120))
    known = rng.random(x.shape) < 0.4
    problem = started(x, known, x + 0.3 * rng.standard_normal(x.shape))
    run = run_of(problem, shape=(4, 6, 6), clusters=8, eigenpairs=20)
    ratio = np.abs(run.answer() * problem.scale - x)[~known] / (run.deviation() * problem.scale)[~known]
    assert 0.85 < np.mean(ratio < 1.645) < 0.96


def test_the_same_seed_gives_the_same_answer_and_another_seed_another():
    x = textures((36, 42))
    problem = started(x, np.random.default_rng(0).random(x.shape) < 0.5)
    one, same, other = (run_of(problem, rng, clusters=4).answer() for rng in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 1e-6


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**30, 1000.0])
def test_the_unit_does_not_matter(unit):
    x = textures((5, 36, 42))
    known = np.random.default_rng(0).random(x.shape) < 0.5
    start = np.where(known, x, x.mean())
    plain, scaled = started(x, known, start), started(x * unit, known, start * unit)
    a, b = run_of(plain, clusters=4), run_of(scaled, clusters=4)
    np.testing.assert_allclose(b.answer() * scaled.scale / unit, a.answer() * plain.scale, rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(b.deviation() * scaled.scale / unit, a.deviation() * plain.scale, rtol=1e-3, atol=1e-6)


def test_the_number_of_threads_does_not_matter():
    from qrank.kernels import threads

    x = textures((5, 36, 42))
    problem = started(x, np.random.default_rng(0).random(x.shape) < 0.5)
    answers = []
    for workers in (1, 3):
        run = Run(problem, GaussianPatches.configured(clusters=4, rounds=1), 0)
        run.begin()
        with threads.own_threads(workers):
            answers.append(run.method.step(problem, run.state, run.work)[0].x)
    np.testing.assert_array_equal(*answers)


@pytest.mark.parametrize("shape", [(2, 2), (1, 5), (3, 1, 4), (2, 2, 2, 2)], ids=str)
def test_arrays_that_are_smaller_than_a_block(shape):
    x = np.arange(np.prod(shape), dtype=float).reshape(shape)
    known = np.ones(shape, bool)
    known.flat[1] = False
    assert np.isfinite(run_of(started(x, known)).answer()).all()


def test_a_constant_array_stays_constant():
    x = np.full((4, 20, 20), 7.0)
    known = np.random.default_rng(0).random(x.shape) < 0.3
    problem = started(x, known)
    np.testing.assert_allclose(run_of(problem).answer() * problem.scale, x, rtol=1e-12)


def test_after_views_by_its_name():
    x = textures((30, 36, 4)[::-1]).transpose(1, 2, 0)
    y = np.where(np.random.default_rng(0).random(x.shape) < 0.6, x, np.nan)
    result = qrank.complete(y, method="patches", rounds=2, clusters=4)
    assert result.status is qrank.Status.SETTLED
    assert len(result.history) > 2
    np.testing.assert_array_equal(result.x[~np.isnan(y)], y[~np.isnan(y)])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"shape": "fiber"}, "there are no patches of shape 'fiber': did you mean 'fibre'?"),
        ({"shape": 4}, "shape must be one of fibre, cube, slice, or the sides of a block, not 4"),
        ({"shape": (3, 0, 3)}, "a side of shape must be at least 1, not 0"),
        ({"clusters": 0}, "clusters must be at least 1, not 0"),
        ({"eigenpairs": 2.5}, "eigenpairs must be a whole number, not 2.5"),
        ({"rounds": 0}, "rounds must be at least 1, not 0"),
        ({"stride": 0}, "stride must be at least 1, not 0"),
        ({"cluster": 3}, "method 'patches' has no option 'cluster': did you mean 'clusters'?"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options, sentence):
    with pytest.raises((ValueError, TypeError)) as error:
        GaussianPatches.configured(**options)
    assert str(error.value) == sentence


def test_sides_for_another_number_of_axes_are_refused():
    with pytest.raises(qrank.InputError, match="shape has 2 sides, but the array has 3 axes"):
        run_of(started(np.ones((4, 5, 6)), np.eye(6, dtype=bool)[None, :5].repeat(4, 0)), shape=(3, 3))


@pytest.mark.parametrize("s2", [1e-4, 1e-10, 1e-30])
def test_a_known_entry_with_hardly_any_noise_has_hardly_any_variance_but_some(s2):
    """Var(x_1 | y_1) = C s2 / (C + s2) with C = Var(x_1); in single precision 1 - e2 / (e2 + s2) would be 0."""
    law = Gaussian(np.zeros(2, np.float32), np.ones((2, 1), np.float32), 0.5, s2)
    y, known = np.array([[3, 0]], np.float32), np.array([[True, False]])
    found = conditional(law, pairs(law.b), y, known)
    assert (found.variance > 0).all()
    assert found.variance[0, 0] == pytest.approx(1.5 * s2 / (1.5 + s2), rel=1e-3, abs=1e-13)
    assert found.variance[0, 1] == pytest.approx(1.5 - 1 / (1.5 + s2), rel=1e-3)
    assert found.mean[0, 0] == pytest.approx(3, rel=1e-3)
