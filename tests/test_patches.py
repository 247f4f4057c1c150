"""Slices cut into squares: the same answer from Python and from the command, of y's own kind."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qrank
from qrank.patches import Patches
from qrank.tensor import Layout


@pytest.fixture
def photo() -> np.ndarray:
    return (255 * qrank.data.scenes(45, 60)[1]).round().astype(np.uint8)


@pytest.fixture
def known() -> np.ndarray:
    seen = np.ones((45, 60, 1), bool)
    seen[20:22, 5:50] = seen[5:40, 30:32] = False
    return seen


def filled(y, known=None, patch=16, **options):
    with pytest.warns(qrank.ConvergenceWarning):
        return qrank.complete(y, known, patch=patch, max_steps=12, **({"method": "vmtqn"} | options))


def test_python_and_the_command_give_the_same_answer(tmp_path, photo, known):
    pytest.importorskip("PIL")
    runner, app = pytest.importorskip("typer.testing").CliRunner(), pytest.importorskip("qrank.cli.app").app
    qrank.write(tmp_path / "photo.png", photo)
    qrank.write(tmp_path / "mask.png", np.where(known[:, :, 0], 0, 255).astype(np.uint8))
    words = f"fill {tmp_path}/photo.png --mask {tmp_path}/mask.png -o {tmp_path}/out.png --method vmtqn --option max_steps=12"
    said = runner.invoke(app, words.split())
    assert said.exit_code == 0, said.output
    assert "patches of 16 x 16" in said.output
    written = qrank.read(tmp_path / "out.png").data
    x = filled(photo.astype(np.float32), known, holdout=0.01).x
    np.testing.assert_array_equal(np.rint(x).clip(0, 255).astype(np.uint8), written)
    without = filled(photo.astype(np.float32), known, patch=0, holdout=0.01).x
    assert np.abs(without - x).max() > 5  # the patches made a difference


def test_the_answer_is_of_the_kind_of_y(photo, known):
    hole = ~np.broadcast_to(known, photo.shape)
    plain = filled(photo, known)
    assert plain.x.dtype == float
    assert plain.x.shape == plain.observed.shape == photo.shape
    assert (plain.x[~hole] == photo[~hole]).all()
    assert (plain.observed == ~hole).all()
    assert (plain.slice_axes, plain.transform) == ((0, 1), None)
    masked = filled(np.ma.array(photo, mask=hole))
    assert isinstance(masked.x, np.ma.MaskedArray)
    assert not masked.x.mask.any()
    np.testing.assert_array_equal(masked.x.data, plain.x)
    single = filled(np.where(hole, np.nan, photo).astype(np.float32))
    assert single.x.dtype == np.float32
    np.testing.assert_allclose(single.x, plain.x, atol=0.1)


def test_a_labelled_array_keeps_its_labels(photo, known):
    xarray = pytest.importorskip("xarray")
    y = xarray.DataArray(np.where(known, photo, np.nan), dims=("lat", "lon", "band"), attrs={"unit": "K"})
    found = filled(y)
    assert (found.x.dims, found.x.attrs) == (y.dims, y.attrs)
    np.testing.assert_array_equal(found.x.values, filled(photo, known).x)


def test_other_slice_axes_give_the_same_answer(photo, known):
    turned = filled(np.moveaxis(photo, 2, 0), np.moveaxis(known, 2, 0), slice_axes=(-2, -1))
    assert turned.slice_axes == (1, 2)
    np.testing.assert_allclose(np.moveaxis(turned.x, 0, 2), filled(photo, known).x, atol=1e-3)


def test_nothing_missing_is_returned_though_patches_would_be_padded(photo):
    found = qrank.complete(photo, method="vmtqn", patch=16)
    assert found.status is qrank.Status.COMPLETE
    assert not found.history
    assert (found.x == photo).all()


@pytest.mark.parametrize("patch", [1, -4, 46, 2.5, "16", True, None])
@pytest.mark.parametrize("seen", [True, False])
def test_a_side_that_cannot_be_is_refused(photo, patch, seen):
    known = np.ones(photo.shape, bool)
    known[3, 4] = seen
    with pytest.raises(qrank.InputError, match=f"patch {patch}: a patch must have a side from 2 to 45, or 0 for none"):
        qrank.complete(photo, known, "vmtqn", (0, 1), patch=patch)


def test_the_warning_points_at_the_caller(photo, known):
    with pytest.warns(qrank.ConvergenceWarning) as caught:
        qrank.complete(photo, known, "vmtqn", (0, 1), patch=16, max_steps=2)
    assert caught[0].filename == __file__


def test_the_imputer_takes_patches(photo, known):
    imputer = qrank.TensorImputer(method="vmtqn", patch=16, max_steps=12)
    assert repr(imputer) == "TensorImputer(method='vmtqn', patch=16, max_steps=12)"
    y = np.where(known, photo, np.nan)
    with pytest.warns(qrank.ConvergenceWarning):
        x = imputer.fit_transform(y)
    np.testing.assert_array_equal(x, filled(y).x)
    assert imputer.transform_ is None


@given(st.lists(st.integers(2, 9), min_size=2, max_size=4), st.data())
def test_what_is_cut_is_joined(shape, data):
    axes = data.draw(st.permutations(range(len(shape))))[:2]
    layout = Layout.of(tuple(shape), (axes[0], axes[1]))
    cut = Patches(layout, data.draw(st.integers(2, min(layout.slice_shape))))
    x = np.arange(np.prod(shape)).reshape(shape)
    parts = cut.split(x, -1)
    assert [parts.shape[axis] for axis in cut.slice_axes] == [cut.side, cut.side]
    assert (parts == -1).sum() == parts.size - x.size
    np.testing.assert_array_equal(cut.join(parts), x)
    first = np.moveaxis(parts, cut.slice_axes, (-2, -1)).reshape(-1, cut.side, cut.side)[0]
    np.testing.assert_array_equal(
        first, np.moveaxis(x, axes, (-2, -1)).reshape(-1, *layout.slice_shape)[0, : cut.side, : cut.side]
    )
