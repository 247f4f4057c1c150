# Each target sets up what it needs in .venv; PYTHON chooses the interpreter (3.11 or newer).
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-long fuzz mutate lint bench clean

demo: .venv/ready
	$(BIN)/qrank demo --report demo-report.html

test: .venv/ready
	$(BIN)/python -m pytest

fuzz: .venv/ready
	QRANK_FUZZ=$(or $(QRANK_FUZZ),2000) $(BIN)/python -m pytest tests/fuzz

mutate: .venv/ready
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/mutation/mutants.py

test-long: .venv/ready
	QRANK_LONG=1 $(BIN)/python -m pytest

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python -m benchmarks

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

clean:
	rm -rf .venv demo-report* out
