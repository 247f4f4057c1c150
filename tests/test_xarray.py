"""Labelled arrays: axes by names, answers with labels, accessors of arrays and of datasets; and what is ignored."""

from __future__ import annotations

import numpy as np
import pytest

import qrank

xarray = pytest.importorskip("xarray")
import qrank.xarray  # noqa: E402

RNG = np.random.default_rng(5)
ROWS, COLUMNS = np.mgrid[:14, :18]
TIME = np.arange(10)[:, None, None]
SEA = np.sin(ROWS / 4 + TIME / 5) + np.cos(COLUMNS / 5 - TIME / 7)
GONE = RNG.random(SEA.shape) < 0.3
LAND = (ROWS - 9) ** 2 + (COLUMNS - 5) ** 2 < 12


def maps(values=SEA, gone=GONE) -> xarray.DataArray:
    coords = {
        "time": np.arange("2024-01-01", "2024-01-11", dtype="M8[D]"),
        "lat": np.arange(14.0),
        "lon": np.arange(18.0),
    }
    array = xarray.DataArray(np.where(gone, np.nan, values), coords, ("time", "lat", "lon"), "sst", {"units": "K"})
    array.encoding = {"dtype": "int16", "scale_factor": 0.001, "_FillValue": -9999}
    return array


@pytest.mark.parametrize("axes", [("lat", "lon"), ["lat", "lon"], (1, "lon"), (1, 2)])
def test_axes_by_name(axes):
    found = qrank.complete(maps(), method="tnn", slice_axes=axes)
    np.testing.assert_array_equal(found.x.values, qrank.complete(maps().values, method="tnn", slice_axes=(1, 2)).x)
    assert found.slice_axes == (1, 2)


def test_names_that_are_not_there_are_told():
    with pytest.raises(qrank.InputError, match="there is no axis 'lot': did you mean 'lon'"):
        qrank.complete(maps(), slice_axes=("lot", "lon"))
    with pytest.raises(qrank.InputError, match="have none: give their numbers"):
        qrank.complete(maps().values, slice_axes=("lat", "lon"))
    with pytest.raises(qrank.KindError, match=r"take one, ds\['name'\], or import qrank.xarray"):
        qrank.complete(maps().to_dataset())


def test_an_answer_has_the_labels_of_the_question():
    y = maps()
    found = y.qrank.complete(dims=("lat", "lon"), effort="balanced")
    for labelled in (found.x, found.error, found.undetermined):
        assert labelled.dims == y.dims
        assert all(labelled[name].equals(y[name]) for name in y.coords)
    assert (found.x.name, found.x.attrs, found.x.encoding) == (y.name, y.attrs, y.encoding)
    np.testing.assert_array_equal(found.x.values[~GONE], SEA[~GONE])
    assert np.abs(found.x.values - SEA).max() < 0.05
    assert y.qrank.inspect(dims=("lat", "lon")).slice_axes == (1, 2)
    with pytest.raises(qrank.InputError, match="dims and slice_axes say the same"):
        y.qrank.complete(dims=("lat", "lon"), slice_axes=(1, 2))


def test_units_tell_which_axes_are_a_map():
    """By length alone time x cells would be the picture."""
    y = xarray.DataArray(np.where(GONE, np.nan, SEA)[:, :10].transpose(0, 2, 1), dims=("t", "i", "j"))
    y = y.assign_coords(j=("j", np.arange(10.0), {"units": "degrees_north"}), i=("i", np.arange(18.0), {"axis": "X"}))
    assert qrank.complete(y, effort="fast").slice_axes == (2, 1)
    assert qrank.complete(y, method="smooth").slice_axes == (0, 1)  # as documented for methods by name


def test_masks_lie_along_their_names():
    known = xarray.DataArray(~GONE, dims=("time", "lat", "lon")).transpose("lon", "time", "lat")
    found = qrank.complete(maps(gone=False), known, "tnn", ("lat", "lon"))
    np.testing.assert_array_equal(found.observed, ~GONE)
    wrong = xarray.DataArray(LAND, dims=("lat", "level"))
    with pytest.raises(qrank.InputError, match="there is no axis 'level'"):
        qrank.complete(maps(), ignore=wrong)


# --- what is ignored


def test_masks_in_another_order_are_turned():
    """A map from north to south and one from south to north: by position, the sea would have been filled by the land's mirror."""
    y = maps()
    land = xarray.DataArray(LAND, {"lat": y.lat, "lon": y.lon}, ("lat", "lon"))
    plain = qrank.complete(y, ignore=land, method="vmtqn").x.values
    for turned in (land[::-1], land[:, ::-1], land[::-1, [*range(9, 18), *range(9)]].astype(bool).T):
        np.testing.assert_array_equal(qrank.complete(y, ignore=turned, method="vmtqn").x.values, plain)
    nearly = land[::-1].assign_coords(lat=land.lat.values[::-1].astype("f4") * np.float32(1 + 1e-7))
    np.testing.assert_array_equal(qrank.complete(y, ignore=nearly, method="vmtqn").x.values, plain)
    unnamed = xarray.DataArray(LAND, dims=("lat", "lon"))  # says nothing of where it is
    np.testing.assert_array_equal(qrank.complete(y, ignore=unnamed, method="vmtqn").x.values, plain)
    with pytest.raises(qrank.InputError, match="other values of 'lat'"):
        qrank.complete(y, ignore=land.assign_coords(lat=np.arange(14) + 0.5), method="vmtqn")


@pytest.mark.parametrize("method", ["auto", "vmtqn", "interpolate"])
def test_what_is_ignored_comes_back_and_says_nothing(method):
    """Whatever the land holds, the sea is the same, and the land is as it was; it is no hole, and not undetermined."""
    answers = []
    for inland in (np.nan, 1e6):
        y = np.where(LAND, inland, maps().values)
        found = qrank.complete(y, ~GONE, method, (1, 2), ignore=LAND)
        np.testing.assert_array_equal(found.x[:, LAND], y[:, LAND])
        np.testing.assert_array_equal(found.ignored, np.broadcast_to(LAND, SEA.shape))
        assert not found.undetermined.any()
        assert not found.observed[:, LAND].any()
        if found.error is not None:
            assert (found.error[:, LAND] == 0).all()
            assert (found.error[:, ~LAND][GONE[:, ~LAND]] > 0).all()
        answers.append(found.x[:, ~LAND])
    np.testing.assert_array_equal(*answers)
    assert np.abs(answers[0] - SEA[:, ~LAND]).mean() < 0.05


def test_nothing_is_hidden_in_the_pattern_of_what_is_ignored():
    """A coast is no hole: what is hidden under scattered gaps is scattered; without being told, copies of the coast are hidden."""
    known = ~GONE & ~LAND
    hidden = [
        qrank.choose.hide.hidden(known, np.random.default_rng(0), ignored)
        for ignored in (np.broadcast_to(LAND, GONE.shape), None)
    ]
    whole = [(one.sum(axis=0) == known.sum(axis=0))[~LAND].sum() for one in hidden]
    assert whole[0] == 0
    assert whole[1] > 0


def test_all_that_is_to_be_filled_is_there():
    y = np.where(LAND, np.nan, SEA)
    found = qrank.complete(y, ignore=LAND)
    assert found.status is qrank.Status.COMPLETE
    np.testing.assert_array_equal(found.x, y)
    masked = np.ma.masked_invalid(np.where(GONE, np.nan, y))
    found = qrank.complete(masked, method="tnn", slice_axes=(1, 2), ignore=LAND)
    np.testing.assert_array_equal(np.ma.getmaskarray(found.x), np.broadcast_to(LAND, SEA.shape))


@pytest.mark.parametrize(
    ("ignore", "said"),
    [(np.ones((14, 18), bool), "all entries are ignored"), (np.ones((3, 4), bool), r"ignore has shape \(3, 4\)")],
)
def test_ignoring_badly(ignore, said):
    with pytest.raises(qrank.InputError, match=said):
        qrank.complete(maps().values, ignore=ignore)
    with pytest.raises(qrank.KindError, match="ignore must be boolean"):
        qrank.complete(maps().values, ignore=np.ones((14, 18)))


@pytest.mark.parametrize("shape", [(14, 18), (10, 14, 18), (10, 14, 18, 3)])
def test_a_mask_of_pictures_serves_frames_and_colours(shape):
    film = np.repeat(SEA[..., None], 3, axis=3)
    known = RNG.random(shape) < 0.8
    found = qrank.complete(film, known, "interpolate", (1, 2))
    frames = known.reshape((1,) * (3 - len(shape)) + shape) if len(shape) < 4 else known
    np.testing.assert_array_equal(
        found.observed, np.broadcast_to(frames if len(shape) == 4 else frames[..., None], film.shape)
    )
    with pytest.raises(qrank.InputError, match=r"\(10, 14, 18, 3\), \(10, 14, 18\) or \(14, 18\) would do"):
        qrank.complete(film, np.ones((14, 17), bool))


# --- datasets


def dataset() -> xarray.Dataset:
    """Two variables that move together in different units, one that lacks nothing, and text."""
    first, second = maps(), maps(300 + 5 * SEA, np.roll(GONE, 3, axis=1))
    second.attrs = {"units": "C"}
    full = xarray.DataArray(SEA[0], dims=("lat", "lon"))
    return xarray.Dataset(
        {"sst": first, "air": second, "depth": full, "note": ("time", ["a"] * 10)}, attrs={"made": "here"}
    )


def test_the_variables_of_a_dataset_are_completed_each_by_itself():
    ds = dataset()
    found = ds.qrank.complete(dims=("lat", "lon"), method="tnn")
    assert set(found.results) == {"sst", "air"}
    for name in ("sst", "air"):
        alone = qrank.complete(ds[name], method="tnn", slice_axes=("lat", "lon"))
        assert found.x[name].identical(alone.x)
        assert found.x[name].encoding == ds[name].encoding
    assert found.error is None
    assert found.x.attrs == ds.attrs
    assert found.x["note"].identical(ds["note"])
    assert ds["sst"].isnull().any()  # the question is not changed
    assert set(ds.qrank.complete("air", method="tnn").results) == {"air"}


def test_variables_of_one_shape_are_completed_together():
    """Of one variable little is known; it moves with the other, which tells more of it than its own entries do."""
    ds, few = dataset(), RNG.random(SEA.shape) < 0.88
    ds["air"] = ds["air"].copy(data=np.where(few, np.nan, 300 + 5 * SEA))
    found = ds.qrank.complete(["sst", "air"], dims=("lat", "lon"), together=True, method="vmtqn")
    assert found.results["sst"] is found.results["air"]
    assert found.results["sst"].x.dims == ("variable", "time", "lat", "lon")
    np.testing.assert_array_equal(found.x["air"].values[~few], ds["air"].values[~few])
    assert found.x["air"].dims == found.undetermined["air"].dims == ds["air"].dims
    assert found.x["air"].attrs == {"units": "C"}
    assert found.x["air"].encoding == ds["air"].encoding
    alone = ds.qrank.complete("air", dims=("lat", "lon"), method="vmtqn").x["air"].values
    errors = [np.abs(x - (300 + 5 * SEA)).mean() for x in (found.x["air"].values, alone)]
    assert errors[0] < 0.7 * errors[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"variables": ["sstt"]}, "there is no variable 'sstt': did you mean 'sst'"),
        ({"variables": []}, "no variable of numbers lacks entries"),
        ({"together": True}, "need the same dimensions: sst"),
    ],
)
def test_variables_that_cannot_be_completed(words, said):
    with pytest.raises(qrank.InputError, match=said):
        dataset().qrank.complete(**words)


def test_errors_of_a_dataset_are_in_the_units_of_its_variables():
    found = dataset().qrank.complete(["sst", "air"], dims=("lat", "lon"), together=True)
    ratio = float(
        found.error["air"].where(lambda e: e > 0).median() / found.error["sst"].where(lambda e: e > 0).median()
    )
    assert 2 < ratio < 12
    assert set(found.error) == {"sst", "air"}
