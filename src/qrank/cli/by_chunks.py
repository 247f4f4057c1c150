"""``qrank fill --memory | --workers | --cluster``: arrays larger than memory, by chunks, on Dask."""

from __future__ import annotations

import json as json_text
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from ..api import complete, guessed_axes
from ..checkpoint import Checkpoint
from ..errors import FileError, InputError, need
from ..files import check_output
from ..files.chunks import Chunks, read_chunks, write_chunks
from ..files.loaded import restore
from ..files.raster import without_nodata
from ..files.sniff import split_key
from ..kernels import threads
from ..kernels.chunked.space import chunk_size
from ..kernels.marks import marked
from ..methods import Auto, Method
from ..result import Completion, Status
from ..text import duration
from . import options
from .chunk_forecast import cheaper, expected, scratch
from .progress import Stopper
from .words import FAILED, STOPPED, leave, parse_slice_axes, screen, sizes

JOINING = 30  # seconds in which a worker of a cluster has to show up
BY_CHUNKS = "cannot be used by chunks: leave it out, or --memory, --workers and --cluster"
NOT_BY_CHUNKS: tuple[str, ...] = (
    "--patch",
    "--frames",
    "--resize",
    "--grey",
    "--dtype",
    "--holdout",
    "--report",
    "--error",
)


@dataclass(frozen=True)
class Where:
    """On what the run is computed."""

    workers: options.Workers = None
    memory: options.Memory = None
    cluster: options.Cluster = None
    scratch: options.Scratch = None

    @property
    def asked(self) -> bool:
        """Whether the file is to be filled by chunks at all."""
        return any(one is not None for one in (self.workers, self.memory, self.cluster, self.scratch))

    def check(self) -> None:
        """Refuse what does not go together."""
        need("dask.array", "dask", "filling by chunks")
        if self.cluster is not None and (self.workers is not None or self.memory is not None):
            raise InputError("--cluster has its own workers and memory: leave --workers and --memory out")
        if self.workers is not None and self.workers < 1:
            raise InputError(f"--workers is the number of processes, at least 1, not {self.workers}")
        if self.scratch is not None and not self.scratch.is_dir():
            raise FileError(
                f"there is no folder {self.scratch}: --scratch is where chunks are kept while the run lasts"
            )


class Holes(NamedTuple):
    """What is missing besides NaN."""

    value: float | None
    mask: Path | None
    below: float | None
    above: float | None
    drop: float | None

    @classmethod
    def of(cls, lacking: options.MissingOptions, drop: float | None) -> Holes:
        """Return what the options say is missing; what cannot be found chunk by chunk is refused."""
        if lacking.missing_alpha or lacking.missing_files or lacking.ignore is not None:
            raise InputError(f"--missing-alpha, --missing-files and --ignore {BY_CHUNKS}")
        ends = lacking.missing_below, lacking.missing_above
        return cls(lacking.missing_value, lacking.missing_mask_file, *ends, drop)


@contextmanager
def computed(where: Where) -> Iterator[str | None]:
    """Let Dask compute where it is asked to; give the address of its dashboard."""
    dask = need("dask", "dask", "filling by chunks")
    settings: dict[str, Any] = {} if where.scratch is None else {"qrank.scratch": str(where.scratch)}
    if where.workers is None and where.cluster is None:
        settings |= {"scheduler": "threads", "num_workers": threads.count(), "qrank.memory": where.memory}
        with dask.config.set(settings), dask.config.set({"array.chunk-size": chunk_size()}):
            yield None
        return
    distributed = need("distributed", "dask", "filling on several processes")
    with dask.config.set({"distributed.worker.memory.terminate": False} | settings):
        if where.cluster is not None:
            with distributed.Client(where.cluster) as client:
                try:
                    client.wait_for_workers(1, timeout=JOINING)
                except distributed.TimeoutError:
                    raise InputError(f"the cluster {where.cluster} has no workers") from None
                with dask.config.set({"array.chunk-size": chunk_size()}):
                    yield client.dashboard_link
            return
        many = dict(n_workers=where.workers, threads_per_worker=1, memory_limit=where.memory or "auto")
        try:
            cluster = distributed.LocalCluster(**many, dashboard_address=":0")
        except ValueError as error:
            raise InputError(f"--memory is a number of bytes, such as 2GB, not {where.memory}") from error
        with cluster, distributed.Client(cluster) as client, dask.config.set({"array.chunk-size": chunk_size()}):
            yield client.dashboard_link


def fill_by_chunks(
    where: Where,
    source: str,
    output: str,
    lacking: options.MissingOptions,
    drop: float | None,
    slice_axes: str | None,
    method: Method,
    seed: int,
    kept: Checkpoint | None,
    others: Sequence[Any],
    quiet: bool,
    json: bool,
) -> None:
    """Fill an array of a file by chunks and write it by chunks."""
    where.check()
    holes = Holes.of(lacking, drop)
    given = [name for name, value in zip(NOT_BY_CHUNKS, others, strict=True) if value]
    if given:
        raise InputError(f"{', '.join(given)} {BY_CHUNKS}")
    check_output(output)
    out = screen(quiet or json)
    with computed(where) as dashboard:
        loaded = read_chunks(source)
        if loaded.path.resolve() in (place := split_key(output)[0].resolve(), *place.parents):
            raise FileError(f"{output} is the input, or inside it, which is never written to: choose another output")
        known, told = _known(loaded, holes, seed)
        axes = parse_slice_axes(slice_axes, loaded.axes, (0, 1))
        if slice_axes is None and isinstance(method, Auto):
            axes = guessed_axes(loaded.array, known)
        out.print(f"{source}: {loaded.kind}, {sizes(loaded.array.shape, loaded.axes)}, {loaded.array.dtype}, by chunks")
        size = loaded.array.shape, loaded.array.dtype
        lines = [*expected(*size, axes, method, where.workers, where.memory), scratch(*size, where.scratch)]
        proposal = cheaper(*size, axes, method) if slice_axes is None else None
        out.print("\n".join(lines if proposal is None else [*lines, proposal]))
        out.print(f"slices: {' x '.join(loaded.axes[axis] for axis in axes)}; filling with {method.name}")
        if loaded.marks:
            out.print(
                f"nodata: {', '.join(f'{mark:g}' for mark in loaded.marks)} in the file stands for a missing entry"
            )
        if loaded.said is not None and holes.value is None:
            out.print(loaded.said)
        if dashboard is not None:
            out.print(f"dashboard: {dashboard}")
        hush = warnings.catch_warnings(action="ignore", category=UserWarning)  # the status says it
        with Stopper() as stopper, hush:
            settings: Any = {"rng": np.random.default_rng(seed), "checkpoint": kept, "on_step": stopper.on_step}
            result = complete(loaded.array, known, method, axes, progress=not (quiet or json), **settings)
        if result.status is Status.DIVERGED:
            raise leave(f"{result.status} Nothing was written.", FAILED)
        notes = write_chunks(output, _native(result.x, loaded, known), loaded)
        if kept is not None and result.status is not Status.INTERRUPTED:
            kept.remove()
        facts = {"input": source, "output": output, "shape": list(loaded.array.shape), "slice_axes": list(axes)}
        facts |= {"method": str(result.method), "status": str(result.status), "steps": len(result.history)}
        facts |= {"seconds": result.seconds, "notes": notes} | _quality(result.x, loaded.array, told)
    if json:
        typer.echo(json_text.dumps(facts))
    _tell(out, result, facts)
    if result.status is Status.INTERRUPTED:
        raise leave(f"stopped after {len(result.history)} steps; what there is was written", STOPPED)


def _tell(out: Any, result: Completion, facts: dict[str, Any]) -> None:
    """Print what came out."""
    if result.choice is not None:
        out.print(str(result.choice))
    out.print(f"{result.status} {len(result.history)} steps, {duration(result.seconds)}.")
    if "rmse" in facts:
        out.print(f"error on what was dropped: {facts['rmse']:.4g}, {facts['relative_error']:.2%} of its size")
    for note in facts["notes"]:
        out.print(f"note: {note}")
    out.print(f"wrote {facts['output']}")


def _known(loaded: Chunks, holes: Holes, seed: int) -> tuple[Any, Any]:
    """Return what is known, lazily, and what was dropped to try things out, or None."""
    da, array = need("dask.array", "dask", "filling by chunks"), loaded.array
    known = ~da.isnan(array) if array.dtype.kind == "f" else da.ones(array.shape, dtype=bool, chunks=array.chunks)
    if loaded.marks:
        known &= ~marked(array, list(loaded.marks))
    if holes.value is not None:
        known &= array != holes.value
    if holes.below is not None:
        known &= array >= holes.below
    if holes.above is not None:
        known &= array <= holes.above
    if holes.mask is not None:
        mask = read_chunks(holes.mask).array
        if mask.shape != array.shape:
            raise InputError(f"the mask {holes.mask} has shape {mask.shape}, the array {array.shape}")
        known &= mask.rechunk(array.chunks) == 0
    if holes.drop is None:
        return known, None
    if not 0 < holes.drop < 1:
        raise InputError(f"--drop is a share between 0 and 1, not {holes.drop}")
    dropped = known & (da.random.default_rng(seed).random(array.shape, chunks=array.chunks) < holes.drop)
    return known & ~dropped, dropped


def _native(x: Any, loaded: Chunks, known: Any) -> Any:
    """Return the answer in the data's own type; what was known is as it was."""
    if loaded.array.dtype.kind == "f":
        return x
    da, dtype = need("dask.array", "dask", ""), loaded.array.dtype
    native = x.map_blocks(restore, dtype, loaded.path.name, dtype=dtype)
    if loaded.marks:
        native = da.map_blocks(without_nodata, native, loaded.marks[0], ~known, dtype=dtype)
    return da.where(known, loaded.array, native)


def _quality(x: Any, truth: Any, dropped: Any) -> dict[str, float]:
    """Return how far the answer is off on what was dropped."""
    if dropped is None:
        return {}
    dask = need("dask", "dask", "")
    blocks = zip(*(a.rechunk(x.chunks).to_delayed().ravel() for a in (x, truth, dropped)), strict=True)
    off, size, count = np.sum(dask.compute(*(dask.delayed(_sums)(*block) for block in blocks)), axis=0)
    return {"rmse": float((off / max(count, 1)) ** 0.5), "relative_error": float((off / max(size, 1e-300)) ** 0.5)}


def _sums(x: np.ndarray, truth: np.ndarray, dropped: np.ndarray) -> tuple[float, float, int]:
    """Return the squares of the errors on what was dropped, those of its values, and how many entries these are."""
    found, true = x[dropped].astype(float), truth[dropped].astype(float)
    return float(np.square(found - true).sum()), float(np.square(true).sum()), len(true)
