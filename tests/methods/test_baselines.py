"""SiLRTC, HaLRTC, TMac, latent trace norm, framelet TNN and tnn-linear: recovery, equivariance, orders, options."""

import tracemalloc

import numpy as np
import pytest

import qrank
from qrank.errors import InputError, KindError
from qrank.kernels.unfoldings import Unfolding, unfolding_norm
from qrank.methods import METHODS
from qrank.result import Status
from qrank.transforms.framelets import Framelet, bspline_filters

limited = pytest.mark.filterwarnings("ignore::qrank.errors.ConvergenceWarning")  # the step limit is on purpose

NAMES = ["silrtc", "halrtc", "tmac", "latent", "f-tnn", "tnn-linear"]


def tucker(shape, ranks, rng):
    """An array of exactly these ranks of its unfoldings."""
    x = rng.standard_normal(ranks)
    for i, (n, r) in enumerate(zip(shape, ranks, strict=True)):
        x = np.moveaxis(np.tensordot(rng.standard_normal((n, r)), x, (1, i)), 0, i)
    return x


def options(name, n3=8):
    """What a method cannot do without."""
    return {"q": np.eye(n3) + np.diag(np.full(n3 - 1, 0.3), 1)} if name == "tnn-linear" else {}


def error(x, truth):
    return np.linalg.norm(x - truth) / np.linalg.norm(truth)


# ---------------------------------------------------------------- exact recovery, where the method's own paper has it


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("silrtc", {}),
        ("halrtc", {}),
        ("tmac", {}),
        ("tmac", {"strategy": "fixed", "rank": 2}),
        ("tmac", {"adaptive": False, "rank_max": [2, 2, 2]}),
    ],
)
def test_recovers_low_multilinear_rank(name, given):
    rng = np.random.default_rng(0)
    x = tucker((25, 25, 25), (2, 2, 2), rng)
    observed = rng.random(x.shape) < 0.6
    result = qrank.complete(x, observed, method=name, rng=0, tol=1e-8, **given)
    assert result.status is Status.CONVERGED
    assert error(result.x, x) < 1e-6


def test_latent_recovers_an_array_of_low_rank_in_one_mode_only():
    rng = np.random.default_rng(0)
    x = tucker((25, 25, 25), (2, 25, 25), rng)
    observed = rng.random(x.shape) < 0.7
    assert error(qrank.complete(x, observed, method="latent", tol=1e-8).x, x) < 1e-6
    assert error(qrank.complete(x, observed, method="halrtc", tol=1e-8).x, x) > 1e-2  # the sum of norms does not


def test_f_tnn_recovers_a_smooth_low_rank_film():
    rng = np.random.default_rng(0)
    still = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 20))
    fading = rng.standard_normal((20, 1)) @ rng.standard_normal((1, 20))
    x = still[:, :, None] + np.linspace(0, 1, 12) * fading[:, :, None]
    observed = rng.random(x.shape) < 0.6
    for filters, levels in (("cubic", None), ("cubic", 1), ("linear", 2)):
        result = qrank.complete(x, observed, method="f-tnn", tol=1e-8, filters=filters, levels=levels)
        assert error(result.x, x) < 1e-6
        assert isinstance(result.transform, Framelet)


def test_tnn_linear_recovers_slices_of_low_rank_under_an_oblique_matrix():
    rng = np.random.default_rng(2)
    slices = np.stack([rng.standard_normal((20, 2)) @ rng.standard_normal((2, 20)) for _ in range(8)], axis=2)
    q = rng.standard_normal((8, 8)) + 3 * np.eye(8)
    x = slices @ np.linalg.inv(q)
    observed = rng.random(x.shape) < 0.7
    result = qrank.complete(x, observed, method="tnn-linear", q=q, tol=1e-8)
    assert error(result.x, x) < 1e-6
    np.testing.assert_allclose(result.transform.apply(x), slices, atol=1e-10)


def test_tnn_linear_with_an_orthogonal_matrix_is_tqn():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((7, 9, 5)).cumsum(axis=2)
    observed = rng.random(x.shape) < 0.6
    q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    both = [
        qrank.complete(x, observed, method=m, q=q, tol=1e-9, rho=1.02, max_steps=3000) for m in ("tqn", "tnn-linear")
    ]
    np.testing.assert_allclose(both[0].x, both[1].x, atol=1e-6)


# ---------------------------------------------------------------- what holds for all of them


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(12, 10), (9, 8, 8), (6, 5, 4, 2)])
def test_any_order_keeps_known_entries_and_the_input(name, shape):
    rng = np.random.default_rng(1)
    x = tucker(shape, (2,) * len(shape), rng)
    y = np.where(rng.random(shape) < 0.8, x, np.nan)
    before = y.copy()
    n3 = int(np.prod(shape[2:]))
    result = qrank.complete(y, method=name, rng=0, **options(name, n3))
    known = ~np.isnan(y)
    assert (result.x[known] == y[known]).all()
    assert np.isfinite(result.x).all()
    np.testing.assert_array_equal(y, before)
    assert error(result.x, x) < 0.9 * error(np.nan_to_num(y), x)  # better than zeros
    assert len(result.history) == result.history[-1].step


@limited
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("factor", [1e-7, 300.0])
def test_scale_equivariance(name, factor):
    rng = np.random.default_rng(2)
    x = tucker((9, 10, 8), (2, 2, 3), rng)
    observed = rng.random(x.shape) < 0.7
    one = qrank.complete(x, observed, method=name, rng=0, max_steps=60, tol=1e-12, **options(name))
    other = qrank.complete(factor * x, observed, method=name, rng=0, max_steps=60, tol=1e-12, **options(name))
    np.testing.assert_allclose(other.x, factor * one.x, rtol=0, atol=1e-8 * factor * np.abs(x).max())


@pytest.mark.parametrize("name", NAMES)
def test_float32_stays_float32_and_near_float64(name):
    rng = np.random.default_rng(2)
    x = tucker((15, 14, 8), (2, 2, 2), rng)
    observed = rng.random(x.shape) < 0.7
    single = qrank.complete(x.astype(np.float32), observed, method=name, rng=0, tol=1e-4, **options(name))
    double = qrank.complete(x, observed, method=name, rng=0, tol=1e-4, **options(name))
    assert single.x.dtype == np.float32
    assert error(single.x, double.x) < 2e-3


@limited
@pytest.mark.parametrize("name", ["silrtc", "halrtc", "tmac", "latent"])
def test_methods_of_all_unfoldings_do_not_depend_on_the_slice_axes(name):
    rng = np.random.default_rng(5)
    x = tucker((8, 9, 7), (2, 2, 2), rng)
    observed = rng.random(x.shape) < 0.7
    given = {"tmac": {"max_steps": 400}}.get(name, {"max_steps": 40})
    weights = {"latent": "gamma"}.get(name, "alpha")
    results = [
        qrank.complete(x, observed, method=name, rng=0, slice_axes=axes, tol=1e-10, **{weights: [1, 2, 3]}, **given)
        for axes in ((0, 1), (2, 0))
    ]
    assert error(results[0].x, results[1].x) < 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_misspelt_option_names_the_nearest(name):
    with pytest.raises(InputError, match=rf"method '{name}' has no option 'max_step': did you mean 'max_steps'\?"):
        METHODS[name].configured(max_step=3)


@pytest.mark.parametrize(
    ("name", "given", "kind", "message"),
    [
        ("silrtc", {"alpha": [1, -1, 1]}, InputError, "at least 0"),
        ("silrtc", {"alpha": "abc"}, KindError, "a list of one weight for each axis"),
        ("halrtc", {"alpha": [1, 1]}, InputError, "has 2 weights, but the array has 3 axes"),
        ("halrtc", {"rho": 0.9}, InputError, "rho must be at least 1"),
        ("latent", {"eta0": 0}, InputError, "eta0 must be above 0"),
        ("tmac", {"strategy": "grow"}, InputError, "increase, decrease, fixed"),
        ("tmac", {"rank_max": [3, 3]}, InputError, "rank_max has 2 numbers, but the array has 3 axes"),
        ("tmac", {"rank": 0}, InputError, "rank must be at least 1"),
        ("f-tnn", {"filters": "quartic"}, InputError, "linear, cubic"),
        ("f-tnn", {"levels": 0}, InputError, "levels must be at least 1"),
        ("f-tnn", {"levels": 99}, InputError, "at most 16"),
        ("tnn-linear", {}, InputError, "needs the option 'q'"),
        ("tnn-linear", {"q": np.eye(3)}, InputError, r"must have shape \(4, 4\)"),
        ("tnn-linear", {"q": np.ones((4, 4))}, InputError, "must be invertible"),
    ],
)
def test_wrong_options_are_one_sentence(name, given, kind, message):
    y = np.where(np.random.default_rng(0).random((4, 4, 4)) < 0.5, 1.0, np.nan)
    with pytest.raises(kind, match=message) as caught:
        qrank.complete(y, method=name, **given)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- TMac's own


def test_tmac_raises_ranks_to_the_truth_and_no_further_than_asked():
    rng = np.random.default_rng(7)
    x = tucker((20, 20, 20), (3, 3, 3), rng)
    observed = rng.random(x.shape) < 0.5
    result = qrank.complete(x, observed, method="tmac", rng=0, rank_max=3, tol=1e-8)
    assert result.history[0].rank == 3  # one each
    assert result.history[-1].rank == 9
    assert error(result.x, x) < 1e-6


def test_tmac_cuts_ranks_at_the_gap():
    rng = np.random.default_rng(7)
    x = tucker((30, 30, 30), (6, 6, 6), rng)
    observed = rng.random(x.shape) < 0.6
    result = qrank.complete(x, observed, method="tmac", rng=0, strategy="decrease", rank=8, rank_min=3, tol=1e-8)
    assert result.history[0].rank == 24
    assert result.history[-1].rank == 18
    assert error(result.x, x) < 1e-6


# ---------------------------------------------------------------- framelets and unfoldings


@pytest.mark.parametrize("filters", ["linear", "cubic"])
@pytest.mark.parametrize(("n3", "levels"), [(1, 1), (2, 2), (5, 3), (12, 1), (33, 2)])
def test_framelets_are_a_tight_frame(filters, n3, levels):
    w = Framelet(n3, filters, levels)
    rng = np.random.default_rng(0)
    t, g = rng.standard_normal((n3, 3, 4)), rng.standard_normal((w.r, 3, 4))
    np.testing.assert_allclose(w.backward(w.forward(t)), t, atol=1e-12)
    assert np.vdot(w.forward(t), g) == pytest.approx(np.vdot(t, w.backward(g)), abs=1e-10)
    assert w.forward(t.astype(np.float32)).dtype == np.float32
    out = np.empty_like(g)
    assert w.forward(t, out=out) is out
    np.testing.assert_array_equal(out, w.forward(t))


@pytest.mark.parametrize("room", [9, 4, 1])
def test_framelet_bands_are_the_slices_in_parts(room):
    w = Framelet(9, "cubic", 3)
    t = np.random.default_rng(0).standard_normal((9, 3, 4))
    spare, found = t.copy(), np.full((w.r, 3, 4), np.nan)
    for rows, some in w.bands(spare, np.empty((room, 3, 4)), (np.empty_like(t), spare)):
        assert len(some) <= room
        found[rows] = some
    np.testing.assert_allclose(found, w.forward(t), atol=1e-14)


def test_f_tnn_starts_just_below_the_largest_weighted_value():
    x = np.random.default_rng(0).standard_normal((9, 10, 40))
    observed = np.random.default_rng(1).random(x.shape) < 0.6
    w = Framelet(40, "cubic", 3)  # the default depth
    sizes = np.linalg.norm(np.moveaxis(np.where(observed, x, 0) @ w.matrix, 2, 0), 2, axis=(1, 2))
    with pytest.warns(qrank.ConvergenceWarning):
        first = qrank.complete(x, observed, method="f-tnn", max_steps=1).history[0]
    assert 1 / first.mu == pytest.approx(0.9 * (sizes / w.weights).max())
    assert first.rank >= 1


@pytest.mark.parametrize("shape", [(96, 128, 128), (2700, 24, 24)])
def test_f_tnn_memory_is_at_most_eight_times_the_data(shape):
    rng = np.random.default_rng(0)
    known = rng.random(shape) < 0.5
    y = np.where(known, rng.random(shape), 0)
    tracemalloc.start()
    with pytest.warns(qrank.ConvergenceWarning):
        qrank.complete(y, known, "f-tnn", (1, 2), max_steps=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 5 * y.nbytes < peak < 8 * y.nbytes


@pytest.mark.parametrize("penalty", ["log-sum", "schatten", "grouped"])
def test_f_tnn_with_other_penalties_recovers_a_smooth_low_rank_film(penalty):
    rng = np.random.default_rng(0)
    still, fading = (rng.standard_normal((20, 1)) @ rng.standard_normal((1, 20)) for _ in range(2))
    x = still[:, :, None] + np.linspace(0, 1, 12) * fading[:, :, None]
    observed = rng.random(x.shape) < 0.6
    result = qrank.complete(x, observed, method="f-tnn", tol=1e-7, penalty=penalty)
    assert error(result.x, x) < 1e-4


def test_framelet_filters_are_those_of_the_literature():
    cubic = bspline_filters(4) * 16
    np.testing.assert_allclose(cubic[0], [1, 4, 6, 4, 1])
    np.testing.assert_allclose(np.abs(cubic[1]), [2, 4, 0, 4, 2])
    np.testing.assert_allclose(np.abs(cubic[2]), np.sqrt(6) * np.array([1, 0, 2, 0, 1]))
    np.testing.assert_allclose(cubic[4], [1, -4, 6, -4, 1])


@pytest.mark.parametrize("piece", [1, 40, 1 << 16])
@pytest.mark.parametrize(
    "shape", [(5, 7), (7, 5), (3, 4, 5), (20, 3, 4), (2, 20, 3), (3, 4, 20), (2, 3, 4, 5), (1, 4, 1)]
)
def test_unfoldings(shape, piece, monkeypatch):
    monkeypatch.setattr("qrank.kernels.unfoldings.UNFOLDED", piece)
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    for mode in range(x.ndim):
        true = np.linalg.svd(qrank.tensor.unfold(x, mode), compute_uv=False)
        assert unfolding_norm(x, mode) == pytest.approx(true[0])
        for lam in (0.8, 1e-9, 0.99 * true[0], 1.01 * true[0]):  # squaring is safe, is not, one value is left, none is
            m = np.full(shape, np.nan)

            def keep(of, piece, argument, m=m):
                of(m)[...] = piece
                return float(((piece - argument) ** 2).sum())

            shrunk = Unfolding(shape, mode).shrink(lam, x.dtype, lambda piece: piece(x), keep)
            after = np.linalg.svd(qrank.tensor.unfold(m, mode), compute_uv=False)
            np.testing.assert_allclose(after, np.maximum(true - lam, 0), atol=1e-10)
            assert shrunk.value == pytest.approx(after.sum(), abs=1e-10)
            assert shrunk.rank == (true > lam).sum()
            assert shrunk.total == pytest.approx(((m - x) ** 2).sum())
        u, s, vt = np.linalg.svd(qrank.tensor.unfold(x, mode), full_matrices=False)
        nearest = qrank.tensor.fold((u * np.maximum(s - 0.8, 0)) @ vt, mode, shape)
        np.testing.assert_allclose(prox(x, mode, 0.8), nearest, atol=1e-10)
        single = prox(x.astype(np.float32), mode, 1e-4)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, x, atol=1e-3)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_no_wide_unfolding_is_given_an_svd(mode, monkeypatch):
    """Values far below what a Gram matrix can hold are shrunk exactly, by the SVD of a square matrix."""
    rng = np.random.default_rng(0)
    shape = (30, 31, 32)
    n = shape[mode]
    s = np.geomspace(1, 1e-10, n)
    u, v = (np.linalg.qr(rng.standard_normal((k, n)))[0] for k in (n, 30 * 31 * 32 // n))
    x = np.ascontiguousarray(qrank.tensor.fold((v * s) @ u.T, mode, shape))
    svd, seen = np.linalg.svd, []

    def watched(a, *args, **options):
        seen.append(a.shape)
        return svd(a, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(np.linalg, "svd", watched)
        m = prox(x, mode, 1e-9)
    assert seen == [(n, n)]
    wanted = qrank.tensor.fold((v * np.maximum(s - 1e-9, 0)) @ u.T, mode, shape)
    np.testing.assert_allclose(m, wanted, atol=1e-14)


def prox(x, mode, lam):
    """The shrunk array itself."""
    m = np.empty_like(x)

    def keep(of, piece, _):
        of(m)[...] = piece
        return 0.0

    Unfolding(x.shape, mode).shrink(lam, x.dtype, lambda piece: piece(x), keep)
    return m


@limited
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("strategy", ["increase", "decrease", "fixed"])
@pytest.mark.parametrize("fill", [0.0, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tmac_of_a_constant_divides_by_no_zero(strategy, fill, dtype):
    y = np.full((6, 5, 4), fill, dtype)
    observed = np.random.default_rng(0).random(y.shape) < 0.7
    result = qrank.complete(y, observed, method="tmac", rng=0, strategy=strategy, rank=3, tol=1e-6)
    assert np.isfinite(result.x).all()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("largest", [0.0, 1e-320, 1e-300, 1.0])
def test_tmac_cuts_no_ranks_of_nothing(largest):
    w = np.array([largest, 0.0, 0.0, 0.0])
    assert METHODS["tmac"]()._decreased(w, 1) == (1 if largest > 1e-290 else None)
