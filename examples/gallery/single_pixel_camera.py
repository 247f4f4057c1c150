"""A film taken by a camera with a single pixel.

A mirror shows patterns to one detector: each number is a sum over the whole frame. `recover` takes any linear operator; here
the cosine transform of the frame, its pixels' signs scrambled, of which a quarter of the numbers was measured.
"""

import numpy as np
import scipy.fft

import qrank


def main() -> dict:
    rng = np.random.default_rng(0)
    truth = qrank.data.clip(frames=16, height=36, width=48, colour=False)
    signs = rng.choice([-1.0, 1.0], truth.shape[1:])
    measured = rng.random(truth.shape) < 0.25

    def forward(x):
        return scipy.fft.dctn(signs * x, axes=(1, 2), norm="ortho")[measured]

    def adjoint(b):
        spectrum = np.zeros(truth.shape)
        spectrum[measured] = b
        return signs * scipy.fft.idctn(spectrum, axes=(1, 2), norm="ortho")

    result = qrank.recover(forward(truth), (forward, adjoint), truth.shape, method="views", slice_axes=(1, 2))

    direct = adjoint(forward(truth))
    print(f"{qrank.metrics.psnr(result.x, truth):.1f} dB; back-projection {qrank.metrics.psnr(direct, truth):.1f} dB")
    return {"back-projection": direct[5], "recovered": result.x[5], "truth": truth[5]}


if __name__ == "__main__":
    main()
