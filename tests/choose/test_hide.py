"""What is hidden looks like the holes."""

import numpy as np
import pytest

from qrank import data
from qrank.choose.hide import hidden, of_poor_planes, surroundings

SHAPE = (24, 40, 50)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_scattered_holes_hide_scattered_entries(rate, rng):
    known = rng.random(SHAPE) < rate
    found = hidden(known, rng)
    assert not (found & ~known).any()
    assert 0.03 < found.sum() / known.sum() < 0.15
    assert (found.any(axis=(1, 2))).all()  # in every slice


def test_lost_frames_hide_whole_frames(rng):
    known = np.ones(SHAPE, bool)
    known[[3, 8, 15]] = False
    found = hidden(known, rng)
    whole = found.all(axis=(1, 2))
    assert 1 <= whole.sum() <= 6
    assert found.sum() == whole.sum() * 40 * 50


def test_lost_fibres_hide_whole_fibres(rng):
    known = np.tile(rng.random((1, 40, 50)) < 0.6, (24, 1, 1))
    found = hidden(known, rng)
    assert set(found.sum(axis=0).ravel().tolist()) == {0, 24}


def test_a_static_block_hides_static_blocks(rng):
    known = np.ones(SHAPE, bool)
    known[:, 10:20, 20:34] = False
    found = hidden(known, rng)
    assert (found == found[:1]).all()
    rows = np.flatnonzero(found[0].any(axis=1))
    assert found[0].any(axis=0).sum() >= 5
    assert len(rows) >= 5  # wide, as the hole is


@pytest.mark.parametrize("pattern", ["scratches", "clouds", "stripes", "moving-block", "text"])
def test_hidden_entries_see_what_missing_ones_see(pattern, rng):
    """They are nearer to the holes, in what is known around them, than entries hidden at random."""
    known = data.observed(SHAPE, 0.8, pattern, (1, 2), rng=1)
    found = hidden(known, rng)
    at_random = known & (rng.random(SHAPE) < found.sum() / known.sum())
    holes = surroundings(known, np.nonzero(~known)).mean(axis=0)
    apart = [
        np.abs(surroundings(known & ~hid, np.nonzero(hid)).mean(axis=0) - holes).sum() for hid in (found, at_random)
    ]
    assert apart[0] < apart[1]


def test_one_entry_stays_known(rng):
    for known in (np.ones((2, 2), bool), np.eye(2, dtype=bool), np.array([[True, False]])):
        found = hidden(known, rng)
        assert not (found & ~known).any()
        assert found.any()


def test_poor_frames_tell_of_themselves(rng):
    """Of frames known to a fifth some known entries are hidden, in each of them, and nothing of the others."""
    known, poor = np.ones(SHAPE, bool), [3, 8, 9, 15]
    known[poor] = rng.random((4, 40, 50)) < 0.2
    found = hidden(known, rng)
    assert not (found & ~known).any()
    np.testing.assert_array_equal(np.flatnonzero(found.any(axis=(1, 2))), poor)
    assert (found[poor].sum(axis=(1, 2)) > 0.1 * known[poor].sum(axis=(1, 2))).all()
    assert found[poor].sum() < 0.4 * known[poor].sum()


def test_entries_beside_a_hole_do_not_tell_of_it(rng):
    """The rows of a wide logo are poor, but what is known of them lies at its side."""
    known = np.ones(SHAPE, bool)
    known[:, 10:30, 6:44] = False
    assert of_poor_planes(known, rng) is not None
    found = hidden(known, rng)
    assert (found == found[:1]).all()  # copies of the logo
