"""A spectral cube from random sums of all its entries.

The measurements of compressed sensing: every number is a sum of all entries with random weights, so that none of them tells anything
by itself. A third as many numbers as entries give the cube back, as it is of low Q-rank.
"""

import numpy as np

import qrank


def main() -> dict:
    rng = np.random.default_rng(0)
    bands, side = 12, 14
    pictures = np.stack([picture.mean(axis=-1) for picture in qrank.data.scenes(side, side)[:3]])
    at = np.linspace(0, 1, bands)[:, None]
    truth = np.tensordot(np.exp(-(((at - [0.2, 0.5, 0.8]) / 0.25) ** 2)), pictures, 1)
    truth /= truth.max()
    psi = rng.standard_normal((truth.size // 3, truth.size)) / np.sqrt(truth.size)

    sums = psi @ truth.ravel()
    result = qrank.recover(sums, psi, truth.shape, slice_axes=(1, 2))

    smallest = (psi.T @ sums).reshape(truth.shape)
    print(f"{qrank.metrics.psnr(result.x, truth):.1f} dB from {sums.size} sums of {truth.size} entries")
    return {"sums, spread back": smallest[6], "recovered": result.x[6], "truth": truth[6]}


if __name__ == "__main__":
    main()
