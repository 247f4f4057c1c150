"""The mean of priors over views of an array, and the method that anneals it."""

import numpy as np
import pytest

import qrank
from qrank.kernels.arrange import View, add_arranged, arranged, sampled
from qrank.kernels.memory import Workspace
from qrank.methods import METHODS
from qrank.methods.views import views_of
from qrank.penalties import Nuclear
from qrank.priors import Average, Fixed, MaximalVariance, QNorm, Seen
from qrank.priors.average import balanced
from qrank.problem import Problem
from qrank.run import CLOSE, HELD, Run
from qrank.transforms import Identity

PAIRS = [View((1, 1, 1), (2 * a,), (2 * b,), (2 * c,)) for a, b, c in [(0, 1, 2), (1, 0, 2), (2, 0, 1)]]
CUBES = View((2, 3, 2), (1,), (3, 5), (0, 2, 4))


def mirrored(n, offset, block):
    """Where each place of a padded axis comes from."""
    at = np.arange(-(-(n + block - 1) // block) * block) - offset
    at = np.where(at < 0, -1 - at, at)
    return np.where(at >= n, 2 * n - 1 - at, at)


@pytest.mark.parametrize("offsets", [(0, 0, 0), (1, 2, 1), (1, 0, 1)])
def test_blocks_written_out(offsets, rng):
    """Every number of the stack is the entry at its place in its block, mirrored where the array ends."""
    x = rng.standard_normal((5, 7, 4))
    stack = arranged(x, CUBES, offsets, Workspace())
    i, j, k = (mirrored(n, o, b) for n, o, b in zip(x.shape, offsets, CUBES.blocks, strict=True))
    blocks = len(i) // 2, len(j) // 3, len(k) // 2
    for deep in range(2):
        for row in range(6):
            for column in range(np.prod(blocks)):
                a, b, c = np.unravel_index(column, blocks)
                expected = x[i[2 * a + deep], j[3 * b + row // 2], k[2 * c + row % 2]]
                assert stack[deep, row, column] == expected
    back = add_arranged(np.ones_like(x), stack.copy(), CUBES, offsets, 0.5)
    np.testing.assert_allclose(back, 1 + 0.5 * x)
    at = rng.permutation(x.size)[:20]
    np.testing.assert_array_equal(sampled(stack, CUBES, offsets, x.shape, at), x.ravel()[at])


def test_the_mean_written_out(rng):
    """Slices along every pair of axes shrunk by SVDs, each by the size of noise in it, and averaged."""
    t, lam = rng.standard_normal((4, 5, 6)), 2.0
    priors = tuple(Seen(QNorm(Fixed(Identity(t.shape[view.tube[0] // 2])), Nuclear()), view) for view in PAIRS)
    average = Average(priors, t.shape, weights=np.array([0.5, 0.3, 0.2]))
    wanted, first = np.zeros_like(t), np.sqrt(5) + np.sqrt(6)
    for order, weight in zip([(0, 1, 2), (1, 0, 2), (2, 0, 1)], (0.5, 0.3, 0.2), strict=True):
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
    average = Average((Seen(prior, PAIRS[0]),), t.shape)
    mean = average(t, 1.0, average.start(t, Workspace()), Workspace())
    np.testing.assert_allclose(mean.x, alone.x, atol=1e-14)
    assert average.size(t, average.start(t, Workspace()), Workspace()) == pytest.approx(
        prior.size(t, prior.start(t, Workspace()), Workspace())
    )


def test_weights_follow_the_entries_that_judge(rng):
    """Where one prior is right and the others are not, it gets the weight; from the next step on it is used."""
    truth = rng.standard_normal(400)
    answers = np.stack([truth + 0.05 * rng.standard_normal(400), rng.standard_normal(400), 0 * truth], axis=1)
    assert balanced(answers, truth)[0] > 0.7
    even = np.stack([truth + rng.standard_normal(400) for _ in range(4)], axis=1)
    np.testing.assert_allclose(balanced(even, truth), 0.25, atol=0.05)
    np.testing.assert_allclose(balanced(np.ones((5, 2)), np.ones(5)), 0.5)
    t = rng.standard_normal((6, 7, 8))
    at = np.arange(0, t.size, 3)
    priors = tuple(Seen(QNorm(Fixed(Identity(t.shape[view.tube[0] // 2])), Nuclear()), view) for view in PAIRS)
    average = Average(priors, t.shape, judge=(at, t.ravel()[at]))
    first = average(t, 1.0, average.start(t, Workspace()), Workspace())
    second = average(t, 1.0, first.state, Workspace())
    given = Average(priors, t.shape, weights=np.array(first.state.trail[0][3:]))
    np.testing.assert_allclose(second.x, given(t, 1.0, given.start(t, Workspace()), Workspace()).x, atol=1e-12)
    assert first.state.trail[0][2] == pytest.approx(np.sqrt(np.mean((first.x.ravel()[at] - t.ravel()[at]) ** 2)))


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


@pytest.mark.parametrize("shape", [(9, 30, 40), (6, 3, 20, 33), (40, 50), (200, 5, 6), (1, 30, 3)])
def test_every_entry_is_once_in_every_view(shape, rng):
    x = np.arange(np.prod(shape), dtype=float).reshape(shape)
    views = views_of(shape, (True,) * len(shape))
    assert views[0].rows == (2 * len(shape) - 4,)
    assert views[0].columns == (2 * len(shape) - 2,)  # the slice axes come first
    for view in views:
        offsets = view.offsets(rng)
        stack = arranged(x, view, offsets, Workspace())
        assert stack.shape == view.stack_shape(shape)
        np.testing.assert_array_equal(add_arranged(np.zeros(shape), stack, view, offsets, 1.0), x)


def test_what_is_exactly_of_low_rank_is_found_exactly(rng):
    """Sigma goes on down where the rank stands still, and single precision gives way to double."""
    x = low_multilinear_rank(rng, (30, 32, 34))
    observed = rng.random(x.shape) < 0.4
    result = qrank.complete(x, observed, "views")
    assert qrank.metrics.relative_error(result.x, x) < 1e-4
    assert max(result.history[-1].primal, result.history[-1].change) <= result.method.tol
    rough = qrank.complete(rng.standard_normal((30, 32, 34)), observed, "views")
    assert rough.status is qrank.Status.SETTLED
    assert len(rough.history) == 28


def test_double_precision_runs_in_single_until_it_matters(rng):
    x = rng.standard_normal((12, 20, 20))
    run = Run(Problem.of(x, rng.random(x.shape) < 0.5, (1, 2)), METHODS["views"].configured())
    types = [state.t.dtype.name for state, record in run]
    assert types[0] == "float32"
    exact = low_multilinear_rank(rng, (20, 20, 20))
    run = Run(Problem.of(exact, rng.random(exact.shape) < 0.6, (1, 2)), METHODS["views"].configured())
    records = [(state.t.dtype.name, record.primal, record.dual) for state, record in run]
    assert records[0][0] == "float32"
    assert records[-1][0] == "float64"
    assert all(primal >= CLOSE or dual >= HELD for name, primal, dual in records if name == "float32")


def test_a_run_goes_on_from_an_earlier_answer_at_a_lower_sigma(rng):
    x = low_multilinear_rank(rng, (20, 20, 20)) + 0.3 * rng.standard_normal((20, 20, 20))
    problem = Problem.of(x, rng.random(x.shape) < 0.5, (1, 2))
    first = Run(problem, METHODS["views"].configured())
    mus = [record.mu for _, record in first]
    start = first.answer().reshape(problem.y.shape).copy()
    again = Run(qrank.problem.replace(problem, start=start), METHODS["views"].configured())
    warm = [record.mu for _, record in again]
    assert len(warm) < 0.7 * len(mus)
    assert warm[0] == pytest.approx(8 * mus[0])
    assert np.abs(again.answer().reshape(start.shape) - start).max() < 0.5 * np.abs(start).max()


@pytest.mark.parametrize("weights", [[1, 2], "many", [-1, 1, 1], [[[1.0]]]])
def test_weights_that_make_no_sense_are_refused(weights, rng):
    x = rng.standard_normal((8, 9, 10))
    with pytest.raises(qrank.InputError, match="weights must be"):
        qrank.complete(x, x > 0, "views", weights=weights)
