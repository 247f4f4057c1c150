"""A zarr store that is larger than memory, by chunks, some of which were never written.

Here it is small, so that the page is made in seconds; only the sizes would change. Of the fields that grow on a plain through three years
tiles were lost, some chunks of the store, and points besides. With NaN as its fill value, chunks that are not there are what is missing.
`complete` reads the store chunk by chunk, keeps the run's own chunks on disk, and the answer is read from there as it is written. On the
command line, with a limit of memory: `qrank fill big.zarr -o filled.zarr --memory 4GB`.
"""

import tempfile

import dask.array as da
import numpy as np
import zarr

import qrank


def main() -> dict:
    rng = np.random.default_rng(0)
    crop = rng.integers(0, 6, (10, 12)).repeat(6, 0).repeat(8, 1)  # (60, 96), fields of one of six crops
    week = np.arange(156)
    grows = np.exp(-(((week[:, None] % 52 - rng.uniform(14, 36, 6)) / rng.uniform(4, 9, 6)) ** 2))  # (week, crop)
    grows *= rng.uniform(0.6, 1, (156 // 52, 6)).repeat(52, 0)  # good years and bad ones
    truth = np.float32(grows[:, crop] * rng.uniform(0.8, 1.1, crop.shape) + 0.02 * rng.standard_normal((156, 60, 96)))
    seen = np.where(rng.random(truth.shape) < 0.6, truth, np.nan)
    with tempfile.TemporaryDirectory() as folder:
        store = zarr.create_array(
            f"{folder}/big.zarr", shape=seen.shape, chunks=(12, 30, 32), dtype="f4", fill_value=np.nan
        )
        for chunk in np.ndindex(store.cdata_shape):
            if rng.random() < 0.8:  # the others are never written
                store.blocks[chunk] = seen[
                    tuple(slice(k * n, k * n + n) for k, n in zip(chunk, store.chunks, strict=True))
                ]

        y = da.from_zarr(f"{folder}/big.zarr")
        result = qrank.complete(y, method="vmtqn", slice_axes=(1, 2))
        result.x.to_zarr(f"{folder}/filled.zarr")

        filled, gaps = np.asarray(da.from_zarr(f"{folder}/filled.zarr")), store.nchunks - store.nchunks_initialized
        print(
            f"{qrank.metrics.psnr(filled, truth):.1f} dB; {gaps} of {store.nchunks} chunks of {store.chunks} were never written"
        )
        return {"known": np.asarray(y[72]), "filled": filled[72], "truth": truth[72]}


if __name__ == "__main__":
    main()
