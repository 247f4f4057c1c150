"""The frame of the qrank command, and ``qrank methods``."""

from __future__ import annotations

import json
import subprocess
import sys

import qrank
from cli.calling import call


def test_help_shows_examples_and_exit_codes():
    shown = " ".join(call("--help").output.split())
    assert "Example: qrank fill" in shown
    assert "130 aborted" in shown
    for name in ("fill", "compare", "inspect", "methods", "demo"):
        assert f"Example: qrank {name}" in " ".join(call(name, "--help").output.split())


def test_version_and_completion():
    assert call("--version").stdout.strip() == f"qrank {qrank.__version__}"
    assert "--install-completion" in call("--help").output


def test_methods_lists_all():
    described = json.loads(call("methods", "--json").stdout)
    assert list(described) == list(qrank.METHODS)
    assert described["vmtqn"]["options"]["max_steps"] == qrank.METHODS["vmtqn"].options()["max_steps"]
    shown = call("methods").stdout
    assert all(name in shown for name in qrank.METHODS)


def test_without_its_packages_the_command_says_how_to_get_them():
    code = "import sys; sys.modules['typer'] = None; from qrank.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'qrank[cli]'" in done.stderr
