import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrank import InputError, KindError
from qrank.penalties import PENALTIES, Grouped, LogSum, Nuclear, PShrinkage, Schatten, penalty_named

ALL = [
    Nuclear(),
    PShrinkage(0.5),
    PShrinkage(0.1),
    PShrinkage(-1.0),
    LogSum(1.1),
    LogSum(4.0),
    LogSum(20.0),
    Schatten(0.5),
    Schatten(0.3),
    Grouped(),
]


@pytest.mark.parametrize("penalty", ALL, ids=str)
def test_exactly_the_values_up_to_lam_vanish(penalty):
    s = np.array([0.0, 0.3, 0.7, 0.7 * (1 + 1e-6), 1.0, 5.0])
    x = penalty.prox(s, 0.7)
    assert (x[:3] == 0).all()
    assert (x[3:] > 0).all()
    assert (x <= s).all()


@pytest.mark.parametrize("penalty", ALL, ids=str)
def test_envelope_has_the_derivative_of_a_moreau_envelope(penalty):
    lam, s, h = 0.7, np.array([0.1, 0.5, 0.9, 1.5, 4.0, 20.0]), 1e-6
    slope = (penalty.envelope(s + h, lam) - penalty.envelope(s - h, lam)) / (2 * h)
    np.testing.assert_allclose(slope, (s - penalty.prox(s, lam)) / lam, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("penalty", [Nuclear(), LogSum(1.1), LogSum(4.0), Schatten(0.5), Schatten(0.3)], ids=str)
def test_prox_beats_a_grid(penalty):
    """These penalties have a formula of their own; the prox must minimise lam g(x) + (x - s)^2 / 2."""
    lam, grid = 0.7, np.linspace(0, 8, 200_001)
    if isinstance(penalty, Nuclear):
        g = grid
    elif isinstance(penalty, LogSum):
        e = penalty.epsilon * lam
        g = e * np.log1p(grid / e)
    else:
        g = penalty._weight(lam) * grid**penalty.p
    for s in (0.2, 0.69, 0.72, 0.9, 1.4, 3.0, 7.5):
        best = (lam * g + (grid - s) ** 2 / 2).min()
        x = float(penalty.prox(np.array([s]), lam)[0])
        value = lam * np.interp(x, grid, g) + (x - s) ** 2 / 2
        assert value <= best + 1e-7
        assert float(penalty.envelope(np.array([s]), lam)[0]) == pytest.approx(best / lam, abs=1e-6)


def test_p_shrinkage_is_its_formula():
    s, lam, p = np.array([1.0, 2.0, 9.0]), 0.8, 0.4
    np.testing.assert_allclose(PShrinkage(p).prox(s, lam), np.maximum(s - lam ** (2 - p) * s ** (p - 1), 0))
    np.testing.assert_allclose(PShrinkage(1.0).prox(s, lam), Nuclear().prox(s, lam))


@given(st.sampled_from(ALL), st.floats(1e-3, 1e3), st.floats(1e-2, 1e2))
def test_scale_equivariance(penalty, scale, lam):
    s = np.array([0.5, 1.01, 3.0, 50.0]) * lam
    np.testing.assert_allclose(penalty.prox(scale * s, scale * lam), scale * penalty.prox(s, lam), rtol=1e-10)


@pytest.mark.parametrize("penalty", ALL, ids=str)
def test_float32_stays(penalty):
    s = np.array([0.5, 2.0], dtype=np.float32)
    assert penalty.prox(s, 1.0).dtype == np.float32
    assert penalty.envelope(s, 1.0).dtype == np.float32


def test_names():
    assert penalty_named("p-shrinkage:0.3") == PShrinkage(0.3)
    assert set(PENALTIES) == {"nuclear", "p-shrinkage", "log-sum", "schatten", "grouped"}
    with pytest.raises(InputError, match="did you mean 'schatten'"):
        penalty_named("shatten")
    with pytest.raises(InputError, match="no parameter"):
        penalty_named("nuclear:2")
    with pytest.raises(InputError, match="must be a number"):
        penalty_named("schatten:half")
    with pytest.raises(InputError, match="between 0 and 1"):
        penalty_named("schatten:2")
    assert penalty_named("grouped:0.1") == Grouped(0.1)
    with pytest.raises(InputError, match="from 0 to below 1"):
        penalty_named("grouped:1")
    with pytest.raises(KindError):
        penalty_named(3)  # pyright: ignore


def test_parameters_out_of_range_are_refused():
    for bad in (0, 1.5, -5.1, 2, np.nan):
        with pytest.raises(InputError, match=r"p in \[-5, 1\] and not 0"):
            PShrinkage(bad)
    for bad in (0, 1, -0.1):
        with pytest.raises(InputError, match="between 0 and 1"):
            Schatten(bad)
    for bad in (0.99, np.nan):
        with pytest.raises(InputError, match="at least 1"):
            LogSum(bad)
    for bad in (-0.1, 1.0):
        with pytest.raises(InputError, match="from 0 to below 1"):
            Grouped(bad)
    edges = PShrinkage(1), PShrinkage(-5), PShrinkage(0.5), LogSum(1), Grouped(0)
    assert [penalty.prox(np.array([0.5, 3.0]), 1.0)[0] for penalty in edges] == [0] * 5


def test_p_shrinkage_with_p_below_1_spares_large_values():
    """What is taken away is lam at s = lam, and less the larger s is; with p = 1 it is lam everywhere."""
    s = np.array([1.0, 2.0, 8.0, 100.0])
    for p in (0.5, -1.0):
        taken = s - PShrinkage(p).prox(s, 1.0)
        np.testing.assert_allclose(taken, s ** (p - 1))
    np.testing.assert_allclose(s - PShrinkage(1.0).prox(s, 1.0), 1)


@pytest.mark.parametrize("penalty", ALL, ids=str)
def test_envelope_begins_at_zero_and_has_no_jump(penalty):
    lam = 0.7
    assert penalty.envelope(np.zeros(1), lam)[0] == 0
    below, above = penalty.envelope(np.array([lam * (1 - 1e-9), lam * (1 + 1e-9)]), lam)
    assert below == pytest.approx(lam / 2, rel=1e-6)
    assert above == pytest.approx(lam / 2, rel=1e-6)


def test_defaults_and_paces():
    made = {name: penalty_named(name) for name in PENALTIES}
    assert made["p-shrinkage"] == PShrinkage(0.5)
    assert made["log-sum"] == LogSum(5.0)
    assert made["schatten"] == Schatten(0.8)
    assert made["grouped"] == Grouped(0.15, LogSum(5.0))
    assert [bool(penalty.mild) for penalty in (Nuclear(), LogSum(19.9), LogSum(20), Schatten(), Grouped())] == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_weights_of_slices_fall_with_their_norms():
    norms = np.array([16.0, 1.0, 0.0])
    np.testing.assert_allclose(Grouped(0.5).weights(norms), [1, 4, 1e3])  # at 1e-6 of the largest they end
    np.testing.assert_array_equal(Grouped(0.5).weights(np.zeros(2)), [1, 1])
    assert Nuclear().slice_weights(lambda: norms) is None
    np.testing.assert_allclose(Grouped(0.5).slice_weights(lambda: norms), [1, 4, 1e3])
