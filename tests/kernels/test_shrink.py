import numpy as np
import pytest
import threadpoolctl
from hypothesis import given
from hypothesis import strategies as st

from qrank.kernels import threads
from qrank.kernels.decomposed import LONG
from qrank.kernels.shrink import shrink
from qrank.kernels.spectral import energies, singular_values, spectral_norm
from qrank.penalties import Grouped, LogSum, Nuclear, PShrinkage, Schatten
from qrank.transforms import Fourier

EPS = float(np.finfo(float).eps)


def by_svd(g, lam, penalty):
    u, s, vh = np.linalg.svd(g, full_matrices=False)
    return (u * penalty.prox(s, lam)[:, None, :]) @ vh, penalty.prox(s, lam)


@given(
    st.tuples(st.integers(1, 9), st.integers(1, 12), st.integers(1, 12)),
    st.sampled_from(["f4", "f8", "c8", "c16"]),
    st.floats(0.05, 3),
    st.integers(0, 99),
)
def test_shrink_agrees_with_the_svd(shape, dtype, lam, seed):
    rng = np.random.default_rng(seed)
    g = rng.standard_normal(shape) * rng.choice([0.01, 1, 10], shape[0])[:, None, None]
    g = (g + 1j * rng.standard_normal(shape) if dtype[0] == "c" else g).astype(dtype)
    for penalty in (Nuclear(), PShrinkage(0.5)):
        wanted, values = by_svd(g.astype("c16" if dtype[0] == "c" else "f8"), lam, penalty)
        got = g.copy()
        found = shrink(got, lam, penalty)
        tolerance = 2e-4 if dtype in ("f4", "c8") else 1e-9
        assert got.dtype == g.dtype
        np.testing.assert_allclose(got, wanted, atol=tolerance * max(1, np.abs(g).max()))
        if isinstance(penalty, Nuclear):
            assert found.value == pytest.approx(values.sum(), rel=10 * tolerance, abs=10 * tolerance)
            close = (np.abs(np.linalg.svd(g, compute_uv=False) - lam) < 1e-3).any()
            assert close or (found.ranks == (values > 0).sum(axis=1)).all()


def test_screening_drops_only_what_vanishes(rng):
    g = rng.standard_normal((6, 5, 7)) * np.array([1e-3, 1, 1e-3, 5, 1e-3, 1])[:, None, None]
    wanted, _ = by_svd(g, 0.5, Nuclear())
    shrink(g, 0.5, Nuclear())
    assert (g[[0, 2, 4]] == 0).all()
    np.testing.assert_allclose(g, wanted, atol=1e-12)


def test_weights_count_slices(rng):
    g = rng.standard_normal((2, 4, 4))
    once = shrink(g.copy(), 0.3, Nuclear())
    twice = shrink(np.concatenate([g, g[1:]]), 0.3, Nuclear())
    weighted = shrink(g.copy(), 0.3, Nuclear(), np.array([1.0, 2.0]))
    assert weighted.value == pytest.approx(twice.value)
    assert weighted.envelope == pytest.approx(twice.envelope)
    assert weighted.value > once.value


def test_envelope_of_vanished_slices(rng):
    g = rng.standard_normal((3, 4, 5))
    s = np.linalg.svd(g, compute_uv=False)
    assert shrink(g.copy(), 100.0, Nuclear()).envelope == pytest.approx((s**2).sum() / 200)


def test_norms_of_a_stack(rng):
    g = rng.standard_normal((7, 6, 4))
    s = np.linalg.svd(g, compute_uv=False)
    np.testing.assert_allclose(singular_values(g), s)
    assert spectral_norm(g) == pytest.approx(s.max())
    np.testing.assert_allclose(energies(g), (s**2).sum(axis=1))


def test_threads_leave_blas_as_it_was_and_do_not_change_the_answer(rng):
    g = rng.standard_normal((40, 30, 50))
    answers = []
    for limit in (1, 2):
        with threadpoolctl.threadpool_limits(limit):
            before = [lib["num_threads"] for lib in threadpoolctl.threadpool_info()]
            assert threads.count() == limit
            answer = g.copy()
            shrink(answer, 1.0, Nuclear())
            answers.append(answer)
            assert [lib["num_threads"] for lib in threadpoolctl.threadpool_info()] == before
    np.testing.assert_allclose(*answers, atol=1e-13)


def test_an_error_in_a_thread_reaches_the_caller():
    def work(s):
        raise np.linalg.LinAlgError(str(s.start))

    with pytest.raises(np.linalg.LinAlgError):
        threads.each(work, 10, 2)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(3, 100, 120), (3, 120, 100)])
@pytest.mark.parametrize("lam", [1e-4, 3.0, 18.0, 21.0])
@pytest.mark.parametrize("penalty", [Nuclear(), PShrinkage(0.5)])
def test_large_slices_agree_with_the_svd(rng, dtype, shape, lam, penalty):
    """All, most, few or none of the singular values of a slice survive."""
    g = (rng.standard_normal(shape) * np.array([1.0, 0.5, 1.0])[:, None, None]).astype(dtype)
    wanted, values = by_svd(g.astype("f8"), lam, penalty)
    s = np.linalg.svd(g.astype("f8"), compute_uv=False)
    found = shrink(g, lam, penalty)
    np.testing.assert_allclose(g, wanted, atol=1e-3 if dtype == "f4" else 1e-10)
    np.testing.assert_array_equal(found.ranks, (values > 0).sum(axis=1))
    assert found.envelope == pytest.approx(penalty.envelope(s, lam).sum(), rel=1e-4 if dtype == "f4" else 1e-10)


@pytest.mark.parametrize("n3", [5, 6])
@pytest.mark.parametrize("shape", [(7, 9), (9, 7), (200, 350), (350, 200)])
@pytest.mark.parametrize("share", [0.5, 5e-7, 1e-7])
def test_parts_as_slices_of_their_own_are_shrunk_as_one(n3, shape, share, rng):
    """They agree to what squaring may lose of each: the rounding of s_1^2 over lam, of which LAPACK makes some ten at this size.

    Where lam = 1e-7 s_1 that is a fifth of lam, so that a value so near to lam may survive in one and vanish in the other.
    """
    t = rng.standard_normal((n3, *shape)) @ np.diag(np.geomspace(1, 1e-16 if share < 0.1 else 0.9, shape[1]))
    whole, packed = Fourier(n3), Fourier(n3).packed
    lam = share * spectral_norm(whole.forward(t))
    g, p = whole.forward(t), packed.forward(t)
    lost = max(1e-10, 10 * EPS / share**2 * lam)
    unsure = (np.abs(singular_values(g) - lam) <= lost).sum(axis=1)
    wanted, found = shrink(g, lam, Nuclear(), whole.multiplicity), shrink(p, lam, Nuclear(), packed.multiplicity)
    np.testing.assert_allclose(packed.backward(p), whole.backward(g), atol=lost)
    assert found.value == pytest.approx(wanted.value)
    assert found.envelope == pytest.approx(wanted.envelope)
    assert (np.abs(found.ranks[packed.multiplicity > 0] - wanted.ranks) <= unsure).all()
    assert share < 2e-7 or not unsure.any()
    assert 0 < wanted.ranks.sum() < min(shape) * len(wanted.ranks)
    single = packed.forward(t.astype(np.float32))
    shrink(single, lam, Nuclear(), packed.multiplicity)
    assert single.dtype == np.float32
    np.testing.assert_allclose(packed.backward(single), whole.backward(g), atol=1e-4 * np.abs(t).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("share", np.geomspace(1e-1, 1e-14, 14))
@pytest.mark.parametrize("shape", [(20, 20), (70, 90), (110, 150), (150, 110)])
def test_values_that_squaring_loses_cost_less_than_lam(dtype, share, shape, rng):
    """The error is at most lam, and at most what rounding of s_1^2 makes of lam; a vanished lam leaves rounding only."""
    n, eps = min(shape), float(np.finfo(dtype).eps)
    u, v = (np.linalg.qr(rng.standard_normal((n, min(shape))))[0] for n in shape)
    if np.dtype(dtype).kind == "c":
        u = u * np.exp(1j * rng.random(len(u)))[:, None]
    s = np.geomspace(1, 1e-13, n)
    g = np.ascontiguousarray((u * s) @ v.T)[None].astype(dtype)
    found = shrink(g, share, Nuclear())
    error = np.linalg.norm(g[0] - (u * np.maximum(s - share, 0)) @ v.T, 2)
    assert error <= 10 * min(share, eps / share) + 30 * eps
    assert found.value == pytest.approx(
        np.maximum(s - share, 0).sum(), abs=n * min(10 * eps**0.5, eps / share) + 30 * eps
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(5, 6, 9), (4, 120, 110)])
def test_grouped_shrinks_weak_slices_more(dtype, shape, rng):
    g = (rng.standard_normal(shape) * np.geomspace(1, 0.1, shape[0])[:, None, None]).astype(dtype)
    norms, penalty, lam = singular_values(g).sum(axis=1), Grouped(0.3), 0.4 * spectral_norm(g[-1:])
    weights = (norms.max() / norms) ** 0.3
    wanted, value = [], 0.0
    for one, w in zip(g, weights, strict=True):
        part = one[None].copy()
        shrink(part, float(lam * w), LogSum())
        wanted.append(part[0])
        scaled = (one / w)[None].astype(dtype)
        value += w * w * shrink(scaled, lam, LogSum()).value
    shrunk = shrink(g, lam, penalty)
    near = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(g, wanted, atol=near)
    assert shrunk.value == pytest.approx(value, rel=near)


@pytest.mark.parametrize("n3", [6, 7])
def test_grouped_takes_both_parts_of_a_slice_together(n3, rng):
    x, fourier, penalty = rng.standard_normal((n3, 8, 9)), Fourier(n3), Grouped(0.3)
    whole, packed = fourier.forward(x), fourier.packed.forward(x)
    one = shrink(whole, 1.0, penalty, fourier.multiplicity)
    two = shrink(packed, 1.0, penalty, fourier.packed.multiplicity)
    np.testing.assert_allclose(fourier.packed.backward(packed), fourier.backward(whole), atol=1e-12)
    assert one.value == pytest.approx(two.value)
    assert (one.ranks @ fourier.multiplicity) == (two.ranks @ fourier.packed.multiplicity)


@pytest.mark.parametrize("penalty", [Nuclear(), LogSum(), Schatten()])
def test_weights_are_a_lam_for_each_slice(penalty):
    """Each slice is shrunk by w_i lam on its own; lam w_i value_i of a convex or fitted family adds up."""
    g = np.random.default_rng(0).standard_normal((4, 5, 6))
    weights, lam = np.array([0.3, 1.0, 2.0, 0.7]), 1.1
    together, apart = g.copy(), g.copy()
    found = shrink(together, lam, penalty, weights=weights)
    alone = [shrink(apart[i : i + 1], w * lam, penalty) for i, w in enumerate(weights)]
    np.testing.assert_allclose(together, apart, atol=1e-12)
    np.testing.assert_array_equal(found.ranks, [one.ranks[0] for one in alone])
    # In g + (x - s)^2 / (2 w lam), times w, the penalty counts w times.
    assert found.value == pytest.approx(sum(w * one.value for w, one in zip(weights, alone, strict=True)))
    assert found.envelope == pytest.approx(sum(w * one.envelope for w, one in zip(weights, alone, strict=True)))


@pytest.mark.parametrize("n3", [1, 4])
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_large_slices_are_shrunk_in_any_unit(n3, unit, rng):
    """Of a slice, or of both parts of one: what survives is a matter of lam, not of 1."""
    t = rng.standard_normal((n3, 70, 80))
    packed = Fourier(n3).packed
    one, other = packed.forward(t), unit * packed.forward(t)
    wanted, found = (shrink(g, lam, Nuclear(), packed.multiplicity) for g, lam in ((one, 9.0), (other, 9.0 * unit)))
    assert 0 < wanted.rank < 70 * n3
    np.testing.assert_array_equal(found.ranks, wanted.ranks)
    np.testing.assert_allclose(other, unit * one, rtol=0, atol=1e-12 * unit)


@pytest.mark.parametrize(("dtype", "shape"), [("f4", (1, 9, 30011)), ("f8", (2, 40000, 7)), ("f4", (1, 36, 9001))])
@pytest.mark.parametrize("lam", [40.0, 1e-3])  # of which a Gram matrix tells the first only
def test_long_slices_are_shrunk_a_few_columns_at_a_time(dtype, shape, lam, rng):
    g = (
        rng.standard_normal(shape)
        * np.geomspace(1, 1e-4, min(shape[1:])).reshape((-1, 1) if shape[1] < shape[2] else (1, -1))
    ).astype(dtype)
    got = g.copy()
    with threads.own_threads(1):
        wanted, values = by_svd(g.astype(float), lam, Nuclear())
        found = shrink(got, lam, Nuclear())
    assert shape[1] * shape[2] > LONG
    np.testing.assert_allclose(got, wanted, atol=2e-4 if dtype == "f4" else 1e-9)
    assert found.value == pytest.approx(values.sum(), rel=1e-4)
    assert found.rank == (values > 0).sum()


@pytest.mark.parametrize(
    ("kind", "shape"), [("f4", (6, 20, 30)), ("f8", (2, 80, 90)), ("f8", (2, 90, 80)), ("c16", (3, 70, 70))]
)
def test_slices_of_noise_take_no_decomposition(kind, shape, rng, monkeypatch):
    """Their Gram matrix says that they vanish, where their norm alone does not."""
    g = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if kind[0] == "c" else 0)
    g = g.astype(kind)
    lam = 1.1 * float(np.linalg.norm(g, 2, axis=(1, 2)).max())
    energy = float(energies(g).sum())
    assert (energies(g) > lam * lam).all()
    monkeypatch.setattr(np.linalg, "eigh", None)
    monkeypatch.setattr("qrank.kernels.decomposed.eigh_above", None)
    found = shrink(g, lam, Nuclear())
    assert not g.any()
    assert found.rank == 0
    assert found.value == 0
    assert found.envelope == pytest.approx(energy / (2 * lam), rel=1e-5)


def test_both_parts_of_a_slice_of_noise_take_no_decomposition(rng, monkeypatch):
    packed, t = Fourier(4).packed, rng.standard_normal((4, 70, 80))
    g = packed.forward(t)
    lam = 1.1 * spectral_norm(g, packed.multiplicity)
    monkeypatch.setattr("qrank.kernels.decomposed.eigh_above", None)
    found = shrink(g, lam, Nuclear(), packed.multiplicity)
    assert not g.any()
    assert found.rank == 0
    assert found.value == 0
    assert found.envelope == pytest.approx(float(np.square(t).sum()) / (2 * lam))
