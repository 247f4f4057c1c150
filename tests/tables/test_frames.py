"""Tables of pandas and polars: the same kind comes back, with index, columns, dtypes and names; known cells are as they were."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.io
from polars.testing import assert_frame_equal as assert_polars_equal

import qrank
import qrank.pandas
from qrank.errors import InputError
from qrank.tables import frame_of, table_of

ROWS = 96
WAVE = 100 + 50 * np.sin(np.arange(ROWS) * 2 * np.pi / 24)
BIG = 2**53 + 1  # no float holds it


def holes(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(ROWS) < 0.2


def mixed() -> pd.DataFrame:
    whole = np.rint(WAVE).astype(int)
    return pd.DataFrame(
        {
            "f64": np.where(holes(0), np.nan, WAVE),
            "f32": np.where(holes(1), np.nan, 2 * WAVE).astype(np.float32),
            "Int64": pd.array(whole, "Int64"),
            "UInt8": pd.array(whole, "UInt8"),
            "Float64": pd.array(WAVE, "Float64"),
            "int32": whole.astype(np.int32),
            "name": [f"row {i}" for i in range(ROWS)],
            "kind": pd.Categorical(["a", "b"] * (ROWS // 2)),
            "flag": np.arange(ROWS) % 3 == 0,
            "when": pd.date_range("2020-01-01", periods=ROWS, freq="D"),
        },
        index=pd.date_range("2024-01-01", periods=ROWS, freq="h", tz="Europe/Vienna", name="time"),
    ).assign(
        **{
            name: lambda df, name=name, seed=seed: df[name].mask(holes(seed))
            for name, seed in (("Int64", 2), ("UInt8", 3), ("Float64", 4))
        }
    )


def check_same_but_holes(found: pd.DataFrame, given: pd.DataFrame) -> None:
    pd.testing.assert_index_equal(found.index, given.index)
    pd.testing.assert_index_equal(found.columns, given.columns)
    assert list(found.dtypes) == list(given.dtypes)
    pd.testing.assert_frame_equal(found.where(given.notna()), given.where(given.notna()))
    assert not found.isna().to_numpy().any()


def test_every_dtype_comes_back():
    given = mixed()
    before = given.copy(deep=True)
    result = qrank.complete(given, effort="fast")
    check_same_but_holes(result.x, given)
    pd.testing.assert_frame_equal(given, before)
    gaps = given["f64"].isna().to_numpy()
    assert np.abs(result.x["f64"].to_numpy() - WAVE)[gaps].max() < 2
    assert result.folded.x.shape == (6, 24, 4)
    np.testing.assert_array_equal(result.observed, given.iloc[:, :6].notna().to_numpy())


@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(ROWS),
        pd.Index([f"r{i}" for i in range(ROWS)], name="id"),
        pd.MultiIndex.from_product([range(4), range(24)], names=["day", "hour"]),
        pd.period_range("2024-01", periods=ROWS, freq="h"),
        pd.date_range("2024-01-01", periods=ROWS, freq="h")[::-1],
        pd.Index([0] * ROWS),
    ],
    ids=["range", "text", "multi", "period", "reversed", "repeated"],
)
def test_every_index_comes_back(index):
    given = mixed().set_axis(index)
    result = qrank.complete(given, effort="fast", fold=None if isinstance(index, pd.PeriodIndex) else "none")
    check_same_but_holes(result.x, given)


def test_columns_of_any_name_come_back():
    names = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["place", "depth"])
    table = pd.DataFrame(np.column_stack([WAVE, 2 * WAVE, 3 * WAVE]), columns=names).mask(
        np.column_stack([holes(0), holes(1), holes(2)])
    )
    check_same_but_holes(qrank.complete(table, fold=24, effort="fast").x, table)
    twice = table.set_axis(["a", "a", "b"], axis=1)
    check_same_but_holes(qrank.complete(twice, fold=24, effort="fast").x, twice)


def test_large_integers_are_not_sent_through_floats():
    table = pd.DataFrame({"a": pd.array([BIG, BIG + 2, None, BIG + 6], "Int64"), "b": [1, 2, 3, 4.0]})
    found = frame_of(table)
    assert found is not None
    back = found.put({0: np.where(np.arange(4) == 2, 7.6, found.values(0))}).given
    assert list(back["a"]) == [BIG, BIG + 2, 8, BIG + 6]


def test_errors_and_masks_are_tables_too():
    table = mixed()
    seen = table.notna()
    result = qrank.complete(table)
    pd.testing.assert_index_equal(result.error.index, table.index)
    assert result.error.iloc[:, :6].dtypes.map(lambda kind: kind.kind).eq("f").all()
    errors = result.error.iloc[:, :6].to_numpy()
    assert (errors[seen.iloc[:, :6].to_numpy()] == 0).all()
    assert (errors[~seen.iloc[:, :6].to_numpy()] > 0).all()
    hidden = seen.copy()
    hidden.iloc[5, 0] = False
    again = qrank.complete(table.fillna({"f64": -9999.0}), hidden, effort="fast")
    assert abs(again.x["f64"].iloc[5] - WAVE[5]) < 5
    with pytest.raises(InputError, match="observed has shape"):
        qrank.complete(table, np.ones((3, 3), bool))


def test_accessors():
    table = mixed()
    pd.testing.assert_frame_equal(table.qrank.complete(effort="fast").x, qrank.complete(table, effort="fast").x)
    series = table["Int64"]
    found = series.qrank.complete()
    assert isinstance(found.x, pd.Series)
    assert (found.x.name, found.x.dtype) == ("Int64", "Int64")
    assert np.abs(found.x.to_numpy(float) - WAVE).max() < 5
    assert isinstance(found.error, pd.Series)
    assert table.qrank.inspect().shape == (6, 24, 4)


def test_times_may_be_the_names_of_columns():
    table = pd.DataFrame(
        np.array([WAVE, 2 * WAVE, 3 * WAVE]), ["a", "b", "c"], pd.date_range("2024", periods=ROWS, freq="h")
    ).mask(np.array([holes(0), holes(1), holes(2)]))
    result = qrank.complete(table, effort="fast")
    assert result.folded.x.shape == (3, 24, 4)
    check_same_but_holes(result.x, table)


def test_polars_frames():
    given = pl.DataFrame(
        {
            "time": pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 4, 23), "1h", eager=True),
            "name": ["x"] * ROWS,
            "f": pl.Series(np.where(holes(0), np.nan, WAVE)).fill_nan(None),
            "g": pl.Series(np.where(holes(1), np.nan, WAVE), dtype=pl.Float32),
            "i": pl.Series([None if gap else round(x) for gap, x in zip(holes(2), WAVE, strict=True)], dtype=pl.Int16),
        }
    )
    result = qrank.complete(given)
    assert result.folded.x.shape == (3, 24, 4)
    assert result.x.schema == given.schema
    assert sum(result.x.null_count().row(0)) == 0
    known = {
        name: given[name].is_not_null() & ~given[name].cast(pl.Float64).is_nan().fill_null(False) for name in "fgi"
    }
    for name, there in known.items():
        assert_polars_equal(result.x.filter(there).select(name), given.filter(there).select(name))
        assert np.abs(result.x[name].cast(pl.Float64).to_numpy() - WAVE).max() < 3
    assert_polars_equal(result.x.select("time", "name"), given.select("time", "name"))
    assert result.error.schema["i"] == pl.Float64
    series = qrank.complete(given["i"], fold=24, effort="fast").x
    assert (series.name, series.dtype, series.null_count()) == ("i", pl.Int16, 0)


def test_whole_tables_come_back_unchanged():
    given = mixed().dropna()
    result = qrank.complete(given)
    pd.testing.assert_frame_equal(result.x, given)
    assert result.status is qrank.Status.COMPLETE


def test_counts_are_not_negative_and_whole_where_asked():
    rng = np.random.default_rng(0)
    counts = pd.DataFrame(rng.poisson(0.4, (60, 6)) * 7.0).mask(rng.random((60, 6)) < 0.4)
    gaps = counts.isna().to_numpy()
    free = qrank.complete(counts, bounds=(None, None), method="vmtqn").x.to_numpy()
    assert free[gaps].min() < 0  # or this would test nothing
    assert qrank.complete(counts, method="vmtqn").x.to_numpy()[gaps].min() >= 0
    whole = qrank.complete(counts, method="vmtqn", integer=True, bounds=(0.5, 6.5)).x.to_numpy()[gaps]
    assert set(whole) <= {1, 2, 3, 4, 5, 6}
    array = qrank.complete(counts.to_numpy(), method="vmtqn", integer=True).x
    assert (array == np.rint(array)).all()
    assert array[gaps].min() < 0  # arrays are no tables: nobody says that they hold counts


def test_tables_without_numbers_are_one_sentence():
    with pytest.raises(InputError, match="no column of numbers"):
        qrank.complete(pd.DataFrame({"a": ["x", "y"]}))


def long_table(order: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A long table of which rows lack, and the one with all of them."""
    times = pd.date_range("2024-01-01", periods=ROWS, freq="h")
    whole = pd.DataFrame(
        [(t, f"s{s}", ("north", "south")[s % 2], (s + 1) * WAVE[k]) for k, t in enumerate(times) for s in range(4)],
        columns=["time", "sensor", "side", "value"],
    )
    if order == "by sensor":
        whole = whole.sort_values(["sensor", "time"], kind="stable").reset_index(drop=True)
    if order == "latest first":
        whole = whole.sort_values("time", ascending=False, kind="stable").reset_index(drop=True)
    some = whole[np.random.default_rng(0).random(len(whole)) < 0.8].reset_index(drop=True)
    return some, whole


@pytest.mark.parametrize("order", ["by time", "by sensor", "latest first"])
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_long_tables_get_all_rows_in_their_order(order, kind):
    some, whole = long_table(order)
    given = some if kind == "pandas" else pl.from_pandas(some)
    result = qrank.complete(given, index="time", columns="sensor", values="value", effort="fast")
    found = result.x if kind == "pandas" else result.x.to_pandas()
    pd.testing.assert_frame_equal(
        found.drop(columns="value"), whole.drop(columns="value"), check_dtype=kind == "pandas"
    )
    assert np.abs(found["value"] - whole["value"]).max() < 10
    joined = found.merge(some, on=["time", "sensor"])
    assert (joined["value_x"] == joined["value_y"]).all()
    assert result.folded.x.shape == (4, 24, 4)


def test_long_tables_in_no_order_keep_their_rows_first():
    some, whole = long_table("by time")
    mixed_up = some.sample(frac=1, random_state=0)
    found = qrank.complete(mixed_up, index="time", columns="sensor", values="value", effort="fast").x
    pd.testing.assert_frame_equal(found.iloc[: len(some)], mixed_up.reset_index(drop=True))
    assert len(found) == len(whole)
    assert not found.isna().to_numpy().any()


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (("time", "sensor", None), "a long table needs index, columns and values"),
        (("time", "sensr", "value"), "did you mean 'sensor'"),
        (("time", "sensor", "side"), "'side' holds no numbers"),
        (("time", "time", "value"), "three different columns"),
        (("side", "sensor", "value"), r"has [\d.]+ and [\d.]+ for north, s0, which must have one value"),
    ],
)
def test_long_tables_that_are_none(names, sentence):
    frame = frame_of(long_table("by time")[0])
    assert frame is not None
    with pytest.raises(InputError, match=sentence):
        table_of(frame, *names)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_rows_that_say_the_same_twice_count_once(kind):
    some, whole = long_table("by time")
    again = some.iloc[[0, 5, 9]]
    empty = some.iloc[[7]].assign(value=np.nan)  # one of the two knows the value
    given = pd.concat([some.iloc[:7], empty, some.iloc[7:], again], ignore_index=True)
    given = given if kind == "pandas" else pl.from_pandas(given)
    names = {"index": "time", "columns": "sensor", "values": "value", "effort": "fast"}
    once, twice = (qrank.complete(one, **names).x for one in (some, given))
    twice = twice if kind == "pandas" else twice.to_pandas()
    assert len(twice) == len(whole)
    np.testing.assert_array_equal(
        twice.sort_values(["time", "sensor"])["value"], once.sort_values(["time", "sensor"])["value"]
    )


def test_without_pandas_the_accessor_is_one_sentence():
    code = "import sys; sys.modules['pandas'] = None\ntry:\n    import qrank.pandas\nexcept ImportError as error:\n    print(error)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "the accessor of pandas needs the package pandas: pip install 'qrank[tables]'\n"


@pytest.mark.data
def test_the_metro_of_hangzhou_by_the_hour(data):
    """Passengers of 80 stations: folded, what is missing is found several times better than by straight lines."""
    counts = scipy.io.loadmat(data / "traffic" / "hangzhou-metro.mat")["tensor"].astype(float)
    hours = counts.reshape(80, 25, 18, 6).sum(-1).transpose(1, 2, 0).reshape(-1, 80)
    times = pd.date_range("2019-01-01T06:00", periods=25 * 24, freq="h")
    whole = pd.DataFrame(hours, times[times.hour >= 6][: 25 * 18])
    hidden = np.random.default_rng(0).random(whole.shape) < 0.4
    holes = whole.mask(hidden)

    def rmse(x: pd.DataFrame) -> float:
        return float(np.sqrt(np.mean((x - whole).to_numpy()[hidden] ** 2)))

    result = qrank.complete(holes, effort="fast")
    assert result.folded.x.shape == (80, 18, 25)
    assert rmse(result.x) < rmse(holes.interpolate(limit_direction="both")) / 4
    assert rmse(result.x) < 0.8 * rmse(qrank.complete(holes, fold="none", effort="fast").x)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_mask_that_is_a_table_goes_by_its_names(kind):
    """By position, known values of one column would have been taken for missing ones of another."""
    values = {name: np.arange(8.0) * (k + 1) + k for k, name in enumerate("abc")}
    known = {name: np.random.default_rng(k).random(8) < 0.6 for k, name in enumerate("abc")}
    table, mask = kind(values), kind(known)
    plain = qrank.complete(table, np.column_stack(list(known.values())), method="tnn").observed
    np.testing.assert_array_equal(plain, np.column_stack(list(known.values())))
    np.testing.assert_array_equal(qrank.complete(table, mask[["c", "a", "b"]], method="tnn").observed, plain)
    other = mask.rename(columns={"a": "z"}) if kind is pd.DataFrame else mask.rename({"a": "z"})
    with pytest.raises(InputError, match="other columns than the table"):
        qrank.complete(table, other, method="tnn")
    if kind is pd.DataFrame:
        np.testing.assert_array_equal(qrank.complete(table, mask[::-1], method="tnn").observed, plain)
        series = qrank.complete(table["a"], mask["a"][::-1], method="interpolate").observed
        np.testing.assert_array_equal(np.ravel(series), known["a"])
        with pytest.raises(InputError, match="other rows than the table"):
            qrank.complete(table, mask.set_axis(range(1, 9)), method="tnn")


@pytest.mark.parametrize("mask", [np.full((8, 3), "False"), np.full((8, 3), np.nan), np.full((8, 3), 1)])
def test_a_mask_of_a_table_is_of_truth_values(mask):
    """Every word is true, and so is NaN: nothing would have been missing."""
    table = pd.DataFrame(np.add.outer(np.arange(8.0), np.arange(3)))
    for y, fold in ((table, None), (table.to_numpy(), 4)):
        with pytest.raises(qrank.KindError, match="observed must be boolean"):
            qrank.complete(y, mask, method="tnn", fold=fold)
    words = np.full((8, 3), True, object)
    assert qrank.complete(table, words, method="tnn").observed.all()


def test_units_at_the_ends_of_the_range(recwarn):
    """Squares of 1e300 are no numbers: filled cells of such a column were NaN, and the run said to have settled."""
    x = np.add.outer(np.arange(12.0), np.arange(5.0)) + 1
    gone = np.random.default_rng(0).random(x.shape) < 0.3
    table = pd.DataFrame(np.where(gone, np.nan, x * [1e300, 1e-300, 1, 1, 1]))
    found = qrank.complete(table, method="vmtqn")
    assert found.units is not None
    assert np.isfinite(found.x).all(axis=None)
    assert np.abs(found.x / [1e300, 1e-300, 1, 1, 1] - x).max(axis=None) < 4
    with pytest.raises(InputError, match="observed but inf"):
        qrank.complete(table.fillna(np.inf), method="vmtqn")
    assert not [str(one) for one in recwarn if one.category is RuntimeWarning]


def test_sparse_columns_come_back_full():
    x = np.add.outer(np.arange(8.0), np.arange(3))
    x[2, 1] = np.nan
    found = qrank.complete(pd.DataFrame(x).astype(pd.SparseDtype(float, np.nan)), method="tnn").x
    np.testing.assert_array_equal(found, qrank.complete(pd.DataFrame(x), method="tnn").x)


def test_tables_of_nothing_and_of_too_much(monkeypatch):
    with pytest.raises(InputError, match="the table has no row"):
        qrank.complete(pd.DataFrame({"a": np.zeros(0), "b": np.zeros(0)}))
    monkeypatch.setattr("qrank.tables.table.free_memory", lambda: 10**6)
    numbers = np.arange(1000)
    table = pd.DataFrame({"id": numbers, "stamp": numbers, "value": 1.0})
    with pytest.raises(qrank.TooLarge, match="1000 x 1000, 8 MB, and 1 MB are free: are these its index and columns"):
        qrank.complete(table, index="id", columns="stamp", values="value")
