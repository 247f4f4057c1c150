"""The mean of priors over pairs of slice axes."""

import numpy as np
import pytest

import qrank
from qrank.kernels.memory import Workspace
from qrank.methods import METHODS
from qrank.penalties import Nuclear
from qrank.priors import Average, Fixed, MaximalVariance, QNorm, Seen
from qrank.problem import Problem
from qrank.transforms import Identity


def test_the_mean_written_out(rng):
    """Slices along every pair of axes shrunk by SVDs, each by the size of noise in it, and averaged."""
    t, lam = rng.standard_normal((4, 5, 6)), 2.0
    orders = [(0, 1, 2), (1, 0, 2), (2, 0, 1)]
    priors = tuple(Seen(QNorm(Fixed(Identity(t.shape[order[0]])), Nuclear()), order) for order in orders)
    average = Average(priors, t.shape, weights=(0.5, 0.3, 0.2))
    wanted, first = np.zeros_like(t), np.sqrt(5) + np.sqrt(6)
    for order, weight in zip(orders, (0.5, 0.3, 0.2), strict=True):
        u, s, vh = np.linalg.svd(t.transpose(order), full_matrices=False)
        level = lam * (np.sqrt(t.shape[order[1]]) + np.sqrt(t.shape[order[2]])) / first
        part = (u * np.maximum(s - level, 0)[:, None, :]) @ vh
        wanted += weight * part.transpose(np.argsort(order))
    before = t.copy()
    found = average(t, lam, average.start(t, Workspace()), Workspace())
    np.testing.assert_allclose(found.x, wanted, atol=1e-12)
    np.testing.assert_array_equal(t, before)
    assert found.rank > 0


def test_one_prior_alone_is_itself(rng):
    t, prior = rng.standard_normal((4, 5, 6)), QNorm(MaximalVariance(4), Nuclear())
    alone = prior(t, 1.0, prior.start(t, Workspace()), Workspace())
    average = Average((Seen(prior, (0, 1, 2)),), t.shape)
    mean = average(t, 1.0, average.start(t, Workspace()), Workspace())
    np.testing.assert_allclose(mean.x, alone.x, atol=1e-14)
    assert average.size(t, average.start(t, Workspace()), Workspace()) == pytest.approx(
        prior.size(t, prior.start(t, Workspace()), Workspace())
    )


def low_multilinear_rank(rng, shape, rank=3):
    x = rng.standard_normal((rank,) * len(shape))
    for axis, n in enumerate(shape):
        x = np.moveaxis(np.tensordot(rng.standard_normal((n, rank)), x, (1, axis)), 0, axis)
    return x


def test_views_are_better_than_one_where_every_view_is_of_low_rank(rng):
    x = low_multilinear_rank(rng, (24, 25, 26))
    observed = rng.random(x.shape) < 0.12
    error = {
        name: qrank.metrics.relative_error(qrank.complete(x, observed, name, tol=1e-4, **more).x, x)
        for name, more in {"vmtqn": {"penalty": "log-sum:2"}, "views": {}}.items()
    }
    assert error["views"] < 0.5 * error["vmtqn"]


@pytest.mark.parametrize("shape", [(12, 13), (9, 10, 1), (7, 8, 6, 5)])
def test_views_of_arrays_of_any_order(shape, rng):
    x = low_multilinear_rank(rng, shape, 2 if 1 not in shape else 1)
    observed = rng.random(shape) < 0.7
    result = qrank.complete(x, observed, "views")
    assert qrank.metrics.relative_error(result.x, x) < 0.05
    np.testing.assert_array_equal(result.x[observed], x[observed])


def test_the_pair_that_is_given_comes_first_and_all_others_follow(rng):
    problem = Problem.of(rng.standard_normal((4, 5, 6, 3)), slice_axes=(3, 0))
    orders = [seen.axes for seen in METHODS["views"].configured().prior(problem).priors]
    assert orders[0] == (0, 1, 2, 3)
    assert len({frozenset(order[-2:]) for order in orders}) == len(orders) == 6
