"""An hourly table of sensors, with gaps.

Temperatures in kelvin, pressure in pascal and a count, six weeks of them; cells are missing here and there, and each sensor was
down for hours at a time. Rows are folded by the day, columns are brought to one size, and straight lines in time are beaten in each.
"""

import numpy as np
import pandas as pd

import qrank


def main() -> dict:
    rng = np.random.default_rng(0)
    time = pd.date_range("2024-03-01", periods=42 * 24, freq="h", name="time")
    hour, weather = np.arange(len(time)), np.cumsum(rng.standard_normal(len(time))) / 8
    day = np.sin(2 * np.pi * (hour / 24 - 0.3))
    noise = rng.standard_normal((4, len(time)))
    columns = {f"roof {k} [K]": 283 + (5 + k) * day + weather + 0.3 * noise[k] for k in range(3)}
    columns["pressure [Pa]"] = 101_300 - 250 * weather + 80 * np.sin(4 * np.pi * hour / 24) + 10 * noise[3]
    columns["cars"] = rng.poisson(np.exp(4 + day + 0.02 * weather))
    truth = pd.DataFrame(columns, time)
    hole = rng.random(truth.shape) < 0.15
    for column in range(truth.shape[1]):
        for start in rng.integers(0, len(time), 12):
            hole[start : start + rng.integers(6, 30), column] = True
    table = truth.mask(hole)

    result = qrank.complete(table)  # or: qrank fill table.csv -o whole.csv --error errors.csv
    lines = table.interpolate("time", limit_direction="both")

    ours, theirs = (((found - truth) ** 2).where(hole).mean() ** 0.5 for found in (result.x, lines))
    print(f"{(theirs / ours).min():.1f} to {(theirs / ours).max():.1f} times as near as straight lines")
    print(pd.DataFrame({"qrank": ours, "interpolate": theirs}).round(2).to_string())
    roof = lambda frame: frame.iloc[:, 0].to_numpy().reshape(42, 24).T  # noqa: E731
    return {
        "known: hours x days": roof(table),
        "filled": roof(result.x),
        "standard error": roof(result.error),
        "truth": roof(truth),
    }


if __name__ == "__main__":
    main()
