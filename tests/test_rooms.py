"""Rooms import downwards only; imports inside functions and for type checkers count like all others."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import qrank

HOME = Path(qrank.__file__).parent
ORDER = [  # from the top of the house to its foundation; rooms in one line do not know each other
    {"__main__", "__init__"},
    {"cli"},
    {"experiments", "pandas", "xarray"},
    {"study"},
    {"api", "report"},
    {"choose", "files"},
    {"tables"},
    {"methods", "checkpoint"},
    {"run"},
    {"fit", "priors"},
    {"problem", "result", "data", "metrics"},
    {"transforms", "patches"},
    {"penalties"},
    {"kernels"},
    {"tensor", "atomic"},
    {"errors", "signals", "text", "version"},
]
LEVEL = {room: len(ORDER) - i for i, rooms in enumerate(ORDER) for room in rooms}
MODULES = sorted(HOME.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(HOME).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The rooms that a module imports, wherever in it; "" is the root."""
    package = ("qrank", *path.relative_to(HOME).parts[:-1])
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            base += (node.module or "").split(".") if node.module else []
            names = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for name in names:
            if name[0] == "qrank":
                found.add(name[1] if len(name) > 1 else "")
    return found


def test_every_room_has_its_place():
    assert {room(path) for path in MODULES} == set(LEVEL)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HOME)))
def test_imports_go_down(path):
    own = room(path)
    if own == "__init__":
        return
    for other in imported(path) - {own}:
        assert other in LEVEL, f"{own} imports {other or 'the root'}"
        assert LEVEL[other] < LEVEL[own], f"{own} imports {other}, which is not below it"


def test_modules_of_a_room_do_not_import_in_a_circle():
    """Each module of each room can be the first that is imported in it: there is an order."""
    for name in LEVEL:
        files = [path for path in MODULES if room(path) == name and path.name != "__init__.py"]
        stems = {path.stem for path in files}
        needs = {path.stem: _siblings(path) & stems - {path.stem} for path in files}
        while needs:
            ready = {stem for stem, wanted in needs.items() if not wanted & needs.keys()}
            assert ready, f"{name}: {needs}"
            needs = {stem: wanted for stem, wanted in needs.items() if stem not in ready}


def _siblings(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            found |= {node.module.split(".")[0]} if node.module else {alias.name for alias in node.names}
    return found


def test_one_file_knows_pointers():
    assert [path.name for path in MODULES if "import ctypes" in path.read_text()] == ["lapack.py"]


def test_one_loop_over_steps():
    """`method.step` is called in one place."""
    callers = [path for path in MODULES if "method.step(" in path.read_text()]
    assert [path.name for path in callers] == ["run.py"]
    others = (HOME.parent.parent / "benchmarks").glob("*.py")
    assert not [path.name for path in others if "method.step(" in path.read_text()]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HOME)))
def test_files_and_functions_are_short(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            doc = ast.get_docstring(node)
            size = (node.end_lineno or 0) - node.lineno + 1 - (len(doc.splitlines()) if doc else 0)
            assert size <= 60, f"{node.name} has {size} lines"


def test_the_core_needs_three_packages_only():
    """Everything else is an extra: with these three alone the package is imported and completes an array."""
    script = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {extras}:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import numpy as np, qrank
y = np.outer(np.arange(1.0, 7), np.arange(1.0, 7))[:, :, None] * np.ones(4)
y[2, 3, 1] = np.nan
print(round(float(qrank.complete(y).x[2, 3, 1])))
try:
    qrank.complete(y).report("page.html")
except qrank.MissingExtra as error:
    print(error)
"""
    extras = "{'matplotlib', 'jinja2', 'PIL', 'rich', 'typer', 'av', 'h5py', 'zarr', 'xarray', 'tifffile', 'skimage', 'pandas', 'polars', 'pyarrow', 'sklearn'}"
    found = subprocess.run(
        [sys.executable, "-c", script.replace("{extras}", extras)], capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines()[0] == "12"
    assert "pip install 'qrank[report]'" in found.stdout
