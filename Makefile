# The commands for running, testing and maintaining this project. `make` without a target lists them.
#
# They need only make and Python 3.11 or newer. All other requirements are installed into $(VENV), in the versions that
# the locks in requirements/ name. A step is repeated only when a file that it depends on has changed.

VENV ?= .venv
PYTHON ?= python3 python3.14 python3.13 python3.12 python3.11 python
PY := "$(VENV)/bin/python"
# twice --quiet: print errors only
PIP := $(PY) -m pip --disable-pip-version-check --no-input --quiet --quiet
LOCK_TOOL := uv==0.13.8

.PHONY: help setup setup-dev serve demo test test-all test-rest branches lint types types-elsewhere imports bench fuzz fuzz-guided soak lock man docs docs-links publish clean
.DELETE_ON_ERROR:

help: ## list the commands, as make without a target does
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

# -- the virtual environment ------------------------------------------------------------------------------------------

setup: $(VENV)/.runtime ## prepare .venv with the requirements of the server
setup-dev: $(VENV)/.development ## prepare .venv with the requirements of the tests as well

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
	echo "spielleiter needs Python 3.11 or newer, but none of these is: $(PYTHON)." >&2; \
	echo "Choose another one with: make PYTHON=/path/to/python3" >&2; \
	exit 1

# The project itself is installed without its dependencies and without build isolation: the dependencies and the build
# system come only from the locks, with hashes.
$(VENV)/.runtime: $(VENV)/.python requirements/build.lock requirements/runtime.lock pyproject.toml
	@echo "Installing the requirements of the server"
	@$(PIP) install --require-hashes -r requirements/build.lock -r requirements/runtime.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch "$@"

$(VENV)/.development: $(VENV)/.runtime requirements/development.lock
	@echo "Installing the requirements of the tests"
	@$(PIP) install --require-hashes -r requirements/development.lock
	@touch "$@"

$(VENV)/.fuzz: $(VENV)/.development requirements/fuzz.lock
	@echo "Installing what fuzzing needs"
	@$(PIP) install --require-hashes --only-binary=:all: -r requirements/fuzz.lock
	@touch "$@"

$(VENV)/.docs: $(VENV)/.runtime requirements/docs.lock
	@echo "Installing what makes the site of the documents"
	@$(PIP) install --require-hashes -r requirements/docs.lock
	@touch "$@"

# -- running ----------------------------------------------------------------------------------------------------------

serve: setup ## start the server (make serve ARGS="--no-timeout" passes options)
	@exec "$(VENV)/bin/spielleiter" serve $(ARGS)

demo: setup ## play one game between two built-in players and print the result
	@"$(VENV)/bin/spielleiter" demo $(ARGS)

# -- testing ----------------------------------------------------------------------------------------------------------

TYPES = $(PY) -m mypy --platform linux --cache-dir .mypy_cache/linux

# Python 3.12 and newer count lines at no cost; branches cost as much as the tests, so they are left to test-rest. The
# types are checked beside the tests: mypy keeps only one processor busy, and its own workers fail on a busy machine.
test: lint imports ## check style, types, import contracts; run the tests for every change; check coverage
	@$(TYPES) & types=$$!; trap 'kill $$types' INT TERM; status=0; \
	COVERAGE_CORE=$$($(PY) -c 'import sys; print("sysmon" if sys.version_info >= (3, 12) else "ctrace")') \
		$(PY) -m pytest --quiet --numprocesses auto -m "not extended" --cov --cov-report= $(ARGS) || status=1; \
	wait $$types || { echo "make types failed" >&2; status=1; }; exit $$status
	@$(PY) -m coverage report --include='game/*,protocol/*' --fail-under=100
	@$(PY) -m coverage report --fail-under=95

test-all: test test-rest ## make test, and everything else that is tested

test-rest: types-elsewhere ## what make test leaves out: types elsewhere, the longest tests, fuzzing, 1,000 games
	@$(PY) -m pytest --quiet --numprocesses auto -m extended $(ARGS)
	@mkdir -p build # for what is printed only after a failure: libFuzzer writes a line for each new input
	@$(MAKE) --no-print-directory branches >build/branches.log 2>&1 || { tail -n 99 build/branches.log; exit 1; }
	@$(MAKE) --no-print-directory fuzz-guided FUZZ_SECONDS=10 >build/fuzz.log 2>&1 || { tail -n 99 build/fuzz.log; exit 1; }
	@tail -n 3 build/fuzz.log
	@$(MAKE) --no-print-directory soak ARGS=1000

branches: setup-dev ## check that the tests take every branch of the rules and the protocol
	@$(PY) -m pytest --quiet --numprocesses auto -m "not extended" --cov --cov-branch --cov-report= \
		tests/game tests/protocol tests/players tests/server tests/contest/test_scripted_server.py
	@$(PY) -m coverage report --include='game/*,protocol/*' --fail-under=100

lint: setup-dev ## check the style (ruff), and the files for GitHub and for containers (check-jsonschema, zizmor)
	@$(PY) -m ruff check
	@$(PY) -m check_jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(PY) -m check_jsonschema --quiet --builtin-schema custom.github-workflows-require-timeout .github/workflows/*.yml
	@$(PY) -m check_jsonschema --quiet --builtin-schema vendor.github-actions action.yml
	@$(PY) -m check_jsonschema --quiet --builtin-schema vendor.compose-spec docker/*.yaml
	@"$(VENV)/bin/zizmor" --quiet --no-progress --offline --min-severity medium .github/workflows action.yml

types: setup-dev ## check the types as on Linux (mypy --strict)
	@$(TYPES)

# Each platform has a cache of its own, since a change of the platform makes a cache useless. What is for one platform
# only is unreachable on the others, so that is an error for Linux alone.
types-elsewhere: setup-dev ## check the types as on Windows and macOS
	@$(PY) -m mypy --platform win32 --cache-dir .mypy_cache/win32 --no-warn-unreachable & windows=$$!; \
	$(PY) -m mypy --platform darwin --cache-dir .mypy_cache/darwin --no-warn-unreachable || status=1; \
	wait $$windows || status=1; exit $${status:-0}

imports: setup-dev ## check the import contracts (import-linter)
	@"$(VENV)/bin/lint-imports"

bench: setup ## measure the server beside the bare wire, and matches (make bench ARGS=--quick passes options)
	@"$(VENV)/bin/spielleiter" bench $(ARGS)

# seconds for each of the two targets of the guided search
FUZZ_SECONDS ?= $(shell echo $$((6 * $(or $(FACTOR),10))))

fuzz: setup-dev ## run the random tests with new examples, then fuzz-guided (make fuzz FACTOR=100 does ten times as much)
	@FUZZ_FACTOR=$(or $(FACTOR),10) $(PY) -m pytest --quiet --numprocesses auto -o faulthandler_timeout=0 \
	    tests/protocol/test_cuts.py tests/server/net/test_session_fuzz.py tests/server/test_feed.py
	@$(MAKE) --no-print-directory fuzz-guided FUZZ_SECONDS=$(FUZZ_SECONDS)

# The lock is empty where atheris has no wheels.
fuzz-guided: $(VENV)/.fuzz ## search for inputs that trigger a bug, guided by coverage (make fuzz-guided FUZZ_SECONDS=10 for each target)
	@if $(PIP) show atheris >/dev/null; then \
	    for target in stream replay; do $(PY) -m tests.fuzz $$target $(FUZZ_SECONDS) || exit 1; done; \
	else \
	    echo "Left out: atheris has wheels for CPython 3.11 to 3.14 on Linux (x86-64) only"; \
	fi

soak: setup-dev ## play 20,000 games, 64 at once, beside hostile clients (make soak ARGS=1000 plays fewer)
	@$(PY) -m benchmarks.soak $(ARGS)

# -- maintaining ------------------------------------------------------------------------------------------------------

# Each lock is valid for every platform and every Python from requires-python on. The development lock is constrained by
# the others, so that they can be installed into one environment; those for publishing and for fuzzing are for one of
# their own and for this one. With an empty UPGRADE the versions stay that still satisfy pyproject.toml: then a lock
# changes only if it was out of date. Extras are kept, since pip before 23.3 takes the newest version for a requirement
# with extras, and then refuses it because it has no hash.
UPGRADE ?= --upgrade
SOLVE := "$(VENV)/bin/uv" pip compile --quiet $(UPGRADE) --universal --generate-hashes --no-annotate --no-strip-extras \
    --custom-compile-command 'make lock'

lock: $(VENV)/.python ## update the locks to the newest versions that pyproject.toml allows
	@$(PIP) install '$(LOCK_TOOL)'
	$(SOLVE) --group build --output-file requirements/build.lock
	$(SOLVE) pyproject.toml --constraints requirements/build.lock --output-file requirements/runtime.lock
	$(SOLVE) pyproject.toml --extra pictures --constraints requirements/build.lock --constraints requirements/runtime.lock \
	    --output-file requirements/pictures.lock
	$(SOLVE) pyproject.toml --extra pictures --extra league --constraints requirements/build.lock \
	    --constraints requirements/pictures.lock --output-file requirements/league.lock
	$(SOLVE) pyproject.toml --extra pictures --extra cluster --constraints requirements/build.lock \
	    --constraints requirements/league.lock --output-file requirements/cluster.lock
	$(SOLVE) requirements/publishing.in --output-file requirements/publishing.lock
	$(SOLVE) pyproject.toml --group dev --constraints requirements/build.lock --constraints requirements/league.lock \
	    --constraints requirements/cluster.lock --output-file requirements/development.lock
	$(SOLVE) --group docs --constraints requirements/development.lock --output-file requirements/docs.lock
	$(SOLVE) --group fuzz --only-binary :all: --constraints requirements/development.lock --output-file requirements/fuzz.lock

man: setup ## write the man page, made from the help of the commands, to build/spielleiter.1
	@mkdir -p build && $(PY) -m spielleiter.cli.manual > build/spielleiter.1

# --nitpicky and --fail-on-warning: a link to a page or a heading that is not there is an error.
SPHINX := $(PY) -m sphinx --quiet --nitpicky --fail-on-warning --conf-dir docs --doctree-dir build/docs-trees

docs: $(VENV)/.docs ## make the site of the documents in build/docs, and check its links within
	@rm -rf build/docs
	@$(SPHINX) --builder html . build/docs

docs-links: $(VENV)/.docs ## check the links of the documents to other sites
	@$(SPHINX) --builder linkcheck . build/docs-links

publish: $(VENV)/.python ## publish the version that pyproject.toml names (make publish ARGS=--dry-run only checks it)
	@$(PY) release/publish.py $(ARGS)

clean: ## remove everything that can be made again, including .venv
	rm -rf "$(VENV)" build dist htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
