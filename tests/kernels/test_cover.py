"""Covers: every entry is covered as often as is said, what is read is there, what is added arrives."""

import numpy as np
import pytest

from qrank.kernels.cover import Cover

CASES = [
    ((7, 9), (3, 4), (2, 3), (1, 2)),
    ((5, 8, 6), (5, 3, 3), (1, 1, 2), (0, 0, 1)),
    ((3, 4, 5, 6), (2, 4, 5, 1), (2, 1, 3, 1), (1, 0, 2, 0)),
    ((4, 4), (4, 4), (1, 1), (0, 0)),
]


@pytest.mark.parametrize(("shape", "block", "stride", "offset"), CASES)
def test_counts_are_what_adding_ones_gives_and_nothing_is_left_out(shape, block, stride, offset):
    cover = Cover.of(shape, block, stride, offset)
    x = np.zeros(shape)
    every = np.arange(len(cover.corners))
    cover.add(x, every, np.ones((len(every), len(cover.inside))))
    assert x.min() >= 1
    np.testing.assert_array_equal(x, cover.times_counts(np.ones(shape)))


@pytest.mark.parametrize(("shape", "block", "stride", "offset"), CASES)
def test_a_row_is_a_block_of_the_array(shape, block, stride, offset):
    x = np.random.default_rng(0).random(shape)
    for cover in (Cover.of(shape, block, stride, offset), Cover.anywhere(shape, block, 5, np.random.default_rng(1))):
        rows = cover.read(x, np.arange(len(cover.corners)))
        for corner, row in zip(cover.corners, rows, strict=True):
            at = np.unravel_index(corner, shape)
            part = x[tuple(slice(i, i + b) for i, b in zip(at, block, strict=True))]
            np.testing.assert_array_equal(part.reshape(-1), row)
