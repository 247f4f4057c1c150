"""A prior, a fit, a penalty, a transform and a kind of array that the package does not have, each made here and run.

CONTRIBUTING.md shows each of them; what stands there is what stands here.
"""

from dataclasses import dataclass
from typing import ClassVar

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


@pytest.fixture
def clip(rng):
    x = np.repeat(low_rank(rng, (20, 18, 4), rank=1, directions=2), 4, axis=2)
    return x, rng.random(x.shape) < 0.6


# ------------------------------------------------------------------------------------------------------------- a prior


@dataclass(frozen=True)
class Smooth(Prior):
    """X = argmin_X lam/2 sum ||difference along the third mode||^2 + 1/2 ||X - T||_F^2: a linear system."""

    def size(self, t, state):
        return 10.0

    def __call__(self, t, lam, state, work):
        step = np.diff(np.eye(len(t)), axis=0)
        x = np.linalg.solve(np.eye(len(t)) + lam * step.T @ step, t.reshape(len(t), -1)).reshape(t.shape)
        return Proxed(x, state, lam / 2 * float(np.square(np.diff(x, axis=0)).sum()), len(t), len(t))


@dataclass(frozen=True, kw_only=True, eq=False)
class SmoothAlong(Recipe):
    name: ClassVar[str] = "smooth"
    about: ClassVar[str] = "smooth along the third mode"

    def prior(self, problem):
        return Smooth()


def test_a_prior_of_ones_own(monkeypatch):
    monkeypatch.setitem(METHODS, "smooth", SmoothAlong)  # the line of registration
    x = np.sin(np.linspace(0, 3, 30))[None, None] * np.ones((5, 6, 1))
    observed = np.random.default_rng(0).random(x.shape) < 0.6
    observed[:, :, [0, -1]] = True
    result = qrank.complete(x, observed, "smooth", tol=1e-6)
    assert np.abs(result.x - x).max() < 0.05
    np.testing.assert_array_equal(result.x[observed], x[observed])


# --------------------------------------------------------------------------------------------------------------- a fit


@dataclass(frozen=True)
class Within(Fit):
    """Known values were rounded: X within half a unit of Y on Omega."""

    unit: float = 1.0

    def __call__(self, problem, t, x, lam, lam_next, state, work):
        half = self.unit / 2 / problem.scale
        u = x - t if state is None else x + state  # X + U
        w = np.where(problem.mask, np.clip(u, problem.stack - half, problem.stack + half), x)
        u = np.where(problem.mask, u - w, 0) * (lam_next / lam)
        size = problem.size
        return Agreed(w - u, u, float(np.linalg.norm(x - w)) / size, 0.0, float(np.linalg.norm(w - t)) / size)

    def answer(self, problem, t, state, work):
        return t if state is None else t + state


@dataclass(frozen=True, kw_only=True, eq=False)
class Rounded(VMTQN):
    name: ClassVar[str] = "rounded"
    about: ClassVar[str] = "vmtqn of values that were rounded"
    unit: float = 1.0

    @property
    def fit(self):
        return Within(unit=self.unit)


def test_a_fit_of_ones_own(clip, monkeypatch):
    monkeypatch.setitem(METHODS, "rounded", Rounded)
    x, observed = clip
    y = np.round(x)
    rounded = qrank.complete(y, observed, "rounded", tol=1e-4, max_steps=300)
    exact = qrank.complete(y, observed, "vmtqn", tol=1e-4)
    assert np.abs(rounded.x - y)[observed].max() < 0.51
    assert qrank.metrics.psnr(rounded.x, x) > qrank.metrics.psnr(exact.x, x) + 1


# ----------------------------------------------------------------------------------------------------------- a penalty


@dataclass(frozen=True)
class Hard(Penalty):
    """g is constant beyond 0: prox keeps what is above lam as it is."""

    name: ClassVar[str] = "hard"

    def prox(self, s, lam):
        return np.where(s > lam, s, 0)

    def envelope(self, s, lam):
        return np.minimum(s * s, lam * lam) / (2 * lam)


def test_a_penalty_of_ones_own(clip, monkeypatch):
    monkeypatch.setitem(PENALTIES, "hard", Hard)
    x, observed = clip
    result = qrank.complete(x, observed, "tnn", penalty="hard")
    assert qrank.metrics.relative_error(result.x, x) < 0.01
    assert "hard" in str(qrank.METHODS["vmtqn"].configured(penalty="hard")).lower()


# --------------------------------------------------------------------------------------------------------- a transform


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


class TNNHaar(FixedQ):
    name: ClassVar[str] = "tnn-haar"
    about: ClassVar[str] = "tensor nuclear norm with sums and differences"

    def transform(self, n3):
        return Haar(n3)


def test_a_transform_of_ones_own(clip, monkeypatch):
    monkeypatch.setitem(METHODS, "tnn-haar", TNNHaar)
    x, observed = clip
    q = Haar(16).matrix
    np.testing.assert_allclose(q.T @ q, np.eye(16), atol=1e-12)
    own = qrank.complete(x, observed, "tnn-haar")
    given = qrank.complete(x, observed, "tqn", q=q)
    np.testing.assert_allclose(own.x, given.x, atol=1e-6)
    assert isinstance(own.transform, Haar)


# ----------------------------------------------------------------------------------------------------- a kind of array


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
