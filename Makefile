# Everything that is done with this project, by name. `make` alone lists it.
#
# Needs only Python >= 3.11 and make. Whatever else is needed goes into $(VENV), in the versions that the
# locks in requirements/ name; each step is done again only when a file it was made from has changed.

VENV ?= .venv
PYTHON ?= python3 python3.14 python3.13 python3.12 python3.11 python
PY := "$(VENV)/bin/python"
# twice quiet: only errors
PIP := $(PY) -m pip --disable-pip-version-check --no-input --quiet --quiet
LOCK_TOOL := uv==0.13.8

.PHONY: help setup setup-dev serve demo test lint types imports bench fuzz soak lock man clean
.DELETE_ON_ERROR:

help: ## list the commands (make alone does it too)
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

# -- the virtual environment ------------------------------------------------------------------------------------

setup: $(VENV)/.runtime ## prepare .venv, with what the server needs
setup-dev: $(VENV)/.development ## ... and with what its tests need

$(VENV)/.python:
	@incomplete=; for candidate in $(PYTHON); do \
	    $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	    $$candidate -c 'import ensurepip' 2>/dev/null || { incomplete=$$candidate; continue; }; \
	    echo "Preparing $(VENV) with $$($$candidate --version)"; \
	    $$candidate -m venv "$(VENV)" || exit 1; \
	    touch "$@"; exit 0; \
	done; \
	if [ -n "$$incomplete" ]; then \
	    echo "$$incomplete cannot make a virtual environment: sudo apt install python3-venv (Debian, Ubuntu)." >&2; \
	    exit 1; \
	fi; \
	echo "spielleiter needs Python 3.11 or newer, and none was found among: $(PYTHON)." >&2; \
	echo "make PYTHON=/path/to/python3 names another." >&2; \
	exit 1

# The project itself is installed without its dependencies and without an environment of its own to be built in:
# both come from the locks, with hashes, and from nowhere else.
$(VENV)/.runtime: $(VENV)/.python requirements/build.lock requirements/runtime.lock pyproject.toml
	@echo "Installing what the server needs"
	@$(PIP) install --require-hashes -r requirements/build.lock -r requirements/runtime.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch "$@"

$(VENV)/.development: $(VENV)/.runtime requirements/development.lock
	@echo "Installing what the tests need"
	@$(PIP) install --require-hashes -r requirements/development.lock
	@touch "$@"

# -- running it -------------------------------------------------------------------------------------------------

serve: setup ## start the server (make serve ARGS="--no-timeout" hands on options)
	@"$(VENV)/bin/spielleiter" serve $(ARGS)

demo: setup ## a server, two built-in players, one whole game, the result
	@"$(VENV)/bin/spielleiter" demo $(ARGS)

# -- testing it -------------------------------------------------------------------------------------------------

test: lint types imports ## lint, types, import contracts, tests, coverage
	@$(PY) -m pytest --quiet --numprocesses auto --cov --cov-report= $(ARGS)
	@$(PY) -m coverage report --include='game/*,protocol/*' --fail-under=100
	@$(PY) -m coverage report --fail-under=95

lint: setup-dev ## ruff
	@$(PY) -m ruff check

types: setup-dev ## mypy --strict
	@$(PY) -m mypy

imports: setup-dev ## who may import whom
	@"$(VENV)/bin/lint-imports"

bench: setup ## figures of server, rules and protocol beside the bare wire (make bench ARGS=--quick hands on options)
	@"$(VENV)/bin/spielleiter" bench $(ARGS)

fuzz: setup-dev ## spoilt streams, crowds of callers and lobbies, new ones each time (make fuzz FACTOR=100 tries longer)
	@FUZZ_FACTOR=$(or $(FACTOR),10) $(PY) -m pytest --quiet --numprocesses auto -o faulthandler_timeout=0 \
	    tests/protocol/test_mutations.py tests/server/core/test_lobby_machine.py tests/server/net/test_session_fuzz.py
	@$(PY) -m tests.fuzz stream $$((6 * $(or $(FACTOR),10)))
	@$(PY) -m tests.fuzz replay $$((6 * $(or $(FACTOR),10)))

soak: setup-dev ## 20,000 games, 64 at once, bad clients among them (make soak ARGS=1000 plays fewer)
	@$(PY) -m spielleiter.bench.soak $(ARGS)

# -- keeping it -------------------------------------------------------------------------------------------------

# One solution for every platform and every Python from requires-python on. The builder's and the runtime's
# versions bind the development lock, so that one environment can hold all three.
SOLVE := "$(VENV)/bin/uv" pip compile --quiet --upgrade --universal --generate-hashes --no-annotate \
    --custom-compile-command 'make lock'

lock: $(VENV)/.python ## make the locks anew, with the newest versions pyproject.toml admits
	@$(PIP) install '$(LOCK_TOOL)'
	$(SOLVE) --group build --output-file requirements/build.lock
	$(SOLVE) pyproject.toml --constraints requirements/build.lock --output-file requirements/runtime.lock
	$(SOLVE) pyproject.toml --group dev --constraints requirements/build.lock --constraints requirements/runtime.lock \
	    --output-file requirements/development.lock

man: setup ## make docs/spielleiter.1 anew, from the help of the commands
	@$(PY) -m spielleiter.cli.manual > docs/spielleiter.1.new && mv docs/spielleiter.1.new docs/spielleiter.1

clean: ## remove everything that can be made again, .venv too
	rm -rf "$(VENV)" build dist htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
