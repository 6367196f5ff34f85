# Everything goes through `make setup`, which does nothing when there is nothing to do.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
STAMP := $(VENV)/.ready

.PHONY: setup demo kafka test proofs fast lint bench soak shared fuzz mutants clean

setup: $(STAMP)
	@scripts/java

$(STAMP): pyproject.toml constraints.txt scripts/setup
	@PYTHON=$(PYTHON) scripts/setup $(VENV)
	@touch $@

demo: setup
	@$(BIN)/tidegate demo

# a broker of one's own, and the jars that Spark needs to read from it
kafka: setup
	@$(BIN)/python -c "from tidegate.cli.kafka import fetch; fetch()"
	@$(BIN)/tidegate broker

test: setup lint
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not spark and not kafka"
	@$(BIN)/python -m pytest -q -m "(spark or kafka) and not proof" tests --durations=10

# tests on Spark that take long: state of joins, deduplication and Python, other shapes of executors
proofs: setup
	@$(BIN)/python -m pytest -q -m proof tests --durations=10

fast: setup lint
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not spark and not kafka"

lint: setup
	@$(BIN)/ruff check -q . && $(BIN)/ruff format -q --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache >/dev/null || $(BIN)/lint-imports --no-cache

bench: setup
	@for b in source jobs loop policies forecast capacity daedalus producer trace memory compare store; do $(BIN)/python benchmarks/$$b.py; done

# an hour of faults around an attached query, ten minutes of three queries in one application; both need root
soak: setup
	@$(BIN)/python benchmarks/soak.py --minutes $(or $(MINUTES),60)

shared: setup
	@$(BIN)/python benchmarks/shared_application.py

# wrong inputs by the ten thousand: reports, recordings, models, traces, profiles, experiments
fuzz: setup
	@$(BIN)/python benchmarks/fuzz.py

# do the tests without Spark notice one-line mistakes? (half an hour on two cores)
mutants: setup
	@$(BIN)/python scripts/mutants --seed $(or $(SEED),1)

clean:
	rm -rf $(VENV) .tidegate
