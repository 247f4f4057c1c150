"""Real data through operators of every kind: the figures of docs/measured.md are reached."""

import re
from pathlib import Path

import pytest
from benchmarks.measured import CASES, PAGE


def stated(about: str) -> tuple[float, float, float]:
    """The decibels that the page states, of the smallest array that agrees, of `auto` and of the method."""
    row = next(line for line in Path(PAGE).read_text(encoding="utf-8").splitlines() if line.startswith(f"| {about} "))
    simple, auto, found = map(float, re.findall(r"\| (\d+\.\d) (?=\|)", row))
    return simple, auto, found


@pytest.mark.parametrize("name", CASES)
def test_the_page_states_a_gain(name):
    simple, auto, found = stated(CASES[name].about)
    assert min(auto, found) > simple + 2


@pytest.mark.data
@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_the_stated_figure_is_reached(name, data):
    simple, auto, found = stated(CASES[name].about)
    again = CASES[name].measured(data)
    assert again["value"] == pytest.approx(found, abs=0.3)
    assert again["auto"] == pytest.approx(auto, abs=0.3)
    assert again["simple"] == pytest.approx(simple, abs=0.1)
