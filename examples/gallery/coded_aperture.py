"""A spectral cube from a few snapshots.

In a snapshot spectral camera (CASSI) a mask lets some pixels through, a prism shifts each band by a pixel, and the detector sums the bands:
one picture for all of them. Here there are four, each with another mask.
"""

import numpy as np

import qrank


def main() -> dict:
    rng = np.random.default_rng(0)
    bands, side, shots = 16, 32, 4
    pictures = np.stack([picture.mean(axis=-1) for picture in qrank.data.scenes(side, side)[:3]])
    at = np.linspace(0, 1, bands)[:, None]
    truth = np.tensordot(np.exp(-(((at - [0.2, 0.5, 0.8]) / 0.25) ** 2)), pictures, 1)
    truth /= truth.max()
    masks = (rng.random((shots, side, side)) < 0.5).astype(float)

    def forward(x):
        seen = np.zeros((shots, side, side + bands - 1))
        for k in range(bands):
            seen[:, :, k : k + side] += masks * x[k]
        return seen

    def adjoint(b):
        b = b.reshape(shots, side, side + bands - 1)
        return np.stack([(masks * b[:, :, k : k + side]).sum(axis=0) for k in range(bands)])

    seen = forward(truth)
    result = qrank.recover(seen, (forward, adjoint), truth.shape, slice_axes=(1, 2))

    print(f"{qrank.metrics.psnr(result.x, truth):.1f} dB from {seen.size / truth.size:.0%} as many numbers")
    return {"one snapshot": seen[0], "recovered": result.x[8], "truth": truth[8]}


if __name__ == "__main__":
    main()
