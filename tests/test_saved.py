"""Completions in files, and what is shown of them."""

import numpy as np
import pytest

import qrank


@pytest.fixture(scope="module")
def film():
    x = qrank.data.clip()[:14, ::4, ::4].mean(axis=-1)
    return np.where(qrank.data.observed(x.shape, 0.5, slice_axes=(1, 2), rng=1), x, np.nan)


CASES = {
    "auto": {},
    "vmtqn": dict(penalty="log-sum:3", tol=1e-3),
    "tqn": dict(q=qrank.transforms.Cosine(12).matrix),
    "tnn": {},
    "patches": dict(shape=(3, 4, 4), rounds=1),
}


@pytest.mark.parametrize("method", CASES)
def test_what_is_saved_is_loaded(film, method, tmp_path):
    first = qrank.complete(film[:12], method=method, slice_axes=(1, 2), **CASES[method])
    first.save(tmp_path / "run")
    found = qrank.load(tmp_path / "run")
    assert [file.name for file in tmp_path.iterdir()] == ["run"]
    for name in ("x", "observed", "error", "undetermined"):
        one, other = getattr(first, name), getattr(found, name)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(other, one)
            assert other.dtype == one.dtype
    assert (found.status, found.slice_axes, found.history) == (first.status, first.slice_axes, first.history)
    assert str(found.method) == str(first.method)
    assert found.choice == first.choice
    assert repr(found) == repr(first)
    if first.transform is not None:
        np.testing.assert_array_equal(found.transform.matrix, first.transform.matrix)
    # All that going on needs is there, too
    np.testing.assert_array_equal(found.update(film[12:]).x, first.update(film[12:]).x)


def test_masked_and_labelled_arrays_come_back_plain(film, tmp_path):
    xarray = pytest.importorskip("xarray")
    masked = qrank.complete(np.ma.masked_invalid(film), method="smooth")
    labelled = qrank.complete(xarray.DataArray(film, dims=("t", "y", "x")), method="smooth")
    for result in (masked, labelled):
        result.save(tmp_path / "a.npz")
        assert type(qrank.load(tmp_path / "a.npz").x) is np.ndarray
        np.testing.assert_array_equal(qrank.load(tmp_path / "a.npz").x, np.asarray(result.x))


def test_transforms_are_loaded_as_well(film, tmp_path):
    learned = qrank.complete(film, method="vmtqn", slice_axes=(1, 2)).transform
    learned.save(tmp_path / "q.npz")
    for load in (qrank.load, qrank.load_transform):
        np.testing.assert_array_equal(load(tmp_path / "q.npz").matrix, learned.matrix)


def test_damaged_and_foreign_files(film, tmp_path):
    qrank.complete(film, method="tnn").save(tmp_path / "good.npz")
    whole = (tmp_path / "good.npz").read_bytes()
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    np.savez(tmp_path / "pickled.npz", q=np.array([{}], dtype=object))
    np.savez(tmp_path / "odd.npz", about=np.frombuffer(b"[1, 2]", np.uint8), x=np.ones(2))
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.npz").write_text("no archive")
    (tmp_path / "flipped.npz").write_bytes(whole[:200] + bytes(255 - b for b in whole[200:260]) + whole[260:])
    for name in ("other", "pickled", "odd", "cut", "text", "flipped", "missing"):
        with pytest.raises(qrank.FileError, match=name) as told:
            qrank.load(tmp_path / f"{name}.npz")
        assert "\n" not in str(told.value)


def test_what_qrank_does_not_define_is_not_saved(film, tmp_path):
    class Own(qrank.penalties.Nuclear):
        name = "own"

    result = qrank.complete(film, method="vmtqn", penalty=Own())
    with pytest.raises(qrank.InputError, match=r"Own \(method.penalty\) cannot be saved"):
        result.save(tmp_path / "a.npz")
    assert not list(tmp_path.iterdir())


def test_three_lines(film):
    lines = repr(qrank.complete(film, method="TNN")).splitlines()
    share = np.isnan(film).mean()
    assert len(lines) == 3
    assert "14 x 30 x 40" in lines[0] or " x ".join(map(str, film.shape)) in lines[0]
    assert f"{share:.1%}" in lines[0]
    assert "tnn" in lines[0]
    assert lines[1] == str(qrank.Status.SETTLED)
    assert lines[2] == "no error was estimated"
    told = repr(qrank.complete(film))
    assert "standard error estimated for the filled entries: 0." in told


@pytest.mark.parametrize("name", ["TNN-C", "tnn_c", " Tnn C "])
def test_names_of_methods_in_any_case(film, name):
    assert qrank.complete(film[:3], method=name, max_steps=500).method.name == "tnn-c"


def test_an_inspection_in_a_notebook(film):
    found = qrank.inspect(film)
    page = found._repr_html_()
    assert page.count("<tr>") == 1 + len(found.choice.trials)
    assert f"missing {found.missing} of" in page
    assert "candidates, their error" not in page


def test_outliers_noise_and_what_was_ignored_are_saved_as_well(film, tmp_path):
    land = np.zeros(film.shape, bool)
    land[:, :3, :4] = True
    robust = qrank.separate(film, method="tnn")
    noisy = qrank.complete(film, method="views", noise=0.01, ignore=land)
    units = qrank.complete(film, method="tnn", units=0)
    for first in (robust, noisy, units):
        first.save(tmp_path / "a.npz")
        found = qrank.load(tmp_path / "a.npz")
        assert found.noise == first.noise
        for name in ("outliers", "ignored"):
            one, other = getattr(first, name), getattr(found, name)
            assert (one is None) == (other is None)
            np.testing.assert_array_equal(other, one)
    assert np.abs(robust.outliers).max() > 0
    np.testing.assert_array_equal(found.units.mean, units.units.mean)
    np.testing.assert_array_equal(found.units.spread, units.units.spread)


def test_a_table_keeps_its_names(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(np.add.outer(np.arange(9.0), np.arange(4)), columns=list("abcd"))
    table.iloc[3, 2] = np.nan
    first = qrank.complete(table, method="vmtqn")
    first.save(tmp_path / "a.npz")
    found = qrank.load(tmp_path / "a.npz")
    assert (found.axes, found.labels) == (first.axes, {1: list("abcd")})


def test_what_the_directory_of_a_file_hides_is_missed(film, tmp_path):
    """A zip has checksums of its members, but none of its list of them: a completion came back as the transform that it holds."""
    result = qrank.complete(film, method="vmtqn", slice_axes=(1, 2))
    result.save(tmp_path / "a.npz")
    whole, refused = (tmp_path / "a.npz").read_bytes(), 0
    for place in range(whole.index(b"PK\x01\x02"), len(whole)):
        for change in (1, 0x41):
            spoilt = whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :]
            (tmp_path / "a.npz").write_bytes(spoilt)
            try:
                found = qrank.load(tmp_path / "a.npz")
            except qrank.FileError:
                refused += 1
            else:
                np.testing.assert_array_equal(found.x, result.x)
                assert (found.undetermined is None) == (result.undetermined is None)
                assert found.history == result.history
    assert refused > 100
