"""Fill a clip that cuts between scenes: a learned transform against the Fourier transform."""

import qrank


def main() -> None:
    truth = qrank.data.clip(frames=24, height=30, width=40, colour=False)  # (frames, height, width), values in [0, 1]
    known = qrank.data.observed(truth.shape, rate=0.3, slice_axes=(1, 2), rng=0)
    for method in ("tnn", "vmtqn"):
        result = qrank.complete(truth, known, method, slice_axes=(1, 2))
        print(f"{method}: {qrank.metrics.psnr(result.x, truth):.1f} dB, {len(result.history)} steps. {result.status}")


if __name__ == "__main__":
    main()
