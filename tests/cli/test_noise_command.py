"""--noise, --outliers and denoise."""

import json

import numpy as np
import pytest
from calling import call, one_line

import qrank


@pytest.fixture
def film(tmp_path):
    x = 255 * qrank.data.clip(8, 24, 32, colour=False)
    y = x + 12 * np.random.default_rng(0).standard_normal(x.shape)
    np.save(tmp_path / "film.npy", y)
    return x, y


def test_denoise_writes_a_cleaner_file_and_says_how_noisy_it_was(tmp_path, film):
    x, y = film
    words = ("denoise", tmp_path / "film.npy", "-o", tmp_path / "out.npy", "--slice-axes", "1,2")
    said = call(*words).stdout
    assert "missing: 0 of 6144 entries (0.0%); filling and cleaning with auto" in said
    assert "noise: standard deviation 1" in said
    facts = json.loads(call(*words, "--json").stdout)
    assert facts["noise"] == pytest.approx(12, rel=0.15)
    assert np.linalg.norm(np.load(tmp_path / "out.npy") - x) < 0.7 * np.linalg.norm(y - x)
    call(*words, "--noise", 12)
    other = np.load(tmp_path / "out.npy")
    np.testing.assert_allclose(other, qrank.denoise(y, 12.0, slice_axes=(1, 2)).x)


def test_fill_takes_noise_and_outliers(tmp_path, film):
    _, y = film
    np.save(tmp_path / "film.npy", np.where(np.random.default_rng(1).random(y.shape) < 0.05, 900, y))
    words = ("fill", tmp_path / "film.npy", "-o", tmp_path / "out.npy", "--drop", 0.2, "--method", "vmtqn", "--json")
    facts = json.loads(call(*words, "--noise", 12, "--outliers", "entries").stdout)
    assert facts["noise"] == 12
    assert 200 < facts["outliers"] < 1500  # 5 % of the known, and some of the noise
    page = tmp_path / "page.html"
    call(*words, "--outliers", "entries", "--report", page)
    text = page.read_text(encoding="utf-8")
    assert "outliers" in text
    assert 'data-layer="outlier"' in text
    assert "known entries" in text


def test_bad_words(tmp_path, film):
    words = ("fill", tmp_path / "film.npy", "-o", tmp_path / "out.npy")
    assert "or auto, not much" in one_line(call(*words, "--noise", "much", code=2))
    assert "noise must be above 0" in one_line(call(*words, "--noise", "-3", code=2))
    assert "'entries' or 'fibres', not 'pixels'" in one_line(call(*words, "--outliers", "pixels", code=2))
    said = call("denoise", *words[1:], "--noise", "1e4", "--method", "vmtqn").stdout
    assert "is it in their unit?" in said
