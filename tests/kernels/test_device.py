"""Tensors of torch: the answers are NumPy's, on the device that was given. Only the CPU build has run them."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import qrank
from qrank import kernels
from qrank.kernels.arrange import View
from qrank.kernels.memory import Workspace
from qrank.methods.views import Views
from qrank.penalties import LogSum, Nuclear, Penalty

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'qrank[torch]'")

TALL, WIDE = (12, 14, 11), (6, 7, 50)
SAME = {np.float64: 1e-8, np.float32: 1e-3}


def array(shape, dtype=np.float64, rank=2):
    """Slices of rank 1 in two directions, of which a share is known that is enough: rounding does not grow in the run."""
    rng = np.random.default_rng(0)
    n1, n2, n3 = shape
    slices = rng.standard_normal((n1, 1, rank)) * rng.standard_normal((1, n2, rank))
    x = slices @ np.linalg.qr(rng.standard_normal((n3, rank)))[0].T * np.sqrt(n3)
    return x.astype(dtype), rng.random(shape) < 0.7


def apart(found, usual):
    told = ~usual.undetermined
    return np.abs(found.x.numpy() - usual.x)[told].max() / np.abs(usual.x).max()


def rotation(n3):
    return np.linalg.qr(np.random.default_rng(1).standard_normal((n3, n3)))[0]


SHAPES = {"tall": TALL, "wide": WIDE}
PLAIN = ["vmtqn", "motqn", "tnn", "tnn-c", "ttnn", "tqn", "slicewise"]
OPTIONS = [
    ("vmtqn", {"r": 2}),
    ("vmtqn", {"noise": 0.05}),
    ("vmtqn", {"penalty": "log-sum"}),
    ("vmtqn", {"preset": "paper", "max_steps": 40}),
    ("motqn", {"r": 4, "start": "last", "max_steps": 40}),
    ("tnn", {"penalty": "grouped"}),
    ("tqn-random", {"max_steps": 40}),
]
CASES = [(name, {}, shape, dtype) for name in PLAIN for shape in SHAPES for dtype in SAME]
CASES += [(*one, "tall", np.float64) for one in OPTIONS] + [("vmtqn", {"r": 2}, "wide", np.float64)]


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning", "ignore::qrank.UndeterminedWarning")
@pytest.mark.parametrize(("method", "options", "shape", "dtype"), CASES)
def test_torch_is_numpy(method, options, shape, dtype):
    x, known = array(SHAPES[shape], dtype)
    options = options | ({"q": rotation(SHAPES[shape][2])} if method == "tqn" else {})
    usual = qrank.complete(x, known, method, **options)
    found = qrank.complete(torch.from_numpy(x), torch.from_numpy(known), method, **options)
    assert apart(found, usual) < SAME[dtype]
    assert found.x.dtype == torch.from_numpy(x).dtype
    assert found.x.device == torch.from_numpy(x).device
    assert isinstance(found.undetermined, torch.Tensor)
    if "noise" not in options:
        assert torch.equal(found.x[found.observed], torch.from_numpy(x)[found.observed])
    if dtype is np.float64:
        assert len(found.history) == len(usual.history)
        assert [r.rank for r in found.history[:20]] == [r.rank for r in usual.history[:20]]


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
@pytest.mark.parametrize("dtype", SAME)
@pytest.mark.parametrize(
    "asked", [("views", {"steps": 8}), ("auto", {"effort": "fast", "max_steps": 8})], ids=["views", "auto"]
)
def test_views_are_numpys(asked, dtype, monkeypatch):
    """Views begin in single precision, where the two differ by rounding; in double they are the same."""
    method, options = asked
    smooth = np.add.outer(np.sin(np.arange(16) / 4), np.cos(np.arange(17) / 5))[:, :, None] + np.sin(np.arange(8) / 3)
    known = np.random.default_rng(0).random(smooth.shape) < 0.6
    x = smooth.astype(dtype)
    usual, found = (qrank.complete(a, known, method, **options) for a in (x, torch.from_numpy(x)))
    assert apart(found, usual) < 1e-3
    if dtype is np.float64:
        monkeypatch.setattr(Views, "single", np.inf)
        usual, found = (qrank.complete(a, known, method, **options) for a in (x, torch.from_numpy(x)))
        assert apart(found, usual) < 1e-8


@pytest.mark.parametrize("how", ["tensor", "array", "nan"])
def test_what_is_missing_may_be_said_in_three_ways(how):
    x, known = array(TALL)
    usual = qrank.complete(x, known, "tnn")
    y = torch.from_numpy(np.where(known, x, np.nan)) if how == "nan" else torch.from_numpy(x)
    observed = {"tensor": torch.from_numpy(known), "array": known, "nan": None}[how]
    assert apart(qrank.complete(y, observed, "tnn"), usual) < 1e-8


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int16", "uint8", "bool"])
def test_other_types_are_computed_in_one_that_can(dtype):
    x, known = array(TALL)
    whole = torch.from_numpy(np.round(10 * np.abs(x))).clip(0, 200).to(getattr(torch, dtype))
    found = qrank.complete(whole, known, "tnn", tol=1e-3)
    assert found.x.dtype == (whole.dtype if whole.is_floating_point() else torch.float64)
    assert torch.isfinite(found.x).all()
    assert torch.equal(found.x[known], whole[known].to(found.x.dtype))


def test_gradients_axes_holdout_patch_and_bounds():
    x, known = array(TALL)
    y = torch.from_numpy(x.transpose(2, 0, 1).copy()).requires_grad_()
    seen = known.transpose(2, 0, 1)
    asked = {"slice_axes": (1, 2), "holdout": 0.1, "bounds": (-0.5, None), "max_steps": 20, "patch": 4}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        usual, found = (qrank.complete(a, seen, "vmtqn", **asked) for a in (y.detach().numpy(), y))
    assert not found.x.requires_grad
    assert apart(found, usual) < 1e-8
    assert found.history[-1].holdout == pytest.approx(usual.history[-1].holdout, rel=1e-8)


def test_a_transform_goes_from_one_run_to_the_next_and_into_a_file(tmp_path):
    x, known = array(TALL)
    y = torch.from_numpy(x)
    learned = qrank.complete(y, known, "vmtqn").transform
    again = qrank.complete(y, known, "tqn", q=learned)
    assert apart(again, qrank.complete(x, known, "tqn", q=learned.matrix)) < 1e-8
    learned.save(tmp_path / "q.npz")
    assert qrank.transforms.load(tmp_path / "q.npz").matrix.shape == (11, 11)


def test_nothing_missing_and_entries_that_nothing_determines():
    x, known = array(TALL)
    known[3] = False
    y = torch.from_numpy(x)
    assert torch.equal(qrank.complete(y, method="tnn").x, y)
    with pytest.warns(qrank.UndeterminedWarning, match="between the planes beside them"):
        found = qrank.complete(y, known, "tnn")
    np.testing.assert_allclose(found.x[3].numpy(), (found.x[2] + found.x[4]).numpy() / 2, rtol=1e-12)
    np.testing.assert_array_equal(found.undetermined.numpy(), (np.arange(12) == 3)[:, None, None] & ~known)


@pytest.mark.parametrize(
    ("make", "asked", "said"),
    [
        (lambda y: y.to("meta"), {}, "the device meta has no values"),
        (lambda y: y.to_sparse(), {}, "a dense tensor is needed"),
        (lambda y: y + 1j, {}, "complex arrays cannot be completed"),
        (lambda y: y, {"observed": torch.ones(12, 14, 11)}, "observed must be boolean"),
        (lambda y: y, {"observed": np.ones((3, 5), bool)}, "does not broadcast"),
        (lambda y: y / 0, {"method": "tnn"}, "is observed but"),
        (lambda y: y, {"method": "halrtc"}, "by vmtqn, motqn.*effort='fast'"),
        (lambda y: y, {"method": "auto"}, "method 'auto' is for NumPy arrays"),
        (lambda y: y, {"method": "joined"}, "method 'joined' is for NumPy arrays"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(make, asked, said):
    y = make(torch.from_numpy(array(TALL)[0]))
    with pytest.raises((qrank.InputError, qrank.KindError), match=said):
        qrank.complete(y, **{"method": "vmtqn", **asked})


def test_a_penalty_on_numpy_is_said():
    class Hard(Penalty):
        name = "hard"

        def prox(self, s, lam):
            return np.where(s > lam, s, 0)

    with pytest.raises(qrank.KindError, match="'hard' is written on NumPy"):
        kernels.of(torch.eye(3)).shrink(torch.ones(1, 3, 3), 0.1, Hard())


@pytest.mark.parametrize("n", [1, 2, 7, 8, 513, 514])
def test_transforms_are_numpys(n):
    t = np.random.default_rng(0).standard_normal((n, 2, 3))
    for name in ("fourier", "cosine"):
        for inverse in (False, True):
            usual = getattr(kernels.of(t), name)(t, inverse=inverse)
            found = getattr(kernels.of(torch.eye(2)), name)(torch.from_numpy(t), inverse=inverse)
            np.testing.assert_allclose(found.numpy(), usual, atol=1e-12)


def test_views_of_memory_are_numpys():
    x, view, offsets = (
        np.random.default_rng(0).standard_normal((9, 10, 11)),
        View((4, 1, 6), (1, 5), (2,), (0, 4)),
        (2, 0, 5),
    )
    host, device = kernels.of(x), kernels.of(torch.eye(2))
    stack, same = (
        host.arranged(x, view, offsets, Workspace()).copy(),
        device.arranged(torch.from_numpy(x), view, offsets, None),
    )
    np.testing.assert_array_equal(same.numpy(), stack)
    at = np.array([0, 17, 500, 989])
    np.testing.assert_array_equal(device.sampled(same, view, offsets, x.shape, at), x.reshape(-1)[at])
    back = device.add_arranged(torch.zeros(x.shape, dtype=torch.float64), same, view, offsets, 0.5)
    np.testing.assert_allclose(back.numpy(), x / 2)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("share", [2.0, 0.5, 0.05])
def test_the_prox_by_products_is_that_by_eigenvectors(dtype, share, monkeypatch):
    torch.manual_seed(0)
    a = torch.randn(3, 9, 14, dtype=getattr(torch, dtype))
    kind, lam = kernels.of(a), share * float(torch.linalg.matrix_norm(a[0], 2))
    usual = kind._shrink_slices(a, lam, Nuclear())
    monkeypatch.setattr(kind.xp, "on_cpu", False)  # what every other device does
    monkeypatch.setattr(kind.xp, "eigh", None)
    found = kind._shrink_slices(a, lam, Nuclear())
    tol = 1e-5 if dtype in ("float32", "complex64") else 1e-10
    for one, other in zip(found, usual, strict=True):
        torch.testing.assert_close(one, other, rtol=tol, atol=10 * tol)
    monkeypatch.undo()
    usual, _ = kind._shrink_slices(a, lam, LogSum())
    assert not torch.allclose(usual, found[0]) or share > 1


def test_no_array_leaves_the_device_in_the_loop(monkeypatch):
    """What comes to the host in a step is less than a slice."""
    x, known = array((30, 32, 9))
    kind, taken = kernels.of(torch.eye(2)), []
    host = kind.xp.host
    monkeypatch.setattr(kind.xp, "host", lambda a: taken.append(a.numel()) or host(a), raising=False)
    monkeypatch.setattr(torch.Tensor, "__array__", None)
    for method in ("vmtqn", "tnn", "views"):
        taken.clear()
        steps = []
        qrank.complete(
            torch.from_numpy(x), known, method, on_step=lambda _, s=steps: s.append(max(taken[-3:], default=0))
        )
        assert max(steps) < 30 * 32


def test_torch_is_not_imported_unasked():
    script = (
        "import sys, numpy as np, qrank; qrank.complete(np.eye(4), np.eye(4) < 1, 'tnn'); print('torch' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "False\n"
    )
