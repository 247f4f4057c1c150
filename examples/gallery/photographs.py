"""A stack of photographs of one place, each with text written over it.

The light changes from one to the next, the place does not. Colours are an axis of their own.
"""

import numpy as np

import qrank


def main() -> dict:
    light = np.random.default_rng(0).uniform(0.4, 1, (10, 1, 1, 3))
    truth = light * qrank.data.scenes(48, 64)[0]  # (photograph, height, width, colour)
    known = qrank.data.observed(truth.shape[:3], 0.8, "text", slice_axes=(1, 2), rng=0)[
        ..., None
    ]  # colours are lost together
    result = qrank.complete(truth, np.broadcast_to(known, truth.shape), slice_axes=(1, 2), effort="fast", bounds=(0, 1))

    print(f"{qrank.metrics.psnr(result.x, truth):.1f} dB, the letters filled from other photographs")
    return {"written over": truth[3] * known[3], "filled": result.x[3], "truth": truth[3]}


if __name__ == "__main__":
    main()
