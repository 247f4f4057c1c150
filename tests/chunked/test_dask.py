"""Dask arrays give NumPy's answers, however they are cut and wherever they are computed."""

import numpy as np
import pytest

import qrank
from conftest import low_rank
from qrank.kernels import chunked
from qrank.methods.views import Views

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")

CUTS = [((7, 18, 16), "2kB"), ((20, 5, 5), "128MiB"), ((20, 18, 16), "700B")]  # the user's chunks, and ours at most
Q = np.linalg.qr(np.random.default_rng(5).standard_normal((16, 6)))[0]
METHODS = [
    ("vmtqn", {}),
    ("vmtqn", {"r": 5}),
    ("vmtqn", {"update_every": 3}),
    ("vmtqn", {"preset": "paper", "max_steps": 30}),
    ("tnn", {}),
    ("tnn-c", {}),
    ("ttnn", {}),
    ("slicewise", {}),
    ("motqn", {}),
    ("motqn", {"r": 4}),
    ("tqn", {"q": Q}),
    ("views", {"ordered": False, "max_steps": 4}),
]


@pytest.fixture(autouse=True)
def _no_libraries(monkeypatch):
    """Memory of some kilobytes is for the data alone here."""
    monkeypatch.setattr(chunked.space, "LIBRARIES", 0)
    monkeypatch.setattr(chunked.space, "LEAST", 0)


def clip(shape=(20, 18, 16)):
    rng = np.random.default_rng(3)
    return low_rank(rng, shape), rng.random(shape) < 0.6


def off(found, usual) -> float:
    return float(np.abs(np.asarray(found) - usual).max() / np.abs(usual).max())


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
@pytest.mark.parametrize(("method", "options"), METHODS, ids=lambda one: str(one)[:20])
def test_equals_numpy_for_three_cuts(method, options, monkeypatch):
    monkeypatch.setattr(Views, "single", np.inf)  # else it begins in single precision, where sums differ by their order
    x, observed = clip()
    options = {"max_steps": 12, **options}
    usual = qrank.complete(x, observed, method, **options)
    for k, (chunks, size) in enumerate(CUTS):
        with dask.config.set({"array.chunk-size": size, "scheduler": ("sync", "threads")[k % 2]}):
            found = qrank.complete(da.from_array(x, chunks), da.from_array(observed, chunks), method, **options)
            assert isinstance(found.x, da.Array)
            assert found.x.chunks == da.from_array(x, chunks).chunks
            answer = found.x.compute()
        assert off(answer, usual.x) < 1e-8
        assert [one.rank for one in found.history] == [one.rank for one in usual.history]
        np.testing.assert_array_equal(answer[observed], x[observed])


def test_equals_numpy_to_the_end():
    x, observed = clip()
    usual = qrank.complete(x, observed, "vmtqn")
    with dask.config.set({"array.chunk-size": "3kB", "scheduler": "threads"}):
        found = qrank.complete(da.from_array(x, (20, 9, 8)), observed, "vmtqn")
        assert len(found.history) == len(usual.history)
        assert found.status is usual.status
        assert off(found.x, usual.x) < 1e-8
    np.testing.assert_allclose(np.abs(found.transform.matrix.T @ usual.transform.matrix)[:4, :4], np.eye(4), atol=1e-6)


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
@pytest.mark.parametrize("method", ["vmtqn", "tnn", "tqn-random"])
def test_a_third_mode_that_is_longer_than_a_slice(method):
    x, observed = clip((4, 5, 60))
    usual = qrank.complete(x, observed, method, max_steps=40)
    with dask.config.set({"array.chunk-size": "1kB", "scheduler": "threads"}):
        found = qrank.complete(da.from_array(x, (4, 3, 7)), da.from_array(observed, (2, 5, 9)), method, max_steps=40)
        assert off(found.x, usual.x) < 1e-8


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
@pytest.mark.parametrize(("shape", "axes"), [((9, 8, 5, 6), (1, 2)), ((9, 8, 5, 6), (3, 1)), ((7, 8, 6, 3), (0, 1))])
def test_the_average_over_slice_axes_of_four_axes(shape, axes, monkeypatch):
    """Tubes of several axes, cut anywhere; and a user's chunks that are scattered over those of the run."""
    monkeypatch.setattr(Views, "single", np.inf)
    x, observed = (a.reshape(shape) for a in clip((*shape[:2], shape[2] * shape[3])))
    settings = {"slice_axes": axes, "max_steps": 2, "ordered": False}
    usual = qrank.complete(x, observed, "views", **settings)
    for chunks, size in (((5, 4, 3, 2), "1kB"), ((9, 8, 1, 3), "3kB")):
        with dask.config.set({"array.chunk-size": size, "scheduler": "sync"}):
            found = qrank.complete(da.from_array(x, chunks), da.from_array(observed, chunks), "views", **settings)
            assert off(found.x, usual.x) < 1e-8
            np.testing.assert_array_equal(found.x.compute()[observed], x[observed])


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
def test_views_of_doubles_begin_in_single_precision():
    x, observed = clip()
    usual = qrank.complete(x, observed, "views", ordered=False, steps=14)
    with dask.config.set({"array.chunk-size": "20kB", "scheduler": "sync"}):
        found = qrank.complete(da.from_array(x, (7, 18, 16)), observed, "views", ordered=False, steps=14)
        assert len(found.history) == len(usual.history)
        assert off(found.x, usual.x) < 1e-3
        assert found.x.dtype == np.float64


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
def test_a_chunk_of_the_answer_is_read_without_the_others():
    """Frames of pixels that are cut by rows of pictures: a chunk of the user's spans nearly all columns of the run's."""
    x, observed = clip((20, 18, 64))
    read = []
    with dask.config.set({"array.chunk-size": "6kB", "scheduler": "sync", "qrank.memory": "200kB"}):
        given = (da.from_array(a, (20, 18, 2)) for a in (x, observed))
        found = qrank.complete(*given, "vmtqn", (0, 2), max_steps=2)
        usual = chunked.store.read_part
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(chunked.store, "read_part", lambda *a: read.append(usual(*a)) or read[-1])
            chunk = found.x.blocks[0, 0, 5].compute()
    assert chunk.shape == (20, 18, 2)
    assert 0 < sum(part.nbytes for part in read) < 3 * chunk.nbytes


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
def test_axes_types_and_nan():
    """Four axes, slices in the middle, NaN for what is missing, single precision, integers."""
    x, observed = clip((12, 10, 24))
    x = np.moveaxis(x.reshape(12, 10, 8, 3), 2, 0).astype(np.float32)
    observed = np.moveaxis(observed.reshape(12, 10, 8, 3), 2, 0)
    y = np.where(observed, x, np.nan)
    settings = {"slice_axes": (1, 2), "max_steps": 10}
    with dask.config.set({"array.chunk-size": "2kB", "scheduler": "sync"}):
        found = qrank.complete(da.from_array(y, (3, 12, 5, 2)), None, "vmtqn", **settings)
        assert found.x.dtype == np.float32
        assert off(found.x, qrank.complete(y, None, "vmtqn", **settings).x) < 1e-4
        whole = np.clip(np.rint(40 * x), -120, 120).astype(np.int8)
        found = qrank.complete(da.from_array(whole, (3, 12, 5, 2)), observed, "vmtqn", **settings)
        assert found.x.dtype == np.float32
        np.testing.assert_array_equal(found.x.compute()[observed], whole[observed])


def test_auto_takes_the_best_of_those_that_can():
    x, observed = clip()
    with dask.config.set({"scheduler": "threads"}):
        found = qrank.complete(da.from_array(x, (20, 9, 8)), observed, slice_axes=(0, 1))
        assert off(found.x, x) < 0.05
    assert {one.name for one in found.choice.trials} == {"vmtqn", "tnn", "tnn-c", "slicewise", "views"}
    assert found.choice.trials[0].error == min(one.error for one in found.choice.trials)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"method": "halrtc"}, "vmtqn, motqn, tnn"),
        ({"method": "views"}, "ordered=False only"),
        ({"method": "vmtqn", "noise": 0.1}, "vmtqn, motqn, tnn"),
        ({"method": "vmtqn", "patch": 4}, "vmtqn, motqn, tnn"),
        ({"method": "vmtqn", "holdout": 0.1}, "vmtqn, motqn, tnn"),
        ({"method": "vmtqn", "penalty": "grouped"}, "take another penalty"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(settings, sentence):
    x, observed = clip()
    with dask.config.set({"scheduler": "sync"}), pytest.raises(qrank.KindError, match=sentence):
        qrank.complete(da.from_array(x), da.from_array(observed), **settings)


def test_bad_input_is_refused():
    x, observed = clip()
    bad = x.copy()
    bad[3, 4, 5] = np.inf
    observed[3, 4, 5] = True
    with dask.config.set({"scheduler": "sync"}):
        with pytest.raises(qrank.InputError, match=r"\(3, 4, 5\) is observed but inf"):
            qrank.complete(da.from_array(bad, (6, 18, 16)), observed, "vmtqn")
        with pytest.raises(qrank.InputError, match="no entry is observed"):
            qrank.complete(da.from_array(x), np.zeros(x.shape, bool), "vmtqn")
        with pytest.raises(qrank.InputError, match="does not broadcast"):
            qrank.complete(da.from_array(x), np.ones((3, 3), bool), "vmtqn")
        with pytest.raises(qrank.KindError, match="must be boolean"):
            qrank.complete(da.from_array(x), np.ones(x.shape), "vmtqn")
    with dask.config.set({"scheduler": "sync", "qrank.memory": "300kB"}), pytest.raises(qrank.InputError, match="Gram"):
        qrank.complete(da.from_array(np.tile(x, (1, 1, 8)), (20, 18, 1)), np.tile(observed, (1, 1, 8)), "vmtqn")


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
def test_a_run_in_pieces_is_the_run(tmp_path):
    """Stopped every few steps, in memory and on disk, and gone on with other chunks."""
    x, observed = clip()
    file = tmp_path / "run.ckpt"
    y = da.from_array(x, (10, 9, 4))
    with dask.config.set({"array.chunk-size": "4kB", "scheduler": "sync"}):
        usual = qrank.complete(y, observed, "vmtqn", max_steps=20).x.compute()
    for k in range(100):
        settings = {"array.chunk-size": ("4kB", "3kB", "9kB")[k % 3], "scheduler": "sync"}
        settings |= {"qrank.memory": ("100kB", "100MB")[k % 2], "qrank.scratch": str(tmp_path)}
        steps = []
        with dask.config.set(settings):
            found = qrank.complete(
                y,
                observed,
                "vmtqn",
                max_steps=20,
                checkpoint=file,
                on_step=lambda one, s=steps: s.append(one) or len(s) > 6,
            )
            answer = found.x.compute()
        if found.status is not qrank.Status.INTERRUPTED:
            break
    assert k > 1
    assert off(answer, usual) < 1e-8
    del found
    assert list(tmp_path.iterdir()) == []  # neither checkpoint nor chunks are left
    with dask.config.set({"scheduler": "sync"}):
        qrank.complete(y, observed, "vmtqn", checkpoint=file, on_step=lambda one: one.step > 1)
        with pytest.raises(qrank.FileError, match="other data"):
            qrank.complete(y + 1e-9, observed, "vmtqn", checkpoint=file)


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
def test_lost_slices_are_never_zero():
    """The first two and one between are lost: what is beside them tells, never the zeros that low rank would take."""
    x, observed = clip()
    x, lost = x + 10, [0, 1, 9]
    observed[:, :, lost] = False
    with dask.config.set({"array.chunk-size": "3kB", "scheduler": "sync"}):
        with pytest.warns(qrank.UndeterminedWarning, match="between the planes beside them"):
            found = qrank.complete(da.from_array(x, (10, 9, 4)), observed, "vmtqn", max_steps=40)
        answer, blind = dask.compute(found.x, found.undetermined)
    assert blind[:, :, lost].all()
    assert blind.sum() == 3 * 20 * 18
    np.testing.assert_allclose(answer[:, :, 9], (answer[:, :, 8] + answer[:, :, 10]) / 2)
    np.testing.assert_array_equal(answer[:, :, 0], answer[:, :, 2])
    np.testing.assert_array_equal(answer[observed], x[observed])


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
def test_neither_tasks_nor_what_is_kept_grows_with_the_steps(tmp_path):
    from dask.callbacks import Callback

    x, observed = clip()
    done, each, kept = [], [], []

    def on_step(_):
        each.append(len(done))
        done.clear()
        kept.append(sum(file.stat().st_size for file in tmp_path.rglob("*.npy")))

    settings = {"scheduler": "sync", "array.chunk-size": "4kB", "qrank.memory": "100kB", "qrank.scratch": str(tmp_path)}
    with dask.config.set(settings), Callback(pretask=lambda key, *_: done.append(key)):
        found = qrank.complete(da.from_array(x, (10, 9, 4)), observed, "vmtqn", max_steps=30, on_step=on_step)
        assert off(found.x.compute(), x) < 1
    assert len(each) > 15
    assert max(each[1:]) < 1.2 * min(each[1:]), each  # a few more or less, by how many columns of Q survive
    assert max(kept) < 6 * x.nbytes, kept
