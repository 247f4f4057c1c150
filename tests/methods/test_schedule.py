"""How fast mu grows."""

import warnings

import numpy as np
import pytest

import qrank
from conftest import low_rank
from qrank.data import low_q_rank
from qrank.methods import METHODS
from qrank.methods.schedule import CAREFUL, FASTEST, LAST, SLOWEST, growth, known_around, pace, whole
from qrank.problem import Problem


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("shape", [(50, 50, 50), (300, 32, 32), (1, 80, 90)])
def test_what_is_known_around_random_holes_is_what_is_known(share, shape, rng):
    assert known_around(rng.random(shape) < share) == pytest.approx(share, abs=0.02)
    assert known_around(np.ones(shape, bool)) == 1


def test_mu_grows_slowly_where_little_is_known_around_the_holes(rng):
    observed = np.ones((12, 20, 25), bool)
    frame, column, pixels = observed.copy(), observed.copy(), observed.copy()
    frame[5] = rng.random((20, 25)) < 0.03
    column[:, :, 7] = False
    pixels[:, rng.random((20, 25)) < 0.2] = False
    for holes in (frame, column, pixels):
        assert known_around(holes) < 0.1
        assert SLOWEST <= pace(Problem.of(np.ones(holes.shape), holes, (1, 2))) < FASTEST
    half = rng.random((12, 20, 25)) < 0.5
    assert pace(Problem.of(np.ones(half.shape), half, (1, 2))) == FASTEST


def next_rho(filled, slip, primal=0.1, change=0.1, fastest=1.2):
    """Return what rho becomes after a step with rho = 1.1."""
    return growth(fastest, 1.1, filled, primal, slip * np.log(1.1), change)


def test_mu_grows_carefully_where_few_singular_values_explain_much():
    assert next_rho(0.04, 2) == next_rho(0.9, 0.1) == CAREFUL  # few; what is known holds X
    assert next_rho(0.9, 2) == next_rho(0.01, 2, primal=0.9) == 1.2
    assert CAREFUL < next_rho(0.1, 2) < 1.2
    assert CAREFUL < next_rho(0.9, 0.7) < 1.2
    assert next_rho(0.15, 2, primal=1e-3) == CAREFUL  # as many explain nearly all: that is few
    assert next_rho(0.04, 2, fastest=1.05) == 1.05


def test_mu_grows_slower_still_where_it_outruns_very_few_singular_values():
    assert next_rho(0.01, 0.8) == next_rho(0.01, 4, primal=0.3) == CAREFUL
    assert 1 < next_rho(0.01, 4) == next_rho(0.01, 40) < next_rho(0.01, 2) < CAREFUL


def test_mu_hurries_where_nothing_holds_x_and_it_hardly_moves():
    paces = [next_rho(0.9, 2, 1e-4, change) for change in (1e-1, 1e-2, 1e-3, 1e-4, 1e-9, 0.0)]
    assert paces == sorted(paces)
    assert paces[1] == 1.2
    assert paces[-1] == LAST
    assert next_rho(0.9, 0.1, 1e-4, 1e-9) == CAREFUL


def test_a_fixed_rho_stays_and_so_do_the_papers_settings(rng):
    x = low_rank(rng, (10, 11, 12), rank=2, directions=2)
    known = rng.random(x.shape) < 0.6
    for options in ({"rho": 1.15}, {"preset": "paper", "max_steps": 60}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", qrank.ConvergenceWarning)
            mus = [record.mu for record in qrank.complete(x, known, "vmtqn", **options).history]
        np.testing.assert_allclose(np.divide(mus[1:], mus[:-1]), options.get("rho", 1.1), rtol=1e-12)


def test_smooth_data_of_which_little_is_known_is_found_as_with_the_papers_settings():
    """A fixed rho = 1.2 from Z = 0 loses more than ten decibels here; single arrays scatter by one to either side."""
    i, j, k = (np.arange(n) / n for n in (24, 26, 20))
    gains = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        waves = [
            (np.sin(a * i + b), np.cos(c * j + d), np.sin(e * k + f)) for a, b, c, d, e, f in rng.uniform(0, 6, (12, 6))
        ]
        x = sum(np.einsum("i,j,k->ijk", *one) for one in waves)
        holes = rng.random(x.shape) > 0.1
        paper, ours = (qrank.complete(x, ~holes, "vmtqn", preset=preset).x for preset in ("paper", None))
        gains.append(qrank.metrics.psnr(ours, x, holes) - qrank.metrics.psnr(paper, x, holes))
    assert np.mean(gains) > -0.3


def test_a_frame_that_is_nearly_lost_is_found_again(rng):
    """With the same growth of mu everywhere it is not: its few entries are outrun."""
    x = low_rank(rng, (30, 32, 24), rank=2, directions=2)
    observed = np.ones(x.shape, bool)
    observed[:, :, ::6] = rng.random((30, 32, 4)) < 0.1
    slow, fast = (qrank.complete(x, observed, "vmtqn", rho=rho) for rho in (None, 1.7))
    holes = ~observed
    assert qrank.metrics.psnr(slow.x, x, holes) > qrank.metrics.psnr(fast.x, x, holes) + 3


@pytest.mark.parametrize(
    ("penalty", "rho"),
    [("nuclear", None), ("log-sum:20", None), ("log-sum", 1.1), ("p-shrinkage", 1.1), ("grouped", 1.1)],
)
def test_mu_grows_slowly_unless_the_penalty_is_mild(penalty, rho):
    assert METHODS["vmtqn"].configured(None, penalty=penalty).rho == rho
    assert METHODS["vmtqn"].configured(None, penalty=penalty, rho=1.3).rho == 1.3
    assert METHODS["motqn"].configured(None).rho is None


@pytest.mark.parametrize(("r", "p"), [(3, 0.4), (5, 0.6)])
def test_the_papers_synthetic_tensors_are_found_as_with_the_papers_settings(r, p):
    """Slices of full rank in r directions of the third mode, near the edge of what can be recovered: a fast path loses decibels."""
    x = low_q_rank((24, 24, 24), r, 1)
    known = np.random.default_rng(2).random(x.shape) < p
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qrank.ConvergenceWarning)
        paper, default = (qrank.complete(x, known, "vmtqn", **options) for options in ({"preset": "paper"}, {}))
    error, allowed = (np.square((found.x - x)[~known]).mean() for found in (default, paper))
    assert error <= 10**0.01 * allowed
    assert len(default.history) < 0.7 * len(paper.history)


def test_slices_are_whole_only_while_most_is_to_be_explained():
    assert whole(0.6, 90, 10, 50)
    assert not whole(0.4, 90, 10, 50)
    assert not whole(0.6, 30, 10, 50)
    assert not whole(0.6, 20, 10, 2)  # two values of two are no sign


@pytest.mark.parametrize("mu0", [1e300, 1e-300])
def test_a_run_in_single_precision_keeps_to_its_range(mu0):
    """It is that of what it starts from: the data, in double, say nothing of it. An overflow would be a RuntimeWarning."""
    y = np.array([[[0.12573022, -0.13210486, 0.64042265, 0.10490012]]])
    known = np.array([[[True, False, False, True]]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qrank.ConvergenceWarning)
        warnings.simplefilter("ignore", qrank.UndeterminedWarning)
        assert np.isfinite(qrank.complete(y, known, "joined", (0, 1), mu0=mu0, holdout=0.3, tol=1e-300).x).all()
