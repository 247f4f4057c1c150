import base64
import io
import json
import os
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import qrank
from qrank.errors import FileError, InputError, MissingExtra
from qrank.methods import METHODS
from qrank.report import fibres, fragment, write_comparison, write_report
from qrank.report.pictures import BUDGET, Scene, frames
from qrank.report.spectrum import Spectrum
from qrank.report.view import View
from qrank.result import Completion, Record, Status
from qrank.transforms import Matrix, random_orthogonal

NASTY = "<script>alert(1)</script>.avi"


def completion(x, known, slice_axes=(0, 1), transform=None, steps=5, status=Status.CONVERGED):
    """A run's answer made without a run."""
    history = [Record(k, 0.1 * k, 9 - k, 10.0**-k, 0.1, 0.5**k, 1.0, 4, 2, (), 0.3 / k) for k in range(1, steps + 1)]
    method = METHODS["vmtqn"].configured(rho=1.25)
    return Completion(x, status, history, method, transform, known, slice_axes)


def film(shape=(5, 24, 32), share=0.4, seed=0):
    rng = np.random.default_rng(seed)
    grid = np.linspace(0, 3, shape[-1])
    x = 0.5 + 0.5 * np.sin(grid + rng.random(shape[:-1])[..., None])
    return x, rng.random(shape) < share


class Reader(HTMLParser):
    """The tags and the text of a page, and what its block of data holds."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.inside, self.data, self.text, self.images = [], "", "", "", []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = dict(attrs).get("id", tag) if tag == "script" else tag

    def handle_data(self, data):
        if self.inside == "data":
            self.data += data
        elif self.inside not in ("script", "style"):
            self.text += data + " "

    def named(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.fixture
def page(tmp_path):
    def make(result, **options):
        path = tmp_path / "page.html"
        result.report(path, **options)
        return path.read_text(encoding="utf-8")

    return make


def decode(uri):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))))


def test_page_holds_pictures_charts_and_numbers(page):
    truth, known = film()
    x = np.where(known, truth, truth + 0.01)
    html = page(
        completion(x, known, (1, 2)), truth=truth, axes=("frame", "height", "width"), command="qrank fill a.avi"
    )
    read = Reader(html)
    data = json.loads(read.data)
    assert [frame["label"] for frame in data["frames"]] == [f"frame {k}" for k in range(5)]
    assert {attrs.get("data-layer") for attrs in read.named("img")} == {"before", "after", "truth", "error"}
    assert data["fibres"] is None
    for text in (
        str(Status.CONVERGED),
        "qrank fill a.avi",
        "rho",
        "1.25",
        qrank.__version__,
        np.__version__,
        "peak memory",
    ):
        assert text in read.text
    missing = int((~known).sum())
    assert f"{missing:,} ({100 * missing / known.size:.1f} %)" in read.text
    assert f"{qrank.metrics.psnr(x, truth):.4g} dB" in read.text
    charts = [attrs["aria-label"] for name, attrs in read.tags if attrs.get("role") == "img" and "aria-label" in attrs]
    for title in ("Objective", "Residuals", "Hold-out error", "Q-singular values", "Rank of each slice"):
        assert any(label.startswith(title) for label in charts), title
    handle = next(attrs for attrs in read.named("div") if attrs.get("role") == "slider")
    assert handle["tabindex"] == "0"


def test_page_fetches_nothing_and_ids_are_unique(page):
    truth, known = film()
    html = page(completion(truth, known, (1, 2)), truth=truth)
    read = Reader(html)
    for _, attrs in read.tags:
        for name in ("src", "href", "xlink:href"):
            assert attrs.get(name, "#").startswith(("data:", "#"))
    assert "@import" not in html
    assert not re.search(r"url\((?!#|data:)", html)
    ids = [attrs["id"] for _, attrs in read.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    policy = next(a["content"] for a in read.named("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")


def test_names_and_metadata_are_escaped(page):
    x, known = film((5, 8, 9))
    result = completion(100 * x, known)
    html = page(
        result, title=NASTY, axes=(NASTY, "</script>", "<!--"), command=NASTY, meta={NASTY: NASTY, "n": [NASTY]}
    )
    read = Reader(html)
    assert "alert(1)</script>" not in html
    assert len(read.named("script")) == 2
    assert [axis["name"] for axis in json.loads(read.data)["fibres"]["axes"]] == [NASTY, "</script>", "<!--"]
    assert read.text.count(NASTY) >= 4


def test_before_shows_what_was_known_and_nothing_else():
    x, known = film()
    view = View.of(x, known, (1, 2), ("frame", "height", "width"))
    shown = decode(frames(Scene.of(x, known, None, view))[3]["before"])
    assert (shown[..., 3] == np.where(known[3], 255, 0)).all()
    assert (shown[..., 0][known[3]] == np.rint(255 * x[3])[known[3]]).all()


def test_pixel_known_in_part_lacks_only_some_colours():
    x = np.full((20, 20, 3), 0.5)
    known = np.ones(x.shape, bool)
    known[2, 3, 1] = known[5, 5] = False
    view = View.of(x, known, (0, 1), ("height", "width", "colour"))
    shown = decode(frames(Scene.of(x, known, None, view))[0]["before"])
    assert shown[2, 3].tolist() == [128, 0, 128, 255]
    assert shown[5, 5, 3] == 0
    assert shown[0, 0].tolist() == [128, 128, 128, 255]


@pytest.mark.parametrize(
    ("shape", "top", "axes", "picture", "colour"),
    [
        ((5, 24, 32), 1.0, None, True, None),
        ((5, 24, 32, 3), 1.0, None, True, 3),
        ((5, 24, 32), 900.0, None, False, None),
        ((5, 24, 32), 900.0, ("frame", "height", "width"), True, None),
        ((3, 24, 32), 900.0, ("colour", "height", "width"), True, 0),
        ((3, 24, 32), 1.0, ("time", "lat", "lon"), False, None),
        ((5, 4, 4), 1.0, None, False, None),
    ],
)
def test_view_is_found_from_names_or_values(shape, top, axes, picture, colour):
    x, known = film(shape)
    view = View.of(top * x, known, (1, 2), axes)
    assert (view.picture, view.colour) == (picture, colour)


def test_slices_are_those_of_the_array():
    x = np.random.default_rng(1).random((4, 3, 20, 5, 24))
    view = View.of(x, x > 0, (0, 1), ("time", "colour", "width", "band", "height"))
    assert view.count == 20
    assert view.label(7) == "time 1, band 2"
    assert (view.take(x, 7) == x[1, :, :, 2, :].transpose(2, 1, 0)).all()


def test_fibres_hold_the_numbers():
    x, known = film((6, 7, 9))
    view = View.of(x, known, (0, 1), ("a", "b", "c"))
    packed = fibres.pack(Scene.of(x, known, x + 1, view))
    for name, values in (("x", x), ("truth", x + 1)):
        levels = np.frombuffer(base64.b64decode(packed[name]), "<u2").reshape(x.shape)
        assert np.abs(packed["low"] + levels * packed["step"] - values).max() <= packed["step"]
    bits = np.unpackbits(np.frombuffer(base64.b64decode(packed["known"]), np.uint8))[: x.size]
    assert (bits.reshape(x.shape) == known).all()


def test_large_arrays_give_fewer_fibres():
    x = np.zeros((300, 200, 100), np.float32)
    view = View.of(x, x == 0, (0, 1), ("a", "b", "c"))
    packed = fibres.pack(Scene.of(x, x == 0, None, view))
    counts = [len(axis["places"]) for axis in packed["axes"]]
    assert 50_000 < np.prod(counts) <= fibres.MOST_ENTRIES
    assert [axis["places"][-1] for axis in packed["axes"]] == [299, 199, 99]


def test_singular_values_keep_the_norm_and_ranks_are_those_built_in():
    rng = np.random.default_rng(3)
    q = random_orthogonal(7, 7, rng).matrix
    slices = np.zeros((7, 12, 10))
    for k, rank in enumerate((5, 3, 2, 1)):
        slices[k] = rng.standard_normal((12, rank)) @ rng.standard_normal((rank, 10))
    x = np.moveaxis(np.einsum("ij,jab->iab", q, slices), 0, 2)
    spectrum = Spectrum.of(completion(x, x == x, transform=Matrix(q)), x)
    assert spectrum.ranks.tolist() == [5, 3, 2, 1, 0, 0, 0]
    assert list(spectrum.values) == ["Q of vmtqn", "Fourier"]
    for sigma in spectrum.values.values():
        assert len(sigma) == 70
        assert np.isclose((sigma**2).sum(), (x**2).sum())


@pytest.mark.parametrize("shape", [(30, 200, 240, 3), (2, 1100, 900), (60, 70, 80)])
def test_even_noise_stays_below_five_megabytes(tmp_path, shape):
    rng = np.random.default_rng(0)
    x = rng.random(shape, dtype=np.float32) * (1 if shape[0] < 60 else 900)
    known = rng.random(shape) < 0.5
    view = View.of(x, known, (1, 2))
    scene = Scene.of(x, known, rng.permutation(x), view)
    packed = None if view.picture else fibres.pack(scene)
    shown = frames(scene, room=BUDGET - fibres.weight(packed))
    assert len(shown) >= min(6, shape[0])
    assert fibres.weight(packed) + sum(len(str(text)) for frame in shown for text in frame.values()) <= BUDGET


def test_whole_page_stays_below_five_megabytes(page):
    rng = np.random.default_rng(0)
    x, known = rng.random((12, 160, 200)), rng.random((12, 160, 200)) < 0.5
    transform = random_orthogonal(12, 12, rng)
    html = page(completion(x, known, (1, 2), transform, steps=500), truth=x[::-1])
    assert len(html.encode()) < 5_000_000


def test_page_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    result = completion(*film((5, 8, 9)))
    path = tmp_path / "page.html"
    path.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(FileError, match=r"page\.html: No space left"):
            result.report(path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]
    result.report(path)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("place", ["nowhere/page.html", "."])
def test_unwritable_path_is_one_sentence(tmp_path, place):
    with pytest.raises(FileError, match="cannot write") as caught:
        write_report(completion(*film((5, 8, 9))), tmp_path / place)
    assert "\n" not in str(caught.value)


def test_wrong_input_is_one_sentence(tmp_path):
    result = completion(*film((5, 8, 9)))
    for options, why in (
        ({"truth": np.zeros((5, 8))}, "the truth has shape"),
        ({"axes": ("a", "b")}, "axes names 2 axes"),
        ({"value_range": (1, 1)}, "value_range"),
    ):
        with pytest.raises(InputError, match=why):
            result.report(tmp_path / "page.html", **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["complete", "diverged", "matrix", "xarray", "masked", "holes in the truth"])
def test_unusual_results_make_a_page(page, kind):
    x, known = film((6, 8, 9))
    truth = x.copy()
    result = completion(x, known)
    if kind == "complete":
        result = completion(x, known | True, steps=0, status=Status.COMPLETE)
    elif kind == "diverged":
        result = completion(np.where(known, x, np.nan), known, status=Status.DIVERGED)
    elif kind == "matrix":
        result, truth = completion(x[0], known[0]), x[0]
    elif kind == "xarray":
        xarray = pytest.importorskip("xarray")
        result = completion(xarray.DataArray(x, dims=("time", "lat", "lon")), known)
    elif kind == "masked":
        result = completion(np.ma.array(x), known)
    else:
        truth[0, 0, 0] = np.nan
    read = Reader(page(result, truth=truth))
    assert str(result.status) in read.text
    assert ("lat" in read.text) == (kind == "xarray")


def test_notebook_shows_a_fragment(monkeypatch):
    x, known = film()
    result = completion(x, known, (1, 2))
    html = result._repr_html_()
    read = Reader(html)
    assert not read.named("script")
    assert len(read.named("img")) == 6
    assert str(result.status) in read.text
    assert len(html) < 200_000
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert fragment(result) is None
    with pytest.raises(MissingExtra, match=r"qrank\[report\]"):
        write_report(result, "never.html")


def test_comparison_shows_curves_pictures_and_rows(tmp_path):
    rows = [
        {"method": m, "pattern": "random", "rate": rate, "draw": 0, "psnr": 20 * rate + k, "ssim": 0.9, "rmse": 0.1}
        | {"seconds": 1.5 + k, "steps": 12, "status": str(Status.CONVERGED)}
        for k, m in enumerate(("tnn", "vmtqn", NASTY))
        for rate in (0.1, 0.3)
    ]
    rows[0]["psnr"] = None
    rows[1]["ssim"] = float("nan")
    picture = np.linspace(0, 1, 20 * 30).reshape(20, 30)
    table = SimpleNamespace(
        rows=rows,
        pictures={"tnn": picture, "vmtqn": picture},
        truth_picture=picture,
        holed_picture=np.where(picture < 0.4, np.nan, picture),
    )
    path = tmp_path / "page.html"
    write_comparison(table, path, title=NASTY)
    html = path.read_text(encoding="utf-8")
    read = Reader(html)
    assert "<script>alert" not in html
    assert len(read.named("tr")) == 7
    assert sum("best" in attrs.get("class", "") for attrs in read.named("tr")) == 2
    assert [attrs["alt"] for attrs in read.named("img")] == ["truth", "what was known", "tnn", "vmtqn"]
    assert (decode(read.named("img")[1]["src"])[..., 3] == np.where(picture < 0.4, 0, 255)).all()
    write_comparison(SimpleNamespace(rows=rows), path)
    with pytest.raises(InputError, match="empty"):
        write_comparison(SimpleNamespace(rows=[]), path)
