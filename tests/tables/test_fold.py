"""Folding: where every row goes, what is refused, what is guessed; and that it is worth it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qrank
from qrank.errors import InputError
from qrank.tables import Fold


def every(step: str, count: int, start: str = "2024-03-04T00:00") -> np.ndarray:
    return pd.date_range(start, periods=count, freq=step).to_numpy()


def test_every_row_is_at_its_time_and_day():
    stamps = every("6h", 11, "2024-03-03T12:00")  # begins and ends in the middle of a day
    table = np.arange(22.0).reshape(11, 2)
    fold = Fold.of("day", 11, stamps)
    array = fold.folded(table)
    assert array.shape == (2, 4, 4)
    for row, stamp in enumerate(pd.DatetimeIndex(stamps)):
        place = (stamp.hour // 6, (stamp.normalize() - pd.Timestamp("2024-03-03")).days)
        np.testing.assert_array_equal(array[(slice(None), *place)], table[row])
    assert np.isnan(array).sum() == 2 * (16 - 11)
    np.testing.assert_array_equal(fold.unfolded(array), table)


def test_weeks_begin_on_monday():
    fold = Fold.of("week", 21, every("D", 21, "2024-03-04"))  # a Monday
    assert fold.shape == (7, 3)
    assert fold.phase[0] == 0
    assert Fold.of("week", 21, every("D", 21, "2024-03-05")).shape == (7, 4)


def test_times_and_days_of_which_there_is_no_row_are_left_out():
    """An office that closes at night and at the weekend."""
    stamps = pd.DatetimeIndex(every("h", 24 * 21))
    open_ = (stamps.hour >= 8) & (stamps.hour < 18) & (stamps.day_of_week < 5)
    assert Fold.of(None, int(open_.sum()), stamps[open_].to_numpy()).shape == (10, 15)


def test_rows_may_be_in_any_order_and_lack():
    rng = np.random.default_rng(0)
    stamps, table = every("h", 100), rng.random((100, 3))
    some = rng.permutation(100)[:80]
    fold, whole = Fold.of(None, 80, stamps[some]), Fold.of(None, 100, stamps)
    np.testing.assert_array_equal(
        fold.folded(table[some])[:, fold.phase, fold.turn], whole.folded(table)[:, whole.phase, whole.turn][:, some]
    )
    np.testing.assert_array_equal(fold.unfolded(fold.folded(table[some])), table[some])


@pytest.mark.parametrize(
    ("step", "count", "axes"),
    [
        ("h", 24 * 3, ("column", "time of day", "day")),
        ("10min", 144 * 3, ("column", "time of day", "day")),
        ("D", 21, ("column", "time of week", "week")),
        ("min", 60 * 5, ("column", "time of hour", "hour")),
        ("h", 24 * 2, None),
        ("MS", 60, None),  # months are not equally long
        ("12h", 14, None),
    ],
)
def test_the_guess(step, count, axes):
    fold = Fold.of(None, count, every(step, count))
    assert (None if fold is None else fold.axes) == axes


@pytest.mark.parametrize(
    ("fold", "stamps", "sentence"),
    [
        ("day", np.r_[every("h", 30), every("h", 1)], "2024-03-04T00:00:00 occurs twice"),
        ("day", np.r_[every("h", 30), every("h", 1, "2025-01-01T00:30")], "not whole multiples"),
        ("day", np.r_[every("h", 30), np.datetime64("NaT")], "not all there"),
        ("day", every("7h", 31), "not a multiple of its step, 7 h"),
        ("day", every("h", 20), "less than two of them"),
        ("week", every("h", 1), "too few"),
        ("12q", every("h", 72), "fold '12q' is not a period"),
        ("0h", every("h", 72), "fold '0h' is not a period"),
        (1, every("h", 72), "from 2 to half of the 72"),
        (40, every("h", 72), "from 2 to half of the 72"),
        (2.5, every("h", 72), "fold is a period"),
        ("day", None, "there are none: give a number of rows"),
    ],
)
def test_what_cannot_be_folded_is_one_sentence(fold, stamps, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        Fold.of(fold, 72 if stamps is None else len(stamps), stamps)
    assert "\n" not in str(caught.value)


def test_far_apart_stamps_take_no_memory():
    stamps = np.r_[every("s", 3), every("s", 3, "2200-01-01T00:00"), every("s", 3, "1700-01-01T00:00")]
    assert Fold.of(None, 9, stamps) is None or len(Fold.of(None, 9, stamps).phase) == 9
    seconds = np.random.default_rng(0).choice(10**9, 500, replace=False)
    scattered = np.r_[seconds, seconds[0] + 1].astype("datetime64[s]")
    assert Fold.of(None, 501, scattered) is None
    with pytest.raises(InputError, match="most of its rows would be missing"):
        Fold.of("day", 501, scattered)


def test_irregular_stamps_are_not_folded_unless_asked():
    stamps = np.r_[every("h", 90), every("h", 1, "2025-01-01T00:30")]
    assert Fold.of(None, 91, stamps) is None


def seasonal(days: int = 20, sensors: int = 8) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sensors with days of their own form, days of their own size, a sensor's own level, and a little noise; a third missing."""
    rng = np.random.default_rng(1)
    hours = np.arange(24)
    forms = np.array([np.exp(-(((hours - at) / 2.0) ** 2)) for at in (8, 13, 18)])
    size = rng.uniform(0.3, 1.7, (days, 3))
    level = rng.uniform(1, 5, (3, sensors))
    values = np.einsum("df,fh,fs->dhs", size, forms, level).reshape(-1, sensors) + 0.05 * rng.standard_normal(
        (24 * days, sensors)
    )
    index = pd.date_range("2024-01-01", periods=24 * days, freq="h", name="when")
    whole = pd.DataFrame(values, index, [f"s{i}" for i in range(sensors)])
    return whole, whole.mask(rng.random(values.shape) < 0.35)


def test_folding_beats_interpolation_three_times():
    truth, table = seasonal()
    holes = table.isna().to_numpy()

    def rmse(x: pd.DataFrame) -> float:
        return float(np.sqrt(np.mean((x.to_numpy() - truth.to_numpy())[holes] ** 2)))

    # Whole days out: what interpolation cannot do.
    result = qrank.complete(table)
    assert result.folded.x.shape == (8, 24, 20)
    assert rmse(result.x) < rmse(table.interpolate(limit_direction="both")) / 3
    assert rmse(result.x) < 0.1  # twice the noise


def test_a_matrix_is_folded_by_a_number_of_rows():
    _, table = seasonal()
    matrix = table.to_numpy()
    result = qrank.complete(matrix, fold=24)
    assert isinstance(result.x, np.ndarray)
    assert result.x.shape == matrix.shape == result.error.shape == result.observed.shape == result.undetermined.shape
    known = ~np.isnan(matrix)
    np.testing.assert_array_equal(result.x[known], matrix[known])
    np.testing.assert_array_equal(result.x, qrank.complete(table, fold="1D").x.to_numpy())
    masked = qrank.complete(np.ma.masked_invalid(matrix), fold=24)
    np.testing.assert_array_equal(masked.x, result.x)
    with pytest.raises(InputError, match="this one has 3 axes"):
        qrank.complete(np.zeros((4, 4, 4)), fold=2)
    with pytest.raises(InputError, match="columns of a table"):
        qrank.complete(matrix, index="time")


def test_the_report_is_on_what_was_completed(tmp_path):
    _, table = seasonal(6)
    result = qrank.complete(table, effort="fast")
    result.report(tmp_path / "page.html")
    assert "8 × 24 × 6" in (tmp_path / "page.html").read_text()
