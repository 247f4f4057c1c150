"""The versions that `make test-oldest` installs are the oldest that pyproject.toml allows."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def release(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in version.split(".")]
    while numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def floors() -> dict[str, tuple[int, ...]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needs = [*project["dependencies"], *(need for name in (*extras_of_all(extras), "test") for need in extras[name])]
    return {
        name: release(floor)
        for need in needs
        if "[" not in need
        for name, floor in [need.partition(",")[0].split(">=")]
    }


def extras_of_all(extras: dict[str, list[str]]) -> list[str]:
    return re.findall(r"\w+", extras["all"][0].partition("[")[2])


def test_oldest_are_the_floors():
    lines = [line for line in (ROOT / ".ci/oldest.txt").read_text().splitlines() if not line.startswith("#")]
    pinned = {name: release(version) for name, version in (line.split("==") for line in lines)}
    assert pinned == floors()


def test_a_typer_that_newer_clicks_break_is_not_allowed():
    """With typer 0.12.5 and click 8.5.1 `qrank fill` printed the version, and nothing was written."""
    assert floors()["typer"] > release("0.12.5")
