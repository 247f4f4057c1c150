"""The one loop: what it yields, how it stops, that its state is data, and that a run can be taken up again."""

import copy
import math
import time
from typing import NamedTuple

import numpy as np
import pytest

import qrank
from conftest import low_rank
from qrank.kernels import threads
from qrank.kernels.memory import Workspace
from qrank.methods import METHODS
from qrank.methods.fill import Fill
from qrank.methods.tqn import Recipe
from qrank.problem import Problem
from qrank.result import Status, Step
from qrank.run import Run, in_single, is_single, like_type


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


class Scripted:
    """A method whose steps are given."""

    max_steps, single, shares_out = 5, math.inf, False

    def __init__(self, *steps, pause=0.0):
        self.steps, self.pause = steps, pause

    def tolerance(self, eps):
        return 1e-3

    def dual_tolerance(self, tol):
        return 10 * tol

    def init(self, problem, work):
        time.sleep(self.pause)
        return (0,)

    def step(self, problem, state, work):
        time.sleep(self.pause)
        return (state[0] + 1,), self.steps[min(state[0], len(self.steps) - 1)]

    def answer(self, problem, state, work):
        return np.full(problem.y.shape, float(state[0]))


def scripted(*steps, **options):
    return Run(Problem.of(np.full((3, 4), 8.0), np.eye(3, 4) < 1), Scripted(*steps, **options))


FAR, TOL = 1.0, 1e-3
ENDS = {
    "nothing is met": ((2.0, FAR, FAR, FAR), Status.STEP_LIMIT, 5),
    "all is met, at its edge": ((2.0, TOL, 10 * TOL, TOL), Status.CONVERGED, 1),
    "the dual residual is large": ((2.0, TOL, 11 * TOL, TOL), Status.SETTLED, 1),
    "X still moves": ((2.0, TOL, 0.0, 2 * TOL), Status.STEP_LIMIT, 5),
    "X is still apart": ((2.0, 2 * TOL, 0.0, TOL), Status.STEP_LIMIT, 5),
    "the objective is lost": ((np.nan, TOL, 0.0, TOL), Status.DIVERGED, 1),
    "the gap is lost": ((2.0, np.inf, 0.0, TOL), Status.DIVERGED, 1),
    "the change is lost": ((2.0, TOL, 0.0, np.nan), Status.DIVERGED, 1),
}


@pytest.mark.parametrize(("numbers", "status", "steps"), ENDS.values(), ids=ENDS)
def test_how_a_run_ends(numbers, status, steps):
    run = scripted(Step(*numbers, 0.5, 1, 1))
    assert len(list(run)) == steps
    assert run.status is status


def test_a_step_that_ends_the_schedule_is_the_last():
    run = scripted(Step(2.0, FAR, FAR, FAR, 0.5, 1, 1), Step(2.0, FAR, FAR, FAR, 0.5, 1, 1, settled=True))
    assert len(list(run)) == 2
    assert run.status is Status.SETTLED


def test_a_record_is_in_the_unit_of_the_data():
    run = scripted(Step(3.0, FAR, FAR / 2, FAR / 4, 0.5, 7, 2, (1.0, 0.9)))
    assert run.problem.scale == 16  # a power of two above 8, or 8 itself
    _, record = next(iter(run))
    assert (record.step, record.objective, record.mu) == (1, 48.0, 1 / 32)
    assert (record.primal, record.dual, record.change) == (1.0, 0.5, 0.25)
    assert (record.rank, record.slices, record.learning, record.holdout) == (7, 2, (1.0, 0.9), None)


def test_seconds_are_those_of_the_start_and_of_all_steps():
    run = scripted(Step(2.0, FAR, FAR, FAR, 0.5, 1, 1), pause=0.02)
    seconds = [record.seconds for _, record in run]
    for k, passed in enumerate(seconds, 1):
        assert 0.02 * (k + 1) <= passed < 0.02 * (k + 1) + 5
    assert seconds == sorted(seconds)
    assert run.seconds == seconds[-1]


def test_a_run_that_has_reached_its_limit_takes_no_step():
    run = Run(
        Problem.of(np.ones((3, 4)), np.eye(3, 4) < 1), Scripted(Step(2.0, FAR, FAR, FAR, 0.5, 1, 1)), None, (5,), 5
    )
    assert list(run) == []
    assert run.answer()[0, 0] == 5


def test_what_lapack_refuses_ends_the_run_as_diverged():
    run = scripted()
    run.method.step = lambda *_: np.linalg.cholesky(-np.eye(2))
    assert list(run) == []
    assert run.status is Status.DIVERGED
    assert run.learned() is run.deviation() is run.doubt() is None


@pytest.mark.parametrize(
    ("primal", "dual", "mu", "double"),
    [
        (1e-2, 0.01, 0.5, False),  # far from what is known: rounding does not count
        (5e-5, 0.01, 0.5, True),  # near it, and X stands still: there are digits to be found
        (5e-5, 0.4, 0.5, False),  # X follows mu
        (5e-5, 0.4, 1e8, True),  # 1/mu is beyond single precision
        (0.0, 0.01, 1e8, False),  # nothing is left to be found
    ],
)
def test_single_precision_is_left_where_digits_are_gained(primal, dual, mu, double):
    """From such a step on, the state and the problem are in double precision; FAR keeps the run going."""
    run, seen = scripted(Step(2.0, primal, dual, FAR, mu, 1, 1)), []
    run.method.single = 12
    run = Run(run.problem, run.method)
    run.method.init = lambda problem, work: (problem.y.copy(),)

    def step(problem, state, work):
        seen.append((problem.y.dtype.name, state[0].dtype.name))
        assert work.array("kept", (2,), state[0].dtype).dtype == state[0].dtype
        return state, run.method.steps[0]

    run.method.step = step
    for _ in run:
        pass
    assert seen == [("float32",) * 2] + [("float64" if double else "float32",) * 2] * 4


def test_who_begins_in_single_precision():
    """Data in double, an array that is large enough for the method, and a tolerance that single precision can tell."""
    method = Scripted(Step(2.0, FAR, FAR, FAR, 0.5, 1, 1))
    given = Problem.of(np.ones((3, 4)), np.eye(3, 4) < 1)
    for entries, tol, dtype in ((12, 1e-5, "float32"), (13, 1e-5, "float64"), (12, 1e-6, "float64")):
        method.single, method.tolerance = entries, lambda eps, tol=tol: tol
        assert Run(given, method)._problem.y.dtype == dtype
    method.single, method.tolerance = 0, lambda eps: 1e-5
    assert Run(given.single, method)._problem.y.dtype == np.float32
    assert not in_single(float(np.finfo(np.float32).eps), 12, method)


def test_a_run_goes_on_in_the_precision_of_its_state():
    method = Scripted(Step(2.0, FAR, FAR, FAR, 0.5, 1, 1))
    method.single = 0
    given = Problem.of(np.ones((3, 4)), np.eye(3, 4) < 1)
    for dtype in ("float32", "float64"):
        run = Run(given, method, None, (np.ones(2, dtype), 3), 1)
        assert run._problem.y.dtype == dtype


def test_what_is_told_of_the_data_is_told_of_them_in_double(rng):
    given = Problem.of(rng.standard_normal((6, 7, 8)), rng.random((6, 7, 8)) < 0.5)
    single = given.single
    assert single.y.dtype == np.float32
    assert single.norm == given.norm
    assert single.spread == given.spread
    assert (single.smoothness == given.smoothness).all()
    hidden = single.without(np.flatnonzero(given.observed)[:40])  # which is other data
    assert hidden.norm < given.norm * 0.95


@pytest.mark.parametrize("exact", [True, False])
def test_large_arrays_in_double_take_few_steps_in_it(exact, rng, monkeypatch):
    """An array of exactly low rank keeps its digits; under noise none are to be found, so no step is taken in double."""
    monkeypatch.setattr(Recipe, "single", 0)
    x = np.einsum(
        "ai,aj,ka->kij", rng.standard_normal((3, 24)), rng.standard_normal((3, 26)), rng.standard_normal((20, 3))
    )
    x += (0 if exact else 0.5) * rng.standard_normal(x.shape)
    problem = Problem.of(x, rng.random(x.shape) < 0.6, (1, 2))
    run = Run(problem, METHODS["vmtqn"].configured())
    types = [state.t.dtype.name for state, _ in run]
    monkeypatch.setattr(Recipe, "single", np.inf)
    double = Run(problem, METHODS["vmtqn"].configured())
    off = [np.linalg.norm(found * problem.scale - x) / np.linalg.norm(x) for found in (run.answer(), double.finished())]
    assert types[0] == "float32"
    if exact:
        assert types[-1] == "float64"
        assert 0.3 < types.count("float32") / len(types) < 0.9
        assert max(off) < 3e-5
    else:
        assert set(types) == {"float32"}
        assert abs(len(types) - double.k) <= 2
        assert off[0] == pytest.approx(off[1], rel=0.03)  # the path itself is not determined better: docs/decisions.md


class Named(NamedTuple):
    x: np.ndarray
    k: int


def test_types_of_a_state_are_seen_and_changed_wherever_they_are():
    state = Named(np.ones(2, np.float32), 3)
    assert is_single([0, state])
    assert not is_single([0, np.ones(2), None])
    found = like_type([state, (np.arange(3), None)], np.ones(1))
    assert isinstance(found, list)
    assert isinstance(found[0], Named)
    assert (found[0].x.dtype, found[0].k, found[1][0].dtype.kind, found[1][1]) == (np.float64, 3, "i", None)


@pytest.mark.parametrize(("side", "shares_out", "inside"), [(511, False, 1), (512, True, 3), (512, False, None)])
def test_small_arrays_take_one_thread(side, shares_out, inside, monkeypatch):
    """Below 2^18 entries one thread works; above it those of BLAS are taken over by methods that share work out."""
    monkeypatch.setattr(threads._limits, "most", lambda: 3)
    run = Run(Problem.of(np.ones((side, 512)), np.arange(512) > 0), Scripted())
    run.method.shares_out = shares_out
    with run._threads():
        assert threads._workers.get() == inside
