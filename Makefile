# Everything a fresh clone needs is python3 (3.11 or newer) and make. `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL = $(BIN)/python -m pip install -qq --disable-pip-version-check \
	--constraint constraints.txt --build-constraint constraints.txt
JOBS ?= 2
PYTEST_ARGS ?=

# One thread per process: the tests and the grids run several processes, and threads of BLAS and
# torch on top of them only get in each other's way.
export OMP_NUM_THREADS ?= 1
# What a command says appears when it says it, also in a log file.
export PYTHONUNBUFFERED = 1

# The stamps make set-up run once, and again when a pin or the package's description changes.
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format types contracts docs docs-serve wheel wheel-check pin clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

setup: $(READY_DEV) ## create .venv with the package, its extras and all development tools

$(READY): constraints.txt pyproject.toml setup.py $(wildcard src/nanwise/nn/holes/_windows*.[ch])
	@echo "setting up $(VENV) with pinned versions (once; some minutes)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "nanwise needs Python 3.11+, $(PYTHON) is " + sys.version.split()[0])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --upgrade pip
	@$(PIP_INSTALL) --editable '.[all]'
	@touch $@

$(READY_DEV): $(READY)
	@$(PIP_INSTALL) --group test --group lint --group docs --group build
	@touch $@

demo: $(READY) ## compare all treatments on a bundled data set with real gaps, write demo/report.html
	@mkdir -p demo
	@$(BIN)/nanwise datasets pima -o demo/pima.csv
	@$(BIN)/nanwise compare demo/pima.csv --target diabetes --out demo --jobs $(JOBS)
	@echo "the whole report: $(CURDIR)/demo/report.html"

test: $(READY_DEV) ## all tests
	$(BIN)/python -m pytest -n $(JOBS) $(PYTEST_ARGS)

lint: $(READY_DEV) ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY_DEV) ## let ruff repair what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(READY_DEV) ## mypy on the core
	$(BIN)/mypy

contracts: $(READY_DEV) ## import-linter: arrows point down only
	$(BIN)/lint-imports

docs: $(READY_DEV) ## the documentation into site/, warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

docs-serve: $(READY_DEV) ## the documentation on localhost, rebuilt on change
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

wheel: $(READY_DEV) ## build dist/*.whl
	@rm -rf build dist
	PIP_BUILD_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m build --wheel --outdir dist .

wheel-check: wheel ## install the wheel in a clean environment and use it
	PYTHON=$(PYTHON) tools/check_wheel dist/*.whl

pin: $(READY_DEV) ## rewrite constraints.txt from .venv
	$(BIN)/python tools/pin.py

clean: ## remove what the targets made
	rm -rf $(VENV) build dist site demo docs/methods src/*.egg-info src/nanwise/nn/holes/*.so \
		.pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
