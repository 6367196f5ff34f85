# Everything goes through `make setup`, which does nothing when there is nothing to do.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
STAMP := $(VENV)/.ready

.PHONY: setup demo test fast lint bench clean

setup: $(STAMP)
	@scripts/java

$(STAMP): pyproject.toml constraints.txt scripts/setup
	@PYTHON=$(PYTHON) scripts/setup $(VENV)
	@touch $@

demo: setup
	@$(BIN)/tidegate demo

test: setup lint
	@$(BIN)/python -m pytest -q -m "not spark"
	@$(BIN)/python -m pytest -q -m spark tests --durations=10

fast: setup lint
	@$(BIN)/python -m pytest -q -m "not spark"

lint: setup
	@$(BIN)/ruff check -q . && $(BIN)/ruff format -q --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache >/dev/null || $(BIN)/lint-imports --no-cache

bench: setup
	@for b in source loop capacity; do $(BIN)/python benchmarks/$$b.py; done

clean:
	rm -rf $(VENV) .tidegate
