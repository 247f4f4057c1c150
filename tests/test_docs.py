"""The documentation: its pages are there and current, its links lead somewhere, its gallery says what is true."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import qrank
from qrank.methods import METHODS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GALLERY = sorted((ROOT / "examples" / "gallery").glob("*.py"))
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


def test_every_page_of_the_site_is_there_and_listed():
    listed = set(re.findall(r"([\w/-]+\.md)", (ROOT / "mkdocs.yml").read_text()))
    assert listed == {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_list_of_options_is_that_of_the_source():
    made = runpy.run_path(str(DOCS / "reference.py"))
    assert (DOCS / "methods.md").read_text(encoding="utf-8") == made["page"]()
    for kind in METHODS.values():
        assert set(kind.options()) <= set(made["comments"](kind))  # every option is described


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    assert {name for name in qrank.__all__ if not re.search(rf"qrank\.([\w.]+\.)?{name}\b", text)} == set()


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_the_gallery_shows_the_code_that_is_there(path):
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    body = path.read_text(encoding="utf-8").split('"""', 2)[2].split("\n\nif __name__")[0].strip()
    assert body in text
    assert (DOCS / "gallery" / f"{path.stem}.png").stat().st_size > 3000


LEAST = {  # the first number that an example prints, at least; that of the clouds, degrees, at most
    "big_zarr": 33.5,
    "cloud_gaps": -0.1,
    "coded_aperture": 30.5,
    "colour_mosaic": 25.0,
    "foreground": 40.0,
    "hyperspectral_cube": 50.0,
    "noise": 19.0,
    "photographs": 30.0,
    "random_sums": 40.0,
    "scratched_film": 33.0,
    "sensor_table": 2.0,
    "single_pixel_camera": 32.0,
    "sparse_microscopy": 50.0,
    "super_resolution": 34.5,
}


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_the_gallery_runs_and_reaches_its_figure(path, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    panels = runpy.run_path(str(path))["main"]()
    said = capsys.readouterr().out
    first = float(re.findall(r"[\d.]+", said)[0])
    assert first >= LEAST[path.stem] if LEAST[path.stem] > 0 else first <= -LEAST[path.stem]
    assert len(panels) >= 2


def test_there_are_ten_examples():
    assert len(GALLERY) >= 10
    assert set(LEAST) == {path.stem for path in GALLERY}
