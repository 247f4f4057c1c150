"""No entry is ever filled by a value that nothing supports."""

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
