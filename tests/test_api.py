import numpy as np
import pytest
import xarray
from hypothesis import given
from hypothesis import strategies as st

import qrank
from conftest import low_rank
from qrank import InputError, KindError, Status


@pytest.fixture
def x(rng):
    return low_rank(rng, (8, 9, 6))


@given(
    st.lists(st.integers(1, 4), min_size=2, max_size=5),
    st.sampled_from(["bool", "int8", "uint8", "uint16", "int64", "float16", "float32", "float64"]),
    st.integers(0, 99),
)
@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
def test_any_shape_and_dtype(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(shape) * 5).astype(dtype)
    observed = rng.random(shape) < 0.6
    observed.flat[0] = True
    before = y.copy()
    result = qrank.complete(y, observed, max_steps=20)
    assert result.x.shape == y.shape
    assert result.x.dtype == (y.dtype if y.dtype.kind == "f" else np.float64)
    np.testing.assert_array_equal(result.x[observed], y[observed])
    np.testing.assert_array_equal(y, before)
    assert np.isfinite(result.x).all()


def test_three_ways_of_saying_what_is_missing(x, rng):
    observed = rng.random(x.shape) < 0.7
    by_mask = qrank.complete(x, observed).x
    np.testing.assert_array_equal(qrank.complete(np.where(observed, x, np.nan)).x, by_mask)
    masked = qrank.complete(np.ma.array(x, mask=~observed)).x
    assert isinstance(masked, np.ma.MaskedArray)
    assert not np.ma.getmaskarray(masked).any()
    np.testing.assert_array_equal(masked.data, by_mask)


def test_zero_is_a_value(rng):
    x = np.zeros((6, 6, 3))
    x[:3] = 1
    y = x.copy()
    y[4, 4, 1] = np.nan
    result = qrank.complete(y)
    assert (result.x[3:] == 0).sum() >= 3 * 6 * 3 - 1
    assert abs(result.x[4, 4, 1]) < 1e-2
    assert qrank.complete(np.where(np.isnan(y), np.nan, 0.0)).x.max() == 0


def test_observed_broadcasts(x):
    observed = np.ones((8, 9, 1), dtype=bool)
    observed[2, 3] = False
    result = qrank.complete(x, observed)
    assert result.observed.shape == x.shape
    assert not result.observed[2, 3].any()


def test_slice_axes_only_rename(x, rng):
    observed = rng.random(x.shape) < 0.7
    for method in ("vmtqn", "auto"):
        straight = qrank.complete(x, observed, method, slice_axes=(0, 1)).x
        turned = qrank.complete(np.moveaxis(x, 2, 0), np.moveaxis(observed, 2, 0), method, slice_axes=(1, 2)).x
        np.testing.assert_allclose(np.moveaxis(turned, 0, 2), straight, atol=1e-12)
    straight = qrank.complete(x, observed, "vmtqn").x
    four = qrank.complete(x.reshape(8, 9, 2, 3), observed.reshape(8, 9, 2, 3), "vmtqn").x
    np.testing.assert_allclose(four.reshape(x.shape), straight, atol=1e-12)


def test_a_matrix_is_one_slice(rng):
    x = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 25))
    result = qrank.complete(x, rng.random(x.shape) < 0.7)
    assert qrank.metrics.relative_error(result.x, x) < 1e-3


def test_strided_read_only_input(x, rng):
    y = np.asfortranarray(np.where(rng.random(x.shape) < 0.7, x, np.nan))[::-1]
    y.flags.writeable = False
    assert np.isfinite(qrank.complete(y).x).all()


def test_nothing_missing(x):
    result = qrank.complete(x)
    assert result.status is Status.COMPLETE
    assert "Nothing was missing" in str(result.status)
    np.testing.assert_array_equal(result.x, x)


def test_callback_sees_every_record_and_may_stop(x, rng):
    seen = []
    result = qrank.complete(x, rng.random(x.shape) < 0.6, on_step=lambda r: seen.append(r) or r.step == 7)
    assert [r.step for r in seen] == list(range(1, 8))
    assert seen == result.history
    assert result.status is Status.INTERRUPTED
    assert np.isfinite(result.x).all()


def test_history(rng):
    x = low_rank(rng)
    result = qrank.complete(x, rng.random(x.shape) < 0.7, "vmtqn", holdout=0.1, rng=3)
    last = result.history[-1]
    assert result.status is Status.SETTLED
    assert max(last.primal, last.change) <= result.method.tol
    assert last.objective == pytest.approx(qrank.q_nuclear_norm(result.x, qrank.pca(result.x)), rel=0.1)
    assert last.holdout < 0.05 * np.abs(x).max()
    assert result.to_dict()["step"] == list(range(1, len(result.history) + 1))
    assert all(a.seconds <= b.seconds for a, b in zip(result.history, result.history[1:], strict=False))
    np.testing.assert_array_equal(result.x[result.observed], x[result.observed])


def test_records_know_their_run(rng):
    x = low_rank(rng)
    known = rng.random(x.shape) < 0.7
    result = qrank.complete(x, known, "patches")
    assert list(result.runs) == ["patches", "views"]  # the answer's own first, then what it started from
    assert all(record.run == name for name, records in result.runs.items() for record in records)
    assert result.runs["views"] + result.runs["patches"] == result.history
    assert {record.run for record in qrank.complete(x, known, "tnn", max_steps=2, tol=1).history} == {"tnn"}


def test_step_limit_warns(x, rng):
    with pytest.warns(qrank.ConvergenceWarning, match="limit of steps"):
        result = qrank.complete(x, rng.random(x.shape) < 0.6, "vmtqn", max_steps=3)
    assert result.status is Status.STEP_LIMIT


def test_random_is_repeatable(x, rng):
    observed = rng.random(x.shape) < 0.6
    one, same, other = (qrank.complete(x, observed, method="tqn-random", rng=seed).x for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 0


def test_xarray_stays_xarray(x, rng):
    y = xarray.DataArray(np.where(rng.random(x.shape) < 0.8, x, np.nan), dims=("a", "b", "c"), attrs={"unit": "K"})
    result = qrank.complete(y)
    assert result.x.dims == ("a", "b", "c")
    assert result.x.attrs == {"unit": "K"}
    assert not bool(result.x.isnull().any())


def test_configured_method_can_be_given(x, rng):
    method = qrank.METHODS["tnn"].configured(tol=1e-3)
    assert qrank.complete(x, rng.random(x.shape) < 0.7, method=method).method is method
    with pytest.raises(InputError, match="configured method"):
        qrank.complete(x, rng.random(x.shape) < 0.7, method=method, tol=1e-4)


NAN = np.nan
BAD = {
    "no observed entry": (dict(y=np.full((3, 3, 2), NAN)), InputError, "no entry is observed"),
    "NaN said to be observed": (dict(y=np.full((3, 3, 2), NAN), observed=np.ones((3, 3, 2), bool)), InputError, r"\(0, 0, 0\) is observed but nan"),
    "infinity": (dict(y=np.array([[1.0, np.inf], [NAN, 2.0]])), InputError, r"\(0, 1\) is observed but inf"),
    "complex": (dict(y=np.ones((2, 2), complex)), KindError, "complex"),
    "objects": (dict(y=np.array([[None, 1]], dtype=object)), KindError, "array of numbers"),
    "text": (dict(y=np.array([["a", "b"]])), KindError, "array of numbers"),
    "mask shape": (dict(y=np.ones((3, 4, 2)), observed=np.ones((4, 3, 2), bool)), InputError, r"\(4, 3, 2\).*\(3, 4, 2\)"),
    "mask dtype": (dict(y=np.ones((2, 2)), observed=np.ones((2, 2))), KindError, "must be boolean"),
    "one axis": (dict(y=np.array([1.0, NAN])), InputError, r"at least 2 axes.*fold=N of y\[:, None\]"),
    "empty": (dict(y=np.ones((0, 3))), InputError, "empty"),
    "unknown method": (dict(y=np.array([[1, NAN]]), method="vmtqm"), InputError, "did you mean 'vmtqn'"),
    "method kind": (dict(y=np.array([[1, NAN]]), method=3), KindError, "method must be"),
    "unknown option": (dict(y=np.array([[1, NAN]]), method="vmtqn", rhoo=2), InputError, "did you mean 'rho'"),
    "effort": (dict(y=np.array([[1, NAN]]), effort="bets"), InputError, "did you mean 'best'"),
    "bounds": (dict(y=np.array([[1, NAN]]), bounds=(2, 1)), InputError, "the smaller first"),
    "bounds kind": (dict(y=np.array([[1, NAN]]), bounds="low"), InputError, "bounds must be the least and the largest"),
    "unknown preset": (dict(y=np.array([[1, NAN]]), preset="papr"), InputError, "no preset 'papr'"),
    "r too large": (dict(y=np.array([[[1.0, NAN]]]), method="vmtqn", r=9), InputError, "r must be a whole number from 1 to"),
    "r a fraction": (dict(y=np.array([[1, NAN]]), method="vmtqn", r=1.5), InputError, "r must be a whole number"),
    "rho too small": (dict(y=np.array([[1, NAN]]), method="vmtqn", rho=0.5), InputError, "rho must be at least 1"),
    "tol a text": (dict(y=np.array([[1, NAN]]), tol="small"), KindError, "tol must be a number"),
    "tol NaN": (dict(y=np.array([[1, NAN]]), tol=NAN), InputError, "tol must be"),
    "q missing": (dict(y=np.array([[1, NAN]]), method="tqn"), InputError, "needs the option 'q'"),
    "q not orthonormal": (dict(y=np.array([[[1.0, NAN]]]), method="tqn", q=np.ones((2, 2))), InputError, "orthonormal"),
    "truth missing": (dict(y=np.array([[1, NAN]]), method="tqn-oracle"), InputError, "needs the option 'truth'"),
    "truth shape": (dict(y=np.array([[1, NAN]]), method="tqn-oracle", truth=np.ones((3, 3))), InputError, "truth has shape"),
    "axes": (dict(y=np.array([[1, NAN]]), slice_axes=(0, 2)), InputError, "slice_axes"),
    "holdout": (dict(y=np.array([[1, NAN]]), holdout=1.5), InputError, "share to hold out"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad_input_gets_one_sentence(case):
    arguments, kind, message = case
    with pytest.raises(kind, match=message) as caught:
        qrank.complete(**arguments)
    assert isinstance(caught.value, ValueError | TypeError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["motqn", "tqn-random"])
def test_the_same_call_gives_the_same_answer_unless_told_otherwise(name, rng):
    y = np.where(rng.random((9, 8, 7)) < 0.6, rng.standard_normal((9, 8, 7)), np.nan)
    first = qrank.complete(y, method=name).x
    np.testing.assert_array_equal(qrank.complete(y, method=name).x, first)
    assert (qrank.complete(y, method=name, rng=None).x != first).any()
