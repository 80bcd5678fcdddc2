# Needs Python 3.11 to 3.13, make and git. Everything else is installed into .venv, from the lock file.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
BIN := .venv/bin
#: Its presence says that .venv holds what the lock file names.
READY := .venv/.ready
#: The suite is meant for two cores; a third of its time it waits for processes and deadlines, so four share them.
WORKERS ?= 4
ARGS ?=
# The tests and the demo start many processes; without its bytecode each would compile all of Corral anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check lint serve bench compose-test migration lock

help:  ## Show what can be done
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY)  ## Run flows and goals on emulated phones and cancel three, in under a minute
	@$(BIN)/corral demo

serve: $(READY)  ## Start everything on this machine (corral up); ARGS="--port 0" passes options
	@$(BIN)/corral up $(ARGS)

test: $(READY)  ## Run the tests; ARGS="-k cancel" passes options to pytest
	@$(BIN)/python -m tests.browser
	$(BIN)/pytest -n $(WORKERS) $(ARGS)

check: lint test  ## Run every check: style, types, rooms, then the tests

lint: $(READY)  ## Check style, types and which room may import which
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports

bench: $(READY)  ## Measure as ratios, side by side in one run; BENCH=renewals for one
	$(BIN)/python -m tests.bench $(BENCH)

compose-test: $(READY)  ## Start compose.yaml for real and kill its parts under load; needs a Docker engine
	$(BIN)/python -m tests.compose

migration: $(READY)  ## Draft the next migration: make migration NAME="add priorities"
	@$(BIN)/python -m migrations "$(NAME)"

# Of one version each, everywhere: what the image gets is chosen out of what was locked for development.
LOCK := .venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-header --no-annotate --no-emit-index-url
lock:  ## Renew requirements.lock, and those of the image in deploy/image, from pyproject.toml
	rm -rf .venv-lock
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install --quiet uv
	$(LOCK) pyproject.toml --upgrade --all-extras --output-file requirements.lock
	$(LOCK) pyproject.toml --extra traces --constraint requirements.lock --output-file deploy/image/runtime.lock
	echo hatchling | $(LOCK) - --constraint requirements.lock --output-file deploy/image/build.lock
	rm -rf .venv-lock

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { \
	  echo "Corral needs Python 3.11 to 3.13, and $(PYTHON) is $$($(PYTHON) --version 2>&1). Another one: PYTHON=python3.12 make ..." >&2; \
	  exit 1; }
	@echo "Installing into .venv (once; a minute, or a few on a slow machine or network)"
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
