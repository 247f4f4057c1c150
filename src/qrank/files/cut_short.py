"""Is a video cut short? A decoder plays such a file to its last byte and says nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from qrank.errors import FileError


def refuse_cut_short(path: Path) -> None:
    """Raise ``FileError`` if the file is shorter than its own headers say."""
    have = path.stat().st_size
    with path.open("rb") as stream:
        head = stream.read(8)
        length = LENGTHS.get(head[:4]) or LENGTHS.get(head[4:])
        need = length(stream, have) if length else 0
    if need > have:
        raise FileError(f"{path} is cut short: it has {have} bytes and should have at least {need}")


def _riff_length(stream: BinaryIO, have: int) -> int:
    end = 0
    while end < have:  # a long AVI file is several RIFF chunks one after another
        stream.seek(end)
        head = stream.read(8)
        if head[:4] != b"RIFF":
            break
        end += 8 + int.from_bytes(head[4:8], "little")
    return end


def _mp4_length(stream: BinaryIO, have: int) -> int:
    end = 0
    while end < have:
        stream.seek(end)
        head = stream.read(16)
        size = int.from_bytes(head[:4], "big")
        if size == 1:
            size = int.from_bytes(head[8:16], "big")
        if size < 8 or not head[4:8].isascii():  # 0: up to the end of the file; else not a box any more
            break
        end += size
    return end


def _matroska_length(stream: BinaryIO, have: int) -> int:
    stream.seek(4)
    stream.seek(_variable_length(stream) or 0, os.SEEK_CUR)
    if stream.read(4) != b"\x18\x53\x80\x67":
        return 0
    size = _variable_length(stream)
    return 0 if size is None else stream.tell() + size  # None: a live recording knows no length


def _variable_length(stream: BinaryIO) -> int | None:
    first = stream.read(1)
    if not first or not first[0]:
        return None
    extra = 8 - first[0].bit_length()
    value = int.from_bytes(bytes([first[0] & (0x7F >> extra)]) + stream.read(extra), "big")
    return None if value == (1 << (7 * (extra + 1))) - 1 else value


def _gif_length(stream: BinaryIO, have: int) -> int:
    stream.seek(max(0, have - 64))
    return 0 if stream.read().rstrip(b"\0").endswith(b";") else have + 1


LENGTHS = {b"RIFF": _riff_length, b"ftyp": _mp4_length, b"\x1aE\xdf\xa3": _matroska_length, b"GIF8": _gif_length}
