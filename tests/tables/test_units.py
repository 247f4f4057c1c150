"""Columns of different units: each is filled as well as if it were alone in its unit, and known cells are as they were."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import qrank
from qrank.errors import InputError

HOURS = 24 * 21


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Temperatures in kelvin, pressures in pascal and counts that follow the day and one slow weather; a fifth is missing."""
    rng = np.random.default_rng(3)
    hour = np.arange(HOURS)
    day, weather = np.sin(2 * np.pi * (hour / 24 - 0.3)), np.cumsum(rng.standard_normal(HOURS)) / 8
    columns = {f"T{k}": 283 + (5 + k) * day + weather + 0.2 * rng.standard_normal(HOURS) for k in range(3)}
    columns |= {f"P{k}": 101_300 - 250 * weather + 60 * k * day + 10 * rng.standard_normal(HOURS) for k in range(2)}
    columns["cars"] = rng.poisson(np.exp(4 + day)).astype(float)
    truth = pd.DataFrame(columns, pd.date_range("2024-03-01", periods=HOURS, freq="h", name="time"))
    hole = rng.random(truth.shape) < 0.15
    for column in range(truth.shape[1]):
        for start in rng.integers(0, HOURS, 5):
            hole[start : start + rng.integers(6, 20), column] = True
    return truth, truth.mask(hole)


def errors(found: pd.DataFrame, truth: pd.DataFrame, holed: pd.DataFrame) -> pd.Series:
    return ((found - truth) ** 2).where(holed.isna()).mean() ** 0.5


def test_no_column_drowns_and_all_beat_straight_lines(table):
    truth, holed = table
    found = qrank.complete(holed)
    ours, lines = errors(found.x, truth, holed), errors(holed.interpolate("time", limit_direction="both"), truth, holed)
    assert (ours < 0.6 * lines).all(), pd.DataFrame({"qrank": ours, "interpolate": lines})
    drowned = errors(qrank.complete(holed, method="views", units="same").x, truth, holed)
    assert (
        drowned[["T0", "T1", "T2"]] > 5 * ours[["T0", "T1", "T2"]]
    ).all()  # patches alone tell them apart in one unit, too
    np.testing.assert_array_equal(found.x.to_numpy()[holed.notna()], holed.to_numpy()[holed.notna()])
    spread = errors(found.x, truth, holed) / found.error.where(holed.isna()).pow(2).mean().pow(0.5)
    assert spread.between(0.4, 2.5).all(), spread  # errors are in each column's own unit
    assert "each quantity in its standard deviations" in str(found.choice)


def test_the_answer_follows_the_unit_of_a_column(table):
    _, holed = table
    found = qrank.complete(holed, effort="fast").x
    celsius = holed.assign(T0=holed.T0 - 273.15, P0=holed.P0 / 100)
    other = qrank.complete(celsius, effort="fast").x
    np.testing.assert_allclose(other.T0 + 273.15, found.T0, rtol=1e-5)
    np.testing.assert_allclose(other.P0 * 100, found.P0, rtol=1e-5)


def test_counts_stay_counts_beside_other_units(table):
    _, holed = table
    holed = holed.assign(cars=pd.array(holed.cars, "Int64"))
    found = qrank.complete(holed, effort="fast", bounds=(0, None)).x
    assert str(found.cars.dtype) == "Int64"
    assert (found.cars >= 0).all()


def test_arrays_name_the_axis(table):
    _, holed = table
    by_axis = qrank.complete(holed.to_numpy(), fold=24, units="own", effort="fast").x
    np.testing.assert_allclose(by_axis, qrank.complete(holed, effort="fast").x, rtol=1e-9)
    y = holed.to_numpy().reshape(-1, 24, 6)
    first, second = (
        qrank.complete(np.ma.masked_invalid(a), units=2, effort="fast").x for a in (y, y / [1, 1, 1, 9, 9, 1])
    )
    np.testing.assert_allclose(first, second * [1, 1, 1, 9, 9, 1], rtol=1e-5)
    assert qrank.complete(y, units=2, effort="fast", bounds=(270, None)).x.min() >= min(270, np.nanmin(y))


def test_what_has_one_unit_is_left_alone():
    rng = np.random.default_rng(0)
    y = rng.standard_normal((30, 4)) @ rng.standard_normal((4, 6))
    holed = pd.DataFrame(np.where(rng.random(y.shape) < 0.2, np.nan, y))
    plain = qrank.complete(holed, effort="fast")
    assert plain.folded.units is None
    np.testing.assert_array_equal(plain.x, qrank.complete(holed.to_numpy(), effort="fast", slice_axes=(0, 1)).x)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"units": "kelvin"}, "units of a table are 'same', or 'own'"),
        ({"units": "own", "noise": 0.1}, "a level of noise"),
    ],
)
def test_what_cannot_be_is_one_sentence(table, options, sentence):
    with pytest.raises(InputError, match=sentence):
        qrank.complete(table[1], **options)


def test_an_axis_that_is_none():
    with pytest.raises(InputError, match="units=5 is no axis"):
        qrank.complete(np.array([[1.0, np.nan], [2.0, 3.0]]), units=5)


def test_the_report_shows_every_column_on_one_scale_by_its_name(table, tmp_path):
    _, holed = table
    qrank.complete(holed.rename(columns={"P0": "</script>"}), effort="fast").report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "T0" in text
    assert "value, in standard deviations" in text
    assert not re.search(r'"label": "</script>', text)  # a name ends no script
