# What a developer does; `make` alone lists it. Everything is installed into .venv and nowhere else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := podrail podrail_io webhook extender nodeagent controller certs podrail_cli
SOURCES := $(shell find $(PACKAGES) -type f -not -path '*/__pycache__/*') pyproject.toml LICENSE README.md
FUZZED := $(shell grep -rlE 'fuzz\.examples|fuzz\.TIMES' tests --include='test_*.py')
PIP := $(BIN)/python -m pip --disable-pip-version-check
LOCK := $(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links

# A file called certs.py in the working directory must never be taken for the program.
export PYTHONSAFEPATH := 1

.DEFAULT_GOAL := help
.PHONY: soak docs kind matrix image release audit help demo test fuzz generate lint bench cluster coverage install lock clean

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/podrail.stamp ## Show podrail at work on a simulated cluster; needs Python 3.11 only
	@$(BIN)/podrail demo

test: $(VENV)/dev.stamp $(VENV)/podrail.stamp ## Run everything: unit, property, Go transport, real control plane and node (ARGS="-k name")
	@PYTHONPATH=tests/support $(BIN)/python tests/plan.py $(ARGS)

matrix: $(VENV)/dev.stamp $(VENV)/podrail.stamp ## Try the control plane of every pinned Kubernetes, 1.34 to 1.37 (ARGS="1.34.4 -x")
	@PYTHONPATH=tests/support $(BIN)/python tests/matrix.py $(ARGS)

fuzz: $(VENV)/dev.stamp $(VENV)/podrail.stamp ## Try every law with twenty times as many examples; takes about an hour
	PODRAIL_FUZZ=20 $(BIN)/python -m pytest -q -m "not cluster and not node and not image and not page" $(FUZZED) $(ARGS)

generate: $(VENV)/dev.stamp ## Write the files that are made from code and chart: definitions, kustomize, lists of rights (needs Go)
	PYTHONPATH=tests/support:. $(BIN)/python -m generated
	PYTHONPATH=tests/support:. $(BIN)/python -m charted
	PYTHONPATH=tests/support:. $(BIN)/python -m rights
	PYTHONPATH=tests/support:. $(BIN)/python -m reference

lint: $(VENV)/dev.stamp ## Check style, types, import contracts, test docstrings, spelling
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	PYTHONPATH=. $(BIN)/lint-imports
	$(BIN)/interrogate --quiet tests
	$(BIN)/codespell

soak: $(VENV)/dev.stamp $(VENV)/podrail.stamp ## Call webhook and extender for 15 minutes; memory and threads must stay flat (ARGS="--seconds 120")
	@PYTHONPATH=tests/support $(BIN)/python tests/soak/run.py $(ARGS)

bench: $(VENV)/dev.stamp $(VENV)/podrail.stamp ## Measure; prints JSON
	@PYTHONPATH=tests/support:tests/bench $(BIN)/python tests/bench/run.py $(ARGS)

cluster: $(VENV)/dev.stamp $(VENV)/podrail.stamp ## Leave a real control plane with demo nodes running, until Ctrl-C
	@PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONPATH=tests/support $(BIN)/python -m controlplane

coverage: $(VENV)/dev.stamp ## Report what COVERAGE=1 make test measured
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --include='podrail/*' --fail-under=100
	$(BIN)/coverage report --fail-under=95

docs: $(VENV)/dev.stamp ## Build the documentation's site into build/site
	$(BIN)/mkdocs build --strict --quiet

kind: ## Make a kind cluster with podrail in it; needs docker or podman, kind, helm, kubectl and `make image`
	deploy/kind/up

image: $(VENV)/dev.stamp ## Build the image for amd64 and arm64 into dist/; root on Debian 12 with buildah, debootstrap
	PYTHON=$(CURDIR)/$(BIN)/python deploy/images/build $(ARGS)

release: image ## Write wheel, image, chart, SBOMs, air-gapped archive and checksums into dist/
	PYTHON=$(CURDIR)/$(BIN)/python deploy/release/pack

audit: $(VENV)/dev.stamp ## Ask for known vulnerabilities of every locked requirement; fails where it cannot ask
	$(PIP) install --quiet --require-hashes -r requirements/audit.txt
	$(BIN)/pip-audit --strict --disable-pip --require-hashes -r requirements/runtime.txt

install: $(VENV)/podrail.stamp ## Install podrail into .venv

lock: $(VENV)/dev.stamp ## Write requirements/*.txt anew; ARGS=--upgrade takes newer versions
	env -u PIP_FIND_LINKS $(LOCK) $(ARGS) -o requirements/runtime.txt pyproject.toml
	env -u PIP_FIND_LINKS $(LOCK) $(ARGS) -o requirements/build.txt requirements/build.in
	env -u PIP_FIND_LINKS $(LOCK) $(ARGS) -o requirements/dev.txt requirements/dev.in
	env -u PIP_FIND_LINKS $(LOCK) $(ARGS) -o requirements/audit.txt requirements/audit.in

clean: ## Remove what was made here (built control plane programs stay in the user's cache)
	rm -rf $(VENV) build dist .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/runtime.stamp: requirements/runtime.txt requirements/build.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "podrail needs Python 3.11 or newer; set PYTHON=/path/to/it")'
	@test -x $(BIN)/python || { echo "Making $(VENV), about half a minute"; $(PYTHON) -m venv $(VENV); }
	$(PIP) install --quiet --require-hashes -r requirements/runtime.txt -r requirements/build.txt
	@touch $@

$(VENV)/dev.stamp: requirements/dev.txt $(VENV)/runtime.stamp
	$(PIP) install --quiet --require-hashes -r requirements/runtime.txt -r requirements/dev.txt
	@touch $@

# A wheel and no editable install: tests see what a user gets, data files included.
$(VENV)/podrail.stamp: $(SOURCES) $(VENV)/runtime.stamp
	$(PIP) install --quiet --no-deps --no-build-isolation --force-reinstall .
	@touch $@
