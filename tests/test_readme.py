"""The README: short, current, and every code block of it and of the first how-to pages runs, in one folder each."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import qrank

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SCREENS = 100  # lines: two screens


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files of a person who follows the pages."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    clip = qrank.data.clip(frames=6, height=16, width=24)
    qrank.write("film.mp4", np.uint8(255 * clip))
    scratches = (np.abs(np.arange(16)[:, None] - 8) < 1) & (np.arange(24) > 9)
    qrank.write("scratches.png", np.uint8(255 * scratches))
    np.save("cube.npy", np.where(rng.random(clip.shape[:3]) < 0.4, clip[..., 0], np.nan))
    hours = pd.date_range("2024-01-01", periods=120, freq="h", name="time")
    table = pd.DataFrame(np.outer(np.sin(np.arange(120) / 12 * np.pi), [1.0, 3, 500]), hours, ["a", "b", "c"])
    table = table.mask(rng.random(table.shape) < 0.2)
    table.to_csv("sensors.csv")
    long = table.melt(var_name="sensor", ignore_index=False).dropna()
    long.to_csv("long.csv")
    return tmp_path


def run_line(line: str, folder: Path) -> None:
    """Run a line of a shell block; what would set up, test or measure for hours is checked without doing it."""
    words = shlex.split(line, comments=True)
    if words[0] == "make":
        command, folder = ["make", "-n", *words[1:]], ROOT
    elif "pip" in words:
        assert words[: words.index("pip")] == ["python3", "-m", "venv", ".venv", "&&", ".", ".venv/bin/activate", "&&"]
        extras = set(re.findall(r"\[(.*)\]", words[-1])[0].split(","))
        assert extras <= set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
        return
    else:
        assert words[0] == "qrank", line
        command = [sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}\n{done.stderr}"


@pytest.mark.filterwarnings("ignore::qrank.ConvergenceWarning", "ignore::qrank.UndeterminedWarning")
@pytest.mark.parametrize("page", ["README.md", "docs/how-to/python.md", "docs/how-to/tables.md"])
def test_every_block_runs(page, folder):
    names: dict = {}
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    for language, text in blocks:
        if language == "python":
            exec(compile(text, page, "exec"), names)
        else:
            assert language == "sh", f"a block of {language} is not run"
            for line in text.strip().splitlines():
                run_line(line, folder)
    if page == "README.md":
        assert all((folder / name).stat().st_size for name in ("whole.mp4", "whole.csv", "errors.csv"))
        assert (folder / "page.html").stat().st_size > 10_000
        assert not pd.read_csv("whole.csv").isna().any(axis=None)


def test_it_is_two_screens_in_the_order_of_a_stranger():
    assert len(README.splitlines()) <= SCREENS
    marks = [
        *("docs/demo.png", "make demo", "make test", "pip install", "## Three recipes", "## Use it when"),
        *("**Do not use it**", "## How good, how fast", "docs/accuracy.md", "docs/speed.md", "## Where to go on"),
    ]
    places = [README.index(mark) for mark in marks]
    assert places == sorted(places)


def test_the_map_names_what_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    text = text[text.index("## Map of the source") : text.index("## The rooms")]
    for name in re.findall(r"[\w/]+\.py", text):
        found = list((ROOT / "src" / "qrank").rglob(name)) + list((ROOT / "benchmarks").glob(name))
        assert found, name
    rooms = {path.name for path in (ROOT / "src" / "qrank").iterdir() if (path / "__init__.py").exists()}
    assert rooms <= set(re.findall(r"(\w+)/", text))


def test_the_tables_are_those_of_the_pages(monkeypatch):
    """What `python -m benchmarks.readme` would write is what is there."""
    from benchmarks import readme

    monkeypatch.chdir(ROOT)
    assert README.count("<!-- from docs/") == 2
    assert readme.filled(README) == README
    for page in ("docs/accuracy.md", "docs/speed.md"):
        shown = README[README.index(f"<!-- from {page}") :]
        assert shown[: shown.index("<!-- end -->")].count("\n|") >= 3, f"no table of {page}"
