"""A hyperspectral cube of which a twentieth was measured.

Each pixel is a mixture of few materials, each with a smooth spectrum: the cube has a low rank along its bands.
"""

import numpy as np

import qrank


def main() -> dict:
    rng = np.random.default_rng(0)
    wave = np.linspace(0, 1, 24)
    spectra = [np.exp(-((wave - centre) ** 2) / 0.05) for centre in (0.15, 0.4, 0.6, 0.9)]
    rows, columns = np.mgrid[:48, :48] / 48
    maps = [0.5 + 0.5 * np.sin(4 * rows + shift) * np.cos(5 * columns - shift) for shift in rng.uniform(0, 6, 4)]
    truth = sum(s[:, None, None] * m for s, m in zip(spectra, maps, strict=True))  # (band, row, column)
    known = rng.random(truth.shape) < 0.05
    result = qrank.complete(truth, known, effort="fast")

    print(f"{qrank.metrics.psnr(result.x, truth):.1f} dB from {known.mean():.0%} of the entries")
    return {"measured": truth[12] * known[12], "filled": result.x[12], "truth": truth[12]}


if __name__ == "__main__":
    main()
