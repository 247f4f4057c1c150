"""What must be so of every fit: precision, axes, pieces, kinds of arrays."""

import numpy as np
import pytest

import qrank
from conftest import low_rank
from qrank.kernels import products

FITS = [{"noise": 0.05}, {"outliers": "entries"}, {"outliers": "fibres"}, {"outliers": "entries", "noise": 0.05}]


@pytest.fixture
def given(rng):
    """An array of four axes, with noise and a few wrong values, and what is known of it."""
    x = np.repeat(low_rank(rng, (14, 15, 2), 1, 1), 6, axis=2).reshape(14, 15, 4, 3)
    y = x + 0.05 * rng.standard_normal(x.shape) + 4 * (rng.random(x.shape) < 0.03)
    return x, y, rng.random(x.shape) < 0.8


@pytest.mark.parametrize("options", FITS, ids=str)
def test_single_precision_and_four_axes(options, given):
    x, y, observed = given
    double, single = (qrank.complete(a, observed, "vmtqn", (0, 1), **options).x for a in (y, y.astype(np.float32)))
    assert single.dtype == np.float32
    assert single.shape == x.shape
    assert np.linalg.norm(single - double) < 2e-2 * np.linalg.norm(double)


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
@pytest.mark.parametrize("options", FITS, ids=str)
def test_the_size_of_pieces_changes_nothing(options, given, monkeypatch):
    _, y, observed = given
    whole = qrank.complete(y, observed, "tnn", (0, 1), max_steps=60, **options)
    monkeypatch.setattr(products, "CACHED", 100)
    pieces = qrank.complete(y, observed, "tnn", (0, 1), max_steps=60, **options)
    np.testing.assert_allclose(pieces.x, whole.x, atol=1e-9)
    if whole.outliers is not None:
        np.testing.assert_allclose(pieces.outliers, whole.outliers, atol=1e-9)


@pytest.mark.parametrize("options", FITS, ids=str)
def test_tensors_of_torch(options, given):
    torch = pytest.importorskip("torch")
    _, y, observed = given
    usual = qrank.complete(y, observed, "tnn", (0, 1), **options)
    found = qrank.complete(torch.tensor(y), torch.tensor(observed), "tnn", (0, 1), **options)
    np.testing.assert_allclose(np.asarray(found.x), usual.x, atol=1e-6)


def test_what_is_given_stays_as_it_is(given, rng):
    """Steps are made in place: not in the caller's arrays, nor in those that an operator keeps."""
    _, y, observed = given
    before = y.copy()
    for options in FITS:
        qrank.complete(y, observed, "vmtqn", (0, 1), **options)
    np.testing.assert_array_equal(y, before)
    x = low_rank(rng, (8, 9, 4), 1, 1)
    kept, b = np.zeros(x.shape), x.reshape(-1, 2).sum(axis=1)

    def adjoint(v):
        kept[...] = np.repeat(v, 2).reshape(x.shape)
        return kept

    first, again = (
        qrank.recover(b, (lambda a: a.reshape(-1, 2).sum(axis=1), back), x.shape, method="vmtqn", slice_axes=(0, 1)).x
        for back in (adjoint, lambda v: np.repeat(v, 2).reshape(x.shape))
    )
    np.testing.assert_array_equal(first, again)
