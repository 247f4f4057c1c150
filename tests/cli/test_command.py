"""The frame of the qrank command, and ``qrank methods``."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.main import get_command

import qrank
from cli.calling import call
from qrank.cli.app import app


def test_help_shows_examples_and_exit_codes():
    shown = " ".join(call("--help").output.split())
    assert "Example: qrank fill" in shown
    assert "130 aborted" in shown
    for name in ("fill", "compare", "inspect", "methods", "demo"):
        assert f"Example: qrank {name}" in " ".join(call(name, "--help").output.split())


def test_version_and_completion():
    assert call("--version").stdout.strip() == f"qrank {qrank.__version__}"
    assert "--install-completion" in call("--help").output


@pytest.mark.parametrize("given", [(), ("--quiet",), ("--json", "--grey")])
def test_flags_are_what_was_given(given):
    """A typer and a click that misunderstand each other read every flag as given: the version, and nothing written."""
    group = get_command(app)
    outer = group.make_context("qrank", ["fill", "in.npy", "-o", "out.npy", *given])
    assert not outer.params["version"]
    name, command, rest = group.resolve_command(outer, ["fill", "in.npy", "-o", "out.npy", *given])
    found = command.make_context(name, rest, parent=outer).params
    flags = {word: value for word, value in found.items() if isinstance(value, bool)}
    words = ("quiet", "json", "grey", "integer", "missing_alpha", "missing_files")
    assert flags == {word: f"--{word}" in given for word in words}
    assert (found["source"], found["output"], found["seed"], found["report"]) == ("in.npy", "out.npy", 0, None)


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


@pytest.mark.parametrize("module", ["numpy", "rich", "typer", "qrank.cli.app"])
def test_ctrl_c_during_start_up_is_one_line(module):
    """Ctrl-C while modules are imported, wherever it comes."""
    code = (
        "import sys\n"
        "class Pressed:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Pressed())\n"
        "from qrank_command import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "qrank: aborted; nothing was written\n"
