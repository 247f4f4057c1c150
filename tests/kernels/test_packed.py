"""Stacks in three bytes a number."""

import numpy as np
import pytest

from qrank.kernels import packed


@pytest.mark.parametrize("size", [1.0, 1e-12, 3e8])
def test_what_is_packed_comes_back_to_24_bits_of_its_slice(size):
    values = (size * np.random.default_rng(0).standard_normal((7, 5, 6))).astype(np.float32)
    values[3] = 0
    values[4] *= 1e-6
    p = packed.zeros(values.shape)
    packed.write(p, slice(0, 2), values[:2].copy())
    packed.write(p, slice(2, 7), values[2:].copy())
    found = packed.unpacked(p)
    most = np.abs(values).max(axis=(1, 2), keepdims=True)
    assert (np.abs(found - values) <= 2.0**-23 * most).all()
    assert not found[3].any()
    np.testing.assert_array_equal(packed.unpacked(p, slice(2, 5)), found[2:5])
    np.testing.assert_array_equal(packed.columns(p, slice(4, 9))[:, 0], found.reshape(7, 30)[:, 4:9])
    assert sum(a.nbytes for a in p) == 3 * values.size + 4 * 7
