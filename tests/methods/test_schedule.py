"""How fast mu grows."""

import warnings

import numpy as np
import pytest
from benchmarks.kinds import made

import qrank
from conftest import low_rank
from qrank.data import low_q_rank
from qrank.methods import METHODS, schedule, tqn
from qrank.methods.schedule import (
    CALM,
    CAREFUL,
    FASTEST,
    LAST,
    OVER,
    SLOWEST,
    Growth,
    growth,
    known_around,
    pace,
    whole,
)
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


def after(filled, slip, primal=0.1, change=0.1, fastest=1.2):
    """Return how mu grows after a step with rho = 1.1."""
    return growth(fastest, 1.1, filled, primal, slip * (1 - 1 / 1.1), change)


CAREFULLY, FAST = Growth.at(CAREFUL, CALM), Growth.at(1.2, OVER)


def test_mu_grows_carefully_where_few_singular_values_explain_much():
    assert after(0.04, 2) == after(0.9, 0.1) == CAREFULLY  # few; what is known holds X
    assert after(0.9, 2) == FAST
    assert after(0.01, 2, primal=0.9) == Growth.at(1.2, CALM)
    for between in (after(0.1, 2), after(0.9, 0.7)):
        assert CAREFULLY.rho < between.rho < FAST.rho
        assert CALM < between.over < OVER
    assert after(0.15, 2, primal=1e-3) == CAREFULLY  # as many explain nearly all: that is few
    assert after(0.04, 2, fastest=1.05) == Growth.at(1.05, CALM)


def test_mu_grows_slower_still_where_it_outruns_very_few_singular_values():
    assert after(0.01, 0.79) == after(0.01, 4, primal=0.3) == CAREFULLY
    assert 1 < after(0.01, 4).rho == after(0.01, 40).rho < after(0.01, 2).rho < CAREFULLY.rho


def test_mu_hurries_where_nothing_holds_x_and_it_hardly_moves():
    paces = [after(0.9, 2, 1e-4, change).rho for change in (1e-1, 2e-2, 2e-3, 2e-4, 1e-9, 0.0)]
    assert paces == sorted(paces)
    assert paces[1] == FAST.rho
    assert paces[-1] == LAST
    assert after(0.9, 0.1, 1e-4, 1e-9) == CAREFULLY
    # X cannot follow all of so large a growth in one step: that it has not is no sign that something holds it.
    assert growth(1.2, LAST, 0.9, 1e-4, 0.4, 1e-9).rho == LAST


def test_over_relaxed_steps_do_the_work_of_more(monkeypatch):
    """The same path in steps that are not over-relaxed takes half as many again, for the same answer."""
    for name, method in (("clip", "vmtqn"), ("spectra", "vmtqn"), ("clip", "tnn")):
        x, known = made(name, 0)
        runs = []
        for over, calm in ((OVER, CALM), (0.0, 0.0)):
            monkeypatch.setattr(schedule, "OVER", over)
            monkeypatch.setattr(schedule, "CALM", calm)
            monkeypatch.setattr(tqn.VMTQN, "calm", (calm, CAREFUL))
            monkeypatch.setattr(tqn.Recipe, "calm", schedule.FIXED if over else (0.0, CAREFUL))
            runs.append(qrank.complete(x, known, method, (0, 1)))
        ours, plain = runs
        assert len(ours.history) < 0.7 * len(plain.history)
        assert qrank.metrics.psnr(ours.x, x, ~known) > qrank.metrics.psnr(plain.x, x, ~known) - 0.1


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
