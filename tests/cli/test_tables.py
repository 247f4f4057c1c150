"""``qrank fill`` and ``inspect`` on tables."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli.calling import call, one_line

DAYS, SENSORS = 6, 4


def counts() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    hours = 30 + 25 * np.sin(np.arange(24) / 24 * 2 * np.pi)
    whole = np.einsum("d,h,s->dhs", rng.uniform(0.5, 1.5, DAYS), hours, [1, 2, 3, 4]).reshape(-1, SENSORS)
    return np.rint(whole), rng.random(whole.shape) < 0.25


@pytest.fixture
def table(tmp_path):
    """An hourly table that begins at five and ends at three."""
    values, holes = counts()
    with (tmp_path / "t.csv").open("w") as file:
        file.write("time,place," + ",".join(f"s{i}" for i in range(SENSORS)) + "\n")
        for row in range(5, len(values) - 21):
            cells = ("" if gap else f"{x:.1f}" for x, gap in zip(values[row], holes[row], strict=True))
            file.write(f"2024-01-{row // 24 + 1:02d} {row % 24:02d}:00,here," + ",".join(cells) + "\n")
    return tmp_path / "t.csv"


def cells(path) -> np.ndarray:
    return np.array([line.split(",") for line in path.read_text().splitlines()])


def test_a_table_is_folded_by_the_day_and_its_known_cells_are_as_they_were(table, tmp_path):
    said = call("fill", table, "-o", tmp_path / "whole.csv", "--effort", "fast").output
    assert "rows of 1 h are folded by the day: 24 times of day x 6 days, 26 of them without a row (guessed" in said
    assert "filled ones are cut at 0" in said
    before, after = cells(table), cells(tmp_path / "whole.csv")
    holes = before == ""
    assert f"missing: {holes.sum()} of {before[1:, 2:].size} entries" in said
    np.testing.assert_array_equal(before[~holes], after[~holes])
    truth = counts()[0][5:-21]
    assert np.abs(after[1:, 2:].astype(float) - truth).max() < 3  # rounding, mostly


def test_other_folds_and_whole_numbers(table, tmp_path):
    facts = {}
    for fold in ("none", "24", "12h", "day"):
        words = ("--fold", fold, "--integer", "--max", 90, "--effort", "fast", "--json")
        facts[fold] = json.loads(call("fill", table, "-o", tmp_path / "w.csv", *words).stdout)
        filled = cells(tmp_path / "w.csv")[cells(table) == ""].astype(float)
        assert (filled == np.rint(filled)).all()
        assert filled.max() <= 90
    assert facts["none"]["shape"] == [118, SENSORS]
    assert facts["24"]["shape"] == [SENSORS, 24, 5]
    assert facts["12h"]["shape"] == [SENSORS, 12, 11]
    assert facts["day"]["axes"] == ["column", "time of day", "day"]
    assert len({fact["missing"] for fact in facts.values()}) == 1  # what pads is not counted


def test_axes_of_a_folded_table_have_names(table, tmp_path):
    words = ("--slice-axes", "column,time of day", "--method", "vmtqn", "--json")
    assert json.loads(call("fill", table, "-o", tmp_path / "w.csv", *words).stdout)["slice_axes"] == [0, 1]


def test_masks_and_missing_values_of_tables(table, tmp_path):
    text = table.read_text()
    table.write_text(text.replace(",,", ",-9999,").replace(",\n", ",-9999\n").replace(",,", ",-9999,"))
    mask = np.zeros((118, SENSORS), np.uint8)
    mask[3, 1] = 1
    np.save(tmp_path / "mask.npy", mask)
    words = ("--missing-value", -9999, "--mask", tmp_path / "mask.npy", "--effort", "fast")
    call("fill", table, "-o", tmp_path / "w.csv", *words)
    after = cells(tmp_path / "w.csv")
    assert not (after == "-9999").any()
    changed = after != cells(table)
    assert changed[4, 3]
    assert changed.sum() == (cells(table) == "-9999").sum() + (cells(table)[4, 3] != "-9999")


def test_long_tables(table, tmp_path):
    wide = cells(table)
    rows = [(row[0], wide[0, k], row[k]) for row in wide[1:] for k in range(2, 6) if row[k]]
    (tmp_path / "long.csv").write_text("\n".join(map(",".join, [("time", "sensor", "value"), *rows])) + "\n")
    names = ("--index", "time", "--columns", "sensor", "--values", "value", "--effort", "fast")
    call("fill", tmp_path / "long.csv", "-o", tmp_path / "w.csv", *names)
    found = cells(tmp_path / "w.csv")
    assert len(found) == 1 + 118 * SENSORS
    assert [tuple(row) for row in found[1:] if tuple(row) in set(rows)] == rows
    call("fill", table, "-o", tmp_path / "wide.csv", "--effort", "fast")
    np.testing.assert_array_equal(cells(tmp_path / "wide.csv")[1:, 2:].reshape(-1), found[1:, 2])
    said = call("inspect", tmp_path / "long.csv", *names[:6]).output
    assert "4 sensor x 24 time of day x 6 day" in said


def test_columns_of_different_sizes_are_told(tmp_path):
    rng = np.random.default_rng(0)
    for factor, told in ((5, False), (2000, True)):
        rows = (f"{a:.5f},{b:.5f}" for a, b in rng.random((30, 2)) * [1, factor])
        (tmp_path / "a.csv").write_text("a,b\n" + "\n".join(rows) + "\n,\n")
        said = call("fill", tmp_path / "a.csv", "-o", tmp_path / "b.csv", "--effort", "fast").output
        assert ("times more than others" in said) == told
        assert "not folded: its rows have no time stamps" in said


def test_inspect(table):
    said = call("inspect", table).output
    assert "4 column x 24 time of day x 6 day" in said
    assert "slices: " in said


def test_tables_that_cannot_be_folded_say_why(table, tmp_path):
    lines = table.read_text().splitlines()
    for spoilt, sentence in (
        ([*lines, lines[-1]], "2024-01-06T02:00:00 occurs twice"),
        ([*lines, lines[-1].replace("02:00", "02:35")], "not whole multiples"),
    ):
        table.write_text("\n".join(spoilt) + "\n")
        assert sentence in one_line(call("fill", table, "-o", tmp_path / "w.csv", "--fold", "day", code=2))
        said = call("fill", table, "-o", tmp_path / "w.csv", "--effort", "fast").output
        assert "the table is not folded: its time stamps are not regular" in said
    np.save(tmp_path / "a.npy", np.zeros((4, 4)))
    for words in (("--fold", "day"), ("--index", "time")):
        assert "is no table" in one_line(call("fill", tmp_path / "a.npy", "-o", tmp_path / "b.npy", *words, code=2))
    assert "did you mean 'time'" in one_line(call("fill", table, "-o", tmp_path / "b.csv", "--index", "tme", code=2))


def test_pictures_say_that_they_are_cut(tmp_path):
    from qrank.files import write

    write(tmp_path / "a.png", np.random.default_rng(0).integers(0, 256, (20, 20), dtype=np.uint8))
    said = call("fill", tmp_path / "a.png", "-o", tmp_path / "b.png", "--drop", 0.3, "--effort", "fast").output
    assert "filled values are cut to the range of uint8, 0 to 255" in said


@pytest.mark.parametrize("cell", ["1 000", "1_000", "0x10", '"1,000.5"', "3*", "<0.5"])
def test_a_column_that_is_not_filled_for_a_cell_of_it_is_told(cell, tmp_path):
    """It came back with its gaps, and nothing was said."""
    (tmp_path / "t.csv").write_text(f"a,b,c,when\n{cell},2,x,2024-01-01\n,3,,\n4,5,y,2024-01-03\n7,,z,2024-01-04\n")
    said = call("fill", tmp_path / "t.csv", "-o", tmp_path / "o.csv", "--method", "tnn").output
    bare = cell.strip('"')
    assert f"the column 'a' has empty cells and is NOT filled: '{bare}' in it is no number" in said.replace("\n", " ")
    assert said.count("NOT filled") == 1
    assert (tmp_path / "o.csv").read_text().startswith(f"a,b,c,when\n{cell},2,x")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n,3\n4,5\n")
    assert "NOT filled" not in call("fill", tmp_path / "t.csv", "-o", tmp_path / "o.csv", "--method", "tnn").output


def test_a_long_table_that_is_not_named_as_one_is_recognised(tmp_path):
    rows = [f"2024-01-{day:02d},s{k},{day + k}" for day in range(1, 20) for k in range(4) if (day + k) % 5]
    (tmp_path / "long.csv").write_text("when,sensor,value\n" + "\n".join(rows + rows[:3]) + "\n")
    said = call("fill", tmp_path / "long.csv", "-o", tmp_path / "w.csv").output
    assert "the same times come again and again" in said
    assert "--index time --columns sensor --values value" in said
    words = ("--index", "when", "--columns", "sensor", "--values", "value", "--effort", "fast")
    said = call("fill", tmp_path / "long.csv", "-o", tmp_path / "w.csv", *words).output
    assert "3 rows say again what another row says" in said
    assert "again and again" not in said
    assert len(cells(tmp_path / "w.csv")) == 1 + 19 * 4


def test_a_table_of_regular_times_is_not_taken_for_a_long_one(table, tmp_path):
    assert "again and again" not in call("fill", table, "-o", tmp_path / "w.csv", "--fold", "none").output
