# Everything a stranger needs: a Python >= 3.11 on the PATH (or PYTHON=...), nothing else.
#   make demo   set up, train models of several families on data that ships with Python, write demo/report.html
#   make test   set up, run the tests (slow ones included; `make test-fast` leaves them out)
PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# Real data for `data`-marked tests and experiments, where it lies beside the checkout; never a path in the package.
ifneq ($(wildcard ../shared/data/README.md),)
export GOSSAMER_DATA ?= $(abspath ../shared/data)
endif

.PHONY: help demo test test-fast lint format bench docs wheel wheel-smoke reproduce clean
help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

# One stamp per set of extras, so that `make demo` never pays for test tools.
$(VENV)/.base: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
# torch first and alone: with it in place no later requirement can pull a CUDA build.
	$(PIP) "torch==$$(sed -n 's/^torch==//p' constraints.txt)"
	$(PIP) --editable .
	touch $@
$(VENV)/.serve: $(VENV)/.base
	$(PIP) --editable '.[serve]'
	touch $@
$(VENV)/.test: $(VENV)/.base
	$(PIP) --editable '.[test]'
	touch $@
$(VENV)/.lint: $(VENV)/.test
	$(PIP) --editable '.[lint]'
	touch $@
$(VENV)/.bench: $(VENV)/.base
	$(PIP) --editable '.[bench]'
	touch $@
$(VENV)/.docs: $(VENV)/.base
	$(PIP) --editable '.[docs]'
	touch $@

$(VENV)/.release: $(VENV)/.base
	$(PIP) --editable '.[release]'
	touch $@

demo: $(VENV)/.serve ## train, compare and compress models of built-in data, write demo/report.html, open the explorer
	$(BIN)/gossamer demo --out demo

# Two processes, because most of the time goes into property tests that use one core each.
test: $(VENV)/.test ## every test, slow ones included
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-fast: $(VENV)/.test ## what to run while editing
	$(BIN)/python -m pytest -m "not slow and not data and not browser"

lint: $(VENV)/.lint ## ruff and mypy --strict
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

format: $(VENV)/.lint ## let ruff rewrite the layout
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

bench: $(VENV)/.bench ## time and memory against peers; writes results/bench/*.json
	for f in benchmarks/bench_*.py; do $(BIN)/python $$f || exit 1; done

docs: $(VENV)/.docs ## build the site into site/
	$(BIN)/mkdocs build --strict

# Without isolation, so that the build tools are those of constraints.txt.
# What an earlier version left in dist/ would be installed beside it.
wheel: $(VENV)/.release ## build the wheel and the source archive into dist/
	rm -rf dist
	$(BIN)/python -m build --no-isolation

# What a stranger's first minutes are: an environment with nothing in it, outside of the checkout.
wheel-smoke: wheel ## install the wheel into an empty environment and run the demo there
	rm -rf build/empty build/away && $(PYTHON) -m venv build/empty && mkdir -p build/away
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		"torch==$$(sed -n 's/^torch==//p' constraints.txt)"
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt dist/*.whl
	cd build/away && ../empty/bin/gossamer --help && ../empty/bin/gossamer demo --no-serve --out demo

reproduce: $(VENV)/.bench ## run every experiment whose data is here
	$(BIN)/gossamer reproduce --all

clean: ## remove the environment and everything built
	rm -rf $(VENV) site build dist demo .pytest_cache .mypy_cache .ruff_cache
