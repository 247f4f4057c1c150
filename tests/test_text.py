"""Numbers and times for reading: no rounding carries a text past its own unit."""

from __future__ import annotations

import pytest

from qrank.text import duration, share


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (65, "1 min 05 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 00 min"),
        (36000, "10 h 00 min"),
    ],
)
def test_a_time_keeps_to_its_units(seconds, text):
    assert duration(seconds) == text


def test_nearly_all_is_not_all():
    assert share(10**6 - 1, 10**6) == "99.9999 %"
    assert share(3, 3) == "100.0 %"
