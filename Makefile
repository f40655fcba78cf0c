PYTHON ?= $(shell command -v python3.11 || command -v python3)
WORKERS ?= 2
SEEDS ?= 1-500
REGIONS ?= us-east-1
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Versions come from the lock files alone: pip's search for them takes minutes.
LOCKED := install --no-deps
PYTEST := $(BIN)/pytest -rsfE
# A group of tests shares real parts, and so a worker. Groups begin in the order of tests/real/conftest.py.
SPREAD = -n $(WORKERS) --dist loadgroup --no-loadscope-reorder
# Where bytecode is not kept, every process that a test starts compiles treenail anew, and each run all tests.
export PYTHONDONTWRITEBYTECODE :=

# Tests on real parts wait more than they compute.
test real soak: WORKERS := 3

.PHONY: install demo check test plain real parts soak crds charts catalogue fuzz bench bench-packing bench-real wheel image-tree lock clean

install: .venv/development   ## everything to work on treenail

.venv/runtime: requirements.lock requirements-dev.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "treenail needs Python 3.11 or later: make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) $(LOCKED) -r requirements.lock
	PIP_CONSTRAINT=requirements-dev.lock $(PIP) $(LOCKED) -e .
	touch $@

.venv/development: .venv/runtime
	$(PIP) $(LOCKED) -r requirements-dev.lock
	touch $@

demo: .venv/runtime   ## pods get a node and give it back, in virtual time
	$(BIN)/treenail rehearse -f examples/001-inflate.yaml --for 15m --at 5m scale=inflate:0

check: install   ## style, types and direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .dev/treenail tests .ci/lock.py
	PYTHONPATH=.dev $(BIN)/lint-imports
	$(BIN)/python .ci/lock.py --check

test: install   ## every test, benchmarks once each; builds the real parts if it can; ends with the slowest, and with what was skipped, or tried twice, and why
	@tests/real/parts/build > /dev/null || echo "real parts: tests that need them are skipped, and named at the end" >&2
	$(PYTEST) $(SPREAD) --benchmark-disable --durations 25 --durations-min 10

plain: install   ## all tests but those on real parts: minutes
	$(PYTEST) $(SPREAD) --benchmark-disable --ignore=tests/real

real: install parts   ## the tests on real parts alone
	$(PYTEST) $(SPREAD) tests/real

parts:   ## build etcd, the API server and what else the tests run against: some 13 minutes, once; needs Go
	tests/real/parts/build

soak: install   ## the tests with their full counts of seeds and examples
	$(PYTEST) $(SPREAD) --benchmark-disable --soak

crds: install   ## make the custom resource definitions, and the warnings of the API server, anew from the models
	$(BIN)/python -m treenail.adapters.api.schema deploy/crds
	$(BIN)/python -m treenail.adapters.api.schema.warnings deploy/chart-crd/warnings.yaml

charts: install   ## write the renderings anew that tests compare the charts with; needs helm, of the real parts
	$(BIN)/python -m tests.real.charts.rendering

catalogue: install   ## write the shipped catalogue anew from AWS (REGIONS), with the credentials at hand
	$(BIN)/python -m treenail.adapters.cli.regenerate $(REGIONS)

fuzz: install   ## random scenarios and clusters (SEEDS), decided on beside Karpenter's own code and checked; needs Go
	$(BIN)/python -m tests.fuzz $(SEEDS) --against karpenter
	$(BIN)/python -m tests.fuzz $(SEEDS) --against karpenter --extended
	$(BIN)/python -m tests.fuzz $(SEEDS) --against karpenter --consolidation
	$(BIN)/python -m tests.fuzz.devices $(SEEDS)

bench: install   ## the benchmarks, timed
	$(PYTEST) --benchmark-only

bench-packing: install   ## packing beside Karpenter's scheduler, on the same pods; takes long; needs Go
	tests/bench/packing/karpenter/build
	$(PYTEST) --benchmark-only tests/bench/packing

bench-real: install   ## Treenail beside Karpenter's KWOK build, on real parts; takes about an hour
	tests/real/parts/build kubernetes kwok peer
	$(BIN)/python -m tests.bench.real

wheel: install   ## build the wheel, and run it from an environment of its own
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	.ci/try-wheel $(PYTHON) dist/treenail-*.whl

image-tree: wheel   ## build the file tree of the image, as its Dockerfile does, and run it without root
	.ci/try-image $(PYTHON) dist/treenail-*.whl

lock: install   ## write the lock files from what is installed, with hashes
	$(BIN)/python .ci/lock.py

clean:
	rm -rf dist .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks
