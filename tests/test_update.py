"""New data arrive: an earlier answer is gone on from."""

import numpy as np
import pytest

import qrank
from qrank.metrics import psnr

OLD = 36


@pytest.fixture(scope="module")
def clip():
    x = qrank.data.clip()[:, ::2, ::2].mean(axis=-1)
    return x, np.where(qrank.data.observed(x.shape, 0.4, slice_axes=(1, 2), rng=1), x, np.nan)


# Decibels that are lost on new frames this small, and of the whole clip.
@pytest.mark.parametrize(("method", "new", "lost"), [("vmtqn", 0.7, 0.35), ("tnn", 0.0, 0.0), ("views", 1.6, 0.7)])
def test_new_frames_cost_a_fifth_of_the_steps_of_a_new_run(clip, method, new, lost):
    x, y = clip
    anew = qrank.complete(y, method=method, slice_axes=(1, 2))
    first = qrank.complete(y[:OLD], method=method, slice_axes=(1, 2))
    both = first.update(y[OLD:])
    assert 5 * len(both.history) <= len(anew.history)
    assert psnr(both.x[OLD:], x[OLD:]) > psnr(anew.x[OLD:], x[OLD:]) - new
    assert psnr(both.x, x) > psnr(anew.x, x) - lost
    known = np.isfinite(y)
    np.testing.assert_array_equal(both.x[known], y[known])
    np.testing.assert_array_equal(both.observed, known)
    assert both.slice_axes == (1, 2)
    again = qrank.complete(y, method=method, earlier=first)  # the same, with the whole array
    np.testing.assert_array_equal(again.x, both.x)


def test_auto_runs_what_it_chose_before_in_a_fifth_of_the_steps_as_well_as_anew(clip):
    """Means of draws: on frames of 15 x 20 what a new run chooses differs from draw to draw by decibels, both ways."""
    x, steps, gains = clip[0][:, ::2, ::2], [], []
    for draw in (2, 3):
        y = np.where(qrank.data.observed(x.shape, 0.4, slice_axes=(1, 2), rng=draw), x, np.nan)
        anew = qrank.complete(y, slice_axes=(1, 2), on_step=steps.append)
        of_new_run = len(steps)
        first = qrank.complete(y[:OLD], slice_axes=(1, 2))
        steps.clear()
        both = first.update(y[OLD:], on_step=steps.append)
        assert 5 * len(steps) <= of_new_run
        steps.clear()
        assert both.choice.trials[0].name == first.choice.trials[0].name
        gains.append(
            [psnr(both.x[part], x[part]) - psnr(anew.x[part], x[part]) for part in (slice(OLD, None), slice(None))]
        )
        assert both.error.shape == x.shape
        assert (both.error[~both.observed] > 0).all()
    assert (np.mean(gains, axis=0) > -0.1).all()
    with pytest.raises(qrank.InputError, match="'auto' goes on from a result of 'auto' only"):
        qrank.complete(y, earlier=qrank.complete(y[:OLD], method="smooth"))


def test_slices_unlike_all_others_are_a_new_run(rng):
    x = (rng.standard_normal((20, 2)) @ rng.standard_normal((2, 320))).reshape(20, 20, 16)
    y = np.where(rng.random(x.shape) < 0.6, x, np.nan)
    both = qrank.complete(y[..., :14], method="vmtqn").update(y[..., 14:])
    assert np.abs(both.x - x).max() < 0.01


def test_more_known_of_the_same_array(clip):
    x, y = clip
    less = np.where(np.random.default_rng(3).random(y.shape) < 0.95, y, np.nan)
    both = qrank.complete(y, method="tnn", earlier=qrank.complete(less, method="tnn", slice_axes=(1, 2)))
    assert len(both.history) == 10
    assert psnr(both.x, x) > psnr(qrank.complete(y, method="tnn", slice_axes=(1, 2)).x, x) - 0.1


def test_the_axis_is_named_where_it_is_ambiguous(rng):
    x = np.sin(np.add.outer(np.arange(4), np.add.outer(np.arange(6), np.add.outer(np.arange(8), np.arange(4)) / 3) / 4))
    y = np.where(rng.random(x.shape) < 0.7, x, np.nan)
    first = qrank.complete(y, method="tnn", slice_axes=(1, 2))
    with pytest.raises(qrank.InputError, match=r"along which of the axes \[0, 3\]"):
        first.update(y)
    assert first.update(y, axis=0).x.shape == (8, 6, 8, 4)
    assert first.update(y[..., :2]).x.shape == (4, 6, 8, 6)
    assert first.update(y[:, :2], axis=1).x.shape == (4, 8, 8, 4)
    for bad in (y[:, :3], y[0]):
        with pytest.raises(qrank.InputError, match="do not fit"):
            first.update(bad)
    with pytest.raises(qrank.InputError, match="do not fit"):
        first.update(y[:, :3], axis=0)
    with pytest.raises(qrank.InputError, match="axis 7 is none"):
        first.update(y, axis=7)


def test_what_cannot_be_gone_on_from(clip):
    _, y = clip
    y = y[:6, :12, :12]
    first = qrank.complete(y, method="tnn")
    with pytest.raises(qrank.InputError, match="'tmac' cannot go on"):
        qrank.complete(y, method="tmac", earlier=first)
    with pytest.raises(qrank.KindError, match="not ndarray"):
        qrank.complete(y, method="tnn", earlier=first.x)
    with pytest.raises(qrank.InputError, match="at the end of one axis"):
        qrank.complete(y[:5], method="tnn", earlier=first)
    with pytest.raises(qrank.InputError, match="patches"):
        qrank.complete(y, method="tnn", earlier=first, patch=4)


def test_a_shorter_q_is_extended(clip):
    x, y = clip
    q = qrank.complete(y[:OLD], method="vmtqn", slice_axes=(1, 2)).transform
    found = qrank.complete(y, method="tqn", slice_axes=(1, 2), q=q)
    longer = found.transform.matrix
    assert longer.shape == (40, 40)
    np.testing.assert_allclose(longer.T @ longer, np.eye(40), atol=1e-9)
    assert (
        psnr(found.x[OLD:], x[OLD:])
        > psnr(qrank.complete(y, method="slicewise", slice_axes=(1, 2)).x[OLD:], x[OLD:]) + 3
    )
    with pytest.raises(qrank.InputError, match="third mode of length 36"):
        qrank.complete(y[:30], method="tqn", slice_axes=(1, 2), q=q)


@pytest.mark.data
def test_clips_of_the_data_folder(data):
    for file in sorted((data / "hmdb51").glob("*.avi")):
        x = (qrank.read(file).data[:, ::6, ::6] / 255).mean(axis=-1)
        y = np.where(qrank.data.observed(x.shape, 0.3, slice_axes=(1, 2), rng=1), x, np.nan)
        old = round(len(x) / 1.1)
        anew = qrank.complete(y, method="vmtqn", slice_axes=(1, 2))
        both = qrank.complete(y[:old], method="vmtqn", slice_axes=(1, 2)).update(y[old:])
        assert 5 * len(both.history) <= len(anew.history)
        assert psnr(both.x, x) > psnr(anew.x, x) - 0.1
        assert psnr(both.x[old:], x[old:]) > psnr(anew.x[old:], x[old:]) - 0.1
