"""A zarr store that is larger than memory, by chunks.

Here it is small, so that the page is made in seconds; only the sizes would change. `complete` reads the store chunk by chunk, keeps
the run's own chunks on disk, and the answer is read from there as it is written. On the command line, with a limit of memory:
`qrank fill big.zarr -o filled.zarr --memory 4GB`.
"""

import tempfile

import dask.array as da
import numpy as np

import qrank


def main() -> dict:
    truth = np.float32(qrank.data.clip(frames=48, height=60, width=80).mean(axis=-1))  # (frames, height, width)
    known = qrank.data.observed(truth.shape, 0.3, slice_axes=(1, 2), rng=0)
    with tempfile.TemporaryDirectory() as folder:
        da.from_array(np.where(known, truth, np.nan), chunks=(8, 60, 80)).to_zarr(f"{folder}/big.zarr")

        y = da.from_zarr(f"{folder}/big.zarr")
        result = qrank.complete(y, method="vmtqn", slice_axes=(1, 2))
        result.x.to_zarr(f"{folder}/filled.zarr")

        filled = da.from_zarr(f"{folder}/filled.zarr")
        print(
            f"{qrank.metrics.psnr(np.asarray(filled), truth):.1f} dB; {filled.npartitions} chunks of {filled.chunksize}"
        )
        return {"known": np.asarray(y[20]), "filled": np.asarray(filled[20]), "truth": truth[20]}


if __name__ == "__main__":
    main()
