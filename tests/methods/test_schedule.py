"""How fast mu grows."""

import numpy as np
import pytest

import qrank
from conftest import low_rank
from qrank.methods import METHODS
from qrank.methods.schedule import CAREFUL, FASTEST, SLOWEST, careful, known_around, pace


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
        assert SLOWEST <= pace(holes) < FASTEST
    assert pace(rng.random((12, 20, 25)) < 0.5) == FASTEST


def test_mu_grows_carefully_where_few_singular_values_explain_much():
    assert careful(1.2, 0.1, 0.1) == CAREFUL
    assert careful(1.2, 0.1, 0.9) == careful(1.2, 0.9, 0.1) == 1.2
    assert CAREFUL < careful(1.2, 0.1, 0.5) < 1.2
    assert careful(1.05, 0.1, 0.1) == 1.05


@pytest.mark.parametrize("seed", [0, 1])
def test_smooth_data_of_which_little_is_known_is_found_as_with_the_papers_settings(seed):
    """A fixed rho = 1.2 from Z = 0 loses more than ten decibels here."""
    rng = np.random.default_rng(seed)
    i, j, k = (np.arange(n) / n for n in (24, 26, 20))
    waves = [
        (np.sin(a * i + b), np.cos(c * j + d), np.sin(e * k + f)) for a, b, c, d, e, f in rng.uniform(0, 6, (12, 6))
    ]
    x = sum(np.einsum("i,j,k->ijk", *one) for one in waves)
    holes = rng.random(x.shape) > 0.1
    paper, ours = (qrank.complete(x, ~holes, "vmtqn", preset=preset).x for preset in ("paper", None))
    assert qrank.metrics.psnr(ours, x, holes) > qrank.metrics.psnr(paper, x, holes) - 0.5


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
