"""What the headers of a MATLAB 5 to 7 file say, read without trusting them.

SciPy takes them at their word: a name of four gigabytes, packed into four megabytes, would be unpacked.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from qrank.files.room import DEFLATE, PLAIN, check_room

FILE_HEADER, TAG = 128, 8  # bytes
MATRIX, COMPRESSED = 14, 15  # types of elements
HEAD = 1024  # bytes of a variable that hold its flags, shape and name
ITEM_SIZES = {
    6: 8,
    7: 4,
    8: 1,
    9: 1,
    10: 2,
    11: 2,
    12: 4,
    13: 4,
    14: 8,
    15: 8,
}  # of the classes of numbers, double first
NARROWED = 8  # times that doubles shrink where all of them are small integers, which are stored as such


class Variable(NamedTuple):
    """A variable as its header has it: bytes in the file, bytes when unpacked, and bytes of its numbers."""

    stored: int
    unpacked: int
    numbers: int


def check_variables(path: Path) -> None:
    """Refuse a file with a variable that cannot be in it, or not in memory."""
    for variable in _variables(path):
        packed = variable.stored != variable.unpacked
        check_room(path, variable.unpacked, variable.stored, DEFLATE if packed else PLAIN)
        check_room(path, variable.numbers, variable.unpacked, NARROWED, copies=2)


def _variables(path: Path) -> Iterator[Variable]:
    with path.open("rb") as stream:
        header = stream.read(FILE_HEADER)
        order = {b"IM": "<", b"MI": ">"}.get(header[126:])
        if order is None:  # MATLAB 4: nothing in it is compressed, and SciPy reads no more than there is
            return
        place = FILE_HEADER
        while len(tag := stream.read(TAG)) == TAG:
            kind, size = struct.unpack(order + "II", tag)
            head, unpacked = stream.read(min(size, HEAD)), size
            if kind == COMPRESSED:
                head = zlib.decompressobj().decompress(head, HEAD)
                kind, unpacked = struct.unpack(order + "II", head[:TAG])
                head = head[TAG:]
            if kind == MATRIX:
                yield Variable(size, unpacked, _numbers(head, order))
            place += TAG + size
            stream.seek(place)


def _numbers(head: bytes, order: str) -> int:
    """Return the bytes of the numbers of a variable; ``ValueError`` if its header is none."""
    flags = struct.unpack(order + "I", head[TAG : TAG + 4])[0]
    start = TAG + 8
    _, length = struct.unpack(order + "II", head[start : start + TAG])
    sides = head[start + TAG : start + TAG + length]
    after = start + TAG + length + -length % 8
    name = struct.unpack(order + "II", head[after : after + TAG])
    short = name[0] >> 16  # a name of up to four letters is in its tag
    if len(sides) != length or length % 4 or (not short and after + TAG + name[1] > HEAD):
        raise ValueError("the header of a variable is longer than any that MATLAB writes")
    shape = struct.unpack(f"{order}{length // 4}i", sides)
    size = ITEM_SIZES.get(flags & 0xFF, 0) * (2 if flags & 0x800 else 1)
    if size and any(side < 0 for side in shape):
        raise ValueError(f"a variable has the shape {shape}")
    return math.prod(shape) * size
