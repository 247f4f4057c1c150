"""Pictures: every depth and mode comes back as it was; folders keep their names; TIFF keeps its axes."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image

from qrank.errors import FileError, InputError
from qrank.files import missing_mask, read, write
from qrank.files.png16 import write_png16

RNG = np.random.default_rng(1)
GREY = RNG.integers(0, 256, (6, 8), dtype=np.uint8)
RGB = RNG.integers(0, 256, (6, 8, 3), dtype=np.uint8)
RGBA = np.dstack([RGB, RNG.integers(0, 255, (6, 8), dtype=np.uint8)])
RGBA16 = RNG.integers(0, 65536, (6, 8, 4), dtype=np.uint16)


def again(path, **options):
    """Read, write as float64 beside, and return what was read first and what is there then."""
    loaded = read(path, **options)
    copy = path.with_name("copy_" + path.name)
    write(copy, loaded.data.astype(float), like=loaded)
    return loaded, read(copy)


@pytest.mark.parametrize("suffix", ["png", "bmp", "webp", "tif", "jp2"])
@pytest.mark.parametrize("pixels", [GREY, RGB], ids=["grey", "colour"])
def test_lossless_pictures_round_trip(tmp_path, suffix, pixels):
    path = tmp_path / f"a.{suffix}"
    assert write(path, pixels) == []
    loaded, copy = again(path)
    if suffix == "webp" and pixels.ndim == 2:  # WebP has no grey
        pixels = np.dstack([pixels] * 3)
    np.testing.assert_array_equal(loaded.data, pixels)
    np.testing.assert_array_equal(copy.data, pixels)
    assert loaded.axes == ("height", "width", "colour")[: pixels.ndim]
    assert loaded.slice_axes == (0, 1)


def test_jpeg_says_that_it_is_not_exact(tmp_path):
    assert "not exactly" in write(tmp_path / "a.jpg", np.full((8, 8, 3), 100, np.uint8))[0]
    assert abs(read(tmp_path / "a.jpg").data.astype(int) - 100).max() <= 1


@pytest.mark.parametrize("suffix", ["png", "webp", "tif"])
def test_transparency_stays_out_of_the_data_and_comes_back(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    if suffix == "tif":
        tifffile.imwrite(path, RGBA, photometric="rgb", extrasamples=["unassalpha"])
    else:
        Image.fromarray(RGBA).save(path, **({"lossless": True, "exact": True} if suffix == "webp" else {}))
    loaded, copy = again(path)
    np.testing.assert_array_equal(loaded.data, RGBA[..., :3])
    np.testing.assert_array_equal(loaded.meta["alpha"], RGBA[..., 3])
    np.testing.assert_array_equal(copy.meta["alpha"], RGBA[..., 3])
    seen = RGBA[..., 3] > 0  # WebP forgets colours that cannot be seen
    np.testing.assert_array_equal(copy.data[seen], RGBA[..., :3][seen])


def test_grey_with_transparency(tmp_path):
    Image.fromarray(RGBA[..., [0, 3]]).save(tmp_path / "a.png")
    loaded, copy = again(tmp_path / "a.png")
    np.testing.assert_array_equal(loaded.data, RGBA[..., 0])
    np.testing.assert_array_equal(copy.meta["alpha"], RGBA[..., 3])


def test_transparency_that_does_not_fit_is_left_out_and_said(tmp_path):
    Image.fromarray(RGBA).save(tmp_path / "a.png")
    loaded = read(tmp_path / "a.png")
    assert any("transparency" in note for note in write(tmp_path / "a.bmp", loaded.data, like=loaded))


def test_palette_and_one_bit(tmp_path):
    Image.fromarray(RGB).quantize(16).save(tmp_path / "p.png")
    seen = np.asarray(Image.open(tmp_path / "p.png").convert("RGB"))
    loaded, copy = again(tmp_path / "p.png")
    np.testing.assert_array_equal(loaded.data, seen)
    np.testing.assert_array_equal(copy.data, seen)
    Image.fromarray(GREY > 99).save(tmp_path / "bits.png")
    loaded, copy = again(tmp_path / "bits.png")
    np.testing.assert_array_equal(loaded.data, np.where(GREY > 99, 255, 0))
    np.testing.assert_array_equal(copy.data, loaded.data)
    assert Image.open(tmp_path / "copy_bits.png").mode == "1"


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_sixteen_bit_png(tmp_path, channels):
    path = tmp_path / "a.png"
    if channels == 1:
        Image.fromarray(RGBA16[..., 0].copy()).save(path)
    else:
        write_png16(path, RGBA16[..., :channels])
    loaded, copy = again(path)
    assert loaded.data.dtype == np.uint16
    np.testing.assert_array_equal(loaded.data, RGBA16[..., 0] if channels == 1 else RGBA16[..., :3])
    np.testing.assert_array_equal(copy.data, loaded.data)
    if channels == 4:
        np.testing.assert_array_equal(copy.meta["alpha"], RGBA16[..., 3])


def test_sixteen_bit_grey_with_transparency(tmp_path):
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", 8, 6, 16, 4, 0, 0, 0)  # width, height, bits, grey with transparency
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in RGBA16[..., [0, 3]])
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    loaded, copy = again(tmp_path / "a.png")
    np.testing.assert_array_equal(loaded.data, RGBA16[..., 0])
    np.testing.assert_array_equal(copy.data, np.dstack([loaded.data] * 3))  # written as colour, same values
    np.testing.assert_array_equal(copy.meta["alpha"], RGBA16[..., 3])


@pytest.mark.parametrize("suffix", ["pgm", "jp2"])
def test_sixteen_bit_grey_elsewhere(tmp_path, suffix):
    assert write(tmp_path / f"a.{suffix}", RGBA16[..., 0]) == []
    loaded, copy = again(tmp_path / f"a.{suffix}")
    assert copy.data.dtype == np.uint16
    np.testing.assert_array_equal(loaded.data, RGBA16[..., 0])
    np.testing.assert_array_equal(copy.data, RGBA16[..., 0])
    assert "8 bits" in write(tmp_path / "a.bmp", RGBA16[..., :3])[0]
    np.testing.assert_array_equal(read(tmp_path / "a.bmp").data, np.rint(RGBA16[..., :3] / 257))


def test_exif_turns_the_picture_and_dpi_is_kept(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # held with the right side down
    Image.fromarray(GREY).save(tmp_path / "a.png", exif=exif, dpi=(300, 300))
    loaded, copy = again(tmp_path / "a.png")
    np.testing.assert_array_equal(loaded.data, np.rot90(GREY, -1))
    np.testing.assert_array_equal(copy.data, loaded.data)
    assert Image.open(tmp_path / "copy_a.png").info["dpi"] == pytest.approx((300, 300), abs=0.1)


def test_floats_are_zero_to_one(tmp_path):
    write(tmp_path / "a.png", np.array([[0.0, 0.5], [1.0, 1.1]]))
    np.testing.assert_array_equal(read(tmp_path / "a.png").data, [[0, 128], [255, 255]])
    with pytest.raises(FileError, match=r"takes floats of \[0, 1\], and these go from 0 to 200"):
        write(tmp_path / "a.png", np.array([[0.0, 200.0]]))
    with pytest.raises(FileError, match="NaN are no pixels"):
        write(tmp_path / "a.png", np.array([[0.0, np.nan]]))


def test_grey_and_resize(tmp_path):
    write(tmp_path / "a.png", RGB)
    grey = read(tmp_path / "a.png", grey=True)
    np.testing.assert_array_equal(grey.data, np.rint(RGB @ [0.299, 0.587, 0.114]).astype(np.uint8))
    assert grey.axes == ("height", "width")
    write(tmp_path / "flat.png", np.full((6, 8, 3), 9, np.uint8))
    for size in ((3, 4), "3x4", "0.5", 0.5):
        small = read(tmp_path / "flat.png", resize=size)
        np.testing.assert_array_equal(small.data, np.full((3, 4, 3), 9))
    for wrong in ("3by4", (1, 2, 3), (0, 4), "-1", "nan"):
        with pytest.raises(InputError, match="neither HEIGHTxWIDTH"):
            read(tmp_path / "flat.png", resize=wrong)
    Image.fromarray(RGBA).save(tmp_path / "b.png")
    assert read(tmp_path / "b.png", resize="2x5").meta["alpha"].shape == (2, 5)


# --- folders


def make_folder(folder, names, pixels=GREY):
    folder.mkdir()
    for number, name in enumerate(names):
        Image.fromarray((pixels // 2 + number).astype(np.uint8)).save(folder / name)


def test_folder_keeps_names_and_counts_as_people_do(tmp_path):
    make_folder(tmp_path / "in", ["view10.png", "view2.png", "view1.bmp"])
    (tmp_path / "in" / "notes.txt").write_text("not a picture")
    loaded = read(tmp_path / "in")
    assert loaded.meta["names"] == ["view1.bmp", "view2.png", "view10.png"]
    assert (loaded.kind, loaded.axes, loaded.slice_axes) == ("images", ("frame", "height", "width"), (1, 2))
    np.testing.assert_array_equal(loaded.data[0], GREY // 2 + 2)
    write(tmp_path / "out", loaded.data, like=loaded)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["view1.bmp", "view10.png", "view2.png"]
    np.testing.assert_array_equal(read(tmp_path / "out").data, loaded.data)


def test_folder_with_other_files_loses_none(tmp_path):
    make_folder(tmp_path / "in", ["a.png", "b.png"])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "keep.txt").write_text("keep")
    (tmp_path / "out" / "a.png").write_text("old")
    loaded = read(tmp_path / "in", frames=":1")
    write(tmp_path / "out", loaded.data, like=loaded)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["a.png", "keep.txt"]
    assert (tmp_path / "out" / "keep.txt").read_text() == "keep"
    np.testing.assert_array_equal(read(tmp_path / "out" / "a.png").data, loaded.data[0])


def test_glob_over_folders_keeps_the_tree(tmp_path):
    make_folder(tmp_path / "x", ["1.png"])
    make_folder(tmp_path / "y", ["1.png"])
    loaded = read(tmp_path / "*" / "1.png")
    assert loaded.meta["names"] == ["x/1.png", "y/1.png"]
    write(tmp_path / "out", loaded.data, like=loaded)
    np.testing.assert_array_equal(read(tmp_path / "out" / "y" / "1.png").data, loaded.data[1])
    write(tmp_path / "out", loaded.data, like=loaded)  # again, into the folders that are there now


def test_unequal_pictures_are_named(tmp_path):
    make_folder(tmp_path / "in", ["a.png"])
    Image.fromarray(GREY[:4]).save(tmp_path / "in" / "b.png")
    with pytest.raises(FileError, match=r"one size: .*a.png is 6 x 8 and .*b.png is 4 x 8"):
        read(tmp_path / "in")
    Image.fromarray(RGB).save(tmp_path / "in" / "b.png")
    with pytest.raises(FileError, match=r"a.png is grey and .*b.png is in colour: read all of them as grey"):
        read(tmp_path / "in")
    assert read(tmp_path / "in", grey=True).data.shape == (2, 6, 8)
    Image.fromarray(RGBA16[..., 0].copy()).save(tmp_path / "in" / "b.png")
    with pytest.raises(FileError, match=r"uint8 and .*b.png holds uint16"):
        read(tmp_path / "in")


def test_folder_without_pictures(tmp_path):
    with pytest.raises(FileError, match="there are no pictures in"):
        read(tmp_path)
    with pytest.raises(FileError, match="there are no pictures in"):
        read(tmp_path / "*.png")


def test_folder_of_tiff_keeps_floats(tmp_path):
    (tmp_path / "in").mkdir()
    pages = RNG.normal(size=(3, 6, 8)).astype("float32") * 100
    for number, page in enumerate(pages):
        tifffile.imwrite(tmp_path / "in" / f"{number}.tif", page)
    loaded = read(tmp_path / "in")
    write(tmp_path / "out", loaded.data, like=loaded)
    np.testing.assert_array_equal(read(tmp_path / "out").data, pages)


def test_folder_with_transparency_in_some(tmp_path):
    (tmp_path / "in").mkdir()
    Image.fromarray(RGB).save(tmp_path / "in" / "a.png")
    Image.fromarray(RGBA).save(tmp_path / "in" / "b.png")
    loaded = read(tmp_path / "in")
    write(tmp_path / "out", loaded.data, like=loaded)
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "out" / "b.png")), RGBA)
    np.testing.assert_array_equal(read(tmp_path / "out").data, loaded.data)


# --- TIFF


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(6, 8), (6, 8, 3), (5, 6, 8), (5, 6, 8, 3)])
def test_tiff_round_trip(tmp_path, dtype, shape):
    pages = (RNG.normal(size=shape) * 40 + 100).astype(dtype)
    photometric = "rgb" if shape[-1] == 3 else "minisblack"
    tifffile.imwrite(tmp_path / "a.tif", pages, photometric=photometric)
    loaded, copy = again(tmp_path / "a.tif")
    assert copy.data.dtype == dtype
    np.testing.assert_array_equal(loaded.data, pages)
    np.testing.assert_array_equal(copy.data, pages)
    assert copy.axes == loaded.axes
    assert loaded.axes[-1] == ("colour" if shape[-1] == 3 else "width")


def test_tiff_keeps_resolution_compression_and_imagej_axes(tmp_path):
    pages = RNG.integers(0, 65536, (3, 2, 6, 8), dtype=np.uint16)
    notes = {"axes": "TZYX", "unit": "um", "spacing": 2.5}
    tifffile.imwrite(tmp_path / "a.tif", pages, imagej=True, resolution=(4.0, 2.0), metadata=notes)
    loaded, copy = again(tmp_path / "a.tif", frames="1:")
    assert loaded.axes == copy.axes == ("time", "depth", "height", "width")
    np.testing.assert_array_equal(copy.data, pages[1:])
    with tifffile.TiffFile(tmp_path / "copy_a.tif") as file:
        assert file.imagej_metadata["spacing"] == 2.5
        assert file.pages[0].resolution == (4.0, 2.0)
    tifffile.imwrite(tmp_path / "b.tif", pages[0, 0], compression="zlib")
    again(tmp_path / "b.tif")
    with tifffile.TiffFile(tmp_path / "copy_b.tif") as file:
        assert file.pages[0].compression.name == "ADOBE_DEFLATE"


def test_tiff_of_other_makers(tmp_path):
    Image.fromarray(RGB).save(tmp_path / "lzw.tif", compression="tiff_lzw")
    np.testing.assert_array_equal(again(tmp_path / "lzw.tif")[1].data, RGB)
    Image.fromarray(RGB).quantize(16).save(tmp_path / "p.tif")
    seen = np.asarray(Image.open(tmp_path / "p.tif").convert("RGB"))
    np.testing.assert_array_equal(again(tmp_path / "p.tif")[1].data, seen)
    tifffile.imwrite(tmp_path / "planes.tif", RGB.transpose(2, 0, 1), photometric="rgb", planarconfig="separate")
    np.testing.assert_array_equal(again(tmp_path / "planes.tif")[1].data, RGB)


def test_tiff_bands_are_not_transparency(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", RGBA, photometric="rgb", extrasamples=["unspecified"])
    loaded, copy = again(tmp_path / "a.tif")
    assert loaded.axes == ("height", "width", "band")
    np.testing.assert_array_equal(copy.data, RGBA)


def test_tiff_with_several_series(tmp_path):
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        file.write(GREY)
        file.write(GREY[:3, :4])
    with pytest.raises(FileError, match=r"several arrays: 0 \(6 x 8\), 1 \(3 x 4\)"):
        read(tmp_path / "a.tif")
    np.testing.assert_array_equal(read(f"{tmp_path}/a.tif::1").data, GREY[:3, :4])


# --- from one kind to another


def test_conversions(tmp_path):
    make_folder(tmp_path / "in", ["a.png", "b.png"], RGB)
    loaded = read(tmp_path / "in")
    for name in ("a.npy", "a.npz", "a.mat", "a.h5", "a.zarr", "a.nc", "a.tif"):
        write(tmp_path / name, loaded.data, like=loaded)
        np.testing.assert_array_equal(read(tmp_path / name).data, loaded.data)
    assert read(tmp_path / "a.nc").axes == loaded.axes
    assert read(tmp_path / "a.nc").slice_axes == (1, 2)
    cube = read(tmp_path / "a.npy", frames=None)
    with pytest.raises(FileError, match="2 x 6 x 8 x 3 is no picture or video"):
        write(tmp_path / "one.png", cube.data, like=cube)
    with pytest.raises(FileError, match=r"one.png holds one picture and there are 2"):
        write(tmp_path / "one.png", loaded.data, like=loaded)


def test_plain_arrays_become_pictures_along_their_slice_axes(tmp_path):
    cube = RNG.integers(0, 256, (6, 8, 5), dtype=np.uint8)
    np.save(tmp_path / "a.npy", cube)
    loaded = read(tmp_path / "a.npy")
    write(tmp_path / "a.tif", cube, like=loaded)
    np.testing.assert_array_equal(read(tmp_path / "a.tif").data, cube.transpose(2, 0, 1))
    write(tmp_path / "frames", cube, like=loaded)
    assert [p.name for p in sorted((tmp_path / "frames").iterdir())] == [f"frame{n}.png" for n in range(5)]
    np.save(tmp_path / "b.npy", GREY.astype(np.int64) * 100)
    wide = read(tmp_path / "b.npy")
    write(tmp_path / "b.png", wide.data, like=wide)
    np.testing.assert_array_equal(read(tmp_path / "b.png").data, wide.data)
    with pytest.raises(FileError, match="these integers go from -5 to 5"):
        write(tmp_path / "b.png", np.array([[-5, 5]]))


# --- what is missing


def test_masks_of_every_kind(tmp_path):
    make_folder(tmp_path / "in", ["a.png", "b.png"], RGB)
    loaded = read(tmp_path / "in")
    holes = np.zeros((6, 8), np.uint8)
    holes[2, 3] = 255
    films = np.stack([holes, 0 * holes])
    write(tmp_path / "still.png", holes)
    write(tmp_path / "colour.png", np.dstack([holes, 0 * holes, 0 * holes]))
    np.save(tmp_path / "still.npy", holes > 0)
    write(tmp_path / "film.mkv", films)
    np.save(tmp_path / "film.npy", films)
    whole = np.zeros(loaded.data.shape)
    whole[0, 0, 0, 1] = 1
    np.save(tmp_path / "whole.npy", whole)
    everywhere = np.broadcast_to((holes > 0)[None, :, :, None], loaded.data.shape)
    for name in ("still.png", "colour.png", "still.npy"):
        np.testing.assert_array_equal(missing_mask(loaded, mask_file=tmp_path / name), everywhere)
    for name in ("film.mkv", "film.npy"):
        np.testing.assert_array_equal(missing_mask(loaded, mask_file=tmp_path / name)[0], everywhere[0])
        assert not missing_mask(loaded, mask_file=tmp_path / name)[1].any()
    np.testing.assert_array_equal(missing_mask(loaded, mask_file=tmp_path / "whole.npy"), whole > 0)
    second = read(tmp_path / "in", frames="1:")
    assert not missing_mask(second, mask_file=tmp_path / "film.mkv").any()
    small = read(tmp_path / "in", resize="3x4")
    np.testing.assert_array_equal(
        np.argwhere(missing_mask(small, mask_file=tmp_path / "still.png")[0, ..., 0]), [[1, 1]]
    )
    large = read(tmp_path / "in", resize="12x16")
    assert missing_mask(large, mask_file=tmp_path / "still.png")[0, ..., 0].sum() == 4
    for size in ("3x16", "12x4"):  # one side shorter and one longer: the only hole stays
        other = read(tmp_path / "in", resize=size)
        assert missing_mask(other, mask_file=tmp_path / "still.png")[0, ..., 0].sum() == 2


def test_film_mask_over_a_plain_array(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((6, 8, 5)))
    films = np.zeros((5, 6, 8), np.uint8)
    films[4, 2, 3] = 1
    write(tmp_path / "film.mkv", films)
    assert np.argwhere(missing_mask(read(tmp_path / "a.npy"), mask_file=tmp_path / "film.mkv")).tolist() == [[2, 3, 4]]
    write(tmp_path / "still.png", films[4])
    assert missing_mask(read(tmp_path / "a.npy"), mask_file=tmp_path / "still.png").sum() == 5


def test_mask_of_the_wrong_size_says_both_sizes(tmp_path):
    write(tmp_path / "a.png", RGB)
    write(tmp_path / "mask.png", GREY[:4])
    with pytest.raises(FileError, match=r"4 \(height\) x 8 \(width\) and .*a.png is 6 \(height\) x 8 \(width\)"):
        missing_mask(read(tmp_path / "a.png"), mask_file=tmp_path / "mask.png")


def test_values_ranges_and_drop(tmp_path):
    array = np.array([[0, 1, 2], [3, 254, 255]], np.uint8)
    np.save(tmp_path / "a.npy", array)
    loaded = read(tmp_path / "a.npy")
    assert missing_mask(loaded).sum() == 0
    np.testing.assert_array_equal(missing_mask(loaded, value=3), array == 3)
    np.testing.assert_array_equal(missing_mask(loaded, below=1, above=254), (array < 1) | (array > 254))
    np.save(tmp_path / "f.npy", np.array([[0.1, np.nan]], np.float32))
    assert missing_mask(read(tmp_path / "f.npy"), value=0.1).all()
    np.save(tmp_path / "b.npy", np.zeros((100, 100)))
    big = read(tmp_path / "b.npy")
    first = missing_mask(big, drop=0.7, rng=3)
    assert abs(first.mean() - 0.7) < 0.03
    np.testing.assert_array_equal(first, missing_mask(big, drop=0.7, rng=np.random.default_rng(3)))
    with pytest.raises(InputError, match=r"drop is 1.5"):
        missing_mask(big, drop=1.5)
