"""The last runs of auto on large data: entries that were kept back weigh them, and end what got worse."""

import numpy as np
import pytest

from qrank.checkpoint import Journal
from qrank.choose.candidates import Candidate
from qrank.choose.final import finals, without_slight
from qrank.choose.runner import Outcome, Runner
from qrank.methods import METHODS
from qrank.problem import Problem
from qrank.result import Status


class Told(Runner):
    """Gives the answers that it is told, and remembers what was run."""

    def tell(self, answers):
        self.answers, self.ran = answers, []
        return self

    def run(self, candidate, start=None, losing=np.inf, doubted=True):
        self.ran.append(candidate.name)
        x = self.answers[candidate.name].copy()
        self.done[candidate.name] = Outcome(candidate, candidate.method, x, 0 * x, Status.SETTLED, 0.0, [])
        return self.done[candidate.name]


@pytest.fixture
def setting(rng):
    """A chain of three answers, c from b from a, and what makes answers of some error."""
    truth = rng.random((8, 30, 40))
    problem = Problem.of(truth)
    problem = problem.without(rng.choice(truth.size, 500, replace=False))
    auto = METHODS["auto"].configured()
    chain = {"a": None, "b": "a", "c": "b"}
    trial = Told(problem, rng, None, Journal(), auto)
    for name, after in chain.items():
        method = METHODS["smooth"].configured()
        trial.done[name] = Outcome(Candidate(name, method, after), method, truth, None, Status.SETTLED, 0.0, [])

    def off(error):
        return truth / problem.scale + error * rng.standard_normal(truth.shape)

    def final(answers):
        runner = Told(problem, rng, None, Journal(), auto).tell(answers)
        return *finals({"a": 0.1, "b": 0.0, "c": 0.9}, trial, runner, None, (1.0, 1.0)), runner

    return off, final, trial


def test_what_starts_from_an_answer_that_got_worse_is_not_run(setting):
    off, final, _ = setting
    _, weights, runner = final({"a": off(0.1), "b": off(0.2), "c": off(0.01)})
    assert runner.ran == ["a", "b"]
    assert weights["a"] > 0.7
    assert sum(weights.values()) == pytest.approx(1)


def test_weights_follow_what_was_kept_back_and_not_the_trial(setting):
    off, final, _ = setting
    mixture, weights, runner = final({"a": off(0.1), "b": off(0.1), "c": off(0.1)})
    assert runner.ran[:2] == ["a", "b"]
    assert all(weight == pytest.approx(1 / len(weights), abs=0.1) for weight in weights.values())
    assert mixture.weight > 0
    _, weights, runner = final({"a": off(0.1), "b": off(0.09), "c": off(0.001)})
    assert weights == {"c": 1.0}


def test_what_hardly_gained_in_the_trial_is_not_run_on_large_data(setting):
    trial = setting[2]
    weights = {"a": 0.3, "b": 0.2, "c": 0.5}
    assert without_slight(weights, {"a": 1.0, "b": 0.5, "c": 0.3}, trial) == weights
    assert without_slight(weights, {"a": 1.0, "b": 0.5, "c": 0.499}, trial) == {"a": 0.3, "b": 0.7, "c": 0.0}
    assert without_slight(weights, {"a": 1.0, "b": 0.999, "c": 0.998}, trial) == {"a": 1.0, "b": 0.0, "c": 0.0}
    assert without_slight(weights, {"a": 1.0, "b": 0.999, "c": 0.5}, trial) == weights  # c starts from b
    noisy = {name: float(np.hypot(1.0, error)) for name, error in {"a": 0.10, "b": 0.09, "c": 0.08}.items()}
    assert without_slight(weights, noisy, trial)["c"] == 0.0
    trial.limits = METHODS["auto"].configured(noise=1.0)
    assert (
        without_slight(weights, noisy, trial) == weights
    )  # of hidden entries with noise of 1 a gain of a thousandth is much
