# Everything sets itself up: each target first makes .venv, on a fresh machine from nothing.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet

.PHONY: install demo test lint bench docs clean

install: .venv/.installed

# torch is installed by its exact version and first, so that a CPU build is taken where one is offered.
.venv/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(PIP) install torch==2.13.0
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: install
	$(BIN)/settwister demo

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Two processes of one thread each: most tests are too small to gain from a second thread.
test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2

bench: install
	$(BIN)/settwister bench twist
	$(BIN)/settwister bench sets

docs: install
	$(BIN)/python docs/theory_plots.py
	$(BIN)/python docs/results_page.py
	$(BIN)/python docs/training_curves.py
	$(BIN)/python docs/pairwise.py
	$(BIN)/python docs/nodes_page.py
	$(BIN)/python docs/readme_tables.py
	$(BIN)/python docs/digits_sheet.py

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
