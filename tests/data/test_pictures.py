"""Synthetic tensors, and the demo's clip."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import qrank
from qrank.data import clip, low_q_rank, observed, scenes
from qrank.tensor import unfold


def test_the_papers_tensor_is_a_projection_on_principal_directions():
    x = low_q_rank((20, 15, 10), r=3, rng=1)
    m = np.random.default_rng(1).normal(0, np.sqrt(1 / 10), (20, 15, 10))
    u, s, vt = np.linalg.svd(unfold(m, 2), full_matrices=False)
    assert np.allclose(unfold(x, 2), (u[:, :3] * s[:3]) @ vt[:3])
    with pytest.raises(qrank.InputError, match="r must lie"):
        low_q_rank((4, 4, 4), r=5)


def test_clip_has_cuts_and_is_repeatable():
    film = clip(30, 24, 32)
    assert film.shape == (30, 24, 32, 3)
    assert 0 <= film.min() <= film.max() <= 1
    assert (film == clip(30, 24, 32)).all()
    jumps = np.abs(np.diff(film, axis=0)).mean(axis=(1, 2, 3))
    assert 3 <= (jumps > 0.1).sum() <= 12
    assert np.median(jumps) < 0.05


def test_scenes_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    pictures = scenes(24, 32)
    assert [p.shape for p in pictures] == [(24, 32, 3)] * 4
    assert all(0 <= p.min() < p.max() <= 1 for p in pictures)


def test_the_demo_gains():
    truth = clip(30, 30, 40, colour=False).astype(np.float32)
    known = observed(truth.shape, 0.25, "random", (1, 2), 0)
    got = {m: qrank.metrics.psnr(qrank.complete(truth, known, m, (1, 2)).x, truth) for m in ("tnn", "vmtqn")}
    assert got["vmtqn"] > got["tnn"] + 3
