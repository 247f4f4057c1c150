"""The script that makes mutants: they are made, they are killed by tests that see them, and live where none does."""

import ast
import json
import os
import subprocess
import sys

import mutants
import pytest
from mutants import Mutant, Results

SOURCE = '''"""One function."""


def larger(a: int, b: int = 3) -> int:
    """Return the larger one of two.

    >>> larger(2, 1)
    2
    """
    return a if a > b and not b < -1 else b + 0
'''


def test_every_kind_of_change_is_made_once_and_is_python():
    found = mutants.mutants("one.py", SOURCE)
    changed = {one.change for one in found}
    assert {
        "Gt -> GtE",
        "Gt -> LtE",
        "And -> Or",
        "without not",
        "without -",
        "Add -> Sub",
        "3 -> 4",
        "3 -> 2",
    } <= changed
    assert len({one.name for one in found}) == len(found)
    plain = ast.unparse(ast.parse(SOURCE))
    for one in found:
        assert ast.unparse(ast.parse(one.source)) == one.source != plain
        lines = zip(one.source.splitlines(), plain.splitlines(), strict=True)
        assert sum(a != b for a, b in lines) == 1


def test_the_sample_is_the_same_whatever_else_is_in_the_file():
    few = mutants.mutants("one.py", SOURCE, 5)
    assert len(few) == 5
    assert set(few) < set(mutants.mutants("one.py", SOURCE))
    more = mutants.mutants("one.py", SOURCE.replace('"""One function."""', '"""One."""\n\nimport math'), 5)
    assert [one.name for one in more] == [one.name for one in few]


DRIVER = """
import json, sys, pytest
from pathlib import Path
from mutants import Bench

folder = Path(sys.argv[1])
bench = Bench(folder / "copy", folder, Path("src/mutated_package"))
source, test = bench.file("one.py").read_text(), str(folder / "test_larger.py")
found = [bench.tried("one.py", source.replace(old, new), [test], limit) for old, new, limit in json.loads(sys.argv[2])]
assert bench.file("one.py").read_text() == source
print(json.dumps(found))
"""


@pytest.mark.skipif(sys.platform not in ("linux", "freebsd"), reason="needs a system that can fork")
def test_a_mutant_is_killed_by_a_test_that_sees_it_and_only_by_such(tmp_path):
    """In a Python of its own: this one may have threads, and a fork would not."""
    package = tmp_path / "src" / "mutated_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text(SOURCE)
    test = "from mutated_package.one import larger\n\n\ndef test_it():\n    assert larger(5) == 5\n"
    (tmp_path / "test_larger.py").write_text(test)
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    changes = [
        ("a > b", "a > b", 60),
        ("a > b", "a <= b", 60),
        ("b + 0", "b - 0", 60),
        ("    return", "    while True: pass\n    return", 2),
    ]
    assert all(old in SOURCE for old, _, _ in changes)
    run = [sys.executable, "-c", DRIVER, str(tmp_path), json.dumps(changes)]
    around = {**os.environ, "PYTHONPATH": str(mutants.ROOT / "tests" / "mutation")}
    found = subprocess.run(run, env=around, capture_output=True, text=True, check=True).stdout
    assert json.loads(found) == ["survived", "killed", "survived", "killed by time"]
    assert (package / "one.py").read_text() == SOURCE


def test_results_are_kept_as_long_as_they_hold(tmp_path):
    path = tmp_path / "results.json"
    killed, lives = Mutant("a.py", "x", "1 -> 2", "x2"), Mutant("a.py", "y", "1 -> 2", "y2")
    results = Results(path)
    results.put(killed, "tests", "killed")
    results.put(lives, "tests", "survived")
    again = Results(path)
    assert (again.get(killed, "tests"), again.get(lives, "tests")) == ("killed", "survived")
    assert (again.get(killed, "more tests"), again.get(lives, "more tests")) == ("killed", None)
    assert again.get(killed._replace(source="other"), "tests") is None


def test_the_list_of_equivalents_is_about_lines_that_are_there_with_reasons():
    listed = mutants.equivalents()
    for path in {path for path, _, _ in listed}:
        source = (mutants.ROOT / mutants.HOME / path).read_text(encoding="utf-8")
        there = {(one.line, one.change) for one, _, _ in mutants.named(path, source, ast.parse(source))}
        there |= {(line, "any") for line, _ in there}
        assert {(line, change) for of, line, change in listed if of == path} <= there
    assert all(len(why) > 15 for why in listed.values())


def test_tests_of_every_file_are_there():
    for path, names in mutants.TESTS.items():
        assert (mutants.ROOT / mutants.HOME / path).exists()
        for name in names:
            file, _, test = name.partition("::")
            assert test in (mutants.ROOT / "tests" / file).read_text(encoding="utf-8")
    kernels = {f"kernels/{one.name}" for one in (mutants.ROOT / mutants.HOME / "kernels").glob("*.py")}
    assert kernels - set(mutants.TESTS) == {"kernels/__init__.py", "kernels/base.py"}  # nothing to change in these
