"""How the tests call the command."""

from __future__ import annotations

import pytest

pytest.importorskip("typer")
from typer.testing import CliRunner

from qrank.cli.app import app


def call(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


def one_line(result) -> str:
    """The only line on stderr."""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("qrank: ")
    assert "Traceback" not in result.output
    return lines[0]
