import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrank import InputError
from qrank.tensor import Layout, fold, mode_product, unfold

shapes = st.lists(st.integers(1, 5), min_size=2, max_size=5)


@given(shapes, st.data())
def test_fold_undoes_unfold(shape, data):
    mode = data.draw(st.integers(0, len(shape) - 1))
    x = np.arange(np.prod(shape)).reshape(shape)
    unfolded = unfold(x, mode)
    assert unfolded.shape == (x.size // shape[mode], shape[mode])
    np.testing.assert_array_equal(fold(unfolded, mode, x.shape), x)


def test_fibres_are_rows():
    x = np.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(unfold(x, 2)[1 * 3 + 2], x[1, 2, :])


def test_mode_product_against_einsum(rng):
    x, q = rng.standard_normal((3, 4, 5)), rng.standard_normal((5, 2))
    np.testing.assert_allclose(mode_product(x, q), np.einsum("ijk,kl->ijl", x, q))


@given(shapes, st.data())
def test_layout_round_trip(shape, data):
    axes = data.draw(st.permutations(range(len(shape))))[:2]
    layout = Layout.of(tuple(shape), (axes[0], axes[1] - len(shape)))
    x = np.arange(np.prod(shape)).reshape(shape)
    stack = layout.stack(x)
    assert stack.shape == (layout.n3, shape[axes[0]], shape[axes[1]])
    np.testing.assert_array_equal(layout.outer(stack), x)


def test_slices_are_what_slice_axes_say(rng):
    clip = rng.random((5, 6, 7, 3))
    stack = Layout.of(clip.shape, (1, 2)).stack(clip)
    np.testing.assert_array_equal(stack[2 * 3 + 1], clip[2, :, :, 1])


@pytest.mark.parametrize("axes", [(0, 0), (0, 3), (-1, 2), (0,), "ab", 1])
def test_bad_axes(axes):
    with pytest.raises(InputError, match="slice_axes"):
        Layout.of((2, 3, 4), axes)
