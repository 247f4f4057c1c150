"""Good files of every kind that is read, and the same ones spoilt; run as a program, it reads them.

``python tests/fuzz/mutate.py FOLDER FIRST COUNT`` spoils COUNT files, from seed FIRST on, and prints a line of JSON for each
that ended otherwise than with numbers or with one sentence.
"""

from __future__ import annotations

import json
import signal
import sys
import traceback
from collections import Counter
from pathlib import Path

import h5py
import numpy as np
import scipy.io
import tifffile
import xarray as xr

from qrank.errors import InputError
from qrank.files import read, write

RNG = np.random.default_rng(11)
FILM = RNG.integers(0, 256, (4, 16, 18), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (16, 18, 3), dtype=np.uint8)
CUBE = RNG.normal(size=(5, 6, 7))
STILLS = ("a.png", "b.jpg", "c.bmp", "d.webp", "e.jp2", "f.pgm", "g.ppm", "h.tif")
FILMS = ("i.mkv", "j.avi", "k.mp4", "l.gif", "m.mov", "n.tif")
ARRAYS = ("o.npy", "p.npz", "q.mat", "r.h5", "s.nc", "t.zarr")
TABLE = "when,name," + ",".join(f"s{i}" for i in range(7)) + "\n"
TABLE += "".join(f'2024-01-0{i + 1},"a, ""{i}""",' + ",".join(f"{x:.3f}" for x in CUBE[1, i]) + "\n" for i in range(6))
SECONDS = 20  # that reading a file of a few kilobytes may take at most
MEMORY = 6 << 30  # address space; what is claimed beyond must be refused
NUMBERS = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1]


def good_files(folder: Path) -> list[Path]:
    """Write one good file of each kind."""
    folder.mkdir(exist_ok=True)
    for name in STILLS:
        write(folder / name, FILM[0] if name.endswith("pgm") else COLOUR)
    for name in FILMS:
        write(folder / name, FILM)
    for name in ARRAYS:
        write(folder / name, CUBE)
    write(folder / "u.png", COLOUR.astype(np.uint16) * 257)
    scipy.io.savemat(folder / "v.mat", {"x": CUBE, "note": "text", "cell": np.array([1, "a"], object)})
    xr.Dataset({"x": (("t", "y", "z"), CUBE)}).to_netcdf(folder / "w.nc", engine="scipy", format="NETCDF3_64BIT")
    with h5py.File(folder / "x.mat", "w", userblock_size=512) as file:
        file["x"] = CUBE
    with (folder / "x.mat").open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file")
    with h5py.File(folder / "y.h5", "w") as file:
        file.create_dataset("x", data=CUBE, chunks=(2, 3, 4), compression="gzip", shuffle=True, fletcher32=True)
    write(folder / "z", FILM)
    write(folder / "zz.zip", FILM)
    bands, tags = RNG.normal(size=(6, 16, 18)).astype("f4"), [(42113, 2, None, "-9999", True)]
    tags += [(33550, 12, 3, (30.0, 30.0, 0.0), True), (34735, 3, 8, (1, 1, 0, 1, 1024, 0, 1, 1), True)]
    stored = {"planarconfig": "separate", "photometric": "minisblack", "metadata": None, "extratags": tags}
    tifffile.imwrite(folder / "zr.tif", bands, tile=(16, 16), compression="zlib", **stored)
    (folder / "za.csv").write_text(TABLE)
    write(folder / "zb.parquet", CUBE[0], like=read(folder / "za.csv"))
    (folder / "zc.tsv").write_text(TABLE.replace(",", "\t"))
    return sorted(folder.iterdir())


def spoil(content: bytes, rng: np.random.Generator) -> bytes:
    """Change a few places of a file: bits, bytes, numbers of two to eight bytes, or pieces cut, doubled or moved."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 6)):
        if not data:
            return bytes(rng.bytes(8))
        # Headers are at the beginning, mostly.
        reach = len(data) if rng.random() < 0.5 else min(len(data), 512)
        at, size = int(rng.integers(0, reach)), int(rng.choice([1, 2, 4, 8]))
        kind = rng.integers(0, 7)
        if kind == 0:
            data[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            data[at] = int(rng.integers(0, 256))
        elif kind == 2:
            number = int(rng.choice(np.array(NUMBERS, object))) % 256**size
            data[at : at + size] = number.to_bytes(size, str(rng.choice(["little", "big"])))
        elif kind == 3:
            del data[at : at + int(rng.integers(1, 64))]
        elif kind == 4:
            data[at:at] = data[at : at + int(rng.integers(1, 64))]
        elif kind == 5:
            other = int(rng.integers(0, len(data)))
            data[at : at + 16] = data[other : other + 16]
        else:
            data = data[: max(1, at)]
    return bytes(data)


def spoilt(good: Path, folder: Path, rng: np.random.Generator) -> Path:
    """Write a spoilt copy of a good file, or of a folder with one of its files spoilt."""
    path = folder / good.name
    if good.is_file():
        path.write_bytes(spoil(good.read_bytes(), rng))
        return path
    files = sorted(file for file in good.rglob("*") if file.is_file())
    chosen = files[rng.integers(0, len(files))]
    for file in files:
        end = path / file.relative_to(good)
        end.parent.mkdir(parents=True, exist_ok=True)
        end.write_bytes(spoil(file.read_bytes(), rng) if file == chosen else file.read_bytes())
    return path


def finding(path: Path, out: Path, count: Counter) -> str | None:
    """Read a spoilt file, and write one like it where that is possible; return what is wrong with how that ended."""
    stage = "read"
    try:
        loaded = read(path)
        data, stage = loaded.data, "written"
        if not data.size or data.dtype.kind not in "biufc":
            return f"no numbers: {data.shape} {data.dtype}"
        write(out / path.name, data, like=loaded)
    except InputError as error:
        text = str(error)
        count[f"not {stage}"] += 1
        return None if "\n" not in text and path.name in text else f"not a sentence on the file: {text}"
    except BaseException:
        return traceback.format_exc()
    count["taken"] += 1
    return None


def main() -> None:
    """Spoil and read."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    home, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    good = good_files(home / "good")

    def late(*_):
        raise TimeoutError(f"longer than {SECONDS} s")

    signal.signal(signal.SIGALRM, late)
    for name in ("bad", "out"):
        (home / name).mkdir(exist_ok=True)
    ended: Counter = Counter()
    for seed in range(first, first + count):
        source = good[seed % len(good)]
        print(seed, file=sys.stderr, flush=True)  # the last one is known if the process dies
        path = spoilt(source, home / "bad", np.random.default_rng([seed, 17]))
        signal.alarm(SECONDS)
        found = finding(path, home / "out", ended)
        signal.alarm(0)
        if found is not None:
            print(json.dumps([seed, source.name, found]), flush=True)
    peak = _peak() >> 10
    print(json.dumps(["done", dict(ended), peak]))


def _peak() -> int:
    """Return the most memory that this process has had, in kB; getrusage counts the one that has started it, too."""
    try:
        with open("/proc/self/status") as status:
            return int(next(line.split()[1] for line in status if line.startswith("VmHWM")))
    except OSError:  # no Linux
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
