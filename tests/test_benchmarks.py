"""The benchmark's yardstick computes what the package computes, and its instruments tell the truth."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import literal

from qrank.methods import METHODS
from qrank.problem import Problem

SHAPES = {"n1 n2 < n3": (40, 4, 6), "n1 n2 > n3": (9, 14, 11)}


def low_rank(shape: tuple[int, int, int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    n3, n1, n2 = shape
    rng = np.random.default_rng(seed)
    x = np.einsum("kr,ri,rj->kij", rng.random((n3, 3)), rng.random((3, n1)), rng.random((3, n2)))
    x += 0.1 * rng.random(shape)
    return x / x.max(), rng.random(shape) < 0.6


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("name", ["vmtqn", "tnn", "motqn"])
def test_the_literal_algorithm_and_the_package_agree_over_thirty_steps(name: str, shape: tuple[int, int, int]) -> None:
    x, omega = low_rank(shape)
    y = np.where(omega, x, 0)
    method = METHODS[name].configured("paper", mu0=1.2 / np.linalg.norm(y))  # the threshold is active at once
    problem = Problem.of(y, omega, (1, 2))
    state = method.init(problem, np.random.default_rng(0))
    settings = literal.settings_of(method)
    theirs = literal.start(y, settings)
    for k in range(30):
        state, told = method.step(problem, state)
        theirs = literal.step(name, y, omega, theirs, settings)
        ours = method.answer(state) * problem.scale
        assert np.abs(ours - theirs.X).max() <= 1e-6 * np.abs(y).max(), f"step {k + 1}"
        assert max(told.primal, told.change) == pytest.approx(theirs.residual, rel=1e-5)
    assert 0 < np.linalg.norm(ours - x) < np.linalg.norm(y - x)


@pytest.mark.parametrize("name", ["vmtqn", "tnn", "motqn"])
def test_the_literal_algorithm_goes_on_from_the_state_of_the_package(name: str) -> None:
    x, omega = low_rank((9, 14, 11))
    y = 3 * np.where(omega, x, 0)
    method = METHODS[name].configured("paper", mu0=0.5)
    problem = Problem.of(y, omega, (1, 2))
    state = method.init(problem, np.random.default_rng(0))
    for _ in range(10):
        state, _ = method.step(problem, state)
    theirs = literal.resume(problem, state)
    for _ in range(3):
        state, _ = method.step(problem, state)
        theirs = literal.step(name, y, omega, theirs, literal.settings_of(method))
    assert np.abs(method.answer(state) * problem.scale - theirs.X).max() <= 1e-8
