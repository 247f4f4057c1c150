"""recover(): measurements by any operator, against an independent solver and by what must be true of them."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.fft
import scipy.sparse
import scipy.sparse.linalg

import qrank
from conftest import low_rank
from qrank.api.recover import measured_problem
from qrank.fit import first, least_norm, operator_of, seen_alone, smooth_axes
from qrank.fit.measured import solved
from qrank.methods import METHODS


@pytest.fixture
def sums(rng):
    """A matrix whose rows are no multiples of orthonormal ones, and an array (5, 6, 4)."""
    return rng.standard_normal((70, 120)) * np.geomspace(1, 3, 70)[:, None], low_rank(rng, (5, 6, 4), 1, 2)


def test_a_mask_is_a_completion_bit_for_bit(rng):
    x, mask = low_rank(rng, (9, 10, 6)), rng.random((9, 10, 6)) < 0.6
    usual = qrank.complete(x, mask, "vmtqn").x
    np.testing.assert_array_equal(qrank.recover(x, mask, method="vmtqn").x, usual)
    np.testing.assert_array_equal(qrank.recover(x[mask], mask, method="vmtqn").x, usual)


def test_a_mask_that_is_turned_comes_near_to_a_completion(rng):
    """The same problem by the general fit, of which nobody can see that entries are known: its optimum is the same."""
    x, mask = low_rank(rng, (9, 10, 6)), rng.random((9, 10, 6)) < 0.6
    turn = np.linalg.qr(rng.standard_normal((mask.sum(), mask.sum())))[0] * rng.uniform(1, 2, (mask.sum(), 1))
    psi = turn @ np.eye(x.size)[mask.ravel()]
    assert seen_alone(operator_of(psi, x.shape)) is None
    found = qrank.recover(psi @ x.ravel(), psi, x.shape, method="tnn", rho=1.05, tol=1e-7, slice_axes=(0, 1))
    usual = qrank.complete(x, mask, "tnn", rho=1.05, tol=1e-7)
    np.testing.assert_allclose(found.x, usual.x, atol=2e-3)
    np.testing.assert_allclose(found.x[mask], x[mask], atol=1e-6)


def mosaic_of(shape):
    """Bayer's: one colour of three at each pixel, as two functions of which nobody can see that they are a mask."""
    rows, columns = np.mgrid[: shape[1], : shape[2]] % 2
    colour = np.where(rows == columns, 1, np.where(rows == 0, 0, 2))
    mask = np.ascontiguousarray(np.broadcast_to(colour[..., None] == np.arange(3), shape))

    def adjoint(b):
        x = np.zeros(shape)
        x[mask] = -b / 2
        return x

    return mask, (lambda x: -x[mask] / 2, adjoint)


@pytest.mark.parametrize("noise", [None, 0.02])
def test_entries_that_are_seen_one_by_one_are_a_completion(noise):
    """A mosaic as two functions ended at 7.7 dB: zeros in a regular pattern are of low rank, too."""
    x = qrank.data.clip(frames=4, height=20, width=24)
    mask, (forward, adjoint) = mosaic_of(x.shape)
    options = {"method": "views", "slice_axes": (1, 2)}
    found = qrank.recover(forward(x), (forward, adjoint), x.shape, noise=noise and noise / 2, **options)
    usual = qrank.complete(np.where(mask, x, 0), mask, noise=noise, **options)
    np.testing.assert_allclose(found.x, usual.x, atol=1e-6)
    np.testing.assert_array_equal(found.observed, mask)
    assert qrank.metrics.psnr(found.x, x) > 20


def test_entries_that_are_seen_twice_must_agree():
    twice = np.eye(6)[[0, 1, 1, 4]]
    with pytest.warns(qrank.UndeterminedWarning):  # two entries that low rank says nothing of
        found = qrank.recover([1.0, 2.0, 2.0, 3.0], twice, (2, 3), method="halrtc")  # which needs entries, and has them
    np.testing.assert_array_equal(found.observed, [[True, True, False], [False, True, False]])
    np.testing.assert_array_equal(found.x[found.observed], [1.0, 2.0, 3.0])
    with pytest.raises(qrank.InputError, match="no array agrees"):
        qrank.recover([1.0, 2.0, 2.5, 3.0], twice, (2, 3))


def test_a_smooth_start_is_found_where_neighbours_are_alike(rng):
    """Sums over random pixels: the order of an axis is shuffled, and is then no help."""
    rows, columns, bands = np.mgrid[:16, :18, :20] / 6
    x = np.sin(rows + bands) * np.cos(columns)
    psi = rng.standard_normal((1800, x.size))
    operator, b = operator_of(psi, x.shape), psi @ x.ravel()
    assert smooth_axes(operator, b) == (0, 1, 2)
    for axis in range(3):
        turned = x.take(rng.permutation(x.shape[axis]), axis)
        assert smooth_axes(operator, psi @ turned.ravel()) == tuple(one for one in range(3) if one != axis)
    start = first(operator, b, (0, 1, 2))
    assert np.linalg.norm(start - x) < 0.3 * np.linalg.norm(least_norm(operator, b) - x)
    assert np.linalg.norm(operator.forward(start) - b) < 1e-3 * np.linalg.norm(b)


@pytest.mark.parametrize("tight", [True, False])
def test_to_see_what_is_smooth_costs_half_a_run(tight, rng):
    """Products with Psi are what big operators cost."""
    shape, calls = (12, 20, 24), 0
    signs, kept = rng.choice([-1.0, 1.0], shape), np.flatnonzero(rng.random(shape) < 0.3)
    scale = np.ones(len(kept)) if tight else rng.uniform(1, 2, len(kept))

    def forward(a):
        nonlocal calls
        calls += 1
        return scale * scipy.fft.dctn(signs * a, norm="ortho").ravel()[kept]

    def adjoint(v):
        nonlocal calls
        calls += 1
        spectrum = np.zeros(signs.size)
        spectrum[kept] = scale * v
        return signs * scipy.fft.idctn(spectrum.reshape(shape), norm="ortho")

    b = forward(qrank.data.clip(*shape, colour=False))
    psi = operator_of((forward, adjoint), shape)
    calls = 0
    qrank.recover(b, psi, shape, method="vmtqn", slice_axes=(1, 2))
    run, calls = calls, 0
    smooth_axes(psi, b)
    assert calls < 0.5 * run


def test_four_axes_in_any_order(rng):
    """What is smooth is known by its place among the axes, which a run has in another order."""
    along = np.sin(np.arange(20) / 5)[:, None] + np.cos(np.arange(16) / 5)
    x = np.einsum("il,j,k->ijkl", along, (-1.0) ** np.arange(6), (-1.0) ** np.arange(7))
    signs, kept = rng.choice([-1.0, 1.0], x.shape), np.flatnonzero(rng.random(x.size) < 0.4)

    def adjoint(v):
        spectrum = np.zeros(x.size)
        spectrum[kept] = v
        return signs * scipy.fft.idctn(spectrum.reshape(x.shape), norm="ortho")

    pair = (lambda a: scipy.fft.dctn(signs * a, norm="ortho").ravel()[kept]), adjoint
    psi, b = operator_of(pair, x.shape), pair[0](x)
    problem = measured_problem(b, psi, (2, 0), ordered=True)
    assert smooth_axes(psi, b) == (0, 3)
    assert problem.measured.smooth == (3, 1)  # of axes in the order 1, 3, 2, 0
    np.testing.assert_allclose(first(*problem.measured), problem.y, atol=1e-9)
    found = qrank.recover(b, pair, x.shape, method="views", slice_axes=(2, 0))
    assert np.linalg.norm(found.x - x) < 0.05 * np.linalg.norm(x)


@pytest.mark.parametrize("noise", [None, 0.3])
def test_it_is_the_convex_problem_that_it_says(sums, noise):
    psi, x = sums
    psi = psi[:, :30]
    b = psi @ x[:, :, 0].ravel()
    v = cp.Variable((5, 6))
    misfit = psi @ cp.reshape(v, (30,), order="C") - b
    if noise is None:
        psi, b = psi[:20], b[:20]
        problem = cp.Problem(cp.Minimize(cp.normNuc(v)), [misfit[:20] == 0])
    else:
        tau = 0.7 * operator_of(psi, (5, 6)).gain * noise * (np.sqrt(5) + np.sqrt(6))
        problem = cp.Problem(cp.Minimize(cp.normNuc(v) + cp.sum_squares(misfit) / (2 * tau)))
    best = problem.solve(solver=cp.CLARABEL)
    options = {"method": "slicewise", "slice_axes": (0, 1), "tol": 1e-9, "rho": 1.01, "max_steps": 5000}
    found = qrank.recover(b, psi, (5, 6), noise=noise, **options)
    value = np.linalg.norm(found.x, "nuc")
    if noise is not None:
        value += np.sum((psi @ found.x.ravel() - b) ** 2) / (2 * tau)
    else:
        np.testing.assert_allclose(psi @ found.x.ravel(), b, atol=1e-5)
    assert value == pytest.approx(best, rel=2e-4)


@pytest.mark.parametrize("kind", ["matrix", "sparse", "linear", "pair"])
def test_every_kind_of_operator_is_the_same(kind, sums):
    psi, x = sums
    given = {
        "matrix": psi,
        "sparse": scipy.sparse.csr_array(psi),
        "linear": scipy.sparse.linalg.aslinearoperator(psi),
        "pair": (lambda a: psi @ a.ravel(), lambda v: (psi.T @ v).reshape(5, 6, 4)),
    }[kind]
    options = {"method": "vmtqn", "slice_axes": (0, 1)}
    one = qrank.recover(psi @ x.ravel(), psi, x.shape, **options)
    np.testing.assert_allclose(qrank.recover(psi @ x.ravel(), given, x.shape, **options).x, one.x, atol=1e-6)
    assert one.x.shape == x.shape
    assert not one.observed.any()


def test_pylops_knows_its_shape(rng):
    pylops = pytest.importorskip("pylops")
    x = low_rank(rng, (8, 9, 5), 1, 1)
    psi = pylops.MatrixMult(rng.standard_normal((5, 8)), otherdims=(9, 5))
    found = qrank.recover(psi @ x.ravel(), psi, method="vmtqn", slice_axes=(0, 1))
    assert found.x.shape == x.shape
    np.testing.assert_allclose(psi @ found.x.ravel(), psi @ x.ravel(), atol=1e-3)


def test_tight_operators_are_found_and_exact(rng):
    keep = np.sort(rng.permutation(60)[:25])
    psi = operator_of(
        (
            lambda x: 3 * scipy.fft.dct(x.ravel(), norm="ortho")[keep],
            lambda v: 3 * scipy.fft.idct(np.bincount(keep, v, 60), norm="ortho").reshape(6, 10),
        ),
        (6, 10),
    )
    assert psi.tight == pytest.approx(9)
    assert operator_of(rng.standard_normal((5, 60)), (6, 10)).tight is None
    part = psi.rows(np.arange(4))
    v = rng.standard_normal(4)
    np.testing.assert_allclose(part.forward(part.adjoint(v)), 9 * v)


def test_conjugate_gradients_agree_with_the_factorisation(rng):
    psi = rng.standard_normal((12, 30))
    left = rng.standard_normal(12)
    for shift in (0.0, 2.0):
        found = solved(operator_of(psi, (5, 6)), left, shift, 1e-12)
        np.testing.assert_allclose(found, np.linalg.solve(psi @ psi.T + shift * np.eye(12), left), atol=1e-9)


@pytest.mark.parametrize("method", ["vmtqn", "views", "auto", "motqn"])
def test_exact_recovery_from_random_sums(method, rng):
    """Low Q-rank, three times as many numbers as it has degrees of freedom."""
    x = np.repeat(low_rank(rng, (10, 10, 2), 1, 1), 4, axis=2)
    psi = rng.standard_normal((240, x.size)) / np.sqrt(x.size)
    found = qrank.recover(psi @ x.ravel(), psi, x.shape, method=method, slice_axes=(0, 1))
    assert np.linalg.norm(found.x - x) < (0.05 if method in ("views", "auto") else 5e-3) * np.linalg.norm(x)
    if method == "auto":
        assert {trial.name for trial in found.choice.trials} == {"views", "vmtqn, log-sum", "tnn-c"}
        assert sum(trial.weight for trial in found.choice.trials) == pytest.approx(1)


@pytest.mark.parametrize("method", [name for name, one in METHODS.items() if one.measures])
def test_every_method_of_the_family_takes_measurements(method, rng):
    """The answer agrees with what was measured, and is nearer to an array that is the same in all slices than the smallest one is."""
    x = np.repeat(low_rank(rng, (8, 9, 1), 1, 1), 6, axis=2)
    psi = rng.standard_normal((200, x.size)) / np.sqrt(x.size)
    options = {"tqn": {"q": scipy.fft.dct(np.eye(6), norm="ortho")}, "tqn-oracle": {"truth": x}}.get(method, {})
    found = qrank.recover(psi @ x.ravel(), psi, x.shape, method=method, slice_axes=(0, 1), **options).x
    np.testing.assert_allclose(psi @ found.ravel(), psi @ x.ravel(), atol=1e-2 * np.abs(psi @ x.ravel()).max())
    smallest = (np.linalg.pinv(psi) @ (psi @ x.ravel())).reshape(x.shape)
    assert np.linalg.norm(found - x) < 0.9 * np.linalg.norm(smallest - x)


def test_units_and_single_precision(sums):
    psi, x = sums
    options = {"method": "vmtqn", "slice_axes": (0, 1)}
    one = qrank.recover(psi @ x.ravel(), psi, x.shape, **options).x
    np.testing.assert_allclose(
        qrank.recover(1e6 * (psi @ x.ravel()), psi, x.shape, **options).x, 1e6 * one, rtol=1e-4, atol=1
    )
    single = qrank.recover((psi @ x.ravel()).astype(np.float32), psi.astype(np.float32), x.shape, **options).x
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, one, atol=2e-2)


def test_axes_in_any_order(rng):
    """Slices may be any two axes: the operator still sees the array as it is."""
    x = low_rank(rng, (6, 5, 7), 1, 1)
    psi = rng.standard_normal((150, x.size))
    found = qrank.recover(psi @ x.ravel(), psi, x.shape, method="vmtqn", slice_axes=(2, 0))
    np.testing.assert_allclose(psi @ found.x.ravel(), psi @ x.ravel(), atol=1e-2)


def test_bad_input_is_one_sentence(sums):
    psi, x = sums
    b = psi @ x.ravel()
    wrong = (lambda a: psi @ a.ravel(), lambda v: (2 * psi.T @ v).reshape(5, 6, 4))
    with pytest.raises(
        qrank.InputError, match=r"the adjoint is none: <Psi x, v> = .* and <x, Psi\^T v> = .* ought to be equal"
    ):
        qrank.recover(b, wrong, x.shape)
    with pytest.raises(qrank.InputError, match=r"takes 120 numbers, and an array of shape \(5, 6, 5\) has 150"):
        qrank.recover(b, psi, (5, 6, 5))
    with pytest.raises(qrank.InputError, match="makes 70 measurements, and 69 are given"):
        qrank.recover(b[:-1], psi, x.shape)
    with pytest.raises(qrank.InputError, match="shape is needed"):
        qrank.recover(b, psi)
    with pytest.raises(qrank.InputError, match="noise must be above 0"):
        qrank.recover(b, psi, x.shape, noise=-1)
    with pytest.raises(qrank.InputError, match=r"'halrtc' needs known entries .* these can: auto, vmtqn"):
        qrank.recover(b, psi, x.shape, method="halrtc")
    with pytest.raises(qrank.InputError, match="measures nothing"):
        qrank.recover(b, 0 * psi, x.shape)
    with pytest.raises(qrank.InputError, match="measurements must be finite"):
        qrank.recover(np.where(np.arange(70) == 3, np.nan, b), psi, x.shape)
    with pytest.raises(qrank.InputError, match="among known entries only"):
        qrank.recover(b, psi, x.shape, method="vmtqn", outliers=True)
    with pytest.raises(qrank.KindError, match="an operator is a boolean mask"):
        qrank.recover(b, "blur", x.shape)
    with pytest.raises(qrank.InputError, match="knows 2 entries, and there are measurements of shape"):
        qrank.recover(np.ones(3), np.eye(2, dtype=bool))


def test_measurements_that_contradict_each_other_are_refused(sums):
    """No array has these sums: an answer far from all of them came back as one that agrees with them."""
    _, x = sums
    psi = np.random.default_rng(3).standard_normal((180, x.size))
    wrong = psi @ x.ravel() + 10 * np.random.default_rng(1).standard_normal(180)
    twice = np.ones((10, x.size))
    for operator, b in ((psi, wrong), (twice, np.arange(10.0)), (twice.astype("f4"), np.arange(10, dtype="f4"))):
        with pytest.raises(qrank.InputError, match="no array agrees with what was measured"):
            qrank.recover(b, operator, x.shape, method="vmtqn")
        found = qrank.recover(b, operator, x.shape, method="vmtqn", noise=10.0).x
        assert np.isfinite(found).all()
        assert np.linalg.norm(operator @ found.ravel() - b) < np.linalg.norm(b)


@pytest.mark.parametrize(("rounding", "dtype"), [(1e-6, float), (1e-3, float), (0.0, np.float32)])
def test_rounded_measurements_of_which_there_are_more_than_entries(rounding, dtype, sums):
    """They contradict each other by the rounding: conjugate gradients went along what Psi^T makes nothing of, to answers of 1e5."""
    _, x = sums
    psi = np.random.default_rng(3).standard_normal((180, x.size)).astype(dtype)
    b = psi @ x.ravel().astype(dtype)
    b = b + dtype(rounding * np.abs(b).max()) * np.random.default_rng(1).standard_normal(180).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qrank.ConvergenceWarning)  # a hundred steps may be too few
        found = qrank.recover(b, psi, x.shape, method="vmtqn", max_steps=100)
    assert np.abs(found.x - x).max() < 10 * max(rounding, 1e-5) * np.abs(x).max()


@pytest.mark.parametrize("size", [1e300, 1e-300, 1e200])
def test_an_operator_whose_squares_are_no_numbers(size, sums):
    psi, x = sums
    with pytest.raises(qrank.InputError, match="whose squares are none"):
        qrank.recover(size * (psi @ x.ravel()), size * psi, x.shape, method="vmtqn")


def test_what_cannot_be_is_told_before_the_run(sums):
    psi, x = sums
    for options, sentence in (({"bounds": (3, 1)}, "bounds"), ({"rng": -1}, "rng"), ({"on_step": 1}, "on_step")):
        steps = []
        with pytest.raises((qrank.InputError, qrank.KindError), match=sentence):
            qrank.recover(psi @ x.ravel(), psi, x.shape, method="vmtqn", **{"on_step": steps.append, **options})
        assert not steps
