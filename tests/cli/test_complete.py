"""What a shell offers after Tab, asked as a shell asks."""

from __future__ import annotations

import pytest

pytest.importorskip("typer")
from typer.testing import CliRunner

from qrank.cli.app import app
from qrank.data.patterns import PATTERNS
from qrank.methods import METHODS
from qrank.methods.auto import EFFORTS


def offered(*words):
    """The words that Bash is given for the last one, which is not finished."""
    line = {
        "COMP_WORDS": " ".join(["qrank", *words]),
        "COMP_CWORD": str(len(words)),
        "_QRANK_COMPLETE": "complete_bash",
    }
    return CliRunner().invoke(app, [], env=line, prog_name="qrank").stdout.split()


def test_methods():
    assert offered("fill", "--method", "") == list(METHODS)
    assert offered("fill", "--method", "vm") == ["vmtqn"]
    assert offered("compare", "--methods", "tnn,vm") == ["tnn,vmtqn"]


def test_efforts_and_patterns():
    assert offered("fill", "--effort", "") == list(EFFORTS)
    assert offered("compare", "--pattern", "") == [*PATTERNS, "mask:"]


def test_presets_are_those_of_the_method():
    assert offered("fill", "--method", "vmtqn", "--preset", "") == ["default", "paper"]
    assert offered("fill", "--preset", "") == ["default"]  # auto has no other


def test_options_are_those_of_the_method():
    assert offered("fill", "--method", "tmac", "--option", "rank") == [
        f"{name}=" for name in METHODS["tmac"].options() if name.startswith("rank")
    ]
    assert offered("fill", "--option", "eff") == ["effort="]
    assert offered("fill", "--option", "rho") == []
    assert "rho=" in offered("compare", "--methods", "vmtqn,tnn", "--option", "r")


def test_values_that_have_names_are_offered():
    assert "penalty=log-sum" in offered("fill", "--method", "vmtqn", "--option", "penalty=l")
    assert offered("fill", "--option", "effort=b") == ["effort=balanced", "effort=best"]
    assert offered("fill", "--method", "vmtqn", "--option", "tol=") == []
    assert offered("fill", "--method", "views", "--option", "judged=") == ["judged=true", "judged=false"]


def test_half_a_name_of_a_method_offers_the_options_of_all():
    assert "rho=" in offered("fill", "--method", "vmt", "--option", "rh")
