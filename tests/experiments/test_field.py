"""The field: masks that can be drawn again, rivals that fill, cells that measure, a page made of what is there."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict

import numpy as np
import pytest
import scipy.io
from typer.testing import CliRunner

import qrank
from qrank.cli.app import app
from qrank.errors import FileError, InputError, MissingExtra
from qrank.experiments import Size, Store
from qrank.experiments.cells import Cell, Outcome
from qrank.experiments.field import FieldCell, page, plan, planned, quote, rivals, scenes
from qrank.experiments.field import cells as all_cells
from qrank.experiments.field.cells import check, run
from qrank.experiments.field.masks import mask
from qrank.experiments.grid import adopt
from qrank.study.table import csv_text

runner = CliRunner()
COUNTS = scenes.scene("generated-counts")


# --- masks


def test_random_masks_are_the_published_recipe():
    shape = (5, 6, 7)
    known = mask(scenes.scene("balloons"), shape, "random", 0.3, 2)
    np.testing.assert_array_equal(known, np.random.default_rng(2).random(shape) < 0.3)


def test_traffic_masks_are_those_of_the_literature():
    days, stations, times = 25, 80, 108
    drawn = np.random.RandomState(1000)
    published = np.round(drawn.rand(stations, times, days) + 0.5 - 0.3)  # (stations, times, days), 1 where seen
    found = mask(COUNTS, (days, stations, times), "random", 0.7, 0)
    np.testing.assert_array_equal(found, published.transpose(2, 0, 1) == 1)
    drawn = np.random.RandomState(1001)
    published = np.round(drawn.rand(stations, days) + 0.5 - 0.7)
    found = mask(COUNTS, (days, stations, times), "station-days", 0.3, 1)
    np.testing.assert_array_equal(found, (published.T == 1)[:, :, None] & np.ones((1, 1, times), bool))


def test_poor_frames_are_known_to_a_twentieth_and_the_others_wholly():
    known = mask(scenes.scene("smooth-60"), (40, 30, 30), "poor-frames", 0.8, 0)
    shares = known.mean(axis=(1, 2))
    assert (shares < 1).sum() == 8
    assert abs(shares[shares < 1].mean() - 0.05) < 0.01


def test_colours_are_missing_together():
    known = mask(scenes.scene("china"), (40, 50, 3), "scratches", 0.9, 0)
    assert (known == known[..., :1]).all()
    assert 0.8 < known.mean() < 0.97


# --- scenes


def test_hangzhou_is_read_with_the_days_first(tmp_path):
    with pytest.raises(FileError, match=r"download tensor\.mat"):
        scenes.load("hangzhou", tmp_path)
    published = np.arange(24.0).reshape(2, 3, 4)  # (stations, days, times)
    (tmp_path / "traffic").mkdir()
    scipy.io.savemat(tmp_path / "traffic" / "hangzhou-metro.mat", {"tensor": published})
    np.testing.assert_array_equal(scenes.hangzhou(tmp_path), published.transpose(1, 0, 2))


def test_a_colour_clip_is_found_cut_and_thinned(tmp_path):
    with pytest.raises(FileError, match=r"the clip a\.mkv of HMDB51 is not in"):
        scenes.colour_clip(tmp_path, "a.mkv", 2, 4)
    film = np.random.default_rng(0).integers(0, 256, (3, 16, 24, 3), dtype=np.uint8)
    (tmp_path / "deep").mkdir()
    qrank.write(tmp_path / "deep" / "a.mkv", film)
    np.testing.assert_array_equal(scenes.colour_clip(tmp_path, "a.mkv", 2, 4), film[:2, ::4, ::4] / 255)


def test_shuffling_takes_neighbours_apart_and_keeps_rank_and_values(tmp_path, monkeypatch):
    x = np.einsum("i,j,k->ijk", *(np.linspace(1, 2, n) for n in (9, 10, 11)))
    monkeypatch.setattr(scenes.sources, "load", lambda name, folder: x)
    found = scenes.shuffled(tmp_path, "video-60")
    np.testing.assert_array_equal(np.sort(found, axis=None), np.sort(x, axis=None))
    for axis, n in enumerate(x.shape):
        assert np.linalg.matrix_rank(np.moveaxis(found, axis, 0).reshape(n, -1)) == 1
        assert (np.diff(found, axis=axis) < 0).any()  # x rises along every axis


@pytest.mark.parametrize(("name", "package"), [("china", "sklearn.datasets"), ("camera", "skimage.data")])
def test_photographs_are_every_second_pixel_in_the_unit_range(name, package):
    pytest.importorskip(package)
    x = scenes.load(name, None)
    assert x.ndim == 2 + scenes.scene(name).colours
    assert 0 <= x.min() < 0.1 < 0.9 < x.max() <= 1
    assert {"china": (214, 320, 3), "camera": (256, 256)}[name] == x.shape
    with pytest.raises(ValueError, match="read-only"):
        x[0, 0] = 0


def test_data_that_are_not_there_are_a_sentence():
    with pytest.raises(InputError, match="unknown data set 'chine': did you mean 'china'"):
        scenes.load("chine", None)
    with pytest.raises(InputError, match="--data DIR"):
        scenes.load("balloons", None)


# --- rivals


@pytest.mark.parametrize("name", rivals.RIVALS)
def test_a_rival_fills_keeps_what_is_known_and_beats_the_mean(name):
    rival = rivals.RIVALS[name]
    if rival.module is not None:
        pytest.importorskip(rival.module)
    truth, scene = scenes.load("generated-spectra", None), scenes.scene("generated-spectra")
    known = np.random.default_rng(0).random(truth.shape) < 0.5
    before = truth.copy()
    x, _ = rivals.fill(name, truth, known, scene)
    np.testing.assert_array_equal(truth, before)
    np.testing.assert_array_equal(x[known], truth[known])
    level = qrank.metrics.rmse(np.full_like(truth, truth[known].mean()), truth, ~known)
    assert qrank.metrics.rmse(x, truth, ~known) < 0.6 * level


@pytest.mark.parametrize("name", rivals.RIVALS)
def test_a_rival_sees_nothing_of_what_is_missing(name):
    rival = rivals.RIVALS[name]
    if rival.module is not None:
        pytest.importorskip(rival.module)
    truth, scene = scenes.load("generated-counts", None)[:8, :8, :10] / 700, scenes.scene("generated-clip")
    known = np.random.default_rng(0).random(truth.shape) < 0.6
    other = np.where(known, truth, 1 - truth)
    np.testing.assert_array_equal(
        rivals.fill(name, truth, known, scene)[0][~known], rivals.fill(name, other, known, scene)[0][~known]
    )


def test_softimpute_ends_at_a_minimiser():
    """The residual on Omega, over lam, is a subgradient: U V' on the range, norm at most 1 beyond it."""
    rng = np.random.default_rng(0)
    y = rng.standard_normal((12, 3)) @ rng.standard_normal((3, 20))
    known = rng.random(y.shape) < 0.7
    y = np.where(known, y, 0)
    lam = 0.2 * np.linalg.norm(y, 2)
    x = rivals.softimpute(y, known, 0.2, 3000)
    gradient = np.where(known, y - x, 0) / lam
    assert np.linalg.norm(gradient, 2) < 1 + 1e-3
    assert np.vdot(gradient, x) == pytest.approx(np.linalg.norm(x, "nuc"), rel=1e-3)


def test_a_missing_package_is_said_in_a_line(monkeypatch):
    monkeypatch.setitem(
        rivals.RIVALS, "no-such", rivals.Rival("a rival", rivals.telea, module="no_such_package_at_all")
    )
    with pytest.raises(
        MissingExtra, match=r"a rival needs the package no_such_package_at_all: pip install 'qrank\[bench\]'"
    ):
        check("no-such")
    with pytest.raises(InputError, match="did you mean 'vmtqn'"):
        check("vmtqm")


# --- cells


@pytest.mark.filterwarnings("ignore::qrank.errors.ConvergenceWarning")  # the step limit is on purpose
def test_a_cell_measures_what_it_says(monkeypatch):
    truth = scenes.load("generated-spectra", None)
    cell = FieldCell("generated-spectra", "tnn", 0.4, 1, '{"max_steps": 20}')
    known = np.random.default_rng(1).random(truth.shape) < 0.4
    seen = {}

    def completed(y, observed, method, slice_axes, **options):
        seen.update(options, y=y)
        found = complete(y, observed, method, slice_axes, **options)
        object.__setattr__(found, "error", np.where(np.arange(found.x.size).reshape(found.x.shape) % 4 > 0, 1e9, 0.0))
        return found

    complete = all_cells.complete
    monkeypatch.setattr(all_cells, "complete", completed)
    numbers = run(cell, None).numbers
    assert seen["max_steps"] == 20
    assert not seen["y"][~known].any()  # nothing of the truth is handed over
    assert 0.7 < numbers["covered"] < 0.8  # three of four have an error that covers everything
    plain = qrank.complete(np.where(known, truth, np.nan), method="tnn", slice_axes=(1, 2), max_steps=20)
    x = np.clip(plain.x, 0, 1)
    assert numbers["psnr"] == pytest.approx(qrank.metrics.psnr(x, truth, ~known))
    assert numbers["psnr_all"] == pytest.approx(qrank.metrics.psnr(x, truth))
    assert numbers["ssim"] == pytest.approx(qrank.metrics.ssim(x, truth, (1, 2)))
    slices = [
        10 * np.log10(truth.max() ** 2 / np.mean((a - b)[~on] ** 2)) for a, b, on in zip(x, truth, known, strict=True)
    ]
    assert numbers["worst"] == pytest.approx(min(slices))


def test_the_error_of_counts_is_over_missing_entries_that_are_not_0():
    truth = scenes.load("generated-counts", None)
    numbers = run(FieldCell("generated-counts", "linear-2", 0.5), None).numbers
    known = mask(COUNTS, truth.shape, "random", 0.5, 0)
    x = np.maximum(rivals.linear(np.where(known, truth, 0), known, COUNTS, 2)[0], 0)
    where = ~known & (truth != 0)
    assert numbers["rmse"] == pytest.approx(np.sqrt(np.mean((x - truth)[where] ** 2)))
    assert numbers["ssim"] is None


# --- plan and page


def test_every_cell_is_planned_once_and_can_be_run():
    there = planned(Size.STANDARD)
    assert len(there) == len(set(there)) == len({cell.key for cell in there})
    assert there[0].label == plan.CHOICE
    for cell in there:
        assert scenes.scene(cell.data)
        assert cell.settings
    assert {cell.method for cell in there} >= set(rivals.RIVALS) | {"vmtqn", "motqn", "views", "interpolate"}
    ours = {(cell.data, cell.pattern, cell.p) for cell in there if cell.label == plan.CHOICE}
    assert ours >= {*plan.goals(), *plan.DAMAGE, *plan.phase_rows(Size.STANDARD)}
    large = {cell.label for cell in there if plan.entries(cell.data) >= plan.LARGE}
    assert large == {plan.CHOICE, "vmtqn", "motqn", plan.LOG_SUM, "tnn", *plan.SIMPLE}
    draws = [cell.draw for cell in there if cell.data == "hangzhou" and cell.label == plan.CHOICE]
    assert set(draws) == {0, 1, 2, 3}  # the published seed, and three others
    assert planned(Size.FULL)[: len(there)] == there


def test_every_method_is_run_on_small_data():
    there = planned(Size.STANDARD)
    for data in ("balloons", "hangzhou", "video-60"):
        run_there = {cell.method for cell in there if cell.data == data}
        assert run_there >= {*qrank.METHODS} - {*plan.YARDSTICKS, *plan.GIVEN} - {"similar"}
        assert run_there >= {"tensorly-cp", "tensorly-tucker", "softimpute", "knn", "iterative"}


def test_synthetic_cells_are_left_out_only_where_nothing_can_be_recovered():
    """A slice stack of Q-rank r is r images of n x n and an orthonormal n x r basis: r n^2 + r n - r^2 numbers at least."""
    kept = {(data, p) for data, _, p in plan.phase_rows(Size.STANDARD)}
    left = [
        (r, p)
        for r in range(5, 51, 5)
        for p in np.arange(0.05, 1, 0.1)
        if (f"synthetic-50-r{r}", round(p, 2)) not in kept
    ]
    assert len(left) + len(kept) == 100
    assert all(p * 125_000 < 1.3 * r * (2550 - r) for r, p in left)


def test_new_methods_are_in_the_plan_by_their_names(monkeypatch):
    class New(qrank.METHODS["tnn"]):
        name = "brand-new"

    monkeypatch.setitem(qrank.METHODS, "brand-new", New)
    monkeypatch.setitem(qrank.METHODS, "auto", New)
    there = planned(Size.STANDARD)
    assert "brand-new" in {cell.method for cell in there}
    assert there[0].label == plan.CHOICE
    assert json.loads(there[0].options) == {"effort": "balanced"}


FEW = [
    FieldCell("generated-counts", method, 0.7, draw, pattern="station-days")
    for method in ("vmtqn", "linear-0")
    for draw in (0, 1)
]


def test_a_page_is_made_of_the_cells_there_are_and_taken_up_from_its_table(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "planned", lambda size: FEW)
    store = Store(tmp_path / "cells")
    for cell in FEW:
        store.save(cell, run(cell, None))
    written = page.write(Size.QUICK, tmp_path, tmp_path / "accuracy.md")
    text = (tmp_path / "accuracy.md").read_text()
    assert "| `vmtqn` | " in text
    assert "| linear interpolation along axis 0 | " in text
    assert "station-days, p = 0.7" in text
    assert "4 of 4 cells" in text
    with written[0].open(newline="") as file:
        kept = list(csv.DictReader(file))
    assert [row["draw"] for row in kept] == ["0", "1", "0", "1"]
    other = Store(tmp_path / "other")
    assert adopt(other, FEW, written[0]) == 4
    assert other.load(FEW[0])["rmse"] == store.load(FEW[0])["rmse"]
    assert other.load(FEW[2])["covered"] is None


AT = {
    "psnr": 40.0,
    "psnr_all": 40.0,
    "rmse": 1.0,
    "ssim": 0.9,
    "worst": 33.0,
    "covered": 0.91,
    "seconds": 3.0,
    "seed": 0,
}


def test_a_goal_is_bold_where_it_is_reached():
    at = AT
    table = page.goals_table({("balloons", "random", 0.05): {plan.CHOICE: [at, at], "vmtqn": [dict(at, psnr=29.0)]}})
    assert "| ≥ 39.00 | 29.00 | – | **40.00** | 0.900 | 91 % | 3 | 2 |" in table
    table = page.goals_table({("balloons", "random", 0.1): {plan.CHOICE: [at]}})
    assert "| ≥ 44.50 | – | – | 40.00 |" in table
    over = {plan.CHOICE: [at], plan.LOG_SUM: [dict(at, psnr_all=39.5)]}
    assert "| ≥ 40.50 | – | 39.50 | 40.00 |" in page.goals_table({("video", "random", 0.1): over})


def test_goals_on_traffic_are_judged_at_the_published_seed():
    draws = [dict(AT, rmse=rmse, seed=seed) for seed, rmse in enumerate((41.0, 50.0, 52.0, 54.0))]
    table = page.goals_table({("hangzhou", "station-days", 0.3): {plan.CHOICE: draws}})
    assert "| ≤ 41.80 | – | – | **41.00** (52.00) |" in table


def test_damage_is_bold_where_nothing_else_is_better_in_psnr_or_ssim():
    row = ("china", "text", 0.9)
    at = {
        plan.CHOICE: [AT],
        "vmtqn": [dict(AT, psnr=30.0)],
        "linear-0": [dict(AT, psnr=31.0)],
        "linear-1": [dict(AT, psnr=32.0)],
    }
    table = page.damage_table({row: at})
    assert "| **40.00 / 0.900** | 33.00 | 30.00 / 0.900 | 32.00 / 0.900 | – | – | – |" in table
    assert "| **40.00 / 0.900** |" in page.damage_table({row: {**at, "inpaint-telea": [dict(AT, psnr=40.05)]}})
    assert "| 40.00 / 0.900 |" in page.damage_table({row: {**at, "inpaint-telea": [dict(AT, psnr=40.2)]}})
    assert "| 40.00 / 0.900 |" in page.damage_table({row: {**at, "inpaint-telea": [dict(AT, ssim=0.95)]}})


def test_a_synthetic_cell_is_recovered_at_40_db():
    """The grid is judged over all entries, and what was not run is not counted."""
    first, second = plan.phase_rows(Size.STANDARD)[:2]
    found = {
        first: {"vmtqn": [dict(AT, psnr_all=39.0), dict(AT, psnr_all=41.5)], "tnn": [dict(AT, psnr=50.0, psnr_all=39.0)]},
        second: {"vmtqn": [dict(AT, psnr_all=30.0)]},
    }  # fmt: skip
    table = page.phase_table(found, Size.STANDARD)
    assert "| `vmtqn` | 1 | 2 |" in table
    assert "| `tnn` | 0 | 1 |" in table
    assert page.phase_table({}, Size.STANDARD) is None


def test_the_quick_plan_needs_no_data_folder():
    there = planned(Size.QUICK)
    assert len(there) == len(set(there)) > 0
    assert not any(scenes.scene(cell.data).folder for cell in there)
    assert {cell.method for cell in there} >= set(qrank.METHODS) - {*plan.GIVEN, *plan.YARDSTICKS, "similar"}


def test_the_command_runs_a_part_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("qrank.cli.reproduce.field.planned", lambda size: FEW[2:])
    monkeypatch.setattr(page, "planned", lambda size: FEW[2:])
    call = ["reproduce", "field", "--quick", "-o", str(tmp_path)]
    first = runner.invoke(app, call)
    assert first.exit_code == 0, first.output
    assert "2 cells to run" in first.output
    assert "generated-counts, station-days at 0.7, draw 0, linear-0: RMSE" in first.output
    again = runner.invoke(app, call)
    assert "0 cells to run, 2 are there already" in again.output
    assert (tmp_path / "quick" / "index.md").exists()


def test_the_field_has_a_page_of_its_own(tmp_path):
    found = runner.invoke(app, ["reproduce", "field", "cifar", "-o", str(tmp_path)])
    assert found.exit_code != 0
    assert "run it by itself" in found.output


def test_a_cell_of_other_settings_does_not_count(tmp_path):
    store, cell = Store(tmp_path), FEW[0]
    numbers = run(cell, None).numbers
    store.save(cell, Outcome(numbers, {}))
    assert store.load(cell) is not None
    store.save(cell, Outcome({**numbers, "settings": "vmtqn(rho=7)"}, {}))
    assert store.load(cell) is None


def test_a_cell_is_stale_when_what_its_method_builds_on_is_revised(tmp_path, monkeypatch):
    store = Store(tmp_path)
    cells = {name: FieldCell("generated-counts", name, 0.5) for name in ("vmtqn", "views", "patches", "auto")}
    done = run(FEW[2], None).numbers
    for cell in cells.values():
        store.save(cell, Outcome({**done, "cell": asdict(cell), "settings": cell.settings}, {}))

    def there():
        return {name for name, cell in cells.items() if store.load(cell) is not None}

    assert there() == {"vmtqn", "views", "patches", "auto"}
    with monkeypatch.context() as raised:
        raised.setattr(qrank.METHODS["views"], "revision", qrank.METHODS["views"].revision + 1)
        assert there() == {"vmtqn"}
    with monkeypatch.context() as raised:
        raised.setattr(qrank.METHODS["kriging"], "revision", qrank.METHODS["kriging"].revision + 1)
        assert there() == {"vmtqn", "views", "patches"}
    with monkeypatch.context() as raised:
        raised.setattr(qrank.METHODS["vmtqn"], "revision", qrank.METHODS["vmtqn"].revision + 1)
        assert there() == {"views", "patches"}


def test_cells_of_the_papers_experiments_are_the_same_cells(tmp_path):
    paper = Cell("synthetic-20", "vmtqn", 0.8, r=2)
    measured = paper.run(None).numbers
    (tmp_path / "phase.csv").write_text(
        csv_text([paper.row(measured), paper.row({**measured, "psnr": 0.0}) | {"draw": 1}])
    )
    here, other = FieldCell("synthetic-20-r2", "vmtqn", 0.8), FieldCell("synthetic-20-r2", "tnn", 0.8)
    store = Store(tmp_path / "cells")
    assert quote(store, [here, other], tmp_path) == 1
    quoted, own = store.load(here), run(here, None).numbers
    assert quoted["psnr"] == pytest.approx(own["psnr"], abs=1e-6)  # the same data, the same mask
    assert quoted["psnr_all"] == pytest.approx(own["psnr_all"], abs=1e-6)
    assert quoted["fingerprint"] == own["fingerprint"]
    assert quote(store, [here], tmp_path) == 0
    assert quote(Store(tmp_path / "none"), [here], tmp_path / "no such folder") == 0


def test_a_program_that_fails_is_told_of_and_run_again(tmp_path, monkeypatch):
    def broken(y, known, scene):
        raise RuntimeError("it does not work\nat all")

    monkeypatch.setitem(rivals.RIVALS, "broken", rivals.Rival("broken", broken))
    cell, store = FieldCell("generated-counts", "broken", 0.5), Store(tmp_path)
    outcome = run(cell, None)
    assert cell.told(outcome.numbers).startswith(
        "generated-counts, random at 0.5, draw 0, broken: failed: it does not work,"
    )
    store.save(cell, outcome)
    assert store.load(cell) is None
