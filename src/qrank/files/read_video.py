"""Reading video through PyAV: frames as they look, grey where the film is grey, rate and sound remembered."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from qrank.errors import FileError, need
from qrank.files.cut_short import refuse_cut_short
from qrank.files.loaded import Ask, Loaded, check_frames
from qrank.files.pixels import split_alpha
from qrank.files.room import DENSEST, SMALL, check_room, free_memory, too_large

# Pixels as PyAV gives them, by (transparency, colour, more than 8 bits).
FORMATS = {
    (False, False, False): "gray",
    (False, False, True): "gray16le",
    (False, True, False): "rgb24",
    (False, True, True): "rgb48le",
    (True, True, False): "rgba",
    (True, True, True): "rgba64le",
}

# No playlists and the like, which name other files to read.
DEMUXERS = "avi,mov,matroska,gif,mpeg,mpegts,mpegvideo,asf,m4v,flv,ogg"


def precise() -> Any:
    """Return the conversion between YUV and RGB that rounds; the usual quick one darkens by half a step."""
    flags = need("av.video.reformatter", "files", "video").Interpolation
    return flags.BICUBIC | flags.ACCURATE_RND | flags.FULL_CHR_H_INT


def read(path: Path, ask: Ask) -> Loaded:
    """Read the frames of the first video stream: frame x height x width (x 3)."""
    av = need("av", "files", "reading video")
    refuse_cut_short(path)
    careful = _careful(path)
    # Old AVI files carry titles that are not UTF-8.
    with av.open(str(path), metadata_errors="ignore", options=careful) as film:
        if not film.streams.video:
            raise FileError(f"{path} has no video in it")
        stream = film.streams.video[0]
        stream.thread_type = "AUTO"
        stream.codec_context.options = {
            "max_pixels": careful["max_pixels"]
        }  # once for a first look, once for all of it
        check_room(path, stream.width * stream.height, path.stat().st_size, copies=8)
        pixels, times = zip(*_decode(film, stream, ask.frames, path), strict=True)
        rate = Fraction(stream.average_rate or stream.guessed_rate or 25)
        meta: dict[str, Any] = {
            "codec": stream.codec_context.name,
            "sound": [audio.codec_context.name for audio in film.streams.audio],
            "aspect": stream.sample_aspect_ratio,
        }
    meta |= _timing(times, rate, ask.frames)
    data = np.stack(pixels)
    if data.ndim == 4 and data.shape[-1] == 4:
        data, alpha = split_alpha(data)
        meta |= {} if alpha is None else {"alpha": alpha}
    if data.ndim == 4 and all((frame == frame[..., :1]).all() for frame in data):
        data = np.ascontiguousarray(data[..., 0])
    axes = ("frame", "height", "width", "colour")[: data.ndim]
    return Loaded(data, axes, (1, 2), "video", path, meta)


def _careful(path: Path) -> dict[str, str]:
    """Return options by which FFmpeg opens nothing but this file, as a film, and takes no frame that cannot be in it."""
    pixels = min(max(SMALL, path.stat().st_size * DENSEST) // 4, 2**31 - 1)
    return {"format_whitelist": DEMUXERS, "protocol_whitelist": "file", "max_pixels": str(pixels)}


def _decode(film: Any, stream: Any, frames: slice | None, path: Path) -> list[tuple[np.ndarray, float]]:
    """Return pixels and seconds of the asked frames; others are not kept in memory where that can be told."""
    cut = frames or slice(None)
    forward = all(part is None or part >= 0 for part in (cut.start, cut.stop, cut.step))
    start, step = (cut.start or 0, cut.step or 1) if forward else (0, 1)
    taken: list[tuple[np.ndarray, float]] = []
    count, size, free = 0, 0, free_memory()
    for frame in film.decode(stream):
        if forward and cut.stop is not None and count >= cut.stop:
            break
        if count >= start and (count - start) % step == 0:
            taken.append((_pixels(frame), float("nan") if frame.time is None else frame.time))
            size += taken[-1][0].nbytes
            if free is not None and 2 * size > max(SMALL, free):  # a second copy is made when they are put together
                raise FileError(too_large(path, 2 * size, free) + ", or choose frames")
        count += 1
    taken = taken if forward else taken[cut]
    check_frames(taken, count, frames, str(path))
    if len({picture.shape for picture, _ in taken}) > 1:
        raise FileError(f"{path} changes its size on the way; only videos of one size are read")
    return taken


def _pixels(frame: Any) -> np.ndarray:
    parts = frame.format.components
    alpha = any(part.is_alpha for part in parts) or frame.format.has_palette
    colour = alpha or len(parts) > 1
    more_than_8 = any(part.bits > 8 for part in parts)
    picture = frame.to_ndarray(format=FORMATS[alpha, colour, more_than_8], interpolation=precise())
    return np.rot90(picture, frame.rotation // 90) if frame.rotation % 360 else picture


def _timing(times: tuple[float, ...], rate: Fraction, frames: slice | None) -> dict[str, Any]:
    """Return the rate, the seconds of each frame where it is uneven, and which seconds of sound belong."""
    step = 1 if frames is None or frames.step is None else frames.step
    rate = rate / abs(step)
    if np.isnan(times).any():
        return {"rate": rate, "times": None, "span": None}
    seconds = np.asarray(times)
    gaps = np.diff(seconds)
    even = bool((np.abs(gaps - float(1 / rate)) < 0.25 * float(1 / rate)).all())
    span = None if step < 0 else (seconds[0], np.inf if frames is None else seconds[-1] + float(1 / rate))
    uneven = None if even or (gaps <= 0).any() else tuple(float(second - seconds[0]) for second in seconds)
    return {"rate": rate, "times": uneven, "span": span}
