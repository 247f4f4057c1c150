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
from qrank.kernels import Kernels, host
from qrank.kernels.advance import Residuals
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
    monkeypatch.setitem(METHODS, "smooth", page["SmoothAlong"])  # the line of registration
    x = np.sin(np.linspace(0, 3, 30))[None, None] * np.ones((5, 6, 1))
    observed = np.random.default_rng(0).random(x.shape) < 0.6
    observed[:, :, [0, -1]] = True
    result = qrank.complete(x, observed, "smooth", tol=1e-6)
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


class Plain(np.ndarray):
    """Arrays on which everything is done as the textbook has it, by one call of NumPy."""


class PlainKernels(Kernels):
    """All operations, none of them NumPy's fast ones."""

    def __init__(self):
        self.calls = []

    def known(self, array, observed):
        return host.Host().known(np.asarray(array), observed)

    def values(self, array):
        return np.array(array, dtype=float).view(Plain)

    def scaled(self, values, known, layout):
        y = np.where(layout.inner(known), layout.inner(values), 0).copy().view(Plain)
        return y, np.ascontiguousarray(layout.inner(known)), 0

    def unscaled(self, x, layout, exponent):
        return np.ascontiguousarray(layout.outer(x)).view(Plain)

    def typed(self, x, array):
        return x

    def keep(self, x, array, known):
        return np.where(known, array, x).view(Plain)

    def like(self, x, array):
        return x

    def empty(self, shape, dtype):
        return np.empty(shape, dtype).view(Plain)

    def copy(self, t, out=None):
        return np.array(t).view(Plain)

    def norm(self, t):
        return float(np.linalg.norm(t))

    def product(self, m, t, out=None):
        self.calls.append("product")
        return np.tensordot(np.asarray(m), t, 1).view(Plain)

    def matmul(self, a, b, out=None):
        return np.matmul(a, b).view(Plain)

    def shrink(self, g, lam, penalty, multiplicity=None, energies=None):
        self.calls.append("shrink")
        u, s, vh = np.linalg.svd(np.asarray(g), full_matrices=False)
        x = penalty.prox(s, lam)
        g[...] = (u * x[:, None, :]) @ vh
        return Shrunk(float(x.sum()), float(penalty.envelope(s, lam).sum()), (x > 0).sum(axis=1))

    def spectral_norm(self, g):
        return float(np.linalg.svd(np.asarray(g), compute_uv=False).max())

    def advance(self, t, x, y, observed, ratio, last=None):
        self.calls.append("advance")
        gap, z = np.where(observed, y - x, 0), np.where(observed, t - x, 0)
        moved = np.where(observed, 0, t - x)
        x[...] = np.where(observed, y + ratio * z, x)
        return Residuals(*(float(np.linalg.norm(a)) for a in (gap, moved, z)), 0.0, 0.0)

    def short_side(self, t, lam, r, work):
        self.calls.append("short_side")
        flat = np.asarray(t).reshape(len(t), -1)
        flat = flat.T if flat.shape[1] <= len(flat) else flat
        u, s, _ = np.linalg.svd(flat, full_matrices=False)
        return u.T[:r], s[:r], False

    def from_left(self, g, rows, s, t, work):
        flat = np.asarray(t).reshape(len(t), -1)
        q = flat @ rows.T / s
        return np.tensordot(q, g, 1).view(Plain)

    def principal(self, t, r, out=None, work=None):
        u, s, _ = np.linalg.svd(np.asarray(t).reshape(len(t), -1), full_matrices=False)
        return u[:, :r], s[:r]

    def under_principal(self, t, r):
        return self.product(self.principal(t, r)[0].T, t)


@pytest.mark.parametrize("method", ["vmtqn", "views"])
@pytest.mark.parametrize(("axes", "rows"), [((0, 1), 20), ((2, 1), 20), ((0, 1), 6)])
def test_a_kind_of_array_of_ones_own(method, axes, rows, clip, monkeypatch):
    own = PlainKernels()
    monkeypatch.setattr(kernels, "_kinds", [])
    kernels.register(Plain, own)
    x, observed = (a[:rows, : 2 if rows < 20 else None] for a in clip)
    options = {"penalty": "nuclear", "tol": 1e-4}
    usual = qrank.complete(x, observed, method, axes, **options)
    found = qrank.complete(x.view(Plain), observed, method, axes, **options)
    assert type(found.x) is Plain
    assert {"short_side", "shrink"} <= set(own.calls)
    assert own.calls.count("advance") == len(found.history) == len(usual.history)
    np.testing.assert_allclose(np.asarray(found.x), usual.x, atol=1e-6)
