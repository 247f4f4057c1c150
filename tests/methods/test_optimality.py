"""The convex methods end at minimisers: against CVXPY on tiny problems, and by their own duality gaps."""

import numpy as np
import pytest

import qrank
from qrank.kernels import threads
from qrank.kernels.memory import Workspace
from qrank.kernels.packed import Packed, unpacked
from qrank.methods import METHODS
from qrank.methods.latent import Latent
from qrank.methods.snn import HaLRTC
from qrank.problem import Problem
from qrank.transforms.framelets import Framelet

cp = pytest.importorskip("cvxpy")

SHAPE = (3, 4, 3)
ALPHA = np.array([0.2, 0.3, 0.5])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    x = rng.standard_normal(SHAPE) + 2
    return x, rng.random(SHAPE) < 0.6


def nuclear(a):
    return np.linalg.svd(a, compute_uv=False).sum()


def unfolded(x, mode):
    return np.moveaxis(x, mode, 0).reshape(x.shape[mode], -1)


def places(mode):
    """Where the entries of the unfolding lie in the flattened array, in the order in which CVXPY reshapes."""
    return unfolded(np.arange(np.prod(SHAPE)).reshape(SHAPE), mode)


def symbolic(v, mode):
    at = places(mode)
    return cp.reshape(v[at.ravel()], at.shape, order="C")


def solved(objective, constraints):
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == "optimal"
    return float(problem.value)


def known(v, x, observed):
    return v[np.flatnonzero(observed)] == x[observed]


def test_halrtc(data):
    x, observed = data
    v = cp.Variable(x.size)
    best = solved(sum(a * cp.normNuc(symbolic(v, i)) for i, a in enumerate(ALPHA)), [known(v, x, observed)])
    ours = qrank.complete(x, observed, method="halrtc", alpha=ALPHA, rho=1, tol=1e-9, max_steps=5000)
    value = sum(a * nuclear(unfolded(ours.x, i)) for i, a in enumerate(ALPHA))
    assert value == pytest.approx(best, rel=1e-6)
    assert ours.history[-1].objective == pytest.approx(best, rel=1e-6)
    np.testing.assert_allclose(ours.x.ravel(), v.value, atol=1e-3)


def test_silrtc_grows_into_the_constrained_problem(data):
    x, observed = data
    v = cp.Variable(x.size)
    best = solved(sum(a * cp.normNuc(symbolic(v, i)) for i, a in enumerate(ALPHA)), [known(v, x, observed)])
    ours = qrank.complete(x, observed, method="silrtc", alpha=ALPHA, tol=1e-8, max_steps=2000)
    value = sum(a * nuclear(unfolded(ours.x, i)) for i, a in enumerate(ALPHA))
    assert best * (1 - 1e-7) < value < best * (1 + 1e-3)


@pytest.mark.parametrize("accelerate", [True, False])
def test_silrtc_with_a_fixed_beta(data, accelerate):
    x, observed = data
    beta, v = 0.4, cp.Variable(x.size)
    m = [cp.Variable(places(i).shape) for i in range(3)]
    norms = sum(a * cp.normNuc(mi) for a, mi in zip(ALPHA, m, strict=True))
    coupling = sum(cp.sum_squares(symbolic(v, i) - mi) for i, mi in enumerate(m))
    best = solved(norms + beta / 2 * coupling, [known(v, x, observed)])
    given = {"beta0": beta, "rho": 1, "tol": 1e-10, "max_steps": 5000, "accelerate": accelerate}
    ours = qrank.complete(x, observed, method="silrtc", alpha=ALPHA, **given)
    assert ours.history[-1].objective == pytest.approx(best, rel=1e-6)
    np.testing.assert_allclose(ours.x.ravel(), v.value, atol=1e-3)


def test_latent(data):
    x, observed = data
    parts = [cp.Variable(x.size) for _ in range(3)]
    total = sum(parts)
    norms = sum(3 * a * cp.normNuc(symbolic(part, k)) for k, (a, part) in enumerate(zip(ALPHA, parts, strict=True)))
    best = solved(norms, [known(total, x, observed)])
    ours = qrank.complete(x, observed, method="latent", gamma=ALPHA, rho=1, tol=1e-9, max_steps=5000)
    assert ours.history[-1].objective == pytest.approx(best, rel=1e-6)


def slices_norm(x, q, weights):
    return sum(w * nuclear(x @ q[:, i]) for i, w in enumerate(weights))


def framelet_weights(filters, levels, n3):
    """The norms of the filters' taps, written down anew: the deeper, the more often the low-pass filter's comes in."""
    taps = {
        "linear": [[1, 2, 1], [2**0.5, 0, -(2**0.5)], [1, -2, 1]],
        "cubic": [
            [1, 4, 6, 4, 1],
            [2, 4, 0, -4, -2],
            [6**0.5, 0, -2 * 6**0.5, 0, 6**0.5],
            [2, -4, 0, 4, -2],
            [1, -4, 6, -4, 1],
        ],
    }[filters]
    norms = [np.linalg.norm(row) / {"linear": 4, "cubic": 16}[filters] for row in taps]
    bands = [norms[0] ** level * norm for level in range(levels) for norm in norms[1:]] + [norms[0] ** levels]
    return np.repeat(bands, n3)


OBLIQUE = np.array([[1.0, 0.5, 0], [0, 1, -0.7], [0.2, 0, 1]])
THIRD_MODE = {
    "tnn-linear": ("tnn-linear", {"q": OBLIQUE}, OBLIQUE, np.ones(3)),
    "f-tnn": ("f-tnn", {}, Framelet(3).matrix, framelet_weights("cubic", 1, 3)),
    "f-tnn, deep": (
        "f-tnn",
        {"filters": "linear", "levels": 2},
        Framelet(3, "linear", 2).matrix,
        framelet_weights("linear", 2, 3),
    ),
}


@pytest.mark.parametrize("case", THIRD_MODE)
def test_third_mode_methods(data, case):
    x, observed = data
    name, given, q, weights = THIRD_MODE[case]
    v = cp.Variable(x.size)
    frames = [cp.reshape(v[np.arange(x.size).reshape(SHAPE)[..., k].ravel()], SHAPE[:2], order="C") for k in range(3)]
    norms = sum(w * cp.normNuc(sum(q[k, i] * frames[k] for k in range(3))) for i, w in enumerate(weights))
    best = solved(norms, [known(v, x, observed)])
    ours = qrank.complete(x, observed, method=name, rho=1, mu0=1.0, tol=1e-9, max_steps=10000, **given)
    assert slices_norm(ours.x, q, weights) == pytest.approx(best, rel=1e-6)
    assert ours.history[-1].objective == pytest.approx(best, rel=1e-6)


def run(method, problem, steps):
    work = Workspace(0)
    state, step = method.init(problem, work), None
    with threads.own_threads(1):
        for _ in range(steps):
            state, step = method.step(problem, state, work)
    return state, step


def test_halrtc_multipliers_certify_the_answer():
    """Sum Y_i = 0 off Omega, ||Y_i(i)||_op <= alpha_i, and <sum Y_i, T> is the objective: no gap."""
    rng = np.random.default_rng(0)
    problem = Problem.of(rng.random((6, 7, 8)), rng.random((6, 7, 8)) < 0.6)
    state, step = run(HaLRTC(rho=1), problem, 800)
    total = np.where(problem.observed, state.mu * state.w, 0)
    multipliers = [state.mu * u for u in state.u]
    multipliers.append(total - sum(multipliers))  # the last one is kept as the sum of all
    for i, y in enumerate(multipliers):
        assert np.linalg.norm(unfolded(y, i), 2) < 1 / 3 + 1e-7
    assert np.vdot(total, problem.y) == pytest.approx(step.objective, rel=1e-7)


def test_latent_multiplier_certifies_the_answer():
    """A = 0 off Omega, ||A_(k)||_op <= 1 for every k, and <A, Y> is the objective: no gap."""
    rng = np.random.default_rng(0)
    problem = Problem.of(rng.random((6, 7, 8)), rng.random((6, 7, 8)) < 0.6)
    state, step = run(Latent(rho=1), problem, 1000)
    a = state.a / state.eta
    assert not a[~problem.observed].any()
    for k in range(3):
        assert np.linalg.norm(unfolded(a, k), 2) < 1 + 1e-6
    assert np.vdot(a, problem.y) == pytest.approx(step.objective, rel=1e-6)


@pytest.mark.parametrize(("levels", "steps"), [(1, 800), (3, 1200)])
def test_f_tnn_multiplier_certifies_the_answer(levels, steps):
    """W^T R = 0 off Omega, ||mu R^(i)||_op <= w_i, and <mu W^T R, Y> is the objective: no gap."""
    rng = np.random.default_rng(0)
    problem = Problem.of(rng.random((6, 7, 8)), rng.random((6, 7, 8)) < 0.6)
    method = METHODS["f-tnn"].configured(rho=1, mu0=1.0, levels=levels)
    state, step = run(method, problem, steps)
    found = unpacked(state.r).astype(float) if isinstance(state.r, Packed) else state.r
    r, w = state.mu * found, Framelet(8, "cubic", levels)
    back = w.backward(r)
    assert np.abs(back[~problem.observed]).max() < 1e-7
    sizes = np.linalg.norm(r, 2, axis=(1, 2))
    assert (sizes < framelet_weights("cubic", levels, 8) + 1e-7).all()
    assert np.vdot(back, problem.stack) == pytest.approx(step.objective, rel=1e-5)


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])  # with 0 there are several minimisers
def test_what_is_called_converged_is_the_optimum(seed):
    """A fast schedule ends, near the minimiser and not at it: that is called settled. The truth is CVXPY's."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((8, 2)) @ rng.standard_normal((2, 9)) + 0.3 * rng.standard_normal((8, 9))
    observed = rng.random(x.shape) < 0.6
    v = cp.Variable(x.shape)
    problem = cp.Problem(cp.Minimize(cp.normNuc(v)), [v[np.nonzero(observed)] == x[observed]])
    problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    away, above = {}, {}
    for rho in (1.2, 1.1, 1.05, 1.03, 1.01, 1.0):
        found = qrank.complete(x, observed, "slicewise", rho=rho, max_steps=5000)
        key = found.status.name, rho
        away[key] = float(np.linalg.norm(found.x - v.value) / np.linalg.norm(v.value))
        above[key] = float(nuclear(found.x) / problem.value - 1)
    assert {name for name, rho in away if rho >= 1.1} == {"SETTLED"}
    assert {name for name, rho in away if rho <= 1.01} == {"CONVERGED"}
    assert max(off for (name, _), off in away.items() if name == "CONVERGED") < 5e-4
    assert max(excess for (name, _), excess in above.items() if name == "CONVERGED") < 1e-5
    assert away["SETTLED", 1.2] > 5e-3


def test_the_paper_has_its_own_rule(data):
    x, observed = data
    found = qrank.complete(x, observed, "tnn", preset="paper")
    assert max(found.history[-1].primal, found.history[-1].change) <= found.method.tol
    assert found.status is qrank.Status.SETTLED
    assert found.history[-1].dual > 10 * found.method.tol
