"""Background and foreground of a clip.

What stands still is of low rank, what moves is sparse: `separate` tells them apart, by robust tensor PCA with a learned transform.
"""

import numpy as np

import qrank


def main() -> dict:
    background = 0.7 * np.repeat(
        qrank.data.scenes(36, 48)[0].mean(axis=-1)[None], 20, axis=0
    )  # (frames, height, width)
    rows, columns = np.mgrid[:36, :48]
    ball = np.stack([(rows - 20) ** 2 + (columns - 6 - 1.8 * k) ** 2 < 16 for k in range(20)])
    film = np.where(ball, 1.0, background)
    result = qrank.separate(film, method="vmtqn", slice_axes=(0, 2))  # frames x width: what stands still has rank 1

    found = np.abs(result.outliers) > 0.1
    print(f"background {qrank.metrics.psnr(result.x, background):.1f} dB; {found[ball].mean():.0%} of the ball found")
    return {"film": film[9], "background": result.x[9], "foreground": np.abs(result.outliers[9])}


if __name__ == "__main__":
    main()
