"""Where recovery is exact: ``python -m benchmarks.phase`` measures, draws docs/phase-*.png and writes docs/phase.md.

Tensors of low Q-rank of random directions; a cell is the share of trials whose relative error is below EXACT. Cells are kept in
out/phase as soon as they are done, and what was stopped goes on.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import qrank
from qrank.study.store import RunStore

DOCS = Path(__file__).parents[1] / "docs"
EXACT = 1e-2
TRIALS = 3
N, N3, DIRECTIONS = 30, 10, 3  # of the tensors with outliers
RANKS, SHARES = (1, 2, 3, 5, 7, 9), (0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
M, M3 = 12, 6  # of those that are measured: M x M x M3, of 2 directions
FEW_RANKS, COUNTS = (1, 2, 3, 4), (0.1, 0.2, 0.3, 0.4, 0.5, 0.7)


def tensor(rng: np.random.Generator, n: int, n3: int, rank: int, directions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X = G x_3 Q of slices of a rank, and Q (n3, n3), its first columns those that X has."""
    g = np.stack([rng.standard_normal((n, rank)) @ rng.standard_normal((rank, n)) for _ in range(directions)], axis=2)
    q = np.linalg.qr(rng.standard_normal((n3, n3)))[0]
    return g @ q[:, :directions].T / np.sqrt(rank), q


def outliers(method: str, rank: int, share: float, seed: int) -> bool:
    """Return whether X comes back where a share of its entries is off by three standard deviations, and which these are."""
    rng = np.random.default_rng([seed, rank, round(1000 * share)])
    x, _ = tensor(rng, N, N3, rank, DIRECTIONS)
    wrong = rng.random(x.shape) < share
    y = np.where(wrong, x + rng.choice([-3, 3], x.shape) * x.std(), x)
    found = qrank.separate(y, method=method, slice_axes=(0, 1), penalty="nuclear", max_steps=300)
    right = np.array_equal(np.abs(found.outliers) > x.std(), wrong)
    return bool(right and np.linalg.norm(found.x - x) < EXACT * np.linalg.norm(x))


def sums(method: str, rank: int, share: float, seed: int) -> bool:
    """Return whether X comes back from Gaussian measurements, a share as many as it has entries."""
    rng = np.random.default_rng([seed, rank, round(1000 * share)])
    x, q = tensor(rng, M, M3, rank, 2)
    psi = rng.standard_normal((round(share * x.size), x.size)) / np.sqrt(x.size)
    options: dict[str, Any] = {"q": q} if method == "tqn" else {}
    found = qrank.recover(psi @ x.ravel(), psi, x.shape, method=method, slice_axes=(0, 1), max_steps=300, **options)
    return bool(np.linalg.norm(found.x - x) < EXACT * np.linalg.norm(x))


KINDS = {
    "outliers": (outliers, {"vmtqn": "Q learned", "tnn": "Fourier"}, RANKS, SHARES, "share of outliers"),
    "sums": (
        sums,
        {"vmtqn": "Q learned", "tqn": "Q fixed, the true one", "tnn": "Fourier"},
        FEW_RANKS,
        COUNTS,
        "measurements over entries",
    ),
}


def measured(store: RunStore) -> None:
    """Run what is not there yet."""
    for kind, (run, methods, ranks, shares, _) in KINDS.items():
        for method in methods:
            for rank in ranks:
                for share in shares:
                    key = f"{kind}/{method}-{rank}-{share}"
                    if store.load(key) is None:
                        store.save(key, {"value": float(np.mean([run(method, rank, share, k) for k in range(TRIALS)]))})


def drawn(store: RunStore, kind: str) -> dict[str, float]:
    """Draw the pictures of a kind side by side, and return the mean of each: the part of the grid in which recovery is exact."""
    _, methods, ranks, shares, along = KINDS[kind]
    figure, axes = plt.subplots(1, len(methods), figsize=(3.2 * len(methods), 3.0), dpi=90, squeeze=False)
    means = {}
    for ax, (method, title) in zip(axes[0], methods.items(), strict=True):
        cells = [
            [(store.load(f"{kind}/{method}-{r}-{s}") or {"value": np.nan})["value"] for s in shares] for r in ranks
        ]
        ax.imshow(cells, cmap="gray", vmin=0, vmax=1, origin="lower", aspect="auto")
        ax.set_xticks(range(len(shares)), shares, fontsize=7)
        ax.set_yticks(range(len(ranks)), ranks, fontsize=7)
        ax.set_xlabel(along, fontsize=8)
        ax.set_ylabel("rank of a slice", fontsize=8)
        ax.set_title(title, fontsize=9)
        means[title] = float(np.mean(cells))
    figure.tight_layout()
    figure.savefig(DOCS / f"phase-{kind}.png", metadata={"Software": ""})
    plt.close(figure)
    return means


def page(means: dict[str, dict[str, float]]) -> str:
    """Return the page."""
    said = {kind: ", ".join(f"{title} {mean:.0%}" for title, mean in one.items()) for kind, one in means.items()}
    return f"""# Where recovery is exact

Made by `python -m benchmarks.phase`, as Lu et al. show it for the tensor nuclear norm: white is exact recovery (relative error below
{EXACT:g}) in all of {TRIALS} trials, black in none. Tensors are of low Q-rank with a random Q, so that no fixed transform has reason to fit.

## Outliers

Tensors of {N} x {N} x {N3} with {DIRECTIONS} directions of the third mode, a share of their entries off by three standard deviations,
`separate` with the nuclear norm and Lu et al.'s weight. Under the Fourier transform every slice of such a tensor has all the rank
there is, three times as much, and so few rows do not do for that. Recovery counts as exact if it has found out which entries are wrong, too:
all of them, and no other. Exact in this part of the grid: {said["outliers"]}.

![Outliers](phase-outliers.png)

## Gaussian measurements

Tensors of {M} x {M} x {M3} with 2 directions, `recover` from random sums. Exact in this part of the grid: {said["sums"]}.

![Gaussian measurements](phase-sums.png)
"""


if __name__ == "__main__":
    kept = RunStore(Path("out") / "phase")
    with warnings.catch_warnings(action="ignore"):
        measured(kept)
    (DOCS / "phase.md").write_text(page({kind: drawn(kept, kind) for kind in KINDS}), encoding="utf-8")
