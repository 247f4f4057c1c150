"""Read a file with holes, fill it, write a file like it; the same as ``qrank fill``."""

import tempfile
from pathlib import Path

import numpy as np

import qrank


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    x = qrank.data.low_q_rank((24, 20, 10), r=2, rng=0)
    np.save(folder / "holes.npy", np.where(qrank.data.observed(x.shape, 0.8, rng=0), x, np.nan))

    loaded = qrank.read(folder / "holes.npy")
    result = qrank.complete(loaded.data, slice_axes=loaded.slice_axes)
    qrank.write(folder / "whole.npy", result.x, like=loaded)

    print(f"relative error {qrank.metrics.relative_error(np.load(folder / 'whole.npy'), x):.1e}")


if __name__ == "__main__":
    main()
