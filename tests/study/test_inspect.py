"""inspect(): what is missing is counted, spectra are right, and the choice is explained."""

from __future__ import annotations

import json

import numpy as np
import pytest

from qrank import complete
from qrank.data import low_q_rank, observed
from qrank.study.inspect import inspect

X = low_q_rank((20, 18, 12), r=2, rng=0)


def test_empty_parts_are_counted():
    known = np.ones(X.shape, bool)
    known[:, :, 3] = False  # a slice
    known[4, :, 0] = False  # a row
    known[:, 5, 1] = False  # a column
    known[7, 8, :] = False  # a fibre
    found = inspect(X, known)
    assert found.empty == {"fibres": 1, "rows": 1, "columns": 1, "slices": 1}
    assert found.of == {"fibres": 360, "rows": 240, "columns": 216, "slices": 12}
    assert found.missing == int((~known).sum())
    assert sum("cannot fill" in line for line in found.lines()) == 3


@pytest.mark.parametrize(
    ("pattern", "says"),
    [("random", "scattered"), ("fibres", "whole fibres"), ("frames", "whole slices"), ("blocks", "in blocks")],
)
def test_pattern_is_named(pattern, says):
    known = observed((40, 40, 6), 0.6, pattern, rng=0)
    found = inspect(low_q_rank((40, 40, 6), r=2, rng=0), known)
    assert says in found.pattern


def test_spectra_keep_the_energy_and_find_the_rank():
    found = inspect(X)
    energies = {name: float(np.square(s.values).sum()) for name, s in found.spectra.items()}
    assert list(found.spectra) == ["learned", "Fourier", "cosine", "wavelet", "identity"]
    for energy in energies.values():
        assert energy == pytest.approx(energies["identity"])
    values = found.spectra["learned"].values
    assert np.count_nonzero(values > 1e-9 * values[0]) == 2 * 18  # two slices of full rank
    assert found.spectra["identity"].nuclear == 1
    for name in ("Fourier", "cosine", "wavelet", "identity"):
        assert found.spectra["learned"].nuclear < 0.8 * found.spectra[name].nuclear
    assert found.choice is not None
    assert found.choice.trials[0].name == found.method


def test_range_is_that_of_known_entries():
    y = X.copy()
    y[0, 0, 0] = np.nan
    found = inspect(y)
    assert (found.low, found.high) == (np.nanmin(y), np.nanmax(y))
    assert found.missing == 1


def test_it_shows_what_auto_takes():
    """The same candidates, errors and weights as in a completion of the same array."""
    known = observed(X.shape, 0.6, rng=0)
    found, done = inspect(X, known), complete(X, known)
    assert found.choice is not None
    assert done.choice is not None
    told = [(one.name, one.error, one.weight) for one in done.choice.trials]
    assert [(one.name, one.error, one.weight) for one in found.choice.trials] == told
    assert found.slice_axes == done.slice_axes
    lines = "\n".join(found.lines())
    assert all(one.name in lines for one in done.choice.trials)


def test_too_little_to_try_on():
    y = np.full((3, 3), np.nan)
    y[0, :2] = 1, 2
    found = inspect(y)
    assert found.choice is None
    assert found.method == "auto"
    assert "too little" in found.lines()[-1]


def test_command_with_plot(tmp_path):
    pytest.importorskip("typer")
    pytest.importorskip("matplotlib")
    from typer.testing import CliRunner

    from qrank.cli.app import app

    y = np.where(observed(X.shape, 0.7, rng=0), X, np.nan)
    np.save(tmp_path / "y.npy", y)
    result = CliRunner().invoke(app, ["inspect", str(tmp_path / "y.npy"), "--plot", str(tmp_path / "s.png")])
    assert result.exit_code == 0, result.output
    assert "candidates" in result.stdout
    assert (tmp_path / "s.png").read_bytes()[:4] == b"\x89PNG"
    told = json.loads(CliRunner().invoke(app, ["inspect", str(tmp_path / "y.npy"), "--json"]).stdout)
    assert told["missing"] == int(np.isnan(y).sum())
    refused = CliRunner().invoke(app, ["inspect", str(tmp_path / "y.npy"), "--plot", str(tmp_path / "s.txt")])
    assert refused.exit_code == 2
