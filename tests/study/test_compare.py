"""compare(): the same masks for all, finished runs kept, the table in its forms."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import qrank
from qrank.data import low_q_rank, observed
from qrank.study.compare import compare

X = low_q_rank((14, 12, 8), r=2, rng=0)


def test_rows_are_what_complete_gives():
    table = compare(X, ["vmtqn", "slicewise"], [0.5], draws=2)
    assert [(r["method"], r["draw"]) for r in table.rows] == [
        ("vmtqn", 0), ("slicewise", 0), ("vmtqn", 1), ("slicewise", 1),
    ]  # fmt: skip
    known = observed(X.shape, 0.5, rng=np.random.default_rng([0, 1, round(0.5e9)]))
    alone = qrank.complete(X, known, "vmtqn")
    assert table.rows[2]["psnr"] == pytest.approx(qrank.metrics.psnr(alone.x, X))
    assert table.rows[2]["psnr"] != table.rows[0]["psnr"]


def test_learning_wins_on_the_papers_tensor():
    table = compare(X, ["vmtqn", "tnn"], [0.8], draws=1)
    assert table.best(0.8) == "vmtqn"
    with pytest.raises(qrank.InputError, match="no rate"):
        table.best(0.1)


def test_second_start_runs_only_what_is_new(tmp_path, monkeypatch):
    module = __import__("sys").modules["qrank.study.compare"]
    ran = []
    honest = module._run
    monkeypatch.setattr(module, "_run", lambda *a: ran.append(a[2].name) or honest(*a))
    first = compare(X, ["tnn"], [0.5], draws=1, folder=tmp_path)
    again = compare(X, ["tnn", "slicewise"], [0.5], draws=1, folder=tmp_path)
    assert ran == ["tnn", "slicewise"]
    assert again.rows[0] == first.rows[0]
    compare(X, ["tnn"], [0.5], draws=1, folder=tmp_path, options={"max_steps": 4})  # another option: another run
    compare(X + 1, ["tnn"], [0.5], draws=1, folder=tmp_path)  # other data, too
    assert ran == ["tnn", "slicewise", "tnn", "tnn"]


def test_a_broken_cell_is_run_again(tmp_path):
    first = compare(X, ["tnn"], [0.5], draws=1, folder=tmp_path)
    (cell,) = (tmp_path / "cells").glob("*.json")
    cell.write_text(cell.read_text()[:30])
    again = compare(X, ["tnn"], [0.5], draws=1, folder=tmp_path)
    assert again.rows[0]["psnr"] == first.rows[0]["psnr"]
    assert json.loads(cell.read_text())["method"] == "tnn"


def test_interrupted_runs_are_kept(tmp_path):
    def stop(row, count, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(X, ["tnn", "slicewise"], [0.5], draws=1, folder=tmp_path, on_row=stop)
    assert len(list((tmp_path / "cells").glob("*.json"))) == 1


def test_exact_recovery_survives_json(tmp_path):
    x = np.ones((8, 8, 4))
    for _ in range(2):
        table = compare(x, ["slicewise"], [0.99], draws=1, folder=tmp_path)
        assert table.rows[0]["psnr"] > 60


def test_mask_and_truth():
    mask = observed(X.shape, 0.6, "blocks", rng=0)
    table = compare(X, ["tqn-oracle"], pattern=mask)
    (row,) = table.rows
    assert row["pattern"] == "mask"
    assert row["rate"] == pytest.approx(mask.mean(), abs=1e-6)


def test_table_forms(tmp_path):
    table = compare(X, ["tnn", "slicewise"], [0.3, 0.6], draws=1)
    frame = table.to_pandas() if __import__("importlib").util.find_spec("pandas") else None
    assert frame is None or list(frame["method"]) == [row["method"] for row in table.rows]
    text = table.to_markdown()
    assert text.splitlines()[0] == "| PSNR, dB | 0.3 | 0.6 |"
    assert text.count("**") == 4
    assert "<b>" in table._repr_html_()
    rows = list(csv.DictReader(table.to_csv().splitlines()))
    assert float(rows[0]["psnr"]) == table.rows[0]["psnr"]
    pytest.importorskip("matplotlib")
    paths = table.save(tmp_path / "out")
    assert [path.name for path in paths] == ["table.csv", "table.md", "curves.svg", "curves.png", "index.html"]
    assert all(path.stat().st_size > 100 for path in paths)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"methods": ["tn"]}, "did you mean"),
        ({"methods": []}, "at least one method"),
        ({"rates": [0.5, 1.5]}, "rates are shares"),
        ({"draws": 0}, "at least one draw"),
        ({"pattern": "spots"}, "unknown pattern"),
        ({"pattern": np.ones((2, 2), bool)}, "of shape"),
        ({"pattern": np.ones(X.shape, bool)}, "hides nothing"),
        ({"options": {"colour": 1}}, "has an option 'colour'"),
    ],
)
def test_bad_input_is_one_sentence(how, says):
    with pytest.raises(qrank.InputError, match=says):
        compare(X, **{"methods": ["tnn"], **how})


def test_data_with_holes_are_refused():
    holed = X.copy()
    holed[0, 0, 0] = np.nan
    with pytest.raises(qrank.InputError, match="1 of 1344 entries"):
        compare(holed, ["tnn"])


def test_command(tmp_path):
    pytest.importorskip("typer")
    pytest.importorskip("matplotlib")
    from typer.testing import CliRunner

    from qrank.cli.app import app

    np.save(tmp_path / "x.npy", X)
    words = ["compare", tmp_path / "x.npy", "--rates", "0.5", "--methods", "tnn,slicewise", "--draws", 1, "-o"]
    words += [tmp_path / "out", "--pattern", "fibres", "--option", "tnn.max_steps=5", "--json"]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert [row["pattern"] for row in told["rows"]] == ["fibres", "fibres"]
    assert told["rows"][0]["steps"] == 5
    assert (tmp_path / "out" / "index.html").exists()
    np.save(tmp_path / "mask.npy", np.eye(14, 12)[:, :, None] * np.ones(8))
    words = ["compare", tmp_path / "x.npy", "--methods", "tnn", "--pattern", f"mask:{tmp_path / 'mask.npy'}", "-o"]
    words += [tmp_path / "masked", "--json"]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["rows"][0]["rate"] == pytest.approx(1 - 1 / 14, abs=1e-5)
    refused = CliRunner().invoke(app, [str(word) for word in [*words, "--rates", "0.5"]])
    assert refused.exit_code == 2
    assert "leave --rates out" in refused.stderr
