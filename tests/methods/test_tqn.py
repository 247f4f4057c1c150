import dataclasses
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qrank
from conftest import low_rank
from qrank.kernels.memory import Workspace
from qrank.methods import METHODS
from qrank.penalties import Nuclear
from qrank.problem import Problem
from qrank.run import Run

FAMILY = ["vmtqn", "motqn", "tqn", "tqn-random", "tqn-oracle", "tnn", "tnn-c", "ttnn", "slicewise"]


def options(name, x, rng):
    n3 = x.shape[2]
    return {"tqn": {"q": np.linalg.qr(rng.standard_normal((n3, n3)))[0]}, "tqn-oracle": {"truth": x}}.get(name, {})


def test_a_step_is_the_papers_with_all_its_tensors(rng):
    """Y, E, Z, X kept in full, SVDs by NumPy: the small state gives the same iterates."""
    x = low_rank(rng, (6, 7, 5))
    observed = rng.random(x.shape) < 0.6
    y = np.where(observed, x, 0)
    q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    problem = Problem.of(x, observed)
    method = METHODS["tqn"].configured("paper", q=q, mu0=0.5)
    work = Workspace()
    state = method.init(problem, work)
    e, z, mu = np.zeros_like(y), np.zeros_like(y), 0.5
    x_k = np.zeros_like(y)
    for _ in range(30):
        u, s, vh = np.linalg.svd(np.moveaxis((y - e + z / mu) @ q, 2, 0), full_matrices=False)
        old_x, old_e = x_k, e
        x_k = np.moveaxis((u * np.maximum(s - 1 / mu, 0)[:, None, :]) @ vh, 0, 2) @ q.T
        e = np.where(observed, 0, y - x_k + z / mu)
        z = z + mu * (y - x_k - e)
        mu = min(1.1 * mu, 1e10)
        state, step = method.step(problem, state, work)
        found = problem.layout.outer(method.answer(problem, state, work)) * problem.scale
        np.testing.assert_allclose(found, x_k, atol=1e-9)
        assert step.primal == pytest.approx(np.abs(y - x_k - e).max(), abs=1e-9)
        assert step.change == pytest.approx(max(np.abs(x_k - old_x).max(), np.abs(e - old_e).max()), abs=1e-9)


@pytest.mark.parametrize("name", FAMILY)
def test_recovers_what_is_of_low_rank(name, rng):
    x = np.repeat(low_rank(rng, (24, 22, 4), rank=1, directions=2), 4, axis=2)  # smooth along mode 3, too
    observed = rng.random(x.shape) < (0.9 if name in ("slicewise", "ttnn", "tqn", "tqn-random") else 0.6)
    result = qrank.complete(np.where(observed, x, np.nan), method=name, rng=0, **options(name, x, rng))
    assert result.status in (qrank.Status.SETTLED, qrank.Status.CONVERGED)
    assert qrank.metrics.relative_error(result.x, x) < 0.01
    np.testing.assert_array_equal(result.x[observed], x[observed])


@pytest.mark.parametrize("name", ["vmtqn", "motqn"])
def test_learned_transforms_recover_where_fourier_does_not(name, rng):
    x = low_rank(rng, (24, 24, 30), rank=3, directions=3)
    observed = rng.random(x.shape) < 0.5
    learned = qrank.complete(x, observed, method=name)
    fourier = qrank.complete(x, observed, method="tnn")
    assert qrank.metrics.relative_error(learned.x, x) < 1e-2
    assert qrank.metrics.relative_error(fourier.x, x) > 0.2


@pytest.mark.parametrize("penalty", ["nuclear", "p-shrinkage", "log-sum", "schatten"])
@pytest.mark.parametrize("name", ["vmtqn", "motqn", "tnn"])
def test_every_penalty_with_learned_and_complex_transforms(name, penalty, rng):
    x = np.repeat(low_rank(rng, (24, 22, 4), rank=1, directions=2), 4, axis=2)
    result = qrank.complete(x, rng.random(x.shape) < 0.5, method=name, penalty=penalty)
    assert qrank.metrics.relative_error(result.x, x) < 0.01


def test_a_non_convex_penalty_recovers_with_fewer_observations(rng):
    x = low_rank(rng, (24, 24, 20), rank=3, directions=4)
    observed = rng.random(x.shape) < 0.32
    errors = {
        p: qrank.metrics.relative_error(qrank.complete(x, observed, "vmtqn", penalty=p).x, x)
        for p in ("nuclear", "p-shrinkage")
    }
    assert errors["p-shrinkage"] < 0.5 * errors["nuclear"]


def test_the_oracle_recovers_exactly_where_the_span_of_q_decides(rng):
    """16 unknowns a fibre and some 30 of 60 entries known: neither the stopping rule nor a cap on mu ends it early."""
    x = rng.standard_normal((4, 4, 60))
    observed = rng.random(x.shape) < 0.5
    assert (observed.sum(axis=2) > 20).all()
    found = qrank.complete(x, observed, "tqn-oracle", truth=x)
    assert found.status.name == "SETTLED"
    assert qrank.metrics.psnr(found.x, x) > 200


def test_identity_is_slicewise(rng):
    x = low_rank(rng)
    observed = rng.random(x.shape) < 0.7
    one = qrank.complete(x, observed, method="slicewise", rho=1.2)
    other = qrank.complete(x, observed, method="tqn", q=np.eye(x.shape[2]), rho=1.2)
    np.testing.assert_allclose(one.x, other.x, atol=1e-8)
    alone = qrank.complete(
        x[:, :, 3],
        observed[:, :, 3],
        "vmtqn",
        rho=1.2,
        mu0=one.history[0].mu,
        on_step=lambda record: record.step == len(one.history),
        tol=1e-300,
    )
    np.testing.assert_allclose(alone.x, one.x[:, :, 3], atol=1e-8)


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
def test_permuting_the_frames_permutes_vmtqn_and_nothing_else(rng):
    x = low_rank(rng) + 0.1 * rng.standard_normal((24, 22, 16))
    observed, order = rng.random(x.shape) < 0.5, rng.permutation(16)
    straight = qrank.complete(x, observed, "vmtqn")
    shuffled = qrank.complete(x[:, :, order], observed[:, :, order], "vmtqn")
    np.testing.assert_allclose(shuffled.x, straight.x[:, :, order], atol=1e-6)
    fourier = [qrank.complete(x[:, :, o], observed[:, :, o], method="tnn").x for o in (np.arange(16), order)]
    assert np.abs(fourier[1] - fourier[0][:, :, order]).max() > 1e-3


def test_r_confines_the_answer(rng):
    x = low_rank(rng, directions=4)
    observed = rng.random(x.shape) < 0.6
    full, enough = (qrank.complete(x, observed, "vmtqn", r=r) for r in (None, 4))
    small = qrank.complete(x, observed, "vmtqn", r=2, on_step=lambda record: record.step == 60)
    assert qrank.metrics.relative_error(enough.x, x) < 1e-3
    assert qrank.metrics.relative_error(full.x, x) < 1e-3
    assert qrank.metrics.relative_error(small.x, x) > 0.1
    assert small.transform.matrix.shape == (16, 2)
    run = Run(Problem.of(x, observed), METHODS["vmtqn"].configured(r=2, absolute=True, max_steps=40))
    assert len(list(run)) == 40
    assert np.linalg.matrix_rank(run.answer().reshape(16, -1), tol=1e-9) == 2


@pytest.mark.parametrize("name", ["vmtqn", "motqn"])
def test_update_every_k_steps(name, rng):
    x = low_rank(rng, (8, 9, 10))
    run = Run(Problem.of(x, rng.random(x.shape) < 0.6), METHODS[name].configured(update_every=3, max_steps=9))
    matrices = [state.prior.q.copy() for state, _ in run]
    kept = [a.shape == b.shape and np.array_equal(a, b) for a, b in zip(matrices, matrices[1:], strict=False)]
    # Q is chosen in step 1, where there is none yet, and whenever k mod 3 = 2: steps 2, 5, 8.
    assert kept == [False, True, True, False, True, True, False, True]


def test_motqn_decreases_its_objective_at_every_accepted_step(rng):
    x = low_rank(rng) + 0.05 * rng.standard_normal((24, 22, 16))
    result = qrank.complete(x, rng.random(x.shape) < 0.5, method="motqn", descents=4)
    traces = [record.learning for record in result.history]
    assert sum(len(trace) > 1 for trace in traces) > len(traces) / 2
    for trace in traces:
        assert all(after < before for before, after in zip(trace, trace[1:], strict=False))
    q = result.transform.matrix
    np.testing.assert_allclose(q.T @ q, np.eye(16), atol=1e-9)


def test_spinning_completes_textures_better_than_pca(rng):
    """Pictures that share no order: 1/f noise with a few values in common."""
    f = np.hypot(np.fft.fftfreq(24)[:, None], np.fft.fftfreq(24)) * 24
    x = np.fft.ifft2(np.fft.fft2(rng.standard_normal((60, 24, 24))) / (1 + f) ** 1.5).real
    x -= x.min()
    observed = rng.random(x.shape) < 0.4
    psnr = {
        start: qrank.metrics.psnr(qrank.complete(x, observed, "motqn", (1, 2), start=start, rng=0).x, x)
        for start in ("spun", "pca")
    }
    assert psnr["spun"] > psnr["pca"] + 0.3


def test_the_printed_step_size_is_there_and_is_worse(rng):
    x = low_rank(rng, (20, 20, 12), rank=2, directions=3)
    observed = rng.random(x.shape) < 0.5
    printed = qrank.complete(x, observed, method="motqn", step_size="printed")
    descended = qrank.complete(x, observed, method="motqn")
    assert qrank.metrics.relative_error(descended.x, x) < 0.1 * qrank.metrics.relative_error(printed.x, x)


@pytest.mark.parametrize("name", FAMILY)
@given(st.integers(-40, 40))
def test_scale_equivariance(name, exponent):
    rng = np.random.default_rng(5)
    x = low_rank(rng, (8, 9, 6))
    observed, c = rng.random(x.shape) < 0.7, 1.7 * 2.0**exponent
    stop = lambda record: record.step == 25  # noqa: E731
    both = [
        qrank.complete(s * x, observed, name, rng=1, on_step=stop, tol=1e-300, **options(name, s * x, np.random.default_rng(2))).x
        for s in (1, c)
    ]  # fmt: skip
    np.testing.assert_allclose(both[1], c * both[0], rtol=0, atol=1e-7 * c * np.abs(x).max())


@pytest.mark.parametrize("name", FAMILY)
def test_float32_is_near_float64(name, rng):
    x = low_rank(rng, (16, 18, 12))
    observed = rng.random(x.shape) < 0.7
    double = qrank.complete(x, observed, method=name, rng=1, tol=1e-4, **options(name, x, np.random.default_rng(2)))
    single = qrank.complete(
        x.astype(np.float32), observed, method=name, rng=1, tol=1e-4, **options(name, x, np.random.default_rng(2))
    )
    assert single.x.dtype == np.float32
    assert qrank.metrics.relative_error(single.x, double.x) < 5e-3


@pytest.mark.parametrize("name", ["vmtqn", "motqn"])
def test_the_papers_preset(name):
    method = METHODS[name].configured("paper")
    wanted = {"rho": 1.1, "mu0": 1e-4, "mu_max": 1e10, "tol": 1e-8, "update_every": 1, "absolute": True}
    wanted |= {"penalty": Nuclear()}
    assert {name: getattr(method, name) for name in wanted} == wanted
    assert "rho=1.1" in str(method)
    assert dataclasses.replace(method, rho=1.3).rho == 1.3


def test_default_and_paper_agree_in_quality(rng):
    """Within 0.05 dB or better, on data that are only nearly of low rank."""
    ramp = np.linspace(0, 1, 32)
    x = np.stack([np.sin(3 * np.outer(ramp, ramp) + rng.random() * 4) for _ in range(40)], axis=2)
    x = (x + 1 + 0.05 * rng.standard_normal(x.shape)) / 2
    observed = rng.random(x.shape) < 0.3
    default, paper = (qrank.metrics.psnr(qrank.complete(x, observed, "vmtqn", preset=p).x, x) for p in (None, "paper"))
    assert default > paper - 0.05


@pytest.mark.parametrize(
    ("method", "shape"),
    [("vmtqn", (60, 150, 200)), ("tnn", (60, 150, 200)), ("motqn", (60, 150, 200)), ("vmtqn", (8000, 32, 32)), ("tnn", (3000, 32, 32))],
)  # fmt: skip
def test_memory_is_at_most_four_times_the_data(method, shape, rng):
    """On arrays that are large beside what each thread works in; NaN makes the copy of the data necessary."""
    y = np.where(rng.random(shape) < 0.5, rng.random(shape), np.nan)
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        qrank.complete(y, method=method, slice_axes=(1, 2), mu0=5.0, max_steps=2)  # nothing vanishes
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 2 * y.nbytes < peak < 4 * y.nbytes


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_wide_unfoldings_converge_in_both_precisions(dtype, rng):
    """Pictures that share a mean: one singular value of the unfolding is far above the others to the end of the run."""
    x = 1 + 0.05 * np.einsum("kr,rij->kij", rng.standard_normal((600, 30)), rng.standard_normal((30, 12, 12)))
    x += 1e-3 * rng.standard_normal(x.shape)
    observed = rng.random(x.shape) < 0.6
    result = qrank.complete(x.astype(dtype), observed, "vmtqn", slice_axes=(1, 2))
    assert result.status.name == "SETTLED"
    assert len(result.history) < 150


@pytest.mark.parametrize("preset", [None, "paper"])
def test_a_run_that_starts_with_a_huge_mu_has_settled_not_converged(rng, preset):
    """Nothing is done there: X is the zero-filled data, however the stopping rule is met."""
    x = low_rank(rng, (12, 11, 9), rank=2, directions=2)
    known = rng.random(x.shape) < 0.5
    with pytest.warns(qrank.ConvergenceWarning, match=r"begin at mu = 1e\+08.*missing entries are drawn towards 0"):
        found = qrank.complete(x, known, "vmtqn", mu0=1e8, preset=preset)
    assert np.abs(found.x[~known]).max() < 1e-3 * np.abs(x).max()
    assert found.status is qrank.Status.SETTLED
