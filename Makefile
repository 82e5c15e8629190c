# Tasks of this checkout; `make` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000
DEMO ?= 1
TESTS ?= tests
PROCESSES ?= 2
FULL ?=
# Every worker process would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

# For Linux, macOS and Windows, and every Python from 3.11 on.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock"

# Production settings for `check --deploy`, with placeholder values.
PRODUCTION := EVALSVC_HTTPS=true DEBUG=false ALLOWED_HOSTS=evalsvc.example.org \
  CSRF_TRUSTED_ORIGINS=https://evalsvc.example.org TRUSTED_PROXIES=1 REDIS_URL=redis://redis:6379/0 \
  DATABASE_URL=postgres://evalsvc:not-a-password@postgres:5432/evalsvc \
  SECRET_KEY=only-for-the-check-of-the-settings-0123456789-abcdefghijklmnopqrstuvwxyz \
  EVALSVC_DATA=$(VENV)/check-data

.PHONY: help up test lint format bench load api prove fuzz crash attack lock audit sbom digests clean python

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: $(VENV)/run.stamp ## run the whole service here (PORT=8000, DEMO=0 starts empty)
	@PORT=$(PORT) DEMO=$(DEMO) exec $(BIN)/python manage.py up

test: $(VENV)/dev.stamp ## run the tests (TESTS=tests/workers for some of them, FULL=1 for long matrices in full)
	@FULL=$(FULL) $(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder $(TESTS)

lint: $(VENV)/dev.stamp ## style, types, layers, migrations, production settings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/djlint --lint --quiet annotation evalsvc
	$(BIN)/oxlint --quiet annotation evalsvc
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python manage.py makemigrations --check --dry-run
	@install -d -m 700 $(VENV)/check-data
	$(PRODUCTION) $(BIN)/python manage.py check --deploy --fail-level WARNING

format: $(VENV)/dev.stamp ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/dev.stamp ## measure speed and memory; writes bench/results
	@failed=; for part in bench bench.service bench.imports bench.pages bench.queue; do \
	  $(BIN)/python -m $$part || failed="$$failed $$part"; done; \
	  test -z "$$failed" || { echo "Failed or missed a goal:$$failed" >&2; exit 1; }

load: $(VENV)/dev.stamp ## load a whole service until it saturates (OPTIONS="--postgres --seconds 10")
	$(BIN)/python -m bench.load $(OPTIONS)

api: $(VENV)/dev.stamp ## test the API against its OpenAPI description for half an hour (CI_SECONDS=1800)
	@CI_SECONDS=$${CI_SECONDS:-1800} $(BIN)/python -m pytest -q tests/test_schemathesis.py

prove: $(VENV)/dev.stamp ## stress the labelling queue on PostgreSQL with 100,000 operations (long)
	$(BIN)/python -m tests.annotation.load
	$(BIN)/python -m tests.annotation.load --kind entities --operations 20000 --items 1500
	$(BIN)/python -m tests.annotation.load --kind joint --operations 20000 --items 1500

fuzz: $(VENV)/dev.stamp ## a million damaged files through every reader (INPUTS=1000000)
	@FUZZ_INPUTS=$${INPUTS:-1000000} $(BIN)/python -m pytest -q -rP tests/fuzz

crash: $(VENV)/dev.stamp ## faults in a real service on PostgreSQL (FAULTS=1000 SEED=1 SETTINGS=short or production)
	$(BIN)/python -m tests.crash --faults $${FAULTS:-1000} --seed $${SEED:-1} --settings $${SETTINGS:-short}

attack: $(VENV)/dev.stamp ## every attack of docs/security.md in full, with a million damaged files (INPUTS=1000000)
	@FULL=1 FUZZ_INPUTS=$${INPUTS:-1000000} $(BIN)/python -m pytest -q -m attack -n $(PROCESSES) --dist loadfile $(TESTS)

lock: $(BIN)/python ## resolve the requirements anew, with hashes
	$(COMPILE) -o requirements.txt requirements.in
	$(COMPILE) -c requirements.txt -o requirements-formats.txt requirements-formats.in
	$(COMPILE) -c requirements.txt -c requirements-formats.txt -o requirements-dev.txt requirements-dev.in
	$(COMPILE) -o requirements-audit.txt requirements-audit.in
	$(COMPILE) -o requirements-uv.txt requirements-uv.in

audit: $(VENV)/audit.stamp ## look for known vulnerabilities in the requirements
	@$(VENV)/audit/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off \
	  -r requirements.txt -r requirements-dev.txt -r requirements-formats.txt

sbom: $(VENV)/audit.stamp ## list all components (CycloneDX), as sbom.json
	@$(VENV)/audit/bin/cyclonedx-py requirements --output-file sbom.json requirements.txt
	@echo "sbom.json lists the components"

digests: ## print the images of today by digest, for the file .env
	@for image in PYTHON_IMAGE=python:3.11-slim POSTGRES_IMAGE=postgres:17-alpine REDIS_IMAGE=redis:7-alpine \
	  NGINX_IMAGE=nginx:1.28-alpine; do \
	  digest=$$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$${image#*=}") || exit 1; \
	  echo "$$image@$$digest"; done

clean: ## remove the environment and caches, not the data folder
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

python:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "$(PYTHON) not found. Install Python 3.11 or newer (Debian: apt-get install python3 python3-venv)."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is $$($(PYTHON) -V), but 3.11 or newer is required. Use another: make PYTHON=python3.12 up."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "$(PYTHON) cannot create environments. Install venv (Debian: apt-get install python3-venv)."; exit 1; }

$(BIN)/python: | python
	@echo "Creating an environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
	  -r requirements-uv.txt 2>/dev/null \
	  || echo "uv is not available; using pip, which is slower"

# uv installs many times faster than pip, which compiles modules as it installs them. Processes that compile what they
# import need 50 MB more, all together.
define install
	@echo "Installing $(1)"
	@if command -v $(BIN)/uv >/dev/null; then $(BIN)/uv pip install --quiet $(2) --python $(BIN)/python --require-hashes -r $(1); \
	  else $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(1); fi
	@touch $@
endef

$(VENV)/run.stamp: requirements.txt | $(BIN)/python
	$(call install,requirements.txt,--compile-bytecode)

$(VENV)/dev.stamp: requirements-dev.txt requirements.txt | $(BIN)/python
	$(call install,requirements-dev.txt)
	@touch $(VENV)/run.stamp

$(VENV)/audit.stamp: requirements-audit.txt | $(BIN)/python
	@$(PYTHON) -m venv $(VENV)/audit
	@$(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-audit.txt
	@touch $@
