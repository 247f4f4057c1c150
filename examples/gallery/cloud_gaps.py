"""Clouds in a satellite series.

A field that changes with the seasons, seen twice a month; on every date clouds hide a third of it, each time another one.
The error that is estimated for every entry says where to trust the map.
"""

import numpy as np
from scipy import ndimage

import qrank


def main() -> dict:
    rows, columns, date = np.mgrid[:40, :48, :24].astype(float)
    season = np.sin(2 * np.pi * date / 24 + rows / 30)
    truth = 15 + 6 * season * np.cos(columns / 15) + 2 * np.sin(rows / 6) * np.cos(columns / 7)  # degrees
    truth = np.moveaxis(truth, 2, 0)  # (date, row, column)
    weather = ndimage.gaussian_filter(np.random.default_rng(0).standard_normal(truth.shape), (1, 4, 4))
    truth = truth + weather / weather.std()
    clear = qrank.data.observed(truth.shape, 0.65, "clouds", slice_axes=(1, 2), rng=1)
    result = qrank.complete(np.where(clear, truth, np.nan))

    off = np.abs(result.x - truth)[~clear]
    print(
        f"off by {off.mean():.2f} degrees under clouds; {np.mean(off < 1.645 * result.error[~clear]):.0%} within the 90 % interval"
    )
    return {
        "seen": np.where(clear, truth, np.nan)[9],
        "filled": result.x[9],
        "standard error": result.error[9],
        "truth": truth[9],
    }


if __name__ == "__main__":
    main()
