"""The command line on rasters, land masks, transparent pixels, zips and arrays whose axes have no names."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
import tifffile
from PIL import Image

from cli.calling import call
from qrank.api import complete
from qrank.files import read
from qrank.report.pictures import IGNORED, Scene
from qrank.report.view import View

ROWS, COLUMNS = np.mgrid[:32, :40]
TIME = np.arange(9)[:, None, None]
SEA = (100 + 40 * np.sin(ROWS / 6 + TIME / 4) + 30 * np.cos(COLUMNS / 7)).astype(np.float32)
LAND = (ROWS - 20) ** 2 + (COLUMNS - 10) ** 2 < 30
NODATA = -9999
TAGS = [(33550, 12, 3, (30.0, 30.0, 0.0), False), (33922, 12, 6, (0.0, 0.0, 0.0, 5e5, 5e6, 0.0), False)]
TAGS += [(42113, 2, None, str(NODATA), False)]


@pytest.mark.parametrize("dtype", ["float32", "int16", "uint8"])
def test_nodata_is_filled_and_land_is_left(tmp_path, dtype):
    """Known bands are exact, gaps are near the truth, land has its nodata, and the tags are there."""
    gone = np.random.default_rng(0).random(SEA.shape) < 0.2
    nodata = 0 if dtype == "uint8" else NODATA
    truth = SEA.astype(dtype)
    data = np.where(gone | LAND, np.array(nodata, dtype), truth)
    tags = [*TAGS[:2], (42113, 2, None, str(nodata), False)]
    options = {"photometric": "minisblack", "planarconfig": "separate", "metadata": None, "extratags": tags}
    tifffile.imwrite(tmp_path / "a.tif", data, **options)
    Image.fromarray(np.uint8(LAND) * 255).save(tmp_path / "land.png")
    words = [
        "fill",
        tmp_path / "a.tif",
        "-o",
        tmp_path / "b.tif",
        "--ignore",
        tmp_path / "land.png",
        "--method",
        "vmtqn",
    ]
    said = call(*words)
    assert said.exit_code == 0, said.output
    assert f"nodata: {nodata} in the file stands for a missing entry" in said.output
    assert f"ignored: {9 * LAND.sum()} entries" in said.output
    with tifffile.TiffFile(tmp_path / "b.tif") as file:
        assert len(file.pages) == 1
        found = file.asarray()
        assert [file.pages.first.tags[tag[0]].value for tag in TAGS[:2]] == [tag[3] for tag in TAGS[:2]]
        assert file.pages.first.tags[42113].value == str(nodata)
    assert found.shape == SEA.shape
    assert found.dtype == dtype
    assert (found[:, LAND] == nodata).all()
    sea = np.broadcast_to(~LAND, SEA.shape)
    np.testing.assert_array_equal(found[sea & ~gone], truth[sea & ~gone])
    assert not (found[sea] == nodata).any()
    assert np.abs(found.astype(float) - SEA)[sea & gone].max() < 5


def test_land_that_is_no_hole_leaves_nothing_to_fill(tmp_path):
    np.save(tmp_path / "a.npy", np.where(LAND, np.nan, SEA))
    np.save(tmp_path / "land.npy", LAND)
    said = call("fill", tmp_path / "a.npy", "-o", tmp_path / "b.npy", "--ignore", tmp_path / "land.npy")
    assert "nothing is missing" in said.output
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), np.where(LAND, np.nan, SEA))


def test_inspect_does_not_count_land(tmp_path):
    gone = np.random.default_rng(0).random(SEA.shape) < 0.2
    np.save(tmp_path / "a.npy", np.where(LAND | gone, np.nan, SEA))
    np.save(tmp_path / "land.npy", LAND)
    said = call("inspect", tmp_path / "a.npy", "--ignore", tmp_path / "land.npy", "--json")
    assert json.loads(said.output)["missing"] == (gone & ~LAND).sum()


@pytest.mark.parametrize("command", ["fill", "inspect", "compare"])
def test_a_clip_without_names_is_cut_into_its_pictures(tmp_path, command):
    clip = np.repeat(SEA[:7, :, :, None], 3, axis=3)
    np.save(tmp_path / "clip.npy", clip)
    words = {
        "fill": ["-o", tmp_path / "b.npy", "--drop", "0.3", "--method", "tnn", "--option", "max_steps=3"],
        "inspect": ["--missing-above", "165"],
        "compare": ["-o", tmp_path / "out", "--methods", "slicewise", "--rates", "0.5", "--draws", "1"],
    }
    said = call(command, tmp_path / "clip.npy", *words[command])
    assert said.exit_code == 0, said.output
    line = "axes of slices guessed: 32 x 40 are most alike in length and smoothness; the last axis, of 3, is colour"
    assert line in said.output
    if command == "fill":
        assert "slices: axis1 x axis2; third mode: axis0 and axis3, length 21" in said.output


def test_orientations_are_tried_where_lengths_and_smoothness_do_not_tell(tmp_path):
    """A cube of low Q-rank along its first axis only, all axes rough: what is hidden tells."""
    rng = np.random.default_rng(1)
    slices = np.einsum("ki,kj,kl->kijl", rng.normal(size=(3, 20)), rng.normal(size=(3, 20)), rng.normal(size=(3, 20)))
    np.save(tmp_path / "a.npy", slices.sum(axis=0) + 0.01 * rng.normal(size=(20, 20, 20)))
    words = ["fill", tmp_path / "a.npy", "-o", tmp_path / "b.npy", "--drop", "0.3", "--method", "vmtqn", "--json"]
    found = json.loads(call(*words).output)
    assert len(found["slice_axes"]) == 2
    said = call(*words[:-1]).output
    assert "axes of slices guessed: tried on hidden entries: RMSE" in said


@pytest.mark.parametrize("shape", [(32, 40), (7, 32, 40), (7, 32, 40, 3)])
def test_a_mask_serves_all_colours_and_frames_of_an_array(tmp_path, shape):
    clip = np.repeat(SEA[:7, :, :, None], 3, axis=3)
    np.save(tmp_path / "clip.npy", clip)
    holes = np.random.default_rng(2).random(shape) < 0.2
    np.save(tmp_path / "mask.npy", holes)
    words = ["fill", tmp_path / "clip.npy", "--mask", tmp_path / "mask.npy", "-o", tmp_path / "b.npy", "--json"]
    found = json.loads(call(*words, "--method", "interpolate").output)
    assert found["missing"] == holes.sum() * clip.size // holes.size


def test_a_mask_that_does_not_fit_names_the_shapes_that_would(tmp_path):
    np.save(tmp_path / "clip.npy", np.zeros((7, 32, 40, 3)))
    np.save(tmp_path / "mask.npy", np.ones((31, 40)))
    said = call("fill", tmp_path / "clip.npy", "--mask", tmp_path / "mask.npy", "-o", tmp_path / "b.npy", code=2)
    assert "(7, 32, 40, 3), (7, 32, 40) or (32, 40) would do" in said.stderr


def test_transparent_pixels_are_what_is_missing(tmp_path):
    colour = np.uint8(np.stack([SEA[0], SEA[3], SEA[6]], axis=-1))
    hole = np.random.default_rng(3).random((32, 40)) < 0.2
    half = ~hole & (COLUMNS == 5)
    alpha = np.where(hole, 0, np.where(half, 128, 255)).astype(np.uint8)
    Image.fromarray(np.dstack([np.where(hole[..., None], 0, colour), alpha])).save(tmp_path / "a.png")
    words = ["fill", tmp_path / "a.png", "-o", tmp_path / "b.png", "--missing-alpha", "--method", "smooth", "--json"]
    assert json.loads(call(*words).output)["missing"] == 3 * hole.sum()
    found = np.asarray(Image.open(tmp_path / "b.png"))
    np.testing.assert_array_equal(found[..., 3], np.where(half, 128, 255))
    np.testing.assert_array_equal(found[~hole, :3], colour[~hole])
    assert np.abs(found[..., :3].astype(float) - colour)[hole].mean() < 8
    Image.fromarray(colour).save(tmp_path / "c.png")
    said = call("fill", tmp_path / "c.png", "-o", tmp_path / "b.png", "--missing-alpha", code=2)
    assert "has no transparent pixels" in said.stderr


def test_a_zip_of_pictures_is_filled_like_a_folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for k, page in enumerate(np.uint8(SEA)):
            Image.fromarray(page).save(tmp_path / "page.png")
            archive.write(tmp_path / "page.png", f"views/view{k + 2}.png")
    loaded = read(tmp_path / "a.zip")
    np.testing.assert_array_equal(loaded.data, np.uint8(SEA))  # view2 before view10
    said = call("fill", tmp_path / "a.zip", "-o", tmp_path / "b.zip", "--drop", "0.2", "--method", "tnn")
    assert said.exit_code == 0, said.output
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert archive.namelist() == [f"views/view{k + 2}.png" for k in range(9)]
    assert np.abs(read(tmp_path / "b.zip").data.astype(float) - SEA).mean() < 5
    call("fill", tmp_path / "a.zip", "-o", tmp_path / "a.zip", "--drop", "0.2", code=2)


def test_the_report_of_what_was_ignored(tmp_path):
    np.save(tmp_path / "a.npy", np.where(LAND, np.nan, SEA))
    np.save(tmp_path / "land.npy", LAND)
    words = ["fill", tmp_path / "a.npy", "-o", tmp_path / "b.npy", "--ignore", tmp_path / "land.npy", "--drop", "0.2"]
    said = call(*words, "--method", "tnn", "--report", tmp_path / "page.html")
    assert "nan" not in said.output.lower()
    page = (tmp_path / "page.html").read_text()
    assert f"{9 * LAND.sum()} (left as they were)" in page
    result = complete(np.where(LAND, np.nan, SEA), method="tnn", slice_axes=(1, 2), ignore=LAND)
    scene = Scene.of(result.x, result.observed, None, View.of(result.x, result.observed, (1, 2)), left=result.ignored)
    drawn = scene.tinted(scene.pixels(SEA[0]), 0)
    assert (drawn[LAND] == IGNORED).all()
    assert (drawn[~LAND] != IGNORED).any(axis=1).all()
