"""Video: exact where the format is, near where not; rate, sound, size and turn kept."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from qrank.errors import FileError
from qrank.files import read, write

RNG = np.random.default_rng(2)
GREY = RNG.integers(0, 256, (5, 18, 26), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (5, 18, 26, 3), dtype=np.uint8)
ROW, COLUMN = np.mgrid[0:48, 0:64]
SMOOTH = np.stack([ROW * 3 + 20 + 4 * n + 0 * COLUMN for n in range(6)]).astype(np.uint8)
SMOOTH_COLOUR = np.stack([SMOOTH, 255 - SMOOTH, SMOOTH // 2], axis=-1)


@pytest.mark.parametrize("suffix", ["mkv", "avi"])
@pytest.mark.parametrize("frames", [GREY, COLOUR], ids=["grey", "colour"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("odd", [0, 1])
def test_exact_formats(tmp_path, suffix, frames, dtype, odd):
    frames = (frames.astype(dtype) * (257 if dtype == "uint16" else 1))[:, odd:, odd:]
    path = tmp_path / f"a.{suffix}"
    assert write(path, frames, rate=Fraction(30000, 1001)) == []
    loaded = read(path)
    assert (loaded.kind, loaded.slice_axes) == ("video", (1, 2))
    assert loaded.axes == ("frame", "height", "width", "colour")[: frames.ndim]
    assert abs(loaded.meta["rate"] - Fraction(30000, 1001)) < 0.02
    np.testing.assert_array_equal(loaded.data, frames)
    copy = tmp_path / f"b.{suffix}"
    write(copy, loaded.data.astype("float32"), like=loaded)
    np.testing.assert_array_equal(read(copy).data, frames)
    assert read(copy).meta["rate"] == loaded.meta["rate"]


@pytest.mark.parametrize("suffix", ["mp4", "mov", "m4v"])
@pytest.mark.parametrize("frames", [SMOOTH, SMOOTH_COLOUR], ids=["grey", "colour"])
@pytest.mark.parametrize("odd", [0, 1])
def test_near_formats_keep_size_rate_and_look(tmp_path, suffix, frames, odd):
    frames = frames[:, odd:, odd:]
    path = tmp_path / f"a.{suffix}"
    assert "nearly" in write(path, frames, rate=12)[0]
    loaded = read(path)
    assert loaded.data.shape == frames.shape
    assert loaded.meta["rate"] == 12
    gap = loaded.data.astype(int) - frames
    assert np.abs(gap).mean() < 2
    assert abs(gap.mean()) < 0.5


def test_sixteen_bits_in_mp4_are_near(tmp_path):
    write(tmp_path / "a.mp4", SMOOTH_COLOUR.astype(np.uint16) * 257)
    loaded = read(tmp_path / "a.mp4")
    assert loaded.data.dtype == np.uint16
    assert np.abs(loaded.data / 257 - SMOOTH_COLOUR).mean() < 2


def test_gif_keeps_frames_colours_and_uneven_times(tmp_path):
    few = (RNG.integers(0, 4, (4, 9, 11, 3)) * 80).astype(np.uint8)
    few[2] = few[1]  # a frame like the one before it is still a frame
    for frames in (few, GREY):
        write(tmp_path / "a.gif", frames, rate=10)
        loaded = read(tmp_path / "a.gif")
        np.testing.assert_array_equal(loaded.data, frames)
        assert loaded.meta["rate"] == 10
    many = RNG.integers(0, 256, (2, 40, 40, 3), dtype=np.uint8)
    assert "256 colours" in write(tmp_path / "b.gif", many)[0]
    assert np.abs(read(tmp_path / "b.gif").data.astype(int) - many).mean() < 40
    uneven = type(loaded)(few, ("frame", "height", "width", "colour"), (1, 2), "video", None)
    uneven = type(loaded)(**{**vars(uneven), "meta": {"rate": Fraction(5), "times": (0.0, 0.1, 0.5, 0.6)}})
    for name in ("c.gif", "c.mkv", "c.mp4"):
        write(tmp_path / name, few, like=uneven)
        assert read(tmp_path / name).meta["times"] == pytest.approx((0.0, 0.1, 0.5, 0.6), abs=0.002)


def test_transparency_in_video(tmp_path):
    alpha = GREY // 2
    write(tmp_path / "a.mkv", COLOUR)
    loaded = read(tmp_path / "a.mkv")
    clear = type(loaded)(**{**vars(loaded), "meta": {**loaded.meta, "alpha": alpha}})
    write(tmp_path / "b.mkv", COLOUR, like=clear)
    again = read(tmp_path / "b.mkv")
    np.testing.assert_array_equal(again.data, COLOUR)
    np.testing.assert_array_equal(again.meta["alpha"], alpha)
    assert any("transparency" in note for note in write(tmp_path / "b.mp4", COLOUR, like=clear))


def test_frames_grey_resize_and_dtype(tmp_path):
    write(tmp_path / "a.mkv", COLOUR)
    for frames in ("1:4", "::2", "-2:", "::-1", "3:"):
        cut = slice(*(int(part) if part else None for part in frames.split(":")))
        np.testing.assert_array_equal(read(tmp_path / "a.mkv", frames=frames).data, COLOUR[cut])
    assert read(tmp_path / "a.mkv", frames="::2").meta["rate"] == Fraction(25, 2)
    with pytest.raises(FileError, match="none of them is in 7:9"):
        read(tmp_path / "a.mkv", frames="7:9")
    small = read(tmp_path / "a.mkv", grey=True, resize="9x13", dtype="float32")
    assert small.data.shape == (5, 9, 13)
    assert small.data.dtype == np.float32
    assert small.data.max() > 1
    write(tmp_path / "b.mkv", small.data, like=small)
    np.testing.assert_array_equal(read(tmp_path / "b.mkv").data, small.data)


def make_with_sound(path, codec, seconds=2, rate=10):
    frames = np.stack([SMOOTH_COLOUR[n % 6] for n in range(seconds * rate)])
    samples = (np.sin(np.arange(seconds * 44100) / 20) * 8000).astype(np.int16)[None]
    with av.open(str(path), "w") as film:
        video = film.add_stream("mpeg4", rate=rate)
        video.height, video.width, video.pix_fmt = 48, 64, "yuv420p"
        audio = film.add_stream(codec, rate=44100, layout="mono")
        for picture in frames:
            film.mux(video.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        film.mux(video.encode(None))
        for start in range(0, samples.shape[1], 4410):
            block = np.ascontiguousarray(samples[:, start : start + 4410])
            sound = av.AudioFrame.from_ndarray(block, format="s16", layout="mono")
            sound.sample_rate, sound.pts = 44100, start
            film.mux(audio.encode(sound))
        film.mux(audio.encode(None))


def sound_of(path):
    with av.open(str(path)) as film:
        if not film.streams.audio:
            return None
        name = film.streams.audio[0].codec_context.name
        packets = [packet for packet in film.demux(film.streams.audio[0]) if packet.pts is not None]
        return name, b"".join(bytes(packet) for packet in packets), float(packets[0].pts * packets[0].time_base)


@pytest.mark.parametrize("end", ["mp4", "mkv", "mov", "avi"])
@pytest.mark.parametrize(("start", "codec"), [("mp4", "aac"), ("avi", "libmp3lame")])
def test_sound_is_copied_bit_for_bit(tmp_path, start, codec, end):
    make_with_sound(tmp_path / f"a.{start}", codec)
    loaded = read(tmp_path / f"a.{start}")
    notes = write(tmp_path / f"b.{end}", loaded.data, like=loaded)
    assert not any("sound" in note for note in notes)
    first, second = sound_of(tmp_path / f"a.{start}"), sound_of(tmp_path / f"b.{end}")
    assert second[:2] == first[:2]
    assert second[2] == pytest.approx(first[2], abs=0.06)
    assert read(tmp_path / f"b.{end}").data.shape == loaded.data.shape


def test_sound_is_cut_with_the_frames(tmp_path):
    make_with_sound(tmp_path / "a.mp4", "aac")
    loaded = read(tmp_path / "a.mp4", frames="5:15")
    write(tmp_path / "b.mp4", loaded.data, like=loaded)
    with av.open(str(tmp_path / "b.mp4")) as film:
        audio = film.streams.audio[0]
        assert float(audio.duration * audio.time_base) == pytest.approx(1, abs=0.06)
    backwards = read(tmp_path / "a.mp4", frames="::-1")
    assert "sound was left out" in write(tmp_path / "c.mkv", backwards.data, like=backwards)[0]
    assert sound_of(tmp_path / "c.mkv") is None


def test_sound_that_does_not_fit_is_said(tmp_path):
    make_with_sound(tmp_path / "a.mp4", "aac")
    loaded = read(tmp_path / "a.mp4")
    assert any("sound (aac) was left out" in note for note in write(tmp_path / "b.gif", loaded.data, like=loaded))


def test_another_rate_leaves_the_sound_out_and_says_so(tmp_path):
    make_with_sound(tmp_path / "a.mp4", "aac")
    loaded = read(tmp_path / "a.mp4")
    assert "sound was left out" in write(tmp_path / "b.mkv", loaded.data, like=loaded, rate=20)[0]
    assert read(tmp_path / "b.mkv").meta["rate"] == 20


def test_the_shape_of_pixels_is_kept(tmp_path):
    write(tmp_path / "a.mkv", COLOUR)
    loaded = read(tmp_path / "a.mkv")
    wide = type(loaded)(**{**vars(loaded), "meta": {**loaded.meta, "aspect": Fraction(4, 3)}})
    write(tmp_path / "b.mp4", COLOUR, like=wide)
    assert read(tmp_path / "b.mp4").meta["aspect"] == Fraction(4, 3)


def test_a_film_held_sideways_is_turned(tmp_path):
    write(tmp_path / "a.mp4", SMOOTH)
    content = bytearray((tmp_path / "a.mp4").read_bytes())
    one, zero, minus = (1 << 16).to_bytes(4, "big"), bytes(4), (-(1 << 16)).to_bytes(4, "big", signed=True)
    place = content.index(b"tkhd") + 4 + 40
    assert content[place : place + 4] == one
    content[place : place + 20] = zero + one + zero + minus + zero  # shown a quarter turn clockwise
    (tmp_path / "b.mp4").write_bytes(content)
    np.testing.assert_array_equal(
        read(tmp_path / "b.mp4").data, np.rot90(read(tmp_path / "a.mp4").data, -1, axes=(1, 2))
    )


def test_pictures_and_arrays_become_films(tmp_path):
    cube = GREY.transpose(1, 2, 0)
    np.save(tmp_path / "a.npy", cube)
    loaded = read(tmp_path / "a.npy")
    write(tmp_path / "a.mkv", cube, like=loaded, rate=5)
    film = read(tmp_path / "a.mkv")
    np.testing.assert_array_equal(film.data, GREY)
    assert film.meta["rate"] == 5
    write(tmp_path / "frames", film.data, like=film)
    folder = read(tmp_path / "frames")
    np.testing.assert_array_equal(folder.data, GREY)
    write(tmp_path / "b.mkv", folder.data, like=folder)
    assert read(tmp_path / "b.mkv").meta["rate"] == 25
    with pytest.raises(FileError, match=r"videos are written as .mkv"):
        write(tmp_path / "a.wmv", GREY)


def data_folder() -> Path | None:
    named = os.environ.get("QRANK_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[3] / "shared" / "data"
    return folder if folder.is_dir() else None


@pytest.mark.data
@pytest.mark.skipif(data_folder() is None, reason="no data folder")
def test_published_clips(tmp_path):
    clips = sorted((data_folder() or tmp_path).glob("hmdb51/*.avi"))
    if not clips:
        pytest.skip("no clips in the data folder")
    for clip in clips:
        before = clip.read_bytes()
        loaded = read(clip, frames=":6")
        assert loaded.data.shape[0] == 6
        assert loaded.data.shape[1] == 240
        assert loaded.meta["rate"] == 30
        write(tmp_path / clip.name, loaded.data, like=loaded)
        np.testing.assert_array_equal(read(tmp_path / clip.name).data, loaded.data)
        assert clip.read_bytes() == before


def test_titles_that_are_not_utf8(tmp_path):
    with av.open(str(tmp_path / "a.avi"), "w") as film:
        film.metadata["title"] = "TITLE"
        stream = film.add_stream("mpeg4", rate=25)
        stream.height, stream.width, stream.pix_fmt = 48, 64, "yuv420p"
        film.mux(stream.encode(av.VideoFrame.from_ndarray(SMOOTH_COLOUR[0], format="rgb24")))
        film.mux(stream.encode(None))
    content = (tmp_path / "a.avi").read_bytes()
    assert b"TITLE" in content
    (tmp_path / "b.avi").write_bytes(content.replace(b"TITLE", b"\xe9\xff\xfeLE"))
    loaded = read(tmp_path / "b.avi")
    write(tmp_path / "c.avi", loaded.data, like=loaded)
    assert read(tmp_path / "c.avi").data.shape == (1, 48, 64, 3)
