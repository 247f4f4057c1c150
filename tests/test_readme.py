"""Every code block of the README runs, in the order in which they stand and in one folder."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)


def run_line(line: str, folder: Path) -> None:
    """Run a line of a shell block; what would set up, test or measure for hours is checked without doing it."""
    words = shlex.split(line, comments=True)
    if words[0] == "make":
        command, folder = ["make", "-n", *words[1:]], ROOT
    elif words[0] == "pip":
        extras = set(re.findall(r"\[(.*)\]", words[-1])[0].split(","))
        assert extras <= set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
        return
    elif words[0] == "python":
        command, folder = [sys.executable, *words[1:3], "--help"], ROOT
    else:
        command = [sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}\n{done.stderr}"


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning")
def test_every_block_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for language, text in BLOCKS:
        if language == "python":
            exec(compile(text, "README.md", "exec"), names)
        else:
            assert language == "sh", f"a block of {language} is not run"
            for line in text.strip().splitlines():
                run_line(line, tmp_path)
    assert (tmp_path / "page.html").stat().st_size > 10_000
    assert (tmp_path / "whole.png").exists()
    assert (tmp_path / "comparison").is_dir()


def test_the_order_of_the_readme():
    text = (ROOT / "README.md").read_text()
    marks = [
        "docs/demo.png",
        "make demo",
        "In five lines",
        "## Methods",
        "## Files",
        "## Large data",
        "## Measured",
        "## Map",
    ]
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert (ROOT / "docs" / "demo.png").exists()


def test_the_map_names_what_is_there():
    text = (ROOT / "README.md").read_text()
    for name in re.findall(r"[\w/]+\.py", text[text.index("## Map") :]):
        found = list((ROOT / "src" / "qrank").rglob(name)) + list((ROOT / "benchmarks").glob(name))
        assert found, name


def test_the_tables_are_those_of_the_pages(monkeypatch):
    """What `python -m benchmarks.readme` would write is what is there."""
    from benchmarks import readme

    monkeypatch.chdir(ROOT)
    text = (ROOT / "README.md").read_text()
    assert "<!-- from docs/reproduction.md" in text
    assert readme.filled(text) == text
