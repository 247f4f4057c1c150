"""Similar patches: texture that a smooth fill cannot know comes back, in the rounds and with the spread that are promised."""

import numpy as np
import pytest

import qrank
from qrank.kernels import similar
from qrank.kernels.similar import Model, _nearest, _patches, from_similar
from qrank.problem import Problem
from qrank.run import Run


def texture(shape=(48, 56), colours=3):
    """Stripes of two directions, another mixture in each colour."""
    i, j = np.indices(shape)
    return np.stack([np.sin(0.9 * i + 0.4 * c) + np.sin(0.7 * (i + j)) for c in range(colours)], axis=2)


def miss(x, truth, known):
    return float(np.sqrt(np.mean((x - truth)[~known] ** 2)))


@pytest.mark.parametrize(("pattern", "gain"), [("scratches", 3), ("text", 3), ("logo", 2)])
def test_texture_comes_back(pattern, gain):
    x = texture()
    known = np.broadcast_to(qrank.data.observed(x.shape[:2], 0.92, pattern, rng=1)[:, :, None], x.shape)
    y = np.where(known, x, np.nan)
    result = qrank.complete(y, method="similar")
    assert (result.x[known] == x[known]).all()
    assert result.x.min() >= x[known].min()
    assert gain * miss(result.x, x, known) < miss(qrank.complete(y, method="biharmonic").x, x, known)


def test_a_photograph_is_better_than_with_thin_plates():
    x = qrank.data.scenes(60, 80)[1]
    known = np.broadcast_to(qrank.data.observed(x.shape[:2], 0.92, "scratches", rng=0)[:, :, None], x.shape)
    got = {m: qrank.metrics.psnr(qrank.complete(x, known, m).x, x, ~known) for m in ("similar", "biharmonic")}
    assert got["similar"] > got["biharmonic"] + 0.5


def test_rounds_orders_units_and_precision(rng):
    for shape, axes in [((20, 30), (0, 1)), ((2, 16, 18, 5), (1, 2)), ((3, 5, 4), (0, 1))]:
        x, known = 10 + np.sin(sum(np.indices(shape)) / 3.0), rng.random(shape) < 0.7
        y = np.where(known, x, np.nan)
        result = qrank.complete(y, method="similar", slice_axes=axes, rounds=2)
        assert [record.step for record in result.history] == [1, 2]
        assert result.status.name == "SETTLED"
        big = qrank.complete(1024 * y, method="similar", slice_axes=axes, rounds=2).x
        np.testing.assert_allclose(big, 1024 * result.x, rtol=1e-9)
        single = qrank.complete(y.astype(np.float32), method="similar", slice_axes=axes, rounds=2).x
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, result.x, atol=0.1)
    with pytest.raises(qrank.InputError, match="ridge must be above 0"):
        qrank.complete(y, method="similar", ridge=0)


def test_it_starts_from_an_earlier_answer(rng):
    from dataclasses import replace

    x, known = texture(colours=1)[:, :, 0], rng.random((48, 56)) < 0.5
    problem = Problem.of(np.where(known, x, np.nan))
    method = qrank.METHODS["similar"].configured(rounds=1)
    answers = []
    for start in (None, problem.y + 3.0):
        run = Run(replace(problem, start=start), method, 0)
        list(run)
        answers.append(run.answer())
    assert np.abs(answers[0] - answers[1]).max() > 0.05


def test_a_lost_slice_stays_as_it_starts():
    x = 5 + texture(colours=6)
    known = np.ones(x.shape, bool)
    known[:, :, 2] = known[10:12, :, 4] = False
    y = np.where(known, x, np.nan)
    found, start = qrank.complete(y, method="similar").x, qrank.complete(y, method="smooth").x
    np.testing.assert_allclose(found[:, :, 2], start[:, :, 2])
    assert miss(found[10:12, :, 4], x[10:12, :, 4], known[10:12, :, 4]) < 0.3


def test_one_known_entry_is_enough():
    y = np.full((9, 10, 3), np.nan)
    y[4, 5, 1] = 7
    np.testing.assert_allclose(qrank.complete(y, method="similar").x, 7, rtol=1e-5)


def test_the_spread_is_zero_where_known_and_of_the_size_of_the_error(rng):
    x, known = texture() + 0.2 * rng.normal(size=(48, 56, 3)), rng.random((48, 56, 3)) < 0.8
    run = Run(Problem.of(np.where(known, x, np.nan)), qrank.METHODS["similar"].configured(), 0)
    list(run)
    problem, deviation = run.problem, run.deviation()
    assert (deviation[problem.observed] == 0).all()
    truth = problem.layout.inner(x) / problem.scale
    ratio = np.sqrt(np.mean((run.answer() - truth)[~problem.observed] ** 2 / deviation[~problem.observed] ** 2))
    assert 0.3 < ratio < 3


def test_the_nearest_patches_are_those_of_the_definition(rng):
    x, known = rng.normal(size=(2, 12, 13)), rng.random((2, 12, 13)) < 0.6
    patches, w = _patches(x, 4), np.where(_patches(known, 4), 1, 0.1)
    apart = [
        [(w[a] * w[b] * (patches[a] - patches[b]) ** 2).sum() / (w[a] * w[b]).sum() for b in range(len(patches))]
        for a in (0, 17)
    ]
    found = _nearest(patches, w, np.array([0, 17]), 9)
    for got, all_of_them in zip(found, np.array(apart), strict=True):
        assert set(got) == set(np.argsort(all_of_them)[:9])


def test_the_formula_is_that_of_a_gaussian(rng):
    """A slice that is one patch: xhat is the regression of the missing on the known entries with noise e, written out."""
    x, known = rng.normal(size=(1, 7, 6)), rng.random((1, 7, 6)) < 0.6
    model = Model(side=6, stride=1, reach=9, count=2, ridge=0.3)
    better, _ = from_similar(x, known, model, np.random.default_rng(0))
    total, weight = np.zeros((7, 6)), np.zeros((7, 6))
    patches = np.stack([x[0, :6].ravel(), x[0, 1:].ravel()])
    m, s = patches.mean(axis=0), np.cov(patches.T)
    for i in (0, 1):
        o = known[0, i : i + 6].ravel()
        e = 0.3 * np.trace(s[np.ix_(o, o)]) / 2 + 1e-6 * np.abs(x).max() ** 2
        gain = s[:, o] @ np.linalg.inv(s[np.ix_(o, o)] + e * np.eye(o.sum()))
        xhat = m + gain @ (patches[i] - m)[o]
        var = np.diag(s - gain @ s[o]) + e
        total[i : i + 6] += (xhat / var).reshape(6, 6)
        weight[i : i + 6] += (1 / var).reshape(6, 6)
    np.testing.assert_allclose(better[0][~known[0]], (total / weight)[~known[0]], rtol=1e-6)


def test_every_patch_over_the_hole_is_guessed_once(monkeypatch):
    """Also those whose corner lies on the border of two tiles."""
    x = texture((48, 40), 1)[None, :, :, 0]
    known = np.ones(x.shape, bool)
    known[:, 5:41, 10:30] = False
    guess, corners = similar._guess, []

    def seen(x, observed, top, left, side, model):
        corners.extend(zip(top.tolist(), left.tolist(), strict=True))
        return guess(x, observed, top, left, side, model)

    monkeypatch.setattr(similar, "_guess", seen)
    from_similar(np.where(known, x, 0), known, Model(6, 1, 4, 9, 0.3), np.random.default_rng(0))
    assert sorted(corners) == [(i, j) for i in range(41) for j in range(5, 30)]
