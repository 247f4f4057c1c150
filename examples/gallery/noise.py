"""Noise, and holes besides.

`noise=` says that known values are only near the truth; `denoise` is the case in which nothing is missing.
"""

import numpy as np

import qrank


def main() -> dict:
    rng = np.random.default_rng(0)
    truth = qrank.data.clip(frames=16, height=36, width=48, colour=False)
    sigma = 0.1
    noisy = truth + sigma * rng.standard_normal(truth.shape)
    clean = qrank.denoise(noisy, sigma)
    half = rng.random(truth.shape) < 0.5
    filled = qrank.complete(noisy, half, noise=sigma)

    before, after, both = (qrank.metrics.psnr(x, truth) for x in (noisy, clean.x, filled.x))
    print(f"noisy {before:.1f} dB, cleaned {after:.1f} dB; with half of it missing besides {both:.1f} dB")
    return {
        "noisy": noisy[5],
        "cleaned": clean.x[5],
        "half of it": noisy[5] * half[5],
        "filled and cleaned": filled.x[5],
    }


if __name__ == "__main__":
    main()
