# Each target sets up what it needs. `make audit` shows what Malaprop does; `make test` shows that it works.
PYTHON ?= python3
VENV := .venv
PEERS := .venv-peers
RUN := $(VENV)/bin
PIP_ENV := PIP_DISABLE_PIP_VERSION_CHECK=1

.PHONY: audit test slow lint format bench docs clean

audit: $(VENV)/ready
	$(RUN)/malaprop audit

test: $(VENV)/ready
	$(RUN)/python -m pytest -n auto -m "not slow"

slow: $(VENV)/ready
	$(RUN)/python -m pytest -m slow --timeout=3600

lint: $(VENV)/ready
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy
	$(RUN)/lint-imports

format: $(VENV)/ready
	$(RUN)/ruff check --fix .
	$(RUN)/ruff format .

bench: $(VENV)/ready $(PEERS)/ready
	$(RUN)/malaprop bench --peer $(PEERS)/bin/python

docs: $(VENV)/ready
	$(RUN)/mkdocs build --strict
	@echo "site/index.html"

# torch first and pinned: a looser wish pulls gigabytes of CUDA on machines without a GPU
$(VENV)/ready: pyproject.toml constraints.txt
	test -x $(RUN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP_ENV) $(RUN)/python -m pip install --quiet --constraint constraints.txt torch
	$(PIP_ENV) $(RUN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

$(PEERS)/ready: malaprop/bench/peers.txt
	test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	$(PIP_ENV) $(PEERS)/bin/python -m pip install --quiet torch==2.13.0
	$(PIP_ENV) $(PEERS)/bin/python -m pip install --quiet --requirement malaprop/bench/peers.txt
	touch $@

clean:
	rm -rf $(VENV) $(PEERS) site dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
