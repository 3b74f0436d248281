# make demo and make test do all that they need: virtual environment, installation, run.
# Needed: make and Python 3.11 or newer (another one than python3: make test PYTHON=python3.12).

PYTHON ?= python3
VENV ?= .venv
PIP = $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check

# An installation is repeated only when what it depends on has changed.
DEMO = $(VENV)/.installed
DEV = $(VENV)/.installed-dev
BROWSER = $(VENV)/.browser

.PHONY: demo test test-full bench lint clean

demo: $(DEMO)
	$(VENV)/bin/brokerlab demo

test: $(DEV) $(BROWSER)
	$(VENV)/bin/python -m pytest -n 2 --dist loadgroup -m "not full"

test-full: $(DEV) $(BROWSER)
	$(VENV)/bin/python -m pytest -n 2 --dist loadgroup

bench: $(DEV)
	$(VENV)/bin/python -m tests.bench

lint: $(DEV)
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "brokerlab needs Python 3.11 or newer; $(PYTHON) is not. Write: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(DEMO): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --constraint constraints.txt --editable .
	@touch $@

$(DEV): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --constraint constraints.txt --editable '.[dev]'
	@touch $(DEMO) $@

# The tests of pages open them in Chromium. It is installed only where that can be done without asking.
$(BROWSER): | $(VENV)/bin/python
	@if command -v chromium || command -v chromium-browser || command -v google-chrome || command -v chrome; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null \
	  || echo "Chromium could not be installed: the tests of pages will fail" >&2; \
	else echo "No Chromium on the PATH: the tests of pages will fail; install chromium or google-chrome" >&2; fi >/dev/null
	@touch $@

clean:
	rm -rf $(VENV) build *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
