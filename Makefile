# Each target sets up what it needs in .venv; PYTHON chooses the interpreter (3.11 or newer).
PYTHON ?= python3
BIN := .venv/bin
PIP := -m pip install --quiet --disable-pip-version-check
# What tells within two minutes whether other versions of Python or of libraries do: no long runs.
FAST := tests/checkpoint/test_lock.py tests/checkpoint/test_tree.py tests/cli tests/data tests/files tests/kernels tests/priors \
	tests/tables tests/transforms tests/test_api.py tests/fit tests/test_metrics.py tests/test_penalties.py tests/test_rooms.py \
	tests/test_saved.py tests/test_tensor.py

# Two processes with one thread of BLAS each: two cores are busy where one process with two threads leaves one idle. Tests of threads
# set the number that they need.
WORKERS ?= 2
ONE := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
PYTEST := -m pytest -n $(WORKERS) --dist worksteal

.PHONY: demo test test-long test-oldest test-on coverage fuzz mutate lint bench bench-quick docs dist clean

demo: .venv/ready
	$(BIN)/qrank demo --report demo-report.html

test: .venv/ready
	$(ONE) $(BIN)/python $(PYTEST)

fuzz: .venv/ready
	QRANK_FUZZ=$(or $(QRANK_FUZZ),2000) $(ONE) $(BIN)/python $(PYTEST) tests/fuzz

mutate: .venv/ready
	$(ONE) $(BIN)/python tests/mutation/mutants.py

test-long: .venv/ready
	QRANK_LONG=1 $(ONE) $(BIN)/python $(PYTEST)

# With the oldest versions that pyproject.toml allows, on the oldest Python that is there.
test-oldest: .venv-oldest/ready
	$(ONE) .venv-oldest/bin/python $(PYTEST) $(FAST)

# With another interpreter: make test-on PY=python3.12
PY ?= $(PYTHON)
test-on: .venv-$(notdir $(PY))/ready
	$(ONE) .venv-$(notdir $(PY))/bin/python $(PYTEST) $(FAST)

# Lines and branches of src/ that the tests reach, processes that they start included; nothing is left out of the count.
coverage: .venv/ready
	$(BIN)/python -m coverage erase
	$(ONE) $(BIN)/python -m coverage run $(PYTEST)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report --fail-under=95

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

# docs/speed.md, under an hour on two cores: make bench DATA=DIR BEFORE=CHECKOUT, both as you like. It goes on where it was stopped.
bench: .venv/ready
	$(BIN)/python $(PIP) -e '.[bench]'
	$(BIN)/python -m benchmarks $(if $(DATA),--data $(DATA)) $(if $(BEFORE),--before $(BEFORE)) --page docs/speed.md

# Did a change make something slower? Ratios against the literal code, in minutes; fails where one is worse than the stored one.
bench-quick: .venv/ready
	$(BIN)/python -m benchmarks.quick

# The documentation, in site/: the gallery runs, the list of options is read from the source, a broken link is an error.
docs: .venv/ready
	$(BIN)/python $(PIP) -e '.[docs]'
	$(BIN)/python docs/gallery.py
	$(BIN)/python docs/reference.py
	$(BIN)/python -m mkdocs build --strict --quiet
	@echo site/index.html

# Wheel and sdist in dist/, checked in a fresh environment: what they hold, that they install, that the command runs.
dist: .venv/ready
	rm -rf dist .venv-dist
	$(BIN)/python $(PIP) build twine
	$(BIN)/python -m build --quiet
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python $(PIP) "$$(ls dist/*.whl)[cli]"
	.venv-dist/bin/qrank --version
	.venv-dist/bin/python -c "import numpy as np, qrank; y = np.ones((4, 4)); y[1, 2] = np.nan; assert np.isfinite(qrank.complete(y).x).all()"

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP) -e '.[dev]'
	touch $@

.venv-oldest/ready: pyproject.toml .ci/oldest.txt
	$(PYTHON) -m venv --clear .venv-oldest
	.venv-oldest/bin/python $(PIP) -c .ci/oldest.txt -e '.[test]'
	touch $@

.venv-$(notdir $(PY))/ready: pyproject.toml
	$(PY) -m venv --clear $(@D)
	$(@D)/bin/python $(PIP) -e '.[test]'
	touch $@

clean:
	rm -rf .venv .venv-* .coverage* demo-report* out site dist
