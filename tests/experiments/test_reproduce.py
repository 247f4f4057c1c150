"""The paper's experiments: readers of the published formats, resumable grids, tables beside the paper's numbers."""

from __future__ import annotations

import csv
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import qrank
from qrank.cli.app import app
from qrank.errors import FileError, InputError
from qrank.experiments import PLANS, Size, Store, figures, page, plans, sources, spectra, tables
from qrank.experiments import run as run_grid
from qrank.experiments.cells import COLUMNS, Cell, observed, run
from qrank.experiments.grid import adopt, rows
from qrank.penalties import LogSum, Nuclear

runner = CliRunner()


class Silent:
    """Remembers what it was told."""

    def __init__(self):
        self.todo, self.there, self.steps, self.done = [], 0, [], []

    def planned(self, todo, there):
        self.todo, self.there = list(todo), there

    def stepped(self, cell, step, residual):
        self.steps.append((cell, step, residual))

    def finished(self, cell, numbers):
        self.done.append(cell)


SMALL = [
    Cell("synthetic-20", method, p, draw, r=2) for method in ("vmtqn", "tnn") for p in (0.5, 0.8) for draw in (0, 1)
]


# --- readers


@pytest.fixture
def cifar_folder(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "cifar-10-batches-bin").mkdir()
    pixels = rng.integers(0, 256, (40, 3, 32, 32), dtype=np.uint8)
    for i, part in enumerate((pixels[:25], pixels[25:]), 1):
        records = np.concatenate([np.full((len(part), 1), i, np.uint8), part.reshape(len(part), -1)], axis=1)
        records.tofile(tmp_path / "cifar-10-batches-bin" / f"data_batch_{i}.bin")
    return tmp_path, pixels


def test_cifar_is_read_from_the_binary_version(cifar_folder):
    folder, pixels = cifar_folder
    x = sources.cifar(folder, 30)
    assert x.shape == (30, 32, 32)
    grey = np.tensordot([0.299, 0.587, 0.114], pixels / 255, (0, 1))
    for picture in x[:5]:  # each of them is one of the images, as it was
        assert np.abs(grey - picture).max(axis=(1, 2)).min() < 1e-12
    assert len(np.unique(x.reshape(30, -1), axis=0)) == 30


def test_cifar_takes_the_grey_copies_where_the_batches_are_too_small(cifar_folder):
    folder, _ = cifar_folder
    with pytest.raises(FileError, match="50 images of CIFAR-10 are not in"):
        sources.cifar(folder, 50)
    np.savez(folder / "cifar10-gray-10000-jpeg.npz", images=np.full((60, 32, 32), 51, np.uint8))
    assert sources.cifar(folder, 50)[0, 0, 0] == 0.2


def test_a_batch_of_the_wrong_length_is_named(cifar_folder):
    folder, _ = cifar_folder
    with (folder / "cifar-10-batches-bin" / "data_batch_2.bin").open("ab") as file:
        file.write(b"x")
    with pytest.raises(FileError, match=r"data_batch_2\.bin is not of CIFAR-10's binary version"):
        sources.cifar(folder, 10)


@pytest.fixture
def coil_folder(tmp_path):
    from PIL import Image

    inside = tmp_path / "coil-20-proc"
    inside.mkdir()
    for thing in (1, 2, 10):
        for view in (0, 1, 11):
            Image.fromarray(np.full((4, 4), 10 * thing + view, np.uint8)).save(inside / f"obj{thing}__{view}.png")
    return tmp_path


def test_coil_is_read_from_its_folder_or_zip_in_the_order_of_objects_and_views(coil_folder, tmp_path_factory):
    x = sources.coil(coil_folder)
    assert (x[:, 0, 0] * 255).round().tolist() == [10, 11, 21, 20, 21, 31, 100, 101, 111]
    other = tmp_path_factory.mktemp("zipped")
    with zipfile.ZipFile(other / "coil-20-proc.zip", "w") as archive:
        for path in (coil_folder / "coil-20-proc").iterdir():
            archive.write(path, f"coil-20-proc/{path.name}")
    np.testing.assert_array_equal(sources.coil(other), x)
    (other / "coil-20-proc.zip").write_bytes(b"PK no zip")
    with pytest.raises(FileError, match="download it again"):
        sources.coil(other)


def test_a_clip_is_found_anywhere_under_the_folder(tmp_path):
    frames = np.random.default_rng(0).integers(0, 256, (5, 16, 24, 3), dtype=np.uint8)
    (tmp_path / "hmdb51" / "wave").mkdir(parents=True)
    qrank.write(tmp_path / "hmdb51" / "wave" / "some.avi", frames)
    x = sources.clip(tmp_path, "some.avi")
    assert x.shape == (5, 16, 24)
    assert 0 <= x.min() <= x.max() <= 1
    with pytest.raises(FileError, match=r"the clip other\.avi of HMDB51 is not in .*: download"):
        sources.clip(tmp_path, "other.avi")


@pytest.mark.parametrize(("name", "page"), [("coil", "softlib/coil-20"), ("balloons", "CAVE"), ("video", "hmdb51")])
def test_a_missing_data_set_says_what_to_download(tmp_path, name, page):
    sources.load.cache_clear()
    with pytest.raises(FileError, match=page) as caught:
        sources.load(name, tmp_path)
    assert "\n" not in str(caught.value)


def test_data_folders_that_are_none():
    with pytest.raises(InputError, match="--data DIR"):
        sources.load("coil", None)
    with pytest.raises(FileError, match="there is no folder"):
        sources.load("coil", Path("nowhere at all"))


# --- cells


def test_the_mask_does_not_depend_on_the_method_and_not_on_the_values():
    a, b = Cell("synthetic-20", "tnn", 0.3, 1, r=2), Cell("synthetic-20", "vmtqn", 0.3, 1, r=2)
    np.testing.assert_array_equal(observed(a, (20, 20, 20)), observed(b, (20, 20, 20)))
    x = sources.truth("synthetic-20", None, 20, 1)
    known = observed(a, x.shape)
    assert abs(np.abs(x[known]).mean() / np.abs(x[~known]).mean() - 1) < 0.05


def test_a_followed_run_is_the_plain_one():
    plain = run(Cell("synthetic-20", "vmtqn", 0.6, r=3), None).numbers
    followed = run(Cell("synthetic-20", "vmtqn", 0.6, r=3, curve=True), None).numbers
    assert followed["steps"] == plain["steps"] == len(followed["curve"]) == len(followed["stamps"])
    assert followed["psnr"] == pytest.approx(plain["psnr"], abs=1e-6)
    assert followed["curve"][-1] == pytest.approx(followed["psnr"], abs=1e-6)
    assert followed["status"] == plain["status"] == "SETTLED"


def test_a_cell_tells_all_that_made_it():
    found = run(Cell("synthetic-20", "tqn-oracle", 0.6, 3, '{"preset": "paper"}', 3, pictures=True), None)
    assert {"settings", "versions", "seed", "fingerprint", "threads"} <= set(found.numbers)
    assert "rho=1.1" in found.numbers["settings"]
    assert found.numbers["seed"] == 3
    assert json.loads(json.dumps(found.numbers)) == found.numbers
    assert found.pictures["x"].shape == (4, 20, 20)


# --- grids


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_grid_is_run_once_and_taken_up_again(tmp_path, jobs):
    store, first, second = Store(tmp_path), Silent(), Silent()
    run_grid(SMALL[:3], store, None, jobs=jobs, watcher=first)
    assert sorted(c.key for c in first.done) == sorted(c.key for c in SMALL[:3])
    assert first.steps
    run_grid(SMALL, store, None, jobs=jobs, watcher=second)
    assert second.there == 3
    assert sorted(c.key for c in second.todo) == sorted(c.key for c in SMALL[3:])
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".json"}


def test_processes_find_what_one_process_finds(tmp_path):
    one, two = Store(tmp_path / "1"), Store(tmp_path / "2")
    run_grid(SMALL[:2], one, None, jobs=1, watcher=Silent())
    run_grid(SMALL[:2], two, None, jobs=2, watcher=Silent())
    for cell in SMALL[:2]:
        a, b = one.load(cell), two.load(cell)
        assert a is not None
        assert b is not None
        assert a["psnr"] == pytest.approx(b["psnr"], abs=1e-6)


def test_other_settings_and_broken_files_are_run_again(tmp_path):
    store, cell = Store(tmp_path), SMALL[0]
    run_grid([cell], store, None, watcher=Silent())
    kept = json.loads(store.path(cell).read_text())
    store.path(cell).write_text(json.dumps({**kept, "settings": "vmtqn(rho=9)"}))
    assert store.load(cell) is None
    store.path(cell).write_text('{"cell": ')
    assert store.load(cell) is None
    run_grid([cell], store, None, watcher=Silent())
    assert store.load(cell) is not None


def test_cells_are_taken_up_from_a_csv_file(tmp_path):
    """What is in the file, with today's settings, is not run again; pictures are not in it, so those are."""
    store, cell = Store(tmp_path / "one"), SMALL[0]
    run_grid(SMALL[:2], store, None, watcher=Silent())
    table = tmp_path / "cells.csv"
    found = rows(store, SMALL)
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows([found[0], {**found[1], "settings": "vmtqn(rho=9)"}])
    other = Store(tmp_path / "two")
    assert adopt(other, SMALL, table) == 1
    assert rows(other, SMALL) == found[:1]
    assert other.load(replace(cell, pictures=True)) is None
    assert adopt(other, SMALL, table) == 0
    assert adopt(other, SMALL, tmp_path / "none.csv") == 0
    table.write_text("not,a\ntable,of cells\n")
    assert adopt(Store(tmp_path / "three"), SMALL, table) == 0


def test_other_data_are_run_again(tmp_path, monkeypatch):
    data = {"x": np.random.default_rng(0).random((6, 8, 9))}
    monkeypatch.setitem(sources.SOURCES, "mine", sources.Source("mine", lambda folder: data["x"]))
    store, cell = Store(tmp_path / "cells"), Cell("mine", "tnn", 0.5)
    for todo, seed in ((1, 0), (0, 0), (1, 1)):
        sources.load.cache_clear()
        data["x"] = np.random.default_rng(seed).random((6, 8, 9))
        told = Silent()
        run_grid([cell], store, tmp_path, watcher=told)
        assert len(told.todo) == todo


# --- plans, tables and pages


@pytest.mark.parametrize("size", list(Size))
@pytest.mark.parametrize("name", list(PLANS))
def test_plans_are_of_known_methods_and_data(name, size):
    cells = PLANS[name].cells(size)
    assert cells or name == "spectrum"
    assert {cell.data for cell in cells} <= {*sources.SOURCES, *sources.SYNTHETIC}
    for cell in {(cell.method, cell.options): cell for cell in cells}.values():
        assert cell.method in qrank.METHODS
        cell.configured()


def test_what_the_standard_size_holds_at_full_size():
    at = {(c.data, c.label, c.p) for c in plans.cifar(Size.STANDARD) + plans.coil(Size.STANDARD)}
    at |= {(c.data, c.label, c.p) for c in plans.video(Size.STANDARD) + plans.smooth(Size.STANDARD)}
    for p in plans.RATES:
        for row in plans.ROWS:
            assert ("cifar-3000", row, p) in at
            assert ("coil-64", row, p) in at
    for p in (0.1, 0.3, 0.5):
        assert {("video", row, p) for row in plans.ROWS} <= at
        assert {("smooth", row, p) for row in plans.OURS} <= at
        assert {("cifar-10000", row, p) for row in ("vmtqn", "tnn")} <= at
    assert {("coil", row, p) for row in plans.OURS for p in (0.2, 0.4)} <= at
    assert len(plans.phase(Size.STANDARD)) >= 3 * 10 * 10 * 3


def test_the_papers_figures_are_whole():
    for table in tables.paper().values():
        for row in table["rows"].values():
            assert len(row) == len(table["rates"])
            numbers = [value for value in row if isinstance(value, float)]
            assert numbers == sorted(numbers)
    assert tables.printed("coil-64", "latent", 0.5) == 30.40


def test_an_answer_is_compared_as_it_is_shown(tmp_path):
    folder = tmp_path / "coil-20-proc"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for view in range(6):  # a bright square on black: answers leave [0, 1] on either side
        pixels = np.zeros((16, 16), np.uint8)
        pixels[4:12, 3 + view : 9 + view] = 255 - rng.integers(0, 20, (8, 6))
        Image.fromarray(pixels).save(folder / f"obj1__{view}.png")
    found = run(Cell("coil", "tnn", 0.5), tmp_path).numbers
    assert found["psnr"] > found["psnr_uncut"] + 0.001
    followed = run(Cell("coil", "tnn", 0.5, curve=True), tmp_path).numbers
    assert followed["curve"][-1] == pytest.approx(found["psnr"], abs=1e-6)
    free = run(Cell("synthetic-20", "tnn", 0.5, r=3), None).numbers
    assert free["psnr"] == free["psnr_uncut"]


def put(store, cell, psnr):
    numbers = dict.fromkeys(COLUMNS) | {"cell": cell.__dict__, "settings": cell.settings, "psnr": psnr}
    store.path(cell).parent.mkdir(exist_ok=True)
    store.path(cell).write_text(json.dumps(numbers))


def test_a_table_sets_ours_beside_the_papers(tmp_path):
    store = Store(tmp_path)
    cell = Cell("coil", "vmtqn", 0.2)
    for draw, psnr in ((0, 25.0), (1, 26.0)):
        put(store, Cell("coil", "vmtqn", 0.2, draw), psnr)
    table = tables.quality(store, [cell, Cell("coil", "vmtqn", 0.2, 1), Cell("coil", "tnn", 0.2)], "coil")
    assert table is not None
    assert "| VMTQN | **25.50** (25.34) |" in table
    assert "Mean of 2 draws" in table
    assert "TNN" not in table


def test_motqn_stands_in_a_table_with_the_papers_norm_and_with_ours(tmp_path):
    store = Store(tmp_path)
    ours, papers = plans.grid("coil", ("motqn", plans.PAPERS_MOTQN), (0.4,))
    assert {ours, papers} <= {cell.plain for cell in plans.coil(Size.STANDARD)}
    assert ours.configured().penalty == LogSum(20)
    assert papers.configured().penalty == Nuclear()
    assert ours.key != papers.key
    put(store, papers, 30.0)
    put(store, ours, 30.5)
    table = tables.quality(store, [papers, ours], "coil")
    assert table is not None
    assert table.endswith("| MOTQN | 30.00 (30.13) |\n| MOTQN, penalty log-sum:20 | **30.50** (30.13) |")
    assert "MOTQN is under the paper's norm" in table


def test_panels_share_a_legend_so_a_row_has_one_colour(tmp_path, monkeypatch):
    store, drawn = Store(tmp_path), []
    cells = plans.grid("cifar-3000", ("vmtqn", "tnn"), (0.1, 0.3)) + plans.grid(
        "cifar-10000", ("tnn", "tmac"), (0.1, 0.3)
    )
    for cell in cells:
        put(store, cell, 20.0)
    monkeypatch.setattr(figures, "_save", lambda figure, path: drawn.append(figure) or path)
    figures.curves(store, cells, {"cifar-3000": "few", "cifar-10000": "many"}, tmp_path / "x.png")
    colours: dict[str, set[str]] = {}
    for ax in drawn[0].axes:
        for line in ax.get_legend_handles_labels()[0]:
            colours.setdefault(line.get_label(), set()).add(line.get_color())
    assert set(colours) == {"VMTQN", "TNN (Fourier)", "TMac"}
    assert all(len(found) == 1 for found in colours.values())
    assert len(set.union(*colours.values())) == 3
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()] == ["VMTQN", "TNN (Fourier)", "TMac"]


def test_spectra_fall_faster_under_the_learned_transform():
    x = np.random.default_rng(0).standard_normal((8, 6, 2)) @ np.random.default_rng(1).standard_normal((2, 5))
    found = spectra.of(x)
    assert found["learned_sum"][0] < found["fourier_sum"][0]
    assert np.linalg.norm(found["learned"]) == pytest.approx(np.linalg.norm(x))
    assert np.linalg.norm(found["fourier"]) == pytest.approx(np.linalg.norm(x))
    assert np.linalg.norm(found["unfolding"]) == pytest.approx(np.linalg.norm(x))


@pytest.fixture
def tiny(monkeypatch):
    """Every data set as a few small slices, synthetic grids of four cells, and runs of a few steps."""
    rng = np.random.default_rng(0)
    x = np.clip(np.cumsum(rng.random((8, 12, 16)), axis=0) / 8, 0, 1)
    for name, source in sources.SOURCES.items():
        monkeypatch.setitem(sources.SOURCES, name, sources.Source(source.about, lambda folder: x))
    monkeypatch.setattr(plans, "square", lambda size: plans.Square("synthetic-20", (0.4, 0.8), (2, 20), 1))
    monkeypatch.setattr("qrank.experiments.page.square", plans.square)
    monkeypatch.setattr("qrank.experiments.figures.square", plans.square)
    monkeypatch.setattr(plans, "rank_data", lambda size: ("coil-32", (2, 8)))
    monkeypatch.setattr("qrank.experiments.page.rank_data", plans.rank_data)
    monkeypatch.setattr("qrank.experiments.figures.rank_data", plans.rank_data)
    monkeypatch.setattr("qrank.experiments.spectra.rank_data", plans.rank_data)
    configured = Cell.configured
    monkeypatch.setattr(Cell, "configured", lambda *given: replace(configured(*given), max_steps=12))
    sources.load.cache_clear()
    yield
    sources.load.cache_clear()


def test_all_experiments_from_the_command_line(tiny, tmp_path):
    said = runner.invoke(app, ["reproduce", "all", "--quick", "--data", str(tmp_path), "-o", str(tmp_path / "out")])
    assert said.exit_code == 0, said.output
    text = (tmp_path / "out" / "quick" / "index.md").read_text()
    for name in PLANS:
        assert f"## {name}: " in text
    shown = [line.split("](")[1].rstrip(")") for line in text.splitlines() if line.startswith("![")]
    assert len(shown) >= 8
    for path in shown:
        assert (tmp_path / "out" / "quick" / path).read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "out" / "quick" / "figures" / "cifar.csv").open() as file:
        found = list(csv.DictReader(file))
    assert {row["method"] for row in found} == set(plans.ROWS)
    assert all(float(row["psnr"]) > 0 and row["data_hash"] and row["numpy"] for row in found)
    again = runner.invoke(app, ["reproduce", "all", "--quick", "--data", str(tmp_path), "-o", str(tmp_path / "out")])
    assert "0 cells to run" in again.output
    shown = runner.invoke(
        app, ["reproduce", "video", "--quick", "--show", "-o", str(tmp_path / "out"), "--page", str(tmp_path / "p.md")]
    )
    assert shown.exit_code == 0, shown.output
    assert "p/video-60.png" in (tmp_path / "p.md").read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["cifra"], "unknown experiment 'cifra': did you mean 'cifar'?"),
        (["cifar"], "--data DIR"),
        (["cifar", "--quick", "--full"], "exclude each other"),
        (["coil", "--data", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_what_cannot_be_run_is_one_line(words, sentence, tmp_path, monkeypatch):
    monkeypatch.delenv("QRANK_DATA", raising=False)
    said = runner.invoke(app, ["reproduce", *words, "-o", str(tmp_path / "out")])
    assert said.exit_code == 2
    assert sentence in " ".join(said.output.split())


def test_ctrl_c_keeps_what_is_finished(tiny, tmp_path, monkeypatch):
    real = run

    def interrupted(cell, folder, on_step=None):
        if cell.p == 0.8:
            raise KeyboardInterrupt
        return real(cell, folder, on_step)

    monkeypatch.setattr("qrank.experiments.cells.run", interrupted)
    said = runner.invoke(app, ["reproduce", "phase", "--quick", "-o", str(tmp_path)])
    assert said.exit_code == 130
    assert "1 finished cells are kept" in said.output
    assert len(list(tmp_path.rglob("*.json"))) == 1


def test_the_page_says_nothing_of_what_was_not_run(tmp_path):
    page.write(["cifar", "phase"], Size.STANDARD, tmp_path, tmp_path / "index.md")
    text = (tmp_path / "index.md").read_text()
    assert "## " not in text
