# Everything a developer or CI runs. Each target makes and fills .venv by itself when needed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test audit check bench figures coverage clean

demo: $(VENV)/.installed
	$(BIN)/spatialdp traffic --output out

test: $(VENV)/.tools
	$(BIN)/python -m pytest

audit: $(VENV)/.tools
	$(BIN)/python -m pytest -m audit
	$(BIN)/python -m tests.audit

check: $(VENV)/.tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.tools
	$(BIN)/python -m benchmarks

figures: $(VENV)/.installed
	$(BIN)/python scripts/traffic_histogram.py --output figures
	$(BIN)/python scripts/median_quality.py --output figures
	$(BIN)/python scripts/quadtree_variants.py --output figures --releases 30
	$(BIN)/python scripts/kd_variants.py --output figures --releases 30
	$(BIN)/python scripts/error_vs_height.py --output figures --releases 30
	$(BIN)/python scripts/decomposition_maps.py --output figures
	$(BIN)/python scripts/expected_error.py --output figures
	$(BIN)/python scripts/wavelet_coefficients.py --output figures
	$(BIN)/python scripts/fourier_smooth_and_clustered.py --output figures

coverage: $(VENV)/.tools
	$(BIN)/python -m pytest --cov --cov-report=term-missing:skip-covered

clean:
	rm -rf $(VENV) out .mypy_cache .pytest_cache .ruff_cache

$(VENV)/.python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "spatialdp needs Python 3.11 or newer; try make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.installed: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.tools: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,check,bench]'
	touch $@
