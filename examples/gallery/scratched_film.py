"""A scratched film.

Scratches differ from frame to frame, so what one frame lacks its neighbours have. `complete` needs the film and where it is whole.
"""

import qrank


def main() -> dict:
    truth = qrank.data.clip(frames=16, height=36, width=48, colour=False)  # (frames, height, width), values in [0, 1]
    known = qrank.data.observed(truth.shape, 0.85, "scratches", slice_axes=(1, 2), rng=0)
    result = qrank.complete(truth, known, effort="fast", bounds=(0, 1))

    print(f"{qrank.metrics.psnr(result.x[~known], truth[~known]):.1f} dB in the scratches")
    return {"scratched": truth[5] * known[5], "filled": result.x[5], "truth": truth[5]}


if __name__ == "__main__":
    main()
