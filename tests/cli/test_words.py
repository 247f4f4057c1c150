"""What is read from the command line, and what is shown while a run goes on."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("typer")
import qrank
from qrank.cli.progress import Eta
from qrank.cli.words import parse_options, parse_slice_axes


def test_words():
    assert parse_options(["a=1", "b=-2.5", "c=x", "d=False", "max-steps=9"]) == {
        "a": 1, "b": -2.5, "c": "x", "d": False, "max_steps": 9,
    }  # fmt: skip
    with pytest.raises(qrank.InputError, match="twice"):
        parse_options(["a=1", "a=2"])
    with pytest.raises(qrank.InputError, match="same axis"):
        parse_slice_axes("1,-2", ("x", "y", "z"), (0, 1))
    with pytest.raises(qrank.InputError, match="did you mean 'lat'"):
        parse_slice_axes("lai,lon", ("time", "lat", "lon"), (0, 1))


def test_time_left_is_that_of_a_geometric_decay():
    eta = Eta(tol=1e-6)
    left = [eta.left(k, 0.5 * k, 0.8**k) for k in range(1, 31)]
    assert left[0] is None
    steps_left = np.log(1e-6 / 0.8**30) / np.log(0.8)
    assert left[-1] == pytest.approx(0.5 * steps_left)
    assert Eta(1e-6).left(1, 1.0, 0.0) is None
