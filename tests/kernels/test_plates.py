"""Thin plates: which slices are touched at all."""

import numpy as np

from qrank.kernels.plates import thin_plate


def test_slices_of_which_nothing_or_all_is_known_stay_as_they_are(rng):
    y = rng.standard_normal((3, 6, 7))
    known = np.zeros(y.shape, bool)
    known[1] = True
    known[2] = rng.random((6, 7)) < 0.6
    found = thin_plate(y, known)
    np.testing.assert_array_equal(found[:2], y[:2])  # what stands in the first is not 0, and stays
    np.testing.assert_array_equal(found[known], y[known])
    assert (found[2] != y[2]).sum() == (~known[2]).sum()
