"""From the user's array to the problem and back."""

import numpy as np
import pytest

from qrank import InputError, KindError
from qrank.kernels.host import LOOKED_AT, Host
from qrank.tensor import Layout

HOST = Host()


def test_what_is_known():
    y = np.array([[1.0, np.nan], [3.0, 4.0]])
    assert HOST.known(y, None).tolist() == [[True, False], [True, True]]
    assert HOST.known(np.array([[1, 2]]), None).all()
    assert HOST.known(y, np.array([True, False])).tolist() == [[True, False]] * 2
    masked = np.ma.array(y, mask=[[0, 0], [1, 0]])
    assert HOST.known(masked, None).tolist() == [[True, False], [False, True]]
    assert HOST.known(masked, np.array([[True], [True]])).tolist() == [[True, True], [False, True]]
    with pytest.raises(KindError, match="boolean"):
        HOST.known(y, np.array([0, 1]))
    with pytest.raises(InputError, match=r"shape \(3,\)"):
        HOST.known(y, np.array([True] * 3))
    with pytest.raises(KindError, match="numbers"):
        HOST.known(np.array([["a"]]), None)


@pytest.mark.parametrize(("given", "computed"), [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), ("i2", "f8"), ("u1", "f8")])
def test_types_to_compute_in(given, computed):
    assert HOST.values(np.ones((2, 2), given)).dtype == computed
    with pytest.raises(KindError, match="complex"):
        HOST.values(np.ones((2, 2), complex))


@pytest.mark.parametrize(("largest", "exponent"), [(3e-9, -28), (1e7, 24), (0.75 * 2.0**1023, 1023), (0.0, 0)])
def test_scale_is_a_power_of_two_that_brings_the_largest_below_one(largest, exponent):
    layout = Layout.of((2, 3), (0, 1))
    values = np.array([[largest, np.nan, 0.0], [-largest / 2, 0.0, 0.0]])
    y, observed, found = HOST.scaled(values, np.isfinite(values), layout)
    assert found == exponent
    assert observed.reshape(-1).tolist() == [True, False, True, True, True, True]
    assert np.abs(y).max() == np.ldexp(largest, -exponent) <= 1
    assert y[..., 0, 1] == 0
    back = HOST.unscaled(y.copy(), layout, found)
    np.testing.assert_array_equal(back, np.nan_to_num(values))
    assert values[0, 0] == largest  # the caller's


def test_negative_values_set_the_scale_too():
    values = np.array([[-6e7, 1.0], [2.0, 3.0]])
    assert HOST.scaled(values, values < 9, Layout.of((2, 2), (0, 1)))[2] == 26


@pytest.mark.parametrize("size", [4, LOOKED_AT + 10])
@pytest.mark.parametrize(
    ("largest", "missing", "taken"),
    [(1.0, 0.0, True), (-1.0, 0.0, True), (1.0, 5.0, False), (1.0, np.nan, False), (2.0**20, 0, False), (2.0**-20, 0, False),
     (2.0**19.9, 0, True), (2.0**-19.9, 0, True)],
)  # fmt: skip
def test_values_that_are_as_wanted_are_not_copied(size, largest, missing, taken):
    values, known = np.zeros((2, size // 2)), np.ones((2, size // 2), bool)
    values[1, 0], values[-1, -1], known[-1, -1] = largest, missing, False
    y, _, exponent = HOST.scaled(values, known, Layout.of(values.shape, (0, 1)))
    assert np.shares_memory(y, values) == taken
    assert y[..., -1, -1] == 0
    if taken:
        assert exponent == 0
        assert not y.flags.writeable
        assert values.flags.writeable


@pytest.mark.parametrize(("bad", "advice"), [(np.nan, "; mark it"), (np.inf, "remove it"), (-np.inf, "remove it")])
def test_what_is_observed_must_be_a_number(bad, advice):
    values = np.ones((2, 3))
    values[1, 2] = bad
    with pytest.raises(InputError, match=r"\(1, 2\) is observed.*" + advice):
        HOST.scaled(values, np.ones((2, 3), bool), Layout.of((2, 3), (0, 1)))


def test_fibres_are_counted_along_each_axis():
    mask = np.array([[True, True, False], [True, False, False]])
    assert [found.tolist() for found in HOST.fibre_counts(mask)] == [[1, 1, 1], [0, 1, 1, 0]]


def test_nothing_becomes_infinite_on_the_way_back():
    layout = Layout.of((2, 2), (0, 1))
    x = HOST.unscaled(np.array([[1.5, -1.5], [0.5, 1.0]], np.float32), layout, 128)
    assert np.isfinite(x).all()
    assert x[0, 0] == np.finfo(np.float32).max == -x[0, 1]
    assert x[1, 0] == np.float32(2.0**127)
    half = HOST.typed(np.array([1e6, -1e6, 2.0]), np.ones(3, np.float16))
    assert half.tolist() == [65504.0, -65504.0, 2.0]
    assert HOST.typed(np.ones(2, np.float32), np.ones(2, int)).dtype == np.float64
    assert HOST.typed(np.ones(2), np.ones(2, np.float32)).dtype == np.float32


def test_small_operations(rng):
    t = rng.standard_normal((3, 4, 5))
    assert HOST.norm(t) == pytest.approx(np.linalg.norm(t))
    assert HOST.eps(t.astype(np.float32)) == np.finfo(np.float32).eps
    assert HOST.single(t).dtype == np.float32
    assert HOST.cast(HOST.single(t), t).dtype == np.float64
    known = t > 0
    assert HOST.spread(t, known) == pytest.approx(t[known].std())
    assert HOST.spread(np.full(3, -7.0), np.ones(3, bool)) == 7
    assert HOST.spread(np.zeros(3), np.ones(3, bool)) == 1
    assert HOST.spread(np.array([-7.0, 3.0]), np.array([True, False])) == 7  # one entry is known
    x = HOST.keep(np.zeros(3), np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    assert x.tolist() == [1, 0, 3]


def test_an_answer_is_of_the_kind_of_the_array():
    x = np.ones((2, 2))
    assert HOST.like(x, np.zeros((2, 2))) is x
    assert isinstance(HOST.like(x, np.ma.array(x)), np.ma.MaskedArray)

    class Labelled:
        dims = ("a", "b")

        def copy(self, data):
            return "labelled", data

    assert HOST.like(x, Labelled()) == ("labelled", x)


def test_the_first_entry_that_is_no_number_is_named():
    values = np.ones((3, 4))
    values[2, 3] = values[1, 1] = values[0, 2] = np.inf
    observed = np.ones((3, 4), bool)
    observed[0, 2] = False  # this one is not known
    with pytest.raises(InputError, match=r"the entry at \(1, 1\) is observed but inf"):
        HOST.scaled(values, observed, Layout.of((3, 4), (0, 1)))
