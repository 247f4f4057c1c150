"""joined: patches beside the views in their last steps."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import ndimage

import qrank
from qrank.methods import METHODS
from qrank.methods.joined import STEPS
from qrank.metrics import psnr
from qrank.problem import Problem
from qrank.run import Run


@pytest.fixture(scope="module")
def spectra():
    """A field of six materials with smooth spectra and shade, under a little noise: its blocks are of a few kinds."""
    rng = np.random.default_rng(0)
    maps = np.stack([ndimage.gaussian_filter(rng.standard_normal((48, 52)), s) for s in (2, 2, 3, 3, 4, 5)])
    maps /= maps.std(axis=(1, 2), keepdims=True)
    spectrum = np.cumsum(rng.standard_normal((6, 24)), axis=1) / 5
    clean = np.moveaxis(spectrum[maps.argmax(0)] * (1 + 0.2 * maps[0][..., None]), 2, 0)
    return clean + 0.02 * rng.standard_normal((24, 48, 52))


def test_it_is_better_than_the_views_it_starts_from(spectra, rng):
    known = rng.random(spectra.shape) < 0.3
    views = qrank.complete(spectra, known, "views", (1, 2))
    joined = qrank.complete(spectra, known, "joined", (1, 2))
    assert psnr(joined.x, spectra, ~known) > psnr(views.x, spectra, ~known) + 0.7
    assert len(joined.runs["joined"]) == STEPS
    assert [record.run for record in joined.history][: len(views.history)] == ["views"] * len(views.history)


def test_its_error_is_that_of_the_patches(spectra, rng):
    known = rng.random(spectra.shape) < 0.2
    result = qrank.complete(spectra, known, "joined", (1, 2), shape="cube")
    assert not result.error[known].any()
    assert (result.error[~known] > 0).all()
    unsure = result.error[~known] > np.quantile(result.error[~known], 0.8)
    miss = np.abs(result.x - spectra)[~known]
    assert miss[unsure].mean() > 1.4 * miss[~unsure].mean()


def test_a_judged_run_hands_on_its_weights_and_keeps_its_schedule(spectra, rng):
    known = rng.random(spectra.shape) < 0.3
    problem = Problem.of(spectra, known, (1, 2)).hold_out(0.1, rng)
    start = np.array(Run(problem, METHODS["views"].configured(), 0).finished()).reshape(problem.y.shape)
    method = METHODS["joined"].configured(judged=True, depth=40.0)
    run = Run(replace(problem, start=start), method, 0)
    run.finished()
    found = method.as_found(problem, run.state)
    assert (found.judged, found.depth, found.steps) == (False, 40.0, None)
    assert found.weights.shape == (STEPS, 1 + len(method.seen(problem)))
    np.testing.assert_allclose(found.weights[:, 1:].sum(axis=1), 1)
    assert found.weights[-1, 0] == pytest.approx(1 / 40, rel=0.2)  # sigma over v where it ends


def test_patches_that_count_for_nothing_tell_no_errors(spectra, rng):
    problem = Problem.of(spectra, rng.random(spectra.shape) < 0.3, (1, 2))
    method = METHODS["joined"].configured()
    views = len(method.seen(problem)) - 1
    run = Run(problem, replace(method, weights=[1.0] * views + [0.0]), 0)
    run.finished()
    assert run.deviation() is run.doubt() is None


def test_a_shape_that_there_is_not_is_refused_at_once():
    with pytest.raises(qrank.InputError, match="fibre"):
        METHODS["joined"].configured(shape="fibr")
