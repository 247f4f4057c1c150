"""The benchmark's yardstick computes what the package computes, and its instruments tell the truth."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from benchmarks import cases, kernels, literal, measure, page, readme, report, schedule

from qrank.methods import METHODS
from qrank.problem import Problem
from qrank.run import Run

SHAPES = {"n1 n2 < n3": (24, 3, 5), "n1 n2 > n3": (7, 10, 9)}


def low_rank(shape: tuple[int, int, int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    n3, n1, n2 = shape
    rng = np.random.default_rng(seed)
    x = np.einsum("kr,ri,rj->kij", rng.random((n3, 3)), rng.random((3, n1)), rng.random((3, n2)))
    x += 0.1 * rng.random(shape)
    return x / x.max(), rng.random(shape) < 0.6


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(
    ("name", "options"),
    [("vmtqn", {}), ("tnn", {}), ("motqn", {}), ("motqn", {"start": "last", "descents": 2})],
    ids=["vmtqn", "tnn", "motqn", "motqn from the last Q"],
)
def test_the_literal_algorithm_and_the_package_agree_over_thirty_steps(
    name: str, options: dict, shape: tuple[int, int, int]
) -> None:
    x, omega = low_rank(shape)
    y = np.where(omega, x, 0)
    method = METHODS[name].configured("paper", mu0=1.2 / np.linalg.norm(y), **options)  # active at once
    run = Run(Problem.of(y, omega, (1, 2)), method, 0)
    steps, scale = iter(run), run.problem.scale
    settings = literal.settings_of(method)
    theirs = literal.start(y, settings)
    for k in range(30):
        _, record = next(steps)
        theirs = literal.step(name, y, omega, theirs, settings)
        ours = run.answer() * scale
        assert np.abs(ours - theirs.X).max() <= 1e-6 * np.abs(y).max(), f"step {k + 1}"
        assert max(record.primal, record.change) == pytest.approx(theirs.residual, rel=1e-5)
    assert 0 < np.linalg.norm(ours - x) < np.linalg.norm(y - x)


@pytest.mark.parametrize("name", ["vmtqn", "tnn", "motqn"])
def test_the_literal_algorithm_goes_on_from_the_state_of_the_package(name: str) -> None:
    x, omega = low_rank((9, 14, 11))
    y = 3 * np.where(omega, x, 0)
    method = METHODS[name].configured("paper", mu0=0.5)
    run = Run(Problem.of(y, omega, (1, 2)), method, 0)
    steps = iter(run)
    for _ in range(10):
        next(steps)
    theirs = literal.resume(run.problem, run.state)
    for _ in range(3):
        next(steps)
        theirs = literal.step(name, y, omega, theirs, literal.settings_of(method))
    assert np.abs(run.answer() * run.problem.scale - theirs.X).max() <= 1e-8


def test_generated_data_has_the_shape_and_the_range_of_the_data_it_stands_for() -> None:
    for kind in cases.DATA.values():
        x = kind.generate(kind.quick, np.random.default_rng(0))
        assert x.shape == kind.quick
        assert x.min() >= 0
        assert x.max() <= 1
        assert x.std() > 0.05
    data = cases.load("clip", 0.3, None, quick=True)
    assert data.source == "generated"
    assert data.psnr(data.truth) > 1000
    assert data.psnr(data.truth + 0.1) == pytest.approx(20 - 10 * np.log10(np.mean(~data.observed)), abs=1e-6)


def test_the_ledger_sees_every_product_and_decomposition(tmp_path, monkeypatch) -> None:
    (tmp_path / "watched_module.py").write_text(
        "import numpy as np\n"
        "import scipy.linalg\n"
        "from scipy.linalg import blas\n"
        "def work(a):\n"
        "    gram = a @ a.T\n"
        "    np.matmul(a, a.T.copy())\n"
        "    inner = lambda b: blas.dsyrk(1.0, b)\n"
        "    inner(a)\n"
        "    scipy.linalg.eigh(gram)\n"
        "    return float(a[0] @ a[0]), np.linalg.svd(gram)[1]\n"
        "def big(a):\n"
        "    return a @ a\n"
        "def around(a):\n"
        "    return big(a)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    ledger = kernels.watch("watched_module", more=("big",))
    import watched_module  # pyright: ignore[reportMissingImports]

    ledger.clear()
    a = np.random.default_rng(0).standard_normal((5, 7))
    _, s = watched_module.work(a)
    assert np.allclose(s, np.linalg.svd(a)[1] ** 2)
    calls = {(row["kind"], row["name"]): row["calls"] for row in ledger.rows()}
    assert calls == {
        ("products", "matmul"): 2,
        ("products", "dsyrk"): 1,
        ("decompositions", "eigh"): 1,
        ("decompositions", "svd"): 1,
        ("BLAS on vectors", "inner product"): 1,
    }
    ledger.clear()
    kernels.name(watched_module.big, kernels.PASS, "big")
    watched_module.around(np.ones((900, 900)))
    seconds = {row["kind"]: row["seconds"] for row in ledger.rows()}
    assert 0 <= seconds[kernels.PASS] < 0.2 * seconds[kernels.PRODUCT]  # a pass is entered without its kernels
    ledger.clear()


def test_operations_are_counted_by_the_book() -> None:
    a, b = np.ones((2, 3, 4)), np.ones((2, 4, 5))
    assert kernels.flops("matmul", (a, b)) == 2 * 2 * 3 * 4 * 5
    assert kernels.flops("matmul", (a, a.swapaxes(1, 2))) == 2 * 3 * 4 * 3  # half: the result is symmetric
    assert kernels.flops("matmul", (a + 0j, b)) == 4 * 2 * 2 * 3 * 4 * 5
    assert kernels.flops("dgemm", (1.0, a[0], b[0])) == 2 * 3 * 4 * 5


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a block is exact on Linux only")
def test_peak_memory_is_that_of_the_block() -> None:
    with measure.memory() as found:
        np.ones(16_000_000).sum()  # more than the allocator keeps for itself
    assert 125e6 < found.above < 145e6


def test_a_cell_is_saved_and_not_run_twice(tmp_path, capsys) -> None:
    plan = schedule.Plan(tmp_path, None, quick=True)
    spec = {"kind": "completion", "method": "vmtqn", "shape": (6, 10, 8), "p": 0.6}
    first = schedule.run_cell(plan, "x/default", **spec)
    assert first["status"] == "SETTLED", first
    assert first["steps"] == len(first["stamps"])
    assert "x/default" in capsys.readouterr().out
    assert schedule.run_cell(plan, "x/default", **spec) == first
    assert capsys.readouterr().out == ""


def test_the_report_tells_what_is_extrapolated_and_what_is_not_kept(tmp_path) -> None:
    def put(name: str, **cell) -> None:
        path = tmp_path / f"vmtqn-clip/{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"spec": {}, "shape": [4, 10, 10], "source": "read", "bytes64": 3200, **cell}))

    run = {"steps": 4, "stamps": [1, 2, 3, 4], "status": "CONVERGED", "memory": 32000, "psnr": 30.0}
    put("paper", seconds=4.0, **run)
    put("default-1", seconds=2.0, **run)
    put("pair", at=[1, 4], literal=[8.0, 14.0], ours=[1.0, 1.0], difference=1e-9, steps=4, curve=[10, 20, 29.98, 30])
    put("literal", full=False, seconds=1.0, memory=6400)
    text = report.write(tmp_path)
    assert "| literal | 4 | 1.1e+04 | 44 | 30 | 30.00 | 2 | extrapolated from 2 of 4 steps |" in text
    assert "| vmtqn-clip | literal / qrank, whole runs | 22 | ≥ 15 | yes |" in text
    assert "| vmtqn-clip | peak memory / tensor's bytes | 10 | ≤ 4 | **no** |" in text
    page.write(tmp_path, tmp_path / "speed.md")
    text = (tmp_path / "speed.md").read_text()
    wanted = (
        "| vmtqn, HMDB51, change of scene 240 x 432 x 48, p = 0.3 | 44 | 2.0 | 22.0 (15) | 11.0 (8) |  | 10.0 (4) |"
    )
    assert wanted in text
    assert "speed-quality.png" in text
    assert (tmp_path / "speed-quality.png").exists()
    assert list(readme.tables(text)) == ["Speed", "Promises"]
    put("paper", seconds=4.0, **{**run, "status": "STEP_LIMIT"})
    put("default-float32", failed="LinAlgError: no")
    text = report.write(tmp_path)
    assert "| vmtqn-clip | literal / qrank, whole runs, at least | 22 | ≥ 15 | yes |" in text
    assert "at least: the paper's rule was not met" in text  # nobody knows how long the literal run would be
    assert "| vmtqn-clip | paper's settings: stopping rule met (1 = yes) | 0 | ≥ 1 | **no** |" in text
    assert "failed: LinAlgError: no" in text
