"""What is observed has the share and the structure that its pattern promises."""

import numpy as np
import pytest
from scipy import ndimage

import qrank
from qrank.data import PATTERNS, observed


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_share_and_repeatability(pattern, rate):
    shape = (40, 32, 30, 3)
    o = observed(shape, rate, pattern, (1, 2), rng=5)
    assert o.shape == shape
    assert o.dtype == bool
    assert abs(o.mean() - rate) < 0.05
    assert (o == observed(shape, rate, pattern, (1, 2), rng=5)).all()
    assert not (o == observed(shape, rate, pattern, (1, 2), rng=6)).all()


def test_patterns_have_their_structure():
    fibres = observed((12, 13, 5), 0.4, "fibres", rng=0)
    assert (fibres.all(axis=2) == fibres.any(axis=2)).all()
    frames = observed((5, 12, 13), 0.4, "frames", (1, 2), rng=0)
    assert (frames.all(axis=(1, 2)) == frames.any(axis=(1, 2))).all()
    assert frames.any(axis=(1, 2)).sum() == 2
    blocks = observed((64, 64, 4), 0.5, "blocks", rng=0)
    lonely = ~blocks[:, 1:] & ~blocks[:, :-1]
    assert lonely.mean() > 0.35  # far above the 0.25 of entries hidden one by one


def test_bad_input():
    with pytest.raises(qrank.InputError, match="unknown pattern 'fibre': did you mean 'fibres'"):
        observed((4, 4, 4), 0.5, "fibre")
    with pytest.raises(qrank.InputError, match="not 0"):
        observed((4, 4, 4), 0)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_takes_every_shape(pattern):
    for shape in [(1, 1), (2, 3), (1, 40), (30, 20), (5, 1, 7)]:
        assert observed(shape, 0.3, pattern, rng=0).any()
        assert observed(shape, 1.0, pattern, rng=0).all()


def test_station_days_and_stripes_are_whole_lines():
    days = observed((6, 20, 30), 0.4, "station-days", (1, 2), rng=0)
    assert (days.all(axis=2) == days.any(axis=2)).all()
    assert 0 < days.any(axis=(1, 2)).mean() == days.any(axis=(0, 2)).mean() == 1  # no place and no day is lost
    stripes = observed((6, 20, 30), 0.4, "stripes", (1, 2), rng=0)
    assert (stripes.all(axis=1) == stripes.any(axis=1)).all()
    assert (stripes.any(axis=1).sum(axis=1) == 12).all()
    assert (stripes[0] != stripes[1]).any()


def test_logo_and_moving_block_are_one_rectangle_in_every_slice():
    logo, moving = (observed((20, 40, 50), 0.9, pattern, (1, 2), rng=3) for pattern in ("logo", "moving-block"))
    assert (logo == logo[0]).all()
    corners = []
    for stack in (logo, moving):
        for frame in stack:
            rows, columns = np.nonzero(~frame)
            assert (np.ptp(rows) + 1) * (np.ptp(columns) + 1) == len(rows)
            corners.append((rows.min(), columns.min()))
    steps = np.abs(np.diff(corners[20:], axis=0))
    assert steps.max() <= 2
    assert 0.8 < np.hypot(*steps.T).mean() < 2


def test_scratches_and_text_are_thin():
    """No entry of them is farther than two steps from what is known; they do not lie alone either."""
    for pattern in ("scratches", "text"):
        known = observed((100, 120, 2), 0.92, pattern, rng=1)
        assert (known[:, :, 0] == known[:, :, 1]).all() == (pattern == "text")
        hole = ~known[:, :, 0]
        assert ndimage.distance_transform_cdt(hole, "chessboard").max() <= 3
        _, count = ndimage.label(hole, np.ones((3, 3)))
        assert 3 <= count < hole.sum() / 6


def test_clouds_are_round_and_a_little_alike():
    sky = ~observed((10, 80, 90), 0.7, "clouds", (1, 2), rng=0)
    assert (sky[:, 1:] == sky[:, :-1]).mean() > 0.9
    alike = np.corrcoef(sky[:-1].ravel(), sky[1:].ravel())[0, 1]
    assert 0.05 < alike < 0.8
