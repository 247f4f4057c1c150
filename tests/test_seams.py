"""A prior, a fit, a penalty, a transform and a kind of array that the package does not have, made outside of it and run.

The code of the first four is that of CONTRIBUTING.md.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import qrank
from conftest import low_rank
from qrank import kernels
from qrank.fit import Agreed, Fit
from qrank.kernels import Kernels, arrange, smoothing
from qrank.kernels.advance import Residuals
from qrank.kernels.memory import Workspace
from qrank.kernels.shrink import Shrunk
from qrank.methods import METHODS
from qrank.methods.fixed import FixedQ
from qrank.methods.tqn import VMTQN, Recipe
from qrank.penalties import PENALTIES, Penalty
from qrank.priors import Prior, Proxed
from qrank.transforms import Transform


@dataclass(frozen=True)
class Haar(Transform):
    """Sums and differences of neighbours, for an even third mode."""

    n3: int

    @property
    def r(self):
        return self.n3

    def forward(self, t, out=None):
        g = np.concatenate([t[::2] + t[1::2], t[::2] - t[1::2]]) / np.sqrt(2)
        return kernels.of(t).copy(g, out)

    def backward(self, g, out=None):
        half = len(g) // 2
        t = np.empty_like(g)
        t[::2], t[1::2] = (g[:half] + g[half:]) / np.sqrt(2), (g[:half] - g[half:]) / np.sqrt(2)
        return kernels.of(g).copy(t, out)


@pytest.fixture(scope="module")
def page():
    """What the code blocks of CONTRIBUTING.md define."""
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names = {"np": np, "Prior": Prior, "Proxed": Proxed, "Recipe": Recipe, "Fit": Fit, "Agreed": Agreed, "VMTQN": VMTQN}
    names |= {"Penalty": Penalty, "FixedQ": FixedQ, "Haar": Haar, "__name__": "contributing"}
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(block, names)
    return names


@pytest.fixture
def clip(rng):
    x = np.repeat(low_rank(rng, (20, 18, 4), rank=1, directions=2), 4, axis=2)
    return x, rng.random(x.shape) < 0.6


def test_a_prior_of_ones_own(page, monkeypatch):
    monkeypatch.setitem(METHODS, "smooth-along", page["SmoothAlong"])  # the line of registration
    x = np.sin(np.linspace(0, 3, 30))[None, None] * np.ones((5, 6, 1))
    observed = np.random.default_rng(0).random(x.shape) < 0.6
    observed[:, :, [0, -1]] = True
    result = qrank.complete(x, observed, "smooth-along", tol=1e-6)
    assert np.abs(result.x - x).max() < 0.05
    np.testing.assert_array_equal(result.x[observed], x[observed])


def test_a_fit_of_ones_own(page, clip, monkeypatch):
    monkeypatch.setitem(METHODS, "rounded", page["Rounded"])
    x, observed = clip
    y = np.round(x)
    rounded = qrank.complete(y, observed, "rounded", tol=1e-4, max_steps=300)
    exact = qrank.complete(y, observed, "vmtqn", tol=1e-4)
    assert np.abs(rounded.x - y)[observed].max() < 0.51
    assert qrank.metrics.psnr(rounded.x, x) > qrank.metrics.psnr(exact.x, x) + 1


def test_a_penalty_of_ones_own(page, clip, monkeypatch):
    monkeypatch.setitem(PENALTIES, "hard", page["Hard"])
    x, observed = clip
    result = qrank.complete(x, observed, "tnn", penalty="hard")
    assert qrank.metrics.relative_error(result.x, x) < 0.01
    assert "hard" in str(qrank.METHODS["vmtqn"].configured(penalty="hard")).lower()


def test_a_transform_of_ones_own(page, clip, monkeypatch):
    monkeypatch.setitem(METHODS, "tnn-haar", page["TNNHaar"])
    x, observed = clip
    q = Haar(16).matrix
    np.testing.assert_allclose(q.T @ q, np.eye(16), atol=1e-12)
    own = qrank.complete(x, observed, "tnn-haar")
    given = qrank.complete(x, observed, "tqn", q=q)
    np.testing.assert_allclose(own.x, given.x, atol=1e-6)
    assert isinstance(own.transform, Haar)


class Boxed:
    """An array that NumPy cannot see into: whoever takes it for one of its own gets an error, not a silent copy."""

    def __init__(self, a):
        self.a = a

    def __array__(self, *_, **__):
        raise TypeError("this array is none of NumPy's")

    __array_ufunc__ = None
    shape = property(lambda self: self.a.shape)
    dtype = property(lambda self: self.a.dtype)
    T = property(lambda self: Boxed(self.a.T))

    def __len__(self):
        return len(self.a)

    def reshape(self, *shape):
        return Boxed(self.a.reshape(*shape))

    def __getitem__(self, key):
        return Boxed(self.a[key])

    def __setitem__(self, key, value):
        self.a[key] = unboxed(value)

    def __mul__(self, other):
        return Boxed(self.a * unboxed(other))

    def __iadd__(self, other):
        self.a += unboxed(other)
        return self

    def __imul__(self, other):
        self.a *= unboxed(other)
        return self


def unboxed(value):
    return value.a if isinstance(value, Boxed) else value


class BoxedKernels(Kernels):
    """The operations as the textbook has them, each by a call of NumPy on what is in the boxes."""

    def __init__(self):
        self.calls = []

    def known(self, array, observed):
        return np.broadcast_to(observed, array.shape)

    def values(self, array):
        return array

    def scaled(self, values, known, layout):
        known = np.ascontiguousarray(layout.inner(known))
        return Boxed(np.where(known, layout.inner(values.a), 0)), known, 0

    def unscaled(self, x, layout, exponent):
        return Boxed(np.ascontiguousarray(layout.outer(x.a)))

    def typed(self, x, array):
        return x

    def like(self, x, array):
        return x

    def keep(self, x, array, known):
        return Boxed(np.where(known, array.a, x.a))

    def empty(self, shape, dtype):
        return Boxed(np.empty(shape, dtype))

    def eps(self, t):
        return 2.0**-52

    def copy(self, t, out=None):
        return Boxed(np.array(t.a))

    def arranged(self, x, view, offsets, work):
        return Boxed(arrange.arranged(x.a, view, offsets, Workspace()))

    def add_arranged(self, total, stack, view, offsets, weight):
        return Boxed(arrange.add_arranged(total.a.copy(), stack.a, view, offsets, weight))

    def smooth_fill(self, y, observed):
        return Boxed(smoothing.smooth_fill(y.a, observed))

    def smoothness(self, y, observed):
        return smoothing.smoothness(y.a, observed)

    def spread(self, y, observed):
        return float(y.a[observed].std())

    def single(self, t):
        return Boxed(t.a.astype(np.float32))

    def cast(self, t, y):
        return Boxed(unboxed(t).astype(y.dtype))

    def norm(self, t):
        return float(np.linalg.norm(t.a))

    def product(self, m, t, out=None):
        return Boxed(np.tensordot(unboxed(m), t.a, 1))

    def shrink(self, g, lam, penalty, multiplicity=None, energies=None):
        self.calls.append("shrink")
        u, s, vh = np.linalg.svd(g.a, full_matrices=False)
        x = penalty.prox(s, lam)
        shrunk = Boxed((u * x[:, None, :]) @ vh)  # an array of its own: nobody may count on g
        return Shrunk(float(x.sum()), float(penalty.envelope(s, lam).sum()), (x > 0).sum(axis=1), shrunk)

    def spectral_norm(self, g, multiplicity=None):
        return float(np.linalg.svd(g.a, compute_uv=False).max())

    def advance(self, t, x, y, observed, ratio, last=None, relax=0.0, more=0.0):
        self.calls.append("advance")
        gap, z, moved = (
            np.where(where, a, 0) for where, a in ((observed, y.a - x.a), (observed, t.a - x.a), (~observed, t.a - x.a))
        )
        following = Boxed(np.where(observed, y.a + ratio * (z + more * gap), x.a - relax * moved))
        return Residuals(*(float(np.linalg.norm(a)) for a in (gap, moved, z)), 0.0, 0.0, following)

    def _sides(self, t):
        return np.linalg.svd(t.a.reshape(len(t), -1), full_matrices=False)

    def short_side(self, t, lam, r, work):
        self.calls.append("short_side")
        u, s, vh = self._sides(t)
        tall = len(t) < t.shape[1] * t.shape[2]
        return Boxed((u.T if tall else vh)[:r]), Boxed(s[:r]), False

    def under_left(self, rows, s, t, work):
        return Boxed((rows.a * s.a[:, None]).reshape(-1, *t.shape[1:]))

    def from_left(self, g, rows, s, t, work):
        q = t.a.reshape(len(t), -1) @ rows.a.T / s.a
        return Boxed(np.tensordot(q, g.a, 1))

    def principal(self, t, r, out=None, work=None):
        u, s, _ = self._sides(t)
        return u[:, :r], s[:r]

    def under_principal(self, t, r):
        return self.product(self.principal(t, r)[0].T, t)


@pytest.mark.parametrize("method", ["vmtqn", "views", "slicewise"])
@pytest.mark.parametrize(("axes", "rows"), [((0, 1), 20), ((2, 1), 20), ((0, 1), 6)])
def test_a_kind_of_array_of_ones_own(method, axes, rows, clip, monkeypatch):
    """Nothing above the kernels knows what an array is: the same answer, and never a NumPy array in between."""
    own = BoxedKernels()
    monkeypatch.setattr(kernels, "_kinds", [])
    kernels.register(Boxed, own)
    x, observed = (a[:rows, : 2 if rows < 20 else None] for a in clip)
    options = {"penalty": "nuclear", "tol": 1e-4} | ({"steps": 12} if method == "views" else {})
    usual = qrank.complete(x, observed, method, axes, **options)
    found = qrank.complete(Boxed(x), observed, method, axes, **options)
    assert isinstance(found.x, Boxed)
    assert own.calls.count("advance") == len(found.history) == len(usual.history)
    told = ~usual.undetermined  # what is interpolated afterwards is so for NumPy's arrays only
    np.testing.assert_allclose(
        found.x.a[told], usual.x[told], atol=1e-6 if method != "views" else 1e-4
    )  # in single precision
    np.testing.assert_array_equal(found.x.a[observed], x[observed])


def test_what_a_kind_cannot_do_is_said_in_a_sentence(clip, monkeypatch):
    monkeypatch.setattr(kernels, "_kinds", [])
    kernels.register(Boxed, BoxedKernels())
    x, observed = clip
    with pytest.raises(qrank.KindError, match="BoxedKernels has no fourier"):
        qrank.complete(Boxed(x), observed, "tnn")
