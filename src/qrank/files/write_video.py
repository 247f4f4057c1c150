"""Writing video: exactly (FFV1 in .mkv, .avi), nearly (H.264 in .mp4, .mov), or as .gif; sound copied."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from qrank.errors import FileError, need
from qrank.files.loaded import Loaded
from qrank.files.pixels import as_frames, join_alpha, to_eight_bits, to_pixels
from qrank.files.read_video import FORMATS, precise

EXACT = (".mkv", ".avi")
NEAR = (".mp4", ".mov", ".m4v")
GIF = ".gif"
USUAL_RATE = Fraction(25)
# FFV1's own names for the coloured pixels of FORMATS.
FFV1 = {"rgb24": "bgr0", "rgb48le": "gbrp16le", "rgba": "bgra", "rgba64le": "gbrap16le"}
ITU601 = 6  # the matrix that the conversion to YUV uses; untagged, players guess another for large pictures


def write(path: Path, array: np.ndarray, like: Loaded, rate: float | Fraction | None) -> list[str]:
    """Write a video; return what its format could not keep."""
    suffix = path.suffix.lower()
    if suffix not in (*EXACT, *NEAR, GIF):
        raise FileError(f"{path.name} cannot be written: videos are written as {', '.join((*EXACT, *NEAR, GIF))}")
    frames, alpha = as_frames(array, like, path.name)
    frames = to_pixels(frames, like.native, path.name)
    notes = []
    if alpha is not None and suffix not in EXACT:
        alpha = None
        notes.append(f"{suffix} is written without transparency; use .mkv to keep it")
    if suffix == GIF and frames.dtype == np.uint16:
        frames = to_eight_bits(frames)
        notes.append(".gif holds 8 bits, to which 16 were rounded; use .mkv to keep them")
    if suffix == GIF and frames.ndim == 4 and any(np.unique(_codes(f)).size > 256 for f in frames):
        notes.append(".gif holds 256 colours a frame, to which more were reduced; use .mkv to keep them")
    if alpha is not None and frames.ndim == 3:
        frames = np.repeat(frames[..., None], 3, axis=-1)
    frames = join_alpha(frames, alpha)
    if suffix in NEAR:
        notes.append(f"{suffix} keeps pixels nearly, not exactly; use .mkv to keep them exactly")
    if rate is not None:  # another speed than the sound's
        like = dataclasses.replace(like, meta={**like.meta, "rate": rate, "times": None, "span": None})
    return notes + _encode(path, frames, like)


def _clock(count: int, meta: Mapping[str, Any], suffix: str) -> tuple[Fraction, Fraction, list[int]]:
    """Return frames a second, and a base and ticks: frame i is shown at ``ticks[i] * base`` seconds."""
    rate = Fraction(meta.get("rate") or USUAL_RATE).limit_denominator(1001)
    times = () if suffix == ".avi" else meta.get("times") or ()
    uneven = len(times) == count
    base = Fraction(1, 100) if suffix == GIF else Fraction(1, 90000) if uneven else 1 / rate
    seconds = times if uneven else [number / rate for number in range(count)]
    return rate, base, [round(second / base) for second in seconds]


def _plan(suffix: str, frames: np.ndarray, given: str) -> tuple[str, str, dict[str, str]]:
    """Return the encoder, its pixel format and its options."""
    if suffix == GIF:
        return "gif", "gray" if given == "gray" else "pal8", {}
    if suffix in EXACT:
        return "ffv1", FFV1.get(given, given), {"level": "3"}
    # Half-size colour planes cannot divide an odd side.
    planes = "yuv444p" if frames.shape[1] % 2 or frames.shape[2] % 2 else "yuv420p"
    return "libx264", planes + ("10le" if frames.dtype == np.uint16 else ""), {"crf": "12"}


def _encode(path: Path, frames: np.ndarray, like: Loaded) -> list[str]:
    av = need("av", "files", "writing video")
    given = FORMATS[frames.shape[3:] == (4,), frames.ndim == 4, frames.dtype == np.uint16]
    suffix = path.suffix.lower()
    encoder, stored, options = _plan(suffix, frames, given)
    rate, base, ticks = _clock(len(frames), like.meta, suffix)
    with ExitStack() as stack:
        film = stack.enter_context(av.open(str(path), "w"))
        stream = film.add_stream(encoder, rate=rate, options=options)
        stream.height, stream.width, stream.pix_fmt = *frames.shape[1:3], stored
        codec = stream.codec_context
        codec.time_base = base
        if like.meta.get("aspect"):
            codec.sample_aspect_ratio = like.meta["aspect"]
        if suffix in NEAR:
            codec.colorspace = codec.color_primaries = codec.color_trc = ITU601
            codec.color_range = 1
        sound, notes = _sound(film, like, suffix, stack)
        waiting = next(sound, None)
        for picture, tick in zip(frames, ticks, strict=True):
            frame = _frame(picture, given, stored)
            frame.pts, frame.time_base = tick, base
            film.mux(stream.encode(frame))
            # Sound goes between the pictures it is heard with, so that players need not search for it.
            while waiting is not None and waiting.pts * waiting.time_base <= tick * base:
                film.mux(waiting)
                waiting = next(sound, None)
        film.mux(stream.encode(None))
        if waiting is not None:
            film.mux([waiting, *sound])
    return notes


def _frame(picture: np.ndarray, given: str, stored: str) -> Any:
    frames = need("av", "files", "writing video").VideoFrame
    if stored == "pal8":
        return frames.from_ndarray(_palette(picture), format="pal8")
    if given == "gray" and stored.startswith("yuv"):
        picture, given = np.repeat(picture[..., None], 3, axis=-1), "rgb24"
    return frames.from_ndarray(picture, format=given).reformat(format=stored, interpolation=precise())


def _palette(picture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return indices and 256 colours (alpha, R, G, B): exact if 256 are enough, else the nearest."""
    table = np.zeros((256, 4), np.uint8)
    table[:, 0] = 255
    codes, indices = np.unique(_codes(picture), return_inverse=True)
    colours = np.stack([codes >> 16, codes >> 8, codes], axis=-1).astype(np.uint8)
    if len(colours) > 256:
        pillow = need("PIL.Image", "files", "writing .gif")
        # Median cut is a step of 255 nearer and four hundred times slower.
        image = pillow.fromarray(picture).quantize(256, method=pillow.Quantize.FASTOCTREE)
        colours, indices = np.asarray(image.getpalette(), np.uint8).reshape(-1, 3), np.asarray(image)
    table[: len(colours), 1:] = colours
    return np.ascontiguousarray(indices.reshape(picture.shape[:2]), dtype=np.uint8), table


def _codes(picture: np.ndarray) -> np.ndarray:
    """Return each pixel's colour as one number: much faster to count than three."""
    red, green, blue = np.moveaxis(picture.astype(np.uint32), -1, 0)
    return red << 16 | green << 8 | blue


def _sound(film: Any, like: Loaded, suffix: str, stack: ExitStack) -> tuple[Iterator[Any], list[str]]:
    """Return the packets of sound to copy, and a note on each stream that cannot be."""
    if like.path is None or not like.meta.get("sound"):
        return iter(()), []
    span = like.meta.get("span")
    if span is None:
        return iter(()), ["the sound was left out: it does not run with these frames"]
    av = need("av", "files", "copying sound")
    source = stack.enter_context(av.open(str(like.path), metadata_errors="ignore"))
    pairs, notes = {}, []
    for audio in source.streams.audio:
        name = audio.codec_context.name
        if suffix == GIF or name not in film.supported_codecs:
            notes.append(f"the sound ({name}) was left out: {suffix} cannot hold it")
        else:
            pairs[audio] = film.add_stream_from_template(audio)
    return _packets(source, pairs, span), notes


def _packets(source: Any, pairs: dict[Any, Any], span: tuple[float, float]) -> Iterator[Any]:
    for packet in source.demux(list(pairs)) if pairs else ():
        if packet.pts is None:
            continue
        if span[1] < np.inf and not span[0] <= float(packet.pts * packet.time_base) < span[1]:
            continue
        shift = round(span[0] / packet.time_base)
        packet.pts -= shift
        packet.dts = packet.dts - shift if packet.dts is not None else packet.pts
        packet.stream = pairs[packet.stream]
        yield packet
