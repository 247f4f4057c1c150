"""The operations that a step must do are those of its products and decompositions, counted one by one."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import flops, kernels

from qrank.result import Record


def counted(shape: tuple[int, int, int], k: int, ranks: list[int]) -> float:
    """Return the operations of a step of vmtqn, written as products of arrays; k directions survive."""
    n3, n1, n2 = shape
    t, total = np.zeros((n3, n1 * n2)), 0.0

    def times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        nonlocal total
        total += kernels.flops("matmul", (a, b))
        return np.zeros((a.shape[0], b.shape[1]))

    a = t if n3 < n1 * n2 else t.T
    times(a, a.T)
    rows = np.zeros((k, len(a)))
    total += 4 / 3 * len(a) ** 3 + k / len(a) * 10 / 3 * len(a) ** 3
    if n3 < n1 * n2:
        times(rows, t)
    for rank in ranks:
        g, b = np.zeros((n1, n2)), np.zeros((rank, n1))  # n1 <= n2
        times(g, g.T)
        total += kernels.flops("eigh", (g[:, :n1],)) * (2 / 7 + 5 / 7 * rank / n1)
        times(b.T, times(b, g))
    if n3 < n1 * n2:
        times(rows.T, np.zeros((k, n1 * n2)))
    elif 2 * k * n3 < (k + n3) * n1 * n2:
        times(times(t, rows.T), rows)
    else:
        times(t, times(rows.T, rows.copy()))
    return total


@pytest.mark.parametrize(("shape", "k"), [((7, 6, 9), 4), ((7, 6, 9), 7), ((80, 4, 5), 3), ((80, 4, 5), 19)])
def test_a_step_of_vmtqn_is_counted_product_by_product(shape, k):
    ranks = [1 + i % shape[1] for i in range(k)]
    assert flops.step("vmtqn", shape, k, sum(ranks)) == pytest.approx(counted(shape, k, ranks), rel=1e-12)


def test_all_of_an_eigendecomposition_is_what_the_ledger_counts():
    assert flops.eigen(50, 50) == pytest.approx(kernels.flops("eigh", (np.zeros((50, 50)),)))


def test_a_run_is_its_steps_and_a_refused_descent_costs_no_gradient():
    shape, nothing = (6, 8, 9), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # seconds, objective, residuals, mu
    refused, taken = (Record(1, *nothing, 20, 6, learning) for learning in ((3.0,), (3.0, 2.0)))
    one = flops.run("motqn", shape, [refused])
    more = 2 * 2 * 6 * 6 * 72 + 4 * 6**3 + flops.shrinking(8, 9, 6, 20)  # gradient, Cayley step, G and its slices again
    assert flops.run("motqn", shape, [refused, taken]) == pytest.approx(2 * one + more)


def test_what_is_not_counted_is_said():
    with pytest.raises(ValueError, match="views"):
        flops.step("views", (3, 4, 5), 1, 1)
