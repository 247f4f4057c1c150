"""Colours behind a mosaic.

A colour camera has one filter before each pixel, so two of three colours are missing everywhere (Bayer's mosaic). That is a mask:
`recover` is then `complete`. Some noise is there as well.
"""

import numpy as np

import qrank


def main() -> dict:
    rng = np.random.default_rng(0)
    truth = qrank.data.clip(frames=6, height=28, width=40)  # (frames, height, width, 3)
    rows, columns = np.mgrid[:28, :40] % 2
    colour = np.where(rows == columns, 1, np.where(rows == 0, 0, 2))  # green on a diagonal, red and blue beside it
    mosaic = np.broadcast_to(colour[..., None] == np.arange(3), truth.shape)
    seen = np.where(mosaic, truth + 0.02 * rng.standard_normal(truth.shape), 0)

    result = qrank.recover(seen, np.ascontiguousarray(mosaic), method="views", slice_axes=(1, 2), noise=0.02)
    simple = qrank.complete(seen, mosaic, method="smooth", slice_axes=(1, 2))

    print(f"{qrank.metrics.psnr(result.x, truth):.1f} dB; smooth fill {qrank.metrics.psnr(simple.x, truth):.1f} dB")
    return {"mosaic": seen[4], "recovered": result.x[4], "truth": truth[4]}


if __name__ == "__main__":
    main()
