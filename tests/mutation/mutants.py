"""Mutation testing: one small change at a time in a copy of the package; do the tests that belong to the file see it?

    python tests/mutation/mutants.py [PATH ...] [-n 12] [-o out/mutants]

Of each file a sample is drawn that does not change from run to run: the mutants whose names have the smallest hashes. A mutant is
named by its line and its change, so that editing elsewhere leaves the sample as it is. Results are saved mutant by mutant; what
was killed is not tried again while its file is the same, what survived not while its tests are the same either. Those that change
nothing that a test could see are listed, with the reason, in ``equivalent.toml`` beside this file.

Tests run in a fork of this process, which has imported everything but qrank: most mutants are killed before Python would
have started. So it needs a system that can fork.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import copy
import hashlib
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
HOME = Path("src/qrank")
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
ENOUGH = 0.85  # of the mutants that are not equivalent must be killed

# The tests that belong to a file, fastest first; its own doctests run before them.
TESTS = {
    "run.py": ["test_run.py"],
    "penalties.py": ["test_penalties.py"],
    "transforms/stiefel.py": ["transforms/test_stiefel.py"],
    "priors/variance.py": ["priors/test_qnorm.py"],
    "priors/descent.py": ["priors/test_descent.py", "priors/test_qnorm.py"],
    "priors/qnorm.py": ["priors/test_qnorm.py"],
    "kernels/advance.py": ["kernels/test_advance.py"],
    "kernels/linked.py": ["test_undetermined.py"],
    "kernels/against.py": ["study/test_imputer.py"],
    "kernels/arrange.py": ["priors/test_average.py"],
    "kernels/cover.py": ["kernels/test_cover.py"],
    "kernels/free.py": ["files/test_files_room.py"],
    "kernels/host.py": ["kernels/test_host.py", "test_tensor.py"],
    "kernels/interpolation.py": ["methods/test_fills.py"],
    "kernels/lapack.py": ["kernels/test_lapack.py"],
    "kernels/memory.py": ["kernels/test_memory.py"],
    "kernels/packed.py": ["kernels/test_packed.py"],
    "kernels/plates.py": ["kernels/test_plates.py", "methods/test_fills.py"],
    "kernels/posterior.py": ["kernels/test_posterior.py"],
    "kernels/principal.py": ["kernels/test_principal.py", "priors/test_qnorm.py"],
    "kernels/products.py": ["kernels/test_products.py", "transforms/test_transforms.py"],
    "kernels/shrink.py": ["kernels/test_shrink.py"],
    "kernels/decomposed.py": ["kernels/test_shrink.py"],
    "kernels/marks.py": ["files/test_files_marks.py"],
    "kernels/similar.py": ["methods/test_similar.py"],
    "kernels/smoothing.py": ["kernels/test_smoothing.py"],
    "kernels/spectral.py": ["kernels/test_spectral.py", "kernels/test_shrink.py"],
    "kernels/threads.py": ["kernels/test_threads.py"],
    "kernels/unfoldings.py": [
        "methods/test_baselines.py::test_unfoldings",
        "methods/test_baselines.py::test_no_wide_unfolding_is_given_an_svd",
        "methods/test_baselines.py::test_tmac_raises_ranks_to_the_truth_and_no_further_than_asked",
    ],
}
PRELOADED = (
    "pytest hypothesis _pytest.doctest numpy scipy.linalg scipy.ndimage scipy.fft scipy.fftpack scipy.sparse.linalg \
scipy.special scipy.optimize scipy.interpolate threadpoolctl"
)

SWAPS: dict[type[ast.AST], list[type[ast.AST]]] = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
    ast.And: [ast.Or],
    ast.Or: [ast.And],
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Div],
    ast.Div: [ast.Mult],
}


class Mutant(NamedTuple):
    """A file with one change."""

    path: str  # below src/qrank
    line: str  # what the line was
    change: str
    source: str  # the whole file, changed

    @property
    def name(self) -> str:
        """How it is called in results."""
        return f"{self.path}: {self.line}  [{self.change}]"


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what a node may be changed to, and how that is told."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        others = [node.value + 1, node.value - 1] if isinstance(node.value, int) else [2 * node.value or 1.0]
        for value in others:
            yield f"{node.value} -> {value}", ast.Constant(value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield f"without {ast.unparse(node)[:1].replace('n', 'not')}", node.operand
    elif isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            for other in SWAPS[type(op)]:
                changed = copy.copy(node)
                changed.ops = [*node.ops[:i], other(), *node.ops[i + 1 :]]  # pyright: ignore
                yield f"{type(op).__name__} -> {other.__name__}", changed
    elif isinstance(node, ast.BoolOp | ast.BinOp | ast.AugAssign):
        for other in SWAPS.get(type(node.op), []):
            changed = copy.copy(node)
            changed.op = other()  # pyright: ignore
            yield f"{type(node.op).__name__} -> {other.__name__}", changed


class Replace(ast.NodeTransformer):
    """Puts another node in the place of one."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(copy.copy(node))


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes that compute something, in the order of the text; annotations compute nothing."""
    shaped = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("reshape")
    for name, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST) and name not in ("annotation", "returns"):
                yield part
                if not (
                    shaped and ast.unparse(part) == "-1"
                ):  # reshape takes any negative length for the one that is left
                    yield from _parts(part)


def named(path: str, source: str, tree: ast.Module) -> list[tuple[Mutant, ast.AST, ast.AST]]:
    """Return all mutants of a file, each with a name of its own and not yet made: what becomes what."""
    lines, found = source.splitlines(), {}
    for node in _parts(tree):
        for change, new in changes(node):
            line, number = lines[node.lineno - 1].strip(), 1  # pyright: ignore
            one = Mutant(path, line, change, "")
            while one.name in found:
                number += 1
                one = Mutant(path, line, f"{change} #{number}", "")
            found[one.name] = one, node, new
    return list(found.values())


def mutants(path: str, source: str, many: int | None = None) -> list[Mutant]:
    """Return all mutants of a file, or a sample of so many: always the same, those whose names have the smallest hashes."""
    tree = ast.parse(source)
    found = named(path, source, tree)
    if many is not None:
        found = sorted(found, key=lambda one: _digest(one[0].name))[:many]
    return [one._replace(source=_replaced(tree, node, new)) for one, node, new in found]


def _replaced(tree: ast.Module, old: ast.AST, new: ast.AST) -> str:
    # Lists of children are shared by copies of a node: the transformer writes into them, so it is given a tree of its own.
    nodes = list(ast.walk(tree))
    place, again = nodes.index(old), copy.deepcopy(tree)
    target = list(ast.walk(again))[place]
    return ast.unparse(ast.fix_missing_locations(Replace(target, copy.deepcopy(new)).visit(again)))


def equivalents(listed: Path = EQUIVALENT) -> dict[tuple[str, str, str], str]:
    """Return why a mutant is equivalent, by (path, line, change); the change "any" stands for all of a line."""
    entries = tomllib.loads(listed.read_text(encoding="utf-8")).get("mutant", [])
    return {(one["path"], one["line"], one["change"]): one["why"] for one in entries}


def why_equivalent(one: Mutant, known: dict[tuple[str, str, str], str]) -> str | None:
    """Return the reason that is listed for a mutant, if there is one."""
    return known.get((one.path, one.line, one.change)) or known.get((one.path, one.line, "any"))


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


class Bench:
    """A copy of the sources in which one file at a time is changed."""

    def __init__(self, folder: Path, root: Path = ROOT, home: Path = HOME) -> None:
        self.root, self.home, self.src = root, home, folder / "src"
        shutil.copytree(root / home.parts[0], self.src, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(self.src, quiet=1)

    def file(self, path: str) -> Path:
        """Return where a file is in the copy."""
        return self.src.joinpath(*self.home.parts[1:], path)

    def tried(self, path: str, source: str, tests: list[str], limit: float) -> str:
        """Return what becomes of the tests with another text of a file: "survived", "killed" or "killed by time"."""
        here = self.file(path)
        before = here.read_text(encoding="utf-8")
        for compiled in (here.parent / "__pycache__").glob(f"{here.stem}.*"):
            compiled.unlink()  # two mutants of one length and second would look alike to Python
        here.write_text(source, encoding="utf-8")
        try:
            return self._forked([str(here), *tests], limit)
        finally:
            here.write_text(before, encoding="utf-8")

    def _forked(self, arguments: list[str], limit: float) -> str:
        child = os.fork()
        if not child:
            self._in_child(arguments)
        end = time.monotonic() + limit
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return "survived" if status == 0 else "killed"
            time.sleep(0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "killed by time"

    def _in_child(self, arguments: list[str]) -> None:
        code = 99
        try:
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            sys.dont_write_bytecode = True
            sys.path.insert(0, str(self.src))
            os.environ["PYTHONPATH"] = str(self.src)  # for tests that start Python
            os.chdir(self.root)
            import pytest

            code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *arguments]))
        finally:
            os._exit(code)


class Results:
    """What became of each mutant, in a file that is written after each."""

    def __init__(self, path: Path) -> None:
        self.path, self.found = path, {}
        if path.exists():
            self.found = json.loads(path.read_text(encoding="utf-8"))

    def get(self, one: Mutant, tests: str) -> str | None:
        """Return what is known of a mutant, unless its file, or the tests that let it live, have changed."""
        found = self.found.get(one.name)
        if not found or found["source"] != _digest(one.source):
            return None
        return None if found["result"] == "survived" and found["tests"] != tests else found["result"]

    def put(self, one: Mutant, tests: str, result: str) -> None:
        """Keep what became of a mutant."""
        self.found[one.name] = {"source": _digest(one.source), "tests": tests, "result": result}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps(self.found, indent=1), encoding="utf-8")
        beside.replace(self.path)


def file_results(bench: Bench, path: str, many: int, results: Results) -> dict[str, list[Mutant]]:
    """Try a sample of the mutants of a file; return them by what became of them."""
    source = (bench.root / bench.home / path).read_text(encoding="utf-8")
    tests = [f"{bench.root}/tests/{name}" for name in TESTS[path]]
    known, seen = equivalents(), _digest(*(Path(one.split("::")[0]).read_text(encoding="utf-8") for one in tests))
    found: dict[str, list[Mutant]] = {"killed": [], "survived": [], "equivalent": []}
    limit = 0.0
    for one in mutants(path, source, many):
        result = "equivalent" if why_equivalent(one, known) else results.get(one, seen)
        if result is None:
            if not limit:
                start = time.monotonic()
                if bench.tried(path, ast.unparse(ast.parse(source)), tests, 600) != "survived":
                    raise SystemExit(f"the tests of {path} fail without any change: {', '.join(TESTS[path])}")
                limit = 20 + 5 * (time.monotonic() - start)
            result = bench.tried(path, one.source, tests, limit)
            results.put(one, seen, result)
            if result == "survived":
                print(f"  survived  {one.name}", flush=True)
        found[result.split()[0]].append(one)
    return found


def main() -> int:
    """Try the files that are named, or all; print a table; fail if too many mutants live."""
    ask = argparse.ArgumentParser(description="mutation testing")
    ask.add_argument("paths", nargs="*", help="files below src/qrank; all of the list if none is named")
    ask.add_argument("-n", type=int, default=12, help="mutants of each file")
    ask.add_argument("-o", type=Path, default=ROOT / "out" / "mutants", help="folder of the results")
    asked = ask.parse_args()
    for name in PRELOADED.split():
        importlib.import_module(name)
    results = Results(asked.o / "results.json")
    totals = {"killed": 0, "survived": 0, "equivalent": 0}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        for path in asked.paths or TESTS:
            found = file_results(bench, path, asked.n, results)
            for kind, ones in found.items():
                totals[kind] += len(ones)
            told = ", ".join(f"{len(ones)} {kind}" for kind, ones in found.items())
            print(f"{path}: {told}", *(f"  lives: {one.name}" for one in found["survived"]), sep="\n", flush=True)
    score = totals["killed"] / max(1, totals["killed"] + totals["survived"])
    print(f"{totals}: {100 * score:.1f} % of those that are not equivalent were killed")
    return 0 if score >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
