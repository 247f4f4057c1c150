"""New data arrive: an earlier answer is gone on from."""

import numpy as np
import pytest

import qrank
from qrank.choose.resume import going_on
from qrank.methods import METHODS
from qrank.methods.schedule import AGAIN_STEPS
from qrank.metrics import psnr
from qrank.result import Plan

OLD = 36


@pytest.fixture(scope="module")
def clip():
    x = qrank.data.clip()[:, ::2, ::2].mean(axis=-1)
    return x, np.where(qrank.data.observed(x.shape, 0.4, slice_axes=(1, 2), rng=1), x, np.nan)


def gains(method, draws, sampling=0.4):
    """Steps of a new run over those of an update, at least; and how much better the update is, on new frames and in all.

    Means over draws of the holes and of the film's grain, without which new runs end at 35 to 42 dB, where every step still counts.
    """
    fewer, better = [], []
    for draw in draws:
        x = qrank.data.clip()[:, ::2, ::2].mean(axis=-1)
        x = x + 0.02 * np.random.default_rng(100 + draw).standard_normal(x.shape)
        y, steps = np.where(qrank.data.observed(x.shape, sampling, slice_axes=(1, 2), rng=draw), x, np.nan), []
        anew = qrank.complete(y, method=method, slice_axes=(1, 2), on_step=steps.append)
        first, of_new_run = qrank.complete(y[:OLD], method=method, slice_axes=(1, 2)), len(steps)
        steps.clear()
        both = first.update(y[OLD:], on_step=steps.append)
        fewer.append(of_new_run / len(steps))
        better.append([psnr(both.x[at], x[at]) - psnr(anew.x[at], x[at]) for at in (slice(OLD, None), slice(None))])
    return min(fewer), *np.mean(better, axis=0)


# Decibels that may be lost on new frames, and of the whole clip.
@pytest.mark.parametrize(
    ("method", "new", "lost"), [("vmtqn", 0.0, 0.0), ("tnn", 0.0, 0.0), ("views", 0.3, 0.1), ("auto", 0.1, 0.1)]
)
def test_new_frames_cost_a_fifth_of_the_steps_of_a_new_run(method, new, lost):
    fewer, on_new, on_all = gains(method, (1, 2, 3))
    assert fewer >= 5
    assert on_new > -new
    assert on_all > -lost


@pytest.mark.parametrize("method", ["vmtqn", "tnn", "views"])
def test_an_update_is_that_of_the_whole_array_and_leaves_what_is_known(clip, method):
    _, y = clip
    first = qrank.complete(y[:OLD], method=method, slice_axes=(1, 2))
    both = first.update(y[OLD:])
    known = np.isfinite(y)
    np.testing.assert_array_equal(both.x[known], y[known])
    np.testing.assert_array_equal(both.observed, known)
    assert both.slice_axes == (1, 2)
    again = qrank.complete(y, method=method, earlier=first)  # the same, with the whole array
    np.testing.assert_array_equal(again.x, both.x)


def test_auto_goes_on_with_what_it_chose_and_tells_errors(clip):
    y = clip[1][:, ::2, ::2]
    first = qrank.complete(y[:OLD], slice_axes=(1, 2))
    both = first.update(y[OLD:])
    assert both.choice.trials[0].name == first.choice.trials[0].name
    assert sum(one.weight for one in both.choice.trials) == pytest.approx(1)
    assert {name for name, records in both.runs.items() if records} <= {run[0] for run in first.choice.plan.runs}
    assert both.error.shape == y.shape
    assert (both.error[~both.observed] > 0).all()
    with pytest.raises(qrank.InputError, match="'auto' goes on from a result of 'auto' only"):
        qrank.complete(y, earlier=qrank.complete(y[:OLD], method="smooth"))


VIEWS, JOINED, ONE = (METHODS[name].configured() for name in ("views", "joined", "vmtqn"))
PATCHES, LINES = METHODS["patches"].configured(rounds=1), METHODS["interpolate"].configured(axis=0)
PLAN = Plan(
    (
        ("lines", LINES, None),
        ("views", VIEWS, "lines"),
        ("joined", JOINED, "views"),
        ("alone", PATCHES, "joined"),
        ("one", ONE, None),
    ),
    (1.0,),
    steps=(1, 28, 4, 1, 94),
)


@pytest.mark.parametrize(
    ("weights", "most", "taken"),
    [
        ({"alone": 0.5, "views": 0.4, "one": 0.1}, 9, {"views": 4, "joined": 4, "alone": 1}),  # no room for `one`
        (
            {"alone": 0.5, "views": 0.4, "one": 0.1},
            9 + AGAIN_STEPS,
            {"views": 4, "joined": 4, "alone": 1, "one": AGAIN_STEPS},
        ),
        ({"views": 0.8, "lines": 0.2}, 9, {"views": 8, "lines": 1}),
        ({"views": 1.0}, 9, {"views": 9}),  # from the earlier answer: straight lines are of no use
        ({"one": 0.6, "views": 0.4}, 9, {"one": AGAIN_STEPS}),  # what has most weight runs, however long
        ({}, 9, {"lines": 1, "views": 3, "joined": 4, "alone": 1}),  # stopped before anything that has weight was done
    ],
)
def test_auto_goes_on_with_what_there_is_room_for(weights, most, taken):
    found = going_on(PLAN, weights, most)
    steps = {"joined": 4, "alone": 1, "one": AGAIN_STEPS, "lines": 1}
    assert {one.name: steps.get(one.name, getattr(one.method, "steps", None)) for one in found} == taken
    order = [one.name for one in found]
    assert order == [name for name, _, _ in PLAN.runs if name in taken]
    assert all(one.after is None or one.after in order for one in found)


def test_slices_unlike_all_others_are_a_new_run(rng):
    x = (rng.standard_normal((20, 2)) @ rng.standard_normal((2, 320))).reshape(20, 20, 16)
    y = np.where(rng.random(x.shape) < 0.6, x, np.nan)
    both = qrank.complete(y[..., :14], method="vmtqn").update(y[..., 14:])
    assert np.abs(both.x - x).max() < 0.01


def test_more_known_of_the_same_array(clip):
    x, y = clip
    less = np.where(np.random.default_rng(3).random(y.shape) < 0.95, y, np.nan)
    both = qrank.complete(y, method="tnn", earlier=qrank.complete(less, method="tnn", slice_axes=(1, 2)))
    assert len(both.history) == AGAIN_STEPS
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


# Decibels that may be lost on new frames, and of the whole clip: means over two draws of each clip.
@pytest.mark.data
@pytest.mark.parametrize(("method", "new", "lost"), [("vmtqn", 0.0, 0.0), ("views", 0.3, 0.1)])
def test_clips_of_the_data_folder(data, method, new, lost):
    better = []
    for file in sorted((data / "hmdb51").glob("*.avi")):
        x = (qrank.read(file).data[:, ::6, ::6] / 255).mean(axis=-1)
        old = round(len(x) / 1.1)
        for draw in (1, 2):
            y = np.where(qrank.data.observed(x.shape, 0.3, slice_axes=(1, 2), rng=draw), x, np.nan)
            anew = qrank.complete(y, method=method, slice_axes=(1, 2))
            both = qrank.complete(y[:old], method=method, slice_axes=(1, 2)).update(y[old:])
            assert 5 * len(both.history) <= len(anew.history)
            better.append([psnr(both.x[at], x[at]) - psnr(anew.x[at], x[at]) for at in (slice(old, None), slice(None))])
    assert (np.mean(better, axis=0) > [-new, -lost]).all()
