"""``qrank demo``: it says what was measured, and draws what was filled."""

from __future__ import annotations

import re

import numpy as np
import pytest

import qrank
from cli.calling import call, one_line
from qrank.cli import demo
from qrank.data import clip, observed
from qrank.errors import FileError
from qrank.report import sheet

FILM = clip(8, 16, 20)


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A demo of seconds: a small clip, without auto's trials."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(demo.data, "clip", lambda: FILM)
    complete = demo.complete

    def quick(y, known, method, axes, **options):
        return complete(y, known, method, axes, **({"effort": "fast"} if method == "auto" else {}), **options)

    monkeypatch.setattr(demo, "complete", quick)
    return "--report", tmp_path / "page.html", "--picture", tmp_path / "films.png"


def test_what_it_says_is_what_was_measured(small, tmp_path):
    image = pytest.importorskip("PIL.Image")
    told = call("demo", *small, "--seed", 3).stdout
    truth = FILM.astype(np.float32)
    known = observed(truth.shape, 0.25, "random", (1, 2), 3)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for method in ("tnn", "vmtqn"):
        x = qrank.complete(truth, known, method, (1, 2), rng=3).x
        level = 10 * np.log10(float(truth.max()) ** 2 / np.mean(np.square(x.astype(float) - truth)))
        said = re.search(rf"^  {method} +([\d.]+) dB", told, re.MULTILINE)
        assert float(said.group(1)) == pytest.approx(level, abs=0.02)
        assert f"{said.group(1)} dB" in page
    with image.open(tmp_path / "films.png") as picture:
        assert picture.size[0] > picture.size[1] > 200


def test_ctrl_c_writes_nothing(small, tmp_path, monkeypatch):
    class Asked(demo.Stopper):
        def __init__(self):
            super().__init__()
            self.asked = True

    monkeypatch.setattr(demo, "Stopper", Asked)
    result = call("demo", *small, "--quiet", code=130)
    assert one_line(result) == "qrank: aborted; nothing was written"
    assert not list(tmp_path.iterdir())


def test_the_picture_has_the_middle_frame_and_the_one_most_unlike_it(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    truth = np.random.default_rng(0).uniform(0.4, 0.6, (6, 5, 7, 3))
    truth[1] = 1.0  # far from all the others
    known = np.zeros(truth.shape, bool)
    known[:, :, :, 0] = True
    drawn = []
    monkeypatch.setattr(sheet, "save", lambda figure, *_: drawn.append(figure))
    sheet.draw(tmp_path / "a.png", truth, known, {"worse": truth + 0.1})
    axes = np.array(drawn[0].axes).reshape(2, 3)
    assert [ax.get_title() for ax in axes[0]] == ["known: 33%", "worse: 20.0 dB", "truth"]
    for line, frame in zip(axes, (3, 1), strict=True):
        np.testing.assert_array_equal(line[2].images[0].get_array(), truth[frame])
        np.testing.assert_array_equal(line[0].images[0].get_array()[..., 1:], 0)  # what was not known is black


def test_a_picture_that_cannot_be_written_is_a_sentence(tmp_path):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    with pytest.raises(FileError, match=r"the sheet .*a\.png cannot be written: No such file or directory"):
        sheet.save(figure, tmp_path / "nowhere" / "a.png", "the sheet", 50)
