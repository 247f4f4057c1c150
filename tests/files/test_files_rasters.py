"""GeoTIFF: bands, tags, georeference, nodata, tiles and compression come back as they were; rasterio is the judge."""

from __future__ import annotations

import numpy as np
import pytest
import tifffile

from qrank.errors import FileError
from qrank.files import missing_mask, raster, read, write

RNG = np.random.default_rng(4)
BANDS = RNG.normal(size=(8, 48, 64)).astype("float32")
GONE = np.zeros(BANDS.shape, bool)
GONE[2, 5:20, 30:50] = GONE[6, 40:, :9] = True
NODATA = -9999


def band_tags() -> list[tuple]:
    """The tags of the raster that came back without them: pixel scale, tie point, GDAL's nodata."""
    return [
        (33550, 12, 3, (30.0, 30.0, 0.0), False),
        (33922, 12, 6, (0.0, 0.0, 0.0, 5e5, 5e6, 0.0), False),
        (42113, 2, None, str(NODATA), False),
    ]


@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_bands_of_one_page_stay_in_it(tmp_path, planar):
    data = np.where(GONE, np.float32(NODATA), BANDS)
    stored = data if planar == "separate" else np.moveaxis(data, 0, -1)
    options = {"photometric": "minisblack", "planarconfig": planar, "metadata": None, "extratags": band_tags()}
    tifffile.imwrite(tmp_path / "a.tif", stored, **options)
    loaded = read(tmp_path / "a.tif")
    names = {"separate": ("band", "height", "width"), "contig": ("height", "width", "band")}
    assert loaded.axes == names[planar]
    gone = GONE if planar == "separate" else np.moveaxis(GONE, 0, -1)
    np.testing.assert_array_equal(missing_mask(loaded), gone)
    assert write(tmp_path / "b.tif", np.where(gone, 7, loaded.data), like=loaded) == []
    with tifffile.TiffFile(tmp_path / "b.tif") as file:
        assert len(file.pages) == 1
        page = file.pages.first
        assert page.shape == stored.shape
        assert page.tags[33550].value == (30.0, 30.0, 0.0)
        assert page.tags[33922].value == (0.0, 0.0, 0.0, 5e5, 5e6, 0.0)
        assert page.tags[42113].value == str(NODATA)
        np.testing.assert_array_equal(page.asarray(), np.where(gone, 7, stored))
    write(tmp_path / "c.tif", loaded.data, like=loaded)  # what is still missing is marked as it was
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "c.tif"), stored)


CASES = [
    {"dtype": "float32", "interleave": "band", "tiled": True, "BIGTIFF": "YES", "compress": "deflate"},
    {"dtype": "float32", "interleave": "pixel", "tiled": True, "compress": "deflate", "predictor": 2},
    {"dtype": "float32", "interleave": "band", "compress": "deflate", "predictor": 3},
    {"dtype": "float32", "interleave": "pixel", "compress": "lzw"},
    {"dtype": "int16", "interleave": "band", "tiled": True, "compress": "deflate", "predictor": 2},
    {"dtype": "uint16", "interleave": "pixel"},
    {"dtype": "uint8", "interleave": "pixel", "photometric": "rgb"},
    {"dtype": "uint8", "interleave": "band", "ENDIANNESS": "BIG"},
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
@pytest.mark.filterwarnings("ignore")
def test_gdal_finds_its_own_raster_again(tmp_path, case):
    rasterio = pytest.importorskip("rasterio")
    nodata = {"float32": NODATA, "int16": NODATA, "uint16": 65535, "uint8": 0}[case["dtype"]]
    data = (np.where(GONE, nodata, BANDS * 20 + 120)).astype(case["dtype"])
    place = rasterio.transform.from_origin(5e5, 5e6, 30, 20)
    profile = {"driver": "GTiff", "width": 64, "height": 48, "count": 8, "crs": "EPSG:32633", "transform": place}
    sizes = {"blockxsize": 16, "blockysize": 32} if case.get("tiled") else {}
    with rasterio.open(tmp_path / "a.tif", "w", **profile, nodata=nodata, **sizes, **case) as file:
        file.write(data)
        file.set_band_description(3, "red edge")
        file.update_tags(SENSOR="a camera")
    loaded = read(tmp_path / "a.tif")
    gone = missing_mask(loaded)
    assert gone.sum() >= GONE.sum()
    filled = np.where(gone, loaded.data.dtype.type(100), loaded.data)
    notes = write(tmp_path / "b.tif", filled, like=loaded)
    assert bool(notes) == (case.get("compress") == "lzw" and not raster._has_codecs())
    with rasterio.open(tmp_path / "a.tif") as old, rasterio.open(tmp_path / "b.tif") as new:
        wanted = np.where(data == nodata, np.array(100, data.dtype), data)
        np.testing.assert_array_equal(new.read(), wanted)
        for name in ("crs", "transform", "nodata", "dtypes", "count", "descriptions", "block_shapes", "colorinterp"):
            assert getattr(new, name) == getattr(old, name), name
        for name in ("interleave", "tiled"):
            assert new.profile.get(name) == old.profile.get(name), name
        assert new.tags()["SENSOR"] == "a camera"
        if case.get("compress") == "deflate":
            assert new.profile["compress"] == "deflate"
    with tifffile.TiffFile(tmp_path / "b.tif") as file:
        assert file.is_bigtiff == ("BIGTIFF" in case)
        assert file.byteorder == (">" if "ENDIANNESS" in case else "<")


def test_masks_and_smaller_copies_are_not_the_picture(tmp_path):
    rasterio = pytest.importorskip("rasterio")
    profile = {"driver": "GTiff", "width": 64, "height": 48, "count": 1, "dtype": "uint8", "crs": "EPSG:4326"}
    profile["transform"] = rasterio.transform.from_origin(5, 50, 0.1, 0.1)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(tmp_path / "a.tif", "w", **profile) as file:
        file.write(np.arange(48 * 64, dtype=np.uint8).reshape(1, 48, 64))
        file.write_mask(np.ones((48, 64), bool))
        file.build_overviews([2])
    assert read(tmp_path / "a.tif").data.shape == (48, 64)


@pytest.mark.parametrize(
    ("text", "dtype", "value"),
    [
        ("-9999", "int16", -9999),
        ("-9999", "uint8", None),
        ("0.5", "uint8", None),
        ("0", "uint8", 0),
        ("-3.4028234663852886e+38", "float32", float(np.finfo("float32").min)),
        ("1e300", "float32", np.inf),
        ("none", "float32", None),
    ],
)
def test_nodata_of_every_type(tmp_path, text, dtype, value):
    tifffile.imwrite(
        tmp_path / "a.tif", np.ones((4, 5), dtype), metadata=None, extratags=[(42113, 2, None, text, True)]
    )
    assert read(tmp_path / "a.tif").meta.get("nodata") == value


def test_a_folder_of_rasters_has_their_nodata(tmp_path):
    (tmp_path / "in").mkdir()
    for k in range(3):
        page = np.full((6, 8), k + 1, np.int16)
        page[k, 2] = NODATA
        tifffile.imwrite(tmp_path / "in" / f"{k}.tif", page, metadata=None, extratags=band_tags())
    loaded = read(tmp_path / "in")
    assert np.argwhere(missing_mask(loaded)).tolist() == [[0, 0, 2], [1, 1, 2], [2, 2, 2]]
    write(tmp_path / "out", np.maximum(loaded.data, 1), like=loaded)
    with tifffile.TiffFile(tmp_path / "out" / "2.tif") as file:
        assert file.pages.first.tags[42113].value == str(NODATA)


def test_a_raster_of_another_size_lies_elsewhere(tmp_path):
    data = np.full((8, 12), 40, np.int16)
    data[2:4, 3:5] = NODATA
    tifffile.imwrite(tmp_path / "a.tif", data, metadata=None, extratags=band_tags())
    small = read(tmp_path / "a.tif", resize="0.5")
    assert set(np.unique(small.data)) == {40, NODATA}  # nothing in between: none is no value
    notes = write(tmp_path / "b.tif", small.data, like=small)
    assert notes == ["the georeference was left out: it is that of pictures of another size"]
    with tifffile.TiffFile(tmp_path / "b.tif") as file:
        assert 33550 not in file.pages.first.tags
        assert 42113 in file.pages.first.tags


def test_what_cannot_be_unpacked_is_told(tmp_path, monkeypatch):
    rasterio = pytest.importorskip("rasterio")
    profile = {"driver": "GTiff", "width": 64, "height": 48, "count": 8, "dtype": "float32", "crs": "EPSG:4326"}
    profile["transform"] = rasterio.transform.from_origin(5, 50, 0.1, 0.1)
    with rasterio.open(tmp_path / "a.tif", "w", **profile, compress="lzw") as file:
        file.write(BANDS)
    if raster._has_codecs():
        pytest.skip("imagecodecs is installed")
    np.testing.assert_array_equal(np.moveaxis(read(tmp_path / "a.tif").data, -1, 0), BANDS)
    monkeypatch.setitem(__import__("sys").modules, "rasterio", None)
    with pytest.raises(FileError, match="compressed by lzw with predictor 1: install imagecodecs or rasterio"):
        read(tmp_path / "a.tif")
