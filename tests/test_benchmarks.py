"""The benchmark's yardstick computes what the package computes, and its instruments tell the truth."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import (
    cases,
    common,
    fits,
    kernels,
    literal,
    measure,
    page,
    printed,
    quick,
    readme,
    rivals,
    schedule,
    tables,
)

import qrank
from qrank.methods import METHODS
from qrank.problem import Problem
from qrank.run import Run, is_single

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
    method = METHODS[name].configured("paper", mu0=0.1)
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


def test_a_cell_is_saved_not_run_twice_and_can_be_of_another_checkout(tmp_path, capsys) -> None:
    (tmp_path / "before" / "src").mkdir(parents=True)
    (tmp_path / "before" / "src" / "qrank").symlink_to(Path(qrank.__file__).parent)
    plan = schedule.Plan(tmp_path, None, quick=True)
    spec = {"kind": "completion", "method": "vmtqn", "shape": (6, 10, 8), "p": 0.6}
    first = schedule.run_cell(plan, "x/before", source=tmp_path / "before", **spec)
    assert first["status"] == "SETTLED", first
    assert first["steps"] == len(first["stamps"])
    assert first["package"].startswith(str(tmp_path))
    assert "x/before" in capsys.readouterr().out
    assert schedule.run_cell(plan, "x/before", source=tmp_path / "before", **spec) == first
    assert capsys.readouterr().out == ""


RUN = {"steps": 4, "stamps": [1, 2, 3, 4], "status": "CONVERGED", "memory": 32000, "psnr": 30.0}


def put(out: Path, name: str, **cell) -> None:
    path = out / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"spec": {}, "shape": [4, 10, 10], "source": "read", "bytes64": 3200, **cell}))


def test_the_page_tells_what_is_extrapolated_and_what_is_not_kept(tmp_path) -> None:
    pair = {"at": [1, 4], "literal": [8.0, 14.0], "ours": [1.0, 1.0], "difference": 1e-9, "steps": 4}
    pair |= {"curve": [10, 20, 29.98, 30], "status": "CONVERGED"}
    put(tmp_path, "vmtqn-clip/default-1", seconds=2.0, **RUN)
    put(tmp_path, "vmtqn-clip/pair", **pair)
    page.write(tmp_path, tmp_path / "speed.md")
    text = (tmp_path / "speed.md").read_text()
    wanted = "| vmtqn, HMDB51, change of scene 240 x 432 x 48, p = 0.3 | 44 | 2.0 | 22.0 (15) | 11.0 (8) | not measured | 10.0 (4) |"
    assert wanted in text
    assert "| vmtqn-clip | literal / qrank, whole runs | 22 | ≥ 15 | yes |" in text
    assert "| vmtqn-clip | peak memory / tensor's bytes | 10 | ≤ 4 | **no** |" in text
    assert (tmp_path / "speed-quality.png").exists()
    assert list(readme.tables(text)) == ["Speed", "Promises"]
    put(tmp_path, "vmtqn-clip/pair", **{**pair, "status": "STEP_LIMIT"})
    put(tmp_path, "vmtqn-clip/float32", failed="LinAlgError: no")
    text = page.write(tmp_path, tmp_path / "speed.md")
    assert "| vmtqn-clip | literal / qrank, whole runs, at least | 22 | ≥ 15 | yes |" in text
    assert "| ≥ 44 |" in text  # nobody knows how long the literal run would be
    assert "| vmtqn-clip | paper's settings: stopping rule met (1 = yes) | 0 | ≥ 1 | **no** |" in text
    assert "vmtqn-clip/float32: LinAlgError: no" in text


def test_the_version_before_is_compared_by_seconds_steps_quality_and_memory(tmp_path) -> None:
    put(tmp_path, "vmtqn-cifar-3000/default-1", seconds=2.0, **{**RUN, "stamps": [0.5, 1.0, 1.5, 2.0]})
    put(tmp_path, "vmtqn-cifar-3000/before-1", seconds=6.0, **{**RUN, "psnr": 30.03, "stamps": [1, 2, 4, 6]})
    path = tmp_path / "vmtqn-cifar-3000" / "before-1.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"spec": {"version": "abc"}}))
    lines, checks = tables.before(tmp_path)
    assert "commit abc" in lines[0]
    assert "| 6.0 | 2.0 | 3.00 (1.7) | 4.00 (2) | 4 | 4 | -0.030 | 10.0 | 10.0 |" in lines[2 + 2]
    assert {c.what: (round(c.value, 6), c.kept) for c in checks} == {
        "before / now, whole runs": (3.0, True),
        "dB below before": (0.03, False),
        "peak memory, now / before": (1.0, True),
        "before / now, a step in the second half of a run": (4.0, True),
    }


def test_the_limit_counts_each_step_at_the_rate_of_its_own_precision(tmp_path) -> None:
    put(tmp_path, "vmtqn-clip/default-1", seconds=4.5, **RUN)
    profile = {"flops": [1e9] * 4, "single": [True, True, False, False], "gemm": 1.0, "gemm32": 2.0}
    put(tmp_path, "vmtqn-clip/profile", curve=[1, 2, 3, 4], workers=2, seconds=4.0, kernels=[], **profile)
    _, checks = tables.limit(tmp_path)
    assert [(c.what, c.value, c.kept) for c in checks] == [("share of the limit", 3 / 4, True)]


def test_the_field_is_asked_when_qrank_was_as_good(tmp_path) -> None:
    for name in ("halrtc", "cp"):
        put(tmp_path, f"field-clip/{name}-choice", choosing=7.0, chosen=1)
    put(tmp_path, "field-clip/path-1", stamps=[1.0, 2.0, 3.0], errors=[9.0, 4.0, 2.0], seconds=3.0, error=2.0, told="x")
    put(tmp_path, "field-clip/halrtc", seconds=30.0, stamps=[30.0], errors=[4.0], error=4.0, told="28.00 dB")
    put(tmp_path, "field-clip/cp", seconds=9.0, stamps=[9.0], errors=[1.0], error=1.0, told="40.00 dB")
    lines, checks = tables.against(tmp_path)
    assert [(c.value, c.kept) for c in checks] == [(15.0, True), (0.0, False)]
    assert any("| HaLRTC as printed | 28.00 dB | 30.00 |  | 2.00 | 15.0 (10) | 7 |" in line for line in lines)
    assert any("| TensorLy parafac(mask) | 40.00 dB | 9.00 |  | never | never | 7 |" in line for line in lines)
    assert any("30 : 2 | not measured | 9 : never" in line for line in page.in_short(tmp_path))


def last(steps) -> np.ndarray:
    *_, x = steps
    return x


def test_printed_halrtc_and_the_package_minimise_the_same() -> None:
    x, omega = low_rank((6, 9, 8))
    y = np.where(omega, x, 0)
    theirs = last(printed.halrtc(y, omega, 0.1, 1.0, 3000, 1e-9))
    ours = qrank.complete(y, omega, "halrtc", rho=1.0, tol=1e-9, max_steps=5000).x
    assert np.abs(theirs - ours).max() < 1e-4
    assert np.array_equal(theirs[omega], y[omega])


def test_lrtc_tnn_is_halrtc_where_nothing_is_truncated_and_recovers_what_that_cannot() -> None:
    x, omega = low_rank((6, 9, 8))
    y = np.where(omega, x, 0)
    convex = last(printed.halrtc(y, omega, 0.1, 1.0, 2000, 1e-9))
    assert np.abs(last(printed.lrtc_tnn(y, omega, 0.0, 0.1, 1.0, 2000, 1e-9)) - convex).max() < 1e-4
    rng = np.random.default_rng(1)
    x = np.einsum("ki,kj,kl->ijl", *(rng.standard_normal((2, n)) for n in (20, 22, 24)))
    omega = rng.random(x.shape) < 0.25
    y = np.where(omega, x, 0)
    errors = [
        np.linalg.norm(last(steps) - x) / np.linalg.norm(x)
        for steps in (
            printed.halrtc(y, omega, 0.3, 1.05, 300, 1e-6),
            printed.lrtc_tnn(y, omega, 0.1, 1.0, 1.05, 300, 1e-6),
        )
    ]
    assert errors[1] < 0.001 < 0.1 < errors[0]


def test_a_rival_is_tuned_on_entries_that_are_hidden_from_it(monkeypatch) -> None:
    def constant(y: np.ndarray, seen: np.ndarray, value: float, steps: int) -> list[np.ndarray]:
        handed.append((seen.mean(), np.abs(y[~seen]).max()))
        return [np.full(y.shape, float(value))]

    handed: list[tuple[float, float]] = []
    toy = rivals.Rival("toy", constant, lambda shape: [shape[0], shape[0] / 2, shape[0] / 4], 1)
    monkeypatch.setitem(rivals.RIVALS, "toy", toy)
    omega = np.random.default_rng(0).random((8, 30, 30)) < 0.5
    y = np.where(omega, 4.5, 0.0)  # of 8, 4 and 2, the second is nearest
    found = rivals.chosen("toy", y, omega, 60.0)
    assert found["chosen"] == 4.0
    assert [settings for settings, _ in found["tried"]] == [8, 4.0, 2.0]
    assert found["tried"][1][1] == pytest.approx(0.5)
    assert all(0.9 * omega.mean() < share < 0.97 * omega.mean() and most == 0 for share, most in handed)
    assert rivals.chosen("toy", y, omega, -1.0)["not_tried"] == [4.0, 2.0]


def test_a_method_can_be_had_in_double_precision_throughout(monkeypatch) -> None:
    x, omega = low_rank((8, 10, 9))
    problem = Problem.of(np.where(omega, x, 0), omega, (1, 2))
    monkeypatch.setattr(METHODS["vmtqn"], "single", 0.0)  # single precision for arrays of any size
    kinds = []
    for _ in range(2):
        run = Run(problem, METHODS["vmtqn"].configured(max_steps=2))
        kinds += [is_single(state) for state, _ in run]
        common.in_double("vmtqn")
    assert kinds == [True, True, False, False]


def test_what_got_slower_is_named(tmp_path, monkeypatch, capsys) -> None:
    stored = tmp_path / "stored.json"
    for ratios, code, words in (({"a": 4.0}, 0, "Nothing is slower"), ({"a": 2.9}, 1, "Slower by more than 25%: a.")):
        monkeypatch.setattr(quick, "measured", lambda: {"a": 4.0})
        monkeypatch.setattr(sys, "argv", ["quick", "--store", "--reference", str(stored)])
        assert quick.main() == 0
        monkeypatch.setattr(quick, "measured", lambda ratios=ratios: ratios)
        monkeypatch.setattr(sys, "argv", ["quick", "--reference", str(stored)])
        assert quick.main() == code
        assert words in capsys.readouterr().out


def test_the_fits_are_of_the_same_data_each_with_its_own_measurements() -> None:
    x, omega = low_rank((8, 10, 9))
    answers = {}
    for name, run in fits.runs_of(np.where(omega, x, 0), omega, "vmtqn").items():
        steps: list[int] = []
        answers[name] = run(lambda record, steps=steps: steps.append(record.step)).x
        assert len(steps) > 5
    sums = [one.reshape(-1, 4).sum(axis=1) for one in (answers["operator"], np.where(omega, x, 0))]
    np.testing.assert_allclose(*sums, atol=1e-3)  # what is known through it is the sums of four
    errors = {name: np.linalg.norm((answer - x)[~omega]) for name, answer in answers.items() if name != "operator"}
    assert errors["noise"] > errors["exact"]
    assert errors["outliers"] > errors["exact"]
