"""The one loop: what it yields, how it stops, that its state is data, and that a run can be taken up again."""

import copy
import time

import numpy as np
import pytest

import qrank
from conftest import low_rank
from qrank.kernels.memory import Workspace
from qrank.methods import METHODS
from qrank.methods.fill import Fill
from qrank.problem import Problem
from qrank.result import Status
from qrank.run import Run


def problem(rng, shape=(8, 9, 6)):
    x = low_rank(rng, shape) + 0.01 * rng.standard_normal(shape)
    return x, rng.random(shape) < 0.6


def options(name, x):
    given = {
        "tqn": {"q": np.eye(x.shape[2])},
        "tqn-oracle": {"truth": x},
        "tnn-linear": {"q": np.eye(x.shape[2]) + 0.1},
    }
    return given.get(name, {})


def test_the_hand_run_loop_equals_complete(rng):
    x, observed = problem(rng)
    result = qrank.complete(x, observed, "motqn", rng=3)
    given, method, work = Problem.of(x, observed), METHODS["motqn"].configured(), Workspace(3)
    state = method.init(given, work)
    for record in result.history:
        before = state
        state, step = method.step(given, state, work)
        assert type(state) is type(before)
        assert step.objective * given.scale == pytest.approx(record.objective, rel=1e-9)
    found = given.unscaled(method.answer(given, state, work).copy())
    np.testing.assert_allclose(found, result.x, atol=1e-9)
    assert [record.step for _, record in Run(given, method, 3)] == [record.step for record in result.history]


def leaves(state):
    if isinstance(state, tuple | list):
        for part in state:
            yield from leaves(part)
    else:
        yield state


RUN = [name for name in METHODS if name != "auto"]  # which runs others
LONG = [name for name in RUN if not issubclass(METHODS[name], Fill)]  # methods of more than one step


@pytest.mark.parametrize("name", RUN)
def test_a_state_is_arrays_and_numbers(name, rng):
    x, observed = problem(rng)
    run = Run(Problem.of(x, observed), METHODS[name].configured(max_steps=3, **options(name, x)), 0)
    for state, _ in run:
        others = [leaf for leaf in leaves(state) if not isinstance(leaf, np.ndarray | int | float | None)]
        assert not others


@pytest.mark.parametrize(
    "name", [*LONG, "motqn from the last Q", "vmtqn every third step", "vmtqn in the paper's rule"]
)
def test_a_run_goes_on_from_a_copy_of_its_state(name, rng):
    """With other scratch memory and a generator in the same state: nothing else is needed."""
    x, observed = problem(rng)
    more = {
        "motqn from the last Q": {"start": "last"},
        "vmtqn every third step": {"update_every": 3},
        "vmtqn in the paper's rule": {"absolute": True},
        "joined": {"steps": 12},
        "similar": {"rounds": 12},
        "patches": {"rounds": 12},
    }.get(name, {})
    name = name.split()[0]
    method, given = (
        METHODS[name].configured(max_steps=12, tol=1e-300, **options(name, x), **more),
        Problem.of(x, observed),
    )
    first = Run(given, method, 0)
    for _, record in first:
        if record.step == 5:
            state, generator = copy.deepcopy(first.state), np.random.default_rng()
            generator.bit_generator.state = first.work.rng.bit_generator.state
    again = Run(given, method, generator, state, 5)
    records = [record for _, record in again]
    assert [record.step for record in records] == list(range(6, 13))
    np.testing.assert_array_equal(again.answer(), first.answer())


def test_whoever_leaves_the_loop_has_an_interrupted_run(rng):
    run = Run(Problem.of(*problem(rng)), METHODS["vmtqn"].configured())
    for _, record in run:
        if record.step == 4:
            break
    assert run.status is Status.INTERRUPTED
    assert run.k == 4
    for _ in run:  # and may come back
        pass
    assert run.status is Status.SETTLED


def test_the_last_step_that_meets_the_rule_is_converged_even_if_it_is_the_limit(rng):
    x, observed = problem(rng)
    steps = len(qrank.complete(x, observed, "vmtqn").history)
    run = Run(Problem.of(x, observed), METHODS["vmtqn"].configured(max_steps=steps))
    assert len(list(run)) == steps
    assert run.status is Status.SETTLED


def test_what_is_not_finite_ends_the_run(rng):
    x, observed = problem(rng)
    run = Run(Problem.of(x, observed), METHODS["vmtqn"].configured())
    for state, record in run:
        state.t[...] = np.nan
        assert record.step < 3
    assert run.status is Status.DIVERGED
    assert run.learned() is None


def test_the_clock_stands_while_the_caller_has_the_word(rng):
    run = Run(Problem.of(*problem(rng)), METHODS["vmtqn"].configured(max_steps=3))
    for _ in run:
        time.sleep(0.2)
    assert run.seconds < 0.2
