# Each target sets up what it needs. `make audit` shows what Malaprop does; `make test` shows that it works.
PYTHON ?= python3
VENV := .venv
PEERS := .venv-peers
OPENATTACK := .venv-openattack
RUN := $(VENV)/bin
PIP_ENV := PIP_DISABLE_PIP_VERSION_CHECK=1

.PHONY: audit test slow lint format bench bench-peers docs package clean transfer natural

audit: $(VENV)/ready
	$(RUN)/malaprop audit

# Processes of tests import what was compiled once, also where the environment keeps Python from writing bytecode.
# worksteal gives the tests of a file to one worker, so what a file's tests share is made once.
test slow: export PYTHONDONTWRITEBYTECODE =

test: $(VENV)/ready
	$(RUN)/python -m pytest -n auto --dist worksteal -m "not slow"

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

# both peers, the forward-only floor, and ours; about ten minutes on a quiet machine
bench: $(VENV)/ready bench-peers
	$(RUN)/malaprop bench --precision fp32,bf16 --peer $(PEERS)/bin/python --openattack $(OPENATTACK)/bin/python

# TextAttack and OpenAttack want other versions of the same libraries: each has an environment of its own
bench-peers: $(PEERS)/ready $(OPENATTACK)/ready

transfer: $(VENV)/ready
	$(RUN)/malaprop transfer --n 100 --jobs 2 --out runs/transfer
	$(RUN)/malaprop ensemble --from runs/transfer --size 2..3

# a small generator and VAE are trained too; under five minutes on two cores
natural: $(VENV)/ready
	$(RUN)/malaprop train wgan --set width=16 --set dim=32 --set steps=500 --set critic_steps=3 --set rate=0.0005 --set inverter_steps=300 --out runs/natural/wgan
	$(RUN)/malaprop train vae --set width=16 --set dim=32 --set steps=500 --out runs/natural/vae
	$(RUN)/malaprop natural compare --victim forest,lenet --generator runs/natural/wgan --search hybrid,iterative,boundary --n 20 --set samples=50 --set boundary.samples=100 --out runs/natural/compare
	$(RUN)/malaprop natural --victim lenet --generator runs/natural/vae --search boundary --set samples=100 --n 10 --out runs/natural/lenet
	$(RUN)/malaprop natural sweep --classifiers 12 --generator runs/natural/wgan --n 10 --set samples=60 --epochs 5 --out runs/natural/sweep
	$(RUN)/malaprop natural synthetic --out runs/natural/synthetic
	$(RUN)/malaprop report runs/natural/compare runs/natural/lenet runs/natural/sweep runs/natural/synthetic --out runs/natural/report.html --quiet

docs: $(VENV)/ready
	NO_MKDOCS_2_WARNING=1 $(RUN)/mkdocs build --strict --quiet
	$(RUN)/python tools/links.py site *.md
	@echo "site/index.html"

# the wheel and the source package, tried in an empty environment; EXTRAS=all-alone tries each extra too
package: $(VENV)/ready
	$(RUN)/python tools/package.py --extras $(or $(EXTRAS),none)

# constraints.txt pins torch: a looser wish pulls gigabytes of CUDA on machines without a GPU. What is imported is
# compiled then: to compile all that is installed takes a minute.
$(VENV)/ready: pyproject.toml bench/pyproject.toml masked-lm/pyproject.toml constraints.txt
	test -x $(RUN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP_ENV) $(RUN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[dev]' --editable ./bench --editable ./masked-lm
	touch $@

$(PEERS)/ready: bench/malaprop_bench/peer-textattack.txt
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(PIP_ENV) $(@D)/bin/python -m pip install --quiet torch==2.13.0
	$(PIP_ENV) $(@D)/bin/python -m pip install --quiet --requirement $<
	touch $@

$(OPENATTACK)/ready: bench/malaprop_bench/peer-openattack.txt
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(PIP_ENV) $(@D)/bin/python -m pip install --quiet torch==2.13.0
	$(PIP_ENV) $(@D)/bin/python -m pip install --quiet --requirement $<
	touch $@

clean:
	rm -rf $(VENV) $(PEERS) $(OPENATTACK) site dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
