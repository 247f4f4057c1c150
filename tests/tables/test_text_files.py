"""Tables of text: whatever was known comes back byte for byte, whatever way it was written."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from qrank.errors import FileError, MissingExtra
from qrank.files import read, write
from qrank.tables import TextFrame
from qrank.tables.times import stamps

ODD = (
    "\ufeff# exported by a logger\r\n\r\n"
    'when;"site; name";a;b;note\r\n'
    '01.02.2024 00:00;"x ""y""";1,50; 2,0 ;é\r\n'
    "01.02.2024 01:00;z;NA;+3,25e0;\r\n"
    "01.02.2024 02:00;z;007,1;;\r\n"
)


@pytest.mark.parametrize(
    "text",
    [
        ODD,
        "a,b\n1,2\n",
        "a,b\n1,2",
        "1,2\n3,4\n",
        "a\tb\n1\t2\n",
        'a,b\n"1","x\ny"\n',
        "a|b\r1|2\r",
        '"a",b\n1.0,\n,2.50\n',
        "a\n1\n2\n",
        "t,a\n2024-01-01,1e5\n2024-01-02,-0.0\n2024-01-03,.5\n",
    ],
)
def test_a_file_comes_back_byte_for_byte(tmp_path, text):
    path, out = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_bytes(text.encode())
    loaded = read(path)
    write(out, loaded.data, like=loaded)
    assert out.read_bytes() == text.encode()


def test_bytes_that_are_no_text_of_ours_come_back(tmp_path):
    content = "ort,a,b\nMünchen,1,\nKöln,3,4\n".encode("latin-1")
    (tmp_path / "a.csv").write_bytes(content)
    loaded = read(tmp_path / "a.csv")
    write(tmp_path / "b.csv", np.where(np.isnan(loaded.data), 5, loaded.data), like=loaded)
    assert (tmp_path / "b.csv").read_bytes() == content.replace(b"1,\n", b"1,5\n")


def test_only_what_changed_is_written_anew():
    frame = TextFrame.parsed(ODD)
    assert frame.names == ["when", "site; name", "a", "b", "note"]
    assert frame.numbers == [2, 3]
    np.testing.assert_array_equal(frame.values(2), [1.5, np.nan, 7.1])
    np.testing.assert_array_equal(frame.values(3), [2, 3.25, np.nan])
    filled = frame.put({2: np.array([1.5, 2.123456789, 7.1]), 3: np.array([2, 3.25, 4.0])}).text
    assert filled == ODD.replace("NA", "2,12346").replace("007,1;;", "007,1;4;")
    found = frame.stamps(0)
    assert found is not None
    assert found[2] == np.datetime64("2024-02-01T02:00")


def test_filled_numbers_have_six_digits_or_the_decimals_of_their_column():
    frame = TextFrame.parsed("a,b\n1.12345678,3\n,\n")
    text = frame.put({0: np.array([1.12345678, 2 / 3]), 1: np.array([3, 1e-9])}).text
    assert text == "a,b\n1.12345678,3\n0.66666667,1e-09\n"


def test_which_columns_are_numbers():
    """An index of pandas, a count of rows, texts and empty columns are carried along; a year that is a number is one."""
    assert TextFrame.parsed(",a,b\n5,1,x\n9,2,y\n").numbers == [1]
    assert TextFrame.parsed("row,a,b\n1,1,\n2,2,\n3,9,\n").numbers == [1]
    assert TextFrame.parsed("a,b\n3,1\n1,2\n").numbers == [0, 1]
    assert TextFrame.parsed("a,b\n1_000,1\n2,2\n").numbers == [1]
    assert TextFrame.parsed("id,a\n0012,1\nA7,2\n").numbers == [1]


@pytest.mark.parametrize(
    ("cells", "second"),
    [
        (["2024-01-31", "2024-02-01"], "2024-02-01"),
        (["2024-01-31T23:00:00Z", "2024-02-01T00:00:00Z"], "2024-02-01T00:00"),
        (["2024-03-31T01:00+01:00", "2024-03-31T03:00+02:00"], "2024-03-31T02:00"),  # the clock of the first
        (["31.12.2023 23:00", "01.01.2024 00:00"], "2024-01-01T00:00"),
        (["01/30/2024", "01/31/2024"], "2024-01-31"),
        (["01/02/2024", "01/03/2024", "01/04/2024"], "2024-01-03"),  # days, for months are not equally long
        (["1/2/2024 1:00 PM", "1/2/2024 2:00 PM"], "2024-01-02T14:00"),
        (["2024/01/01 00:00:00", "2024/01/01 00:00:10"], "2024-01-01T00:00:10"),
    ],
)
def test_times_as_people_write_them(cells, second):
    found = stamps(cells)
    assert found is not None
    both = (np.datetime64(second), np.datetime64("2024-02-01T14:00") if "PM" in cells[0] else None)
    assert found[1] in both


@pytest.mark.parametrize("cells", [["3.5", "4.5"], ["a-b-c", "d"], ["", ""], ["2024-01-01", "x"], ["2024-13-01"] * 2])
def test_what_is_no_time(cells):
    assert stamps(cells) is None


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "no row"),
        (b"a,b\n", "no row below its header"),
        (b"a,b\n1,2\n3\n", "row 3 has 1 cells and the first row 2"),
        (b"a,b\nx,y\n", "no column of numbers"),
        (b"\x89PNG\0\0", "no text"),
    ],
)
def test_what_is_no_table_is_one_sentence(tmp_path, content, sentence):
    (tmp_path / "bad.csv").write_bytes(content)
    with pytest.raises(FileError, match=sentence) as caught:
        read(tmp_path / "bad.csv")
    assert "bad.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_format_to_another(tmp_path):
    (tmp_path / "a.csv").write_text('when,name,a,b\n2024-01-01,"x, y",1,2.5\n2024-01-02,z,,4\n')
    loaded = read(tmp_path / "a.csv")
    filled = np.where(np.isnan(loaded.data), 3, loaded.data)
    for name in ("b.parquet", "b.tsv", "b.npy"):
        write(tmp_path / name, filled, like=loaded)
        np.testing.assert_array_equal(read(tmp_path / name).data, filled)
    write(tmp_path / "c.csv", filled, like=read(tmp_path / "b.parquet"))
    assert (tmp_path / "c.csv").read_text().splitlines()[1] == '2024-01-01T00:00:00.000000000,"x, y",1,2.5'
    assert (tmp_path / "b.tsv").read_text() == "when\tname\ta\tb\n2024-01-01\tx, y\t1\t2.5\n2024-01-02\tz\t3\t4\n"


def test_parquet_keeps_its_schema(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    pandas = pytest.importorskip("pandas")
    given = pandas.DataFrame(
        {"a": pandas.array([1, None, 3], "Int16"), "b": [0.5, None, 2], "c": ["x", None, "z"]},
        index=pandas.DatetimeIndex(["2024-01-01", "2024-01-02", "2024-01-03"], name="day"),
    )
    given["b"] = given["b"].astype("float32")
    given.to_parquet(tmp_path / "a.parquet")
    loaded = read(tmp_path / "a.parquet")
    assert loaded.axes == ("time", "column")
    write(tmp_path / "b.parquet", np.where(np.isnan(loaded.data), 7.6, loaded.data), like=loaded)
    found = pandas.read_parquet(tmp_path / "b.parquet")
    pandas.testing.assert_frame_equal(found, given.assign(a=given["a"].fillna(8), b=given["b"].fillna(np.float32(7.6))))
    schemas = [parquet.read_schema(tmp_path / name) for name in ("a.parquet", "b.parquet")]
    assert schemas[0].equals(schemas[1], check_metadata=True)
    assert arrow.types.is_int16(schemas[1].field("a").type)


def test_arrays_of_other_shapes_are_no_tables(tmp_path):
    for name in ("a.csv", "a.parquet"):
        with pytest.raises(FileError, match="3 axes: choose another format"):
            write(tmp_path / name, np.zeros((2, 2, 2)))
        with pytest.raises(FileError, match="complex"):
            write(tmp_path / name, np.zeros((2, 2), complex))
        write(tmp_path / name, np.array([[0.1, np.nan], [2.0, 1e-300]]))
        np.testing.assert_array_equal(read(tmp_path / name).data, [[0.1, np.nan], [2.0, 1e-300]])


def test_a_part_of_the_rows(tmp_path):
    (tmp_path / "a.csv").write_text("t,a,b\n2024-01-01,1,2\n2024-01-02,3,\n2024-01-03,5,6\n")
    loaded = read(tmp_path / "a.csv", frames="1:3")
    write(tmp_path / "b.csv", np.nan_to_num(loaded.data), like=loaded)
    assert (tmp_path / "b.csv").read_text() == "t,a,b\n2024-01-02,3,0\n2024-01-03,5,6\n"


def test_without_its_package_parquet_is_one_sentence(tmp_path, monkeypatch):
    write(tmp_path / "a.parquet", np.ones((3, 3)))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for call in (lambda: read(tmp_path / "a.parquet"), lambda: write(tmp_path / "b.parquet", np.ones((3, 3)))):
        with pytest.raises(MissingExtra, match=r"parquet needs the package pyarrow: pip install 'qrank\[tables\]'"):
            call()
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,\n")
    assert read(tmp_path / "a.csv").data.shape == (2, 2)  # text needs nothing
