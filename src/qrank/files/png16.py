"""16-bit colour PNG, which Pillow would silently cut down to 8 bits: through PyAV."""

from __future__ import annotations

import struct
from fractions import Fraction
from pathlib import Path

import numpy as np

from qrank.errors import need
from qrank.files.pixels import split_alpha
from qrank.files.room import DEFLATE, check_room
from qrank.files.sniff import first_bytes

GREY_TYPES = (0, 4)  # colour types of the PNG header: grey, and grey with transparency
ENCODED = {3: ("rgb48le", "rgb48be"), 4: ("rgba64le", "rgba64be")}


def is_png16(path: Path) -> bool:
    """Tell whether a PNG has 16 bits a channel, and more channels than Pillow reads with 16 bits."""
    head = first_bytes(path, 26)
    return head[:4] == b"\x89PNG" and len(head) == 26 and head[24] == 16 and head[25] != 0


def read_png16(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """Return pixels height x width (x 3) and transparency, uint16."""
    av = need("av", "files", "reading 16-bit colour pictures")
    head = first_bytes(path, 26)
    grey = head[25] in GREY_TYPES
    width, height = struct.unpack(">II", head[16:24])
    check_room(path, width * height * 8, path.stat().st_size, DEFLATE * 4, copies=3)  # grey becomes four channels
    with av.open(str(path)) as film:
        pixels, alpha = split_alpha(next(film.decode(video=0)).to_ndarray(format="rgba64le"))
    return (np.ascontiguousarray(pixels[..., 0]) if grey else pixels), alpha


def write_png16(path: Path, pixels: np.ndarray) -> None:
    """Write uint16 pixels, height x width x (2 grey and alpha, 3 colours, 4 colours and alpha)."""
    av = need("av", "files", "writing 16-bit colour pictures")
    if pixels.shape[-1] == 2:
        pixels = pixels[..., [0, 0, 0, 1]]
    given, stored = ENCODED[pixels.shape[-1]]
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format=given).reformat(format=stored)
    codec = av.CodecContext.create("png", "w")
    codec.height, codec.width = pixels.shape[:2]
    codec.pix_fmt, codec.time_base = stored, Fraction(1)
    path.write_bytes(b"".join(bytes(packet) for packet in [*codec.encode(frame), *codec.encode(None)]))
