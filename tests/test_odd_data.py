"""Odd data: what is the right outcome, and that it comes out."""

import warnings

import numpy as np
import pytest

import qrank
from qrank import InputError, KindError, NoiseWarning, Status
from qrank.methods import METHODS

SHAPES = [(1, 7, 5), (6, 1, 5), (6, 7, 1), (1, 1, 9), (1, 9, 1), (9, 1, 1), (1, 1, 1), (2, 2, 60), (20, 15, 2), (1, 1)]
LEARNED = ("auto", "vmtqn", "motqn", "views")  # those that fill an array of rank one wherever it is determined

pytestmark = pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")


def rank_one(shape, seed=0):
    """An array of rank one, of values between 1 and 2 ** d."""
    rng = np.random.default_rng(seed)
    x = np.ones(shape)
    for axis, n in enumerate(shape):
        x = x * (1 + rng.random(n)).reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return x


def some(shape, share=0.7, seed=1):
    """A random mask with at least one known and, where there are two entries, one missing."""
    known = np.random.default_rng(seed).random(shape) < share
    known.flat[-1] = False
    known.flat[0] = True
    return known


def completed(y, known, method, **options):
    """Complete, and check what holds for every array and every method: finite, y's shape and type, known entries exact."""
    n3 = int(np.prod(y.shape[2:]))
    asked = {
        "tqn": {"q": np.eye(n3)},
        "tnn-linear": {"q": 2 * np.eye(n3)},
        "tqn-oracle": {"truth": np.where(known, y, 1)},
    }
    result = qrank.complete(y, known, method, (0, 1), max_steps=60, **asked.get(method, {}), **options)
    assert result.x.shape == y.shape
    assert result.x.dtype == (y.dtype if y.dtype.kind == "f" else np.float64)
    assert np.isfinite(result.x).all()
    np.testing.assert_array_equal(result.x[known], y[known])
    return result


@pytest.mark.parametrize("method", METHODS)
def test_one_known_entry(method):
    known = np.zeros((6, 7, 5), bool)
    known[2, 3, 1] = True
    found = completed(np.full(known.shape, 3.0), known, method).x
    if method == "auto" or issubclass(METHODS[method], METHODS["smooth"].__base__):
        np.testing.assert_allclose(found, 3)  # nothing speaks against it, and nothing for anything else


@pytest.mark.parametrize("method", METHODS)
def test_everything_known(method):
    y = rank_one((4, 5, 6))
    result = completed(y, np.ones(y.shape, bool), method)
    assert result.status is Status.COMPLETE
    assert len(result.history) == 0


@pytest.mark.parametrize("method", METHODS)
def test_zeros_stay_zeros(method):
    assert not completed(np.zeros((5, 4, 6)), some((5, 4, 6)), method).x.any()
    assert not completed(np.zeros((2, 2, 9)), some((2, 2, 9)), method).x.any()


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_is_found(method):
    y = np.full((12, 10, 4), -2.5)
    found = completed(y, some(y.shape, 0.8), method).x
    np.testing.assert_allclose(found, y, rtol=0.1 if method in ("tmac", "latent") else 1e-2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_axes_of_length_one_and_lengths_far_apart(method, shape):
    y, known = rank_one(shape), some(shape)
    found = completed(y, known, method).x
    if method in LEARNED and min(shape[:2]) > 1 and max(shape) < 60:
        np.testing.assert_allclose(found, y, atol=0.2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [1e300, 1e307, 1e-300, 1e-315])
def test_the_ends_of_the_range(method, size):
    with np.errstate(under="ignore"):
        y = size * rank_one((6, 7, 5))
    known = some(y.shape)
    found = completed(y, known, method).x
    if method in LEARNED:
        np.testing.assert_allclose(found / size, y / size, atol=0.1)


def test_the_largest_number_of_all():
    y = np.full((6, 5, 4), np.finfo(float).max)
    np.testing.assert_allclose(completed(y, some(y.shape), "vmtqn").x, y, rtol=1e-2)
    half = np.full((6, 5, 4), np.finfo(np.float16).max)
    np.testing.assert_allclose(completed(half, some(y.shape), "vmtqn").x, half, rtol=1e-2)


def of_every_make(tmp_path, y):
    """The same numbers in arrays of every make."""
    np.save(tmp_path / "y.npy", y)
    wide = np.zeros((*y.shape, 2))
    wide[..., 0] = y
    fixed = y.copy()
    fixed.flags.writeable = False
    return {
        "big-endian": y.astype(">f8"),
        "every second": wide[..., 0],
        "backwards": y[::-1].copy()[::-1],
        "read-only": fixed,
        "Fortran": np.asfortranarray(y),
        "mapped": np.load(tmp_path / "y.npy", mmap_mode="r"),
        "float128": y.astype(np.longdouble),
    }


@pytest.mark.parametrize("method", ["auto", "vmtqn", "halrtc", "f-tnn", "kriging", "similar"])
def test_the_make_of_an_array_does_not_matter(method, tmp_path):
    y, known = rank_one((6, 7, 5)), some((6, 7, 5))
    plain = completed(y, known, method).x
    for make, same in of_every_make(tmp_path, y).items():
        before = same.copy()
        np.testing.assert_allclose(completed(same, known, method).x.astype(float), plain, rtol=1e-12, err_msg=make)
        np.testing.assert_array_equal(same, before)
    half = completed(y.astype(np.float16), known, method).x
    np.testing.assert_allclose(half, plain, rtol=2e-2)


@pytest.mark.parametrize("method", LEARNED)
def test_what_is_missing_in_a_frame_is_taken_from_its_duplicates(method):
    y = np.repeat(np.random.default_rng(2).random((9, 8, 1)), 6, axis=2)
    known = some(y.shape)
    found = completed(y, known, method).x
    seen = np.broadcast_to(known.any(axis=2, keepdims=True), y.shape)
    np.testing.assert_allclose(found[seen], y[seen], atol=0.02)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "tqn-oracle", "truth": np.full((4, 4, 3), np.nan)}, "truth must be known everywhere"),
        ({"method": "f-tnn", "levels": 99}, "levels must be"),
        ({"slice_axes": (0.5, 1)}, "two axis numbers"),
        ({"bounds": (np.nan, None)}, "bounds must be two numbers"),
        ({"bounds": (np.inf, None)}, "bounds must be two numbers"),
        ({"bounds": (None, -np.inf)}, "bounds must be two numbers"),
        ({"bounds": (0.2, 0.8), "integer": True}, "no whole number between the bounds 0.2 and 0.8"),
        ({"holdout": "a third"}, "share to hold out"),
        ({"checkpoint": 5}, "its name must be a path, not 5"),
        ({"checkpoint": ""}, "its name must be a path"),
        ({"checkpoint": "a\0b"}, "its name must be a path"),
        ({"checkpoint": "run.ckpt", "every": "often"}, "seconds between two checkpoints"),
        ({"preset": ["paper"]}, "has no preset"),
        ({"rng": -1}, "rng must be a seed"),
        ({"rng": "dice"}, "rng must be a seed"),
        ({"on_step": 3}, "on_step must be a function"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(options, sentence):
    with pytest.raises((InputError, KindError), match=sentence):
        qrank.complete(np.ones((4, 4, 3)), np.arange(3) > 0, **options)


@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0), (4, 3, 0, 2)])
def test_an_array_of_nothing_is_said_to_be_one(shape):
    with pytest.raises(InputError, match="the array is empty"):
        qrank.complete(np.zeros(shape), method="vmtqn")


def test_a_matrix_that_stays_one_when_indexed():
    y = np.outer(np.arange(1.0, 6), np.ones(5))
    y[1, 2] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        found = qrank.complete(np.asmatrix(y), method="vmtqn").x
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, qrank.complete(y, method="vmtqn").x)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble])
def test_an_option_may_be_a_number_of_numpys(kind):
    """mu in half precision would have ended at 65504, in a RuntimeWarning."""
    y = np.add.outer(np.arange(6.0), np.arange(7.0))[:, :, None] * np.ones(3)
    known = np.random.default_rng(0).random(y.shape) < 0.7
    of_numpy = qrank.complete(y, known, "vmtqn", rho=kind(1.25), tol=kind(0.0009765625), max_steps=np.int8(100))
    of_python = qrank.complete(y, known, "vmtqn", rho=1.25, tol=0.0009765625, max_steps=100)
    assert type(of_numpy.method.rho) is float
    np.testing.assert_array_equal(of_numpy.x, of_python.x)
    assert of_numpy.x.dtype == np.float64


@pytest.mark.parametrize(
    ("size", "noise"), [(1e300, 1e298), (1e-300, 1e-302), (1.0, 1e300), (1.0, 1e-300), (1e100, 1e-5)]
)
def test_noise_at_the_ends_of_the_range(size, noise):
    y = size * np.add.outer(np.arange(8.0), np.arange(9.0))[:, :, None] * np.ones(5)
    known = np.random.default_rng(0).random(y.shape) < 0.7
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        found = qrank.complete(y, known, noise=noise)
    assert np.isfinite(found.x).all()
    assert np.isfinite(found.error).all()


def test_a_truth_of_zeros_is_no_error():
    found = qrank.complete(np.ones((4, 4, 3)), np.arange(3) > 0, "tqn-oracle", truth=np.zeros((4, 4, 3)))
    assert np.isfinite(found.x).all()


@pytest.mark.parametrize(
    "options",
    [{"bounds": (-1e300, 1e300)}, {"units": 0}, {"method": "views", "outliers": True, "outlier_weight": 1e300}],
)
def test_what_a_small_type_cannot_hold_is_no_overflow(options):
    """Found by `make fuzz`: a RuntimeWarning, which is an error in tests."""
    y = np.array([[3.4028235e38, -3.4028235e38, 1], [2, 1, 3]], dtype=np.float32)
    known = np.array([[True, False, False], [True, True, True]])
    found = qrank.complete(y, known, **options)
    assert found.x.dtype == np.float32
    assert np.isfinite(found.x).all()
