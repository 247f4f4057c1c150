"""No entry is ever filled by a value that nothing supports."""

import contextlib

import numpy as np
import pytest

import qrank
from qrank import UndeterminedWarning

OUTER = np.outer(np.arange(1, 9.0), np.arange(1, 7.0))


def lost_column():
    m = OUTER.copy()
    m[:, 2] = np.nan
    return m


def test_a_lost_column_is_not_zero():
    """Its neighbours are 2 and 4 times the rows: what lies between is 3."""
    with pytest.warns(UndeterminedWarning, match=r"8 of the missing entries \(100.0%\)"):
        result = qrank.complete(lost_column())
    assert result.undetermined[:, 2].all()
    assert result.undetermined.sum() == 8
    np.testing.assert_allclose(result.x[:, 2], OUTER[:, 2], rtol=0.25)


@pytest.mark.parametrize("method", ["vmtqn", "tnn", "halrtc", "tmac", "slicewise", "views", "latent", "silrtc"])
def test_no_method_fills_with_nothing(method):
    with pytest.warns(UndeterminedWarning, match="low rank says nothing"):
        result = qrank.complete(lost_column(), method=method, tol=1e-3)
    assert result.undetermined[:, 2].all()
    assert result.x[:, 2].min() > 0.3


def test_a_transform_tells_a_lost_slice_and_none_tells_it_not(rng):
    film = qrank.data.clip(12, 20, 24, colour=False)
    film[5] = np.nan
    with pytest.warns(UndeterminedWarning):
        result = qrank.complete(film, method="vmtqn", slice_axes=(1, 2), tol=1e-3)
    assert result.undetermined[5].all()
    assert not np.delete(result.undetermined, 5, axis=0).any()
    between = (film[4] + film[6]) / 2
    np.testing.assert_allclose(result.x[5], between, atol=1e-6)
    assert not qrank.complete(film, method="tnn-c", slice_axes=(1, 2), tol=1e-3).undetermined.any()
    assert not qrank.complete(film, method="interpolate", slice_axes=(1, 2)).undetermined.any()


def test_slices_on_their_own_know_less(rng):
    x = rng.random((6, 7, 3))
    x[2, :, 1] = np.nan
    with pytest.warns(UndeterminedWarning):
        assert qrank.complete(x, method="slicewise", tol=1e-2).undetermined.sum() == 7
    assert not qrank.complete(x, method="vmtqn", tol=1e-2).undetermined.any()


def test_an_empty_patch_is_not_black():
    picture = np.add.outer(np.linspace(0.4, 0.6, 48), np.linspace(0.3, 0.4, 48))
    holed = picture.copy()
    holed[16:32, 16:32] = np.nan
    with pytest.warns(UndeterminedWarning):
        result = qrank.complete(holed, method="vmtqn", patch=16, tol=1e-3)
    assert result.undetermined.sum() == 256
    np.testing.assert_allclose(result.x, picture, atol=0.05)


def test_nothing_is_said_where_all_is_determined(rng, recwarn):
    x = rng.random((8, 9, 5))
    result = qrank.complete(x, rng.random(x.shape) < 0.8, method="tnn", tol=1e-2)
    assert not result.undetermined.any()
    assert not [one for one in recwarn if issubclass(one.category, UndeterminedWarning)]


def in_blocks(n3=6):
    """An array of which two blocks are known in all slices, and nothing that links them; all of it is above 2."""
    i, j, k = np.mgrid[:12, :14, :n3]
    known = np.zeros(i.shape, bool)
    known[:6, :7] = known[6:, 7:] = True
    return (1 + i / 12) * (2 + np.sin(j / 5)) * (1 + k / 9) + 0.5, known


@pytest.mark.parametrize(
    "method", ["auto", "vmtqn", "motqn", "tnn", "halrtc", "f-tnn", "tmac", "latent", "slicewise", "views"]
)
def test_blocks_that_nothing_links_say_nothing_of_each_other(method):
    """Changing the sign of one block changes no singular value, so low rank can but fill in zeros; nine methods did."""
    x, known = in_blocks()
    with pytest.warns(UndeterminedWarning, match=r"504 of the missing entries \(100.0%\)"):
        result = qrank.complete(x, known, method, (0, 1))
    np.testing.assert_array_equal(result.undetermined, ~known)
    assert result.x[~known].min() > 2
    assert np.abs(result.x - x).max() < 0.5 * x.max()
    known[3, 10, 2] = True  # this links them, in all slices but for a method that knows none but its own
    alone = method == "slicewise"
    with pytest.warns(UndeterminedWarning) if alone else contextlib.nullcontext():
        found = qrank.complete(x, known, method, (0, 1), tol=1e-3).undetermined
    assert found.sum() == (84 * 5 if alone else 0)


def test_blocks_of_rows_and_slices():
    """So it is with rows and slices, unless these are several axes, each of which has a rank of its own."""
    x, known = (np.moveaxis(one, 2, 1) for one in in_blocks())
    with pytest.warns(UndeterminedWarning):
        assert qrank.complete(x, known, "vmtqn", (0, 1)).undetermined.sum() == 504
    x, known = (one.reshape(12, 6, 2, 7) for one in (x, known))
    assert not qrank.complete(x, known, "halrtc", (0, 1), tol=1e-3).undetermined.any()


def test_blocks_of_other_kinds_of_arrays():
    dask, torch = pytest.importorskip("dask.array"), pytest.importorskip("torch")
    x, known = in_blocks()
    for kind, given in ((dask.from_array, {"chunks": (6, 7, 3)}), (torch.asarray, {})):
        with pytest.warns(UndeterminedWarning):
            result = qrank.complete(kind(x, **given), kind(known, **given), "vmtqn", (0, 1))
        np.testing.assert_array_equal(np.asarray(result.undetermined), ~known)


@pytest.mark.parametrize("holdout", [0.01, 0.5])
def test_what_others_hang_on_is_not_held_out(holdout):
    """The command holds out one entry at least: without it three cells here said nothing of each other, and two were 0."""
    n = np.nan
    y = np.array([[1, n], [n, 2], [3, 4.0]])
    found = qrank.complete(y, method="vmtqn", holdout=holdout)
    np.testing.assert_allclose(found.x, [[1, 4 / 3], [1.5, 2], [3, 4]], atol=1e-3)
    assert not found.undetermined.any()
    y = np.outer(np.arange(1, 9.0), np.arange(1, 7.0))
    kept = qrank.complete(y, y != 12, "vmtqn", holdout=holdout)  # enough is known here, so some is held out
    assert kept.history[-1].holdout is not None
