# Everything a developer or CI runs. Each target makes and fills .venv by itself when needed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What the figures are means of; fewer for a quick look.
RELEASES ?= 30
TRIALS ?= 10
# Tests have a process for each core, which begins with its own half of the tests: neighbours share what is set up.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
IN_HALVES := -n auto --dist worksteal
# Many tests start Python: they find the package compiled, even where the environment asks for no compiled files.
export PYTHONDONTWRITEBYTECODE :=
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
INSTALL_CHROMIUM := ($(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null) \
	|| { echo "Chromium could not be installed; put chromium and chromedriver on the PATH, then run make browser again." >&2; exit 1; }

INSTALL_POSTGRESQL := ($(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends postgresql postgresql-postgis >/dev/null) \
	|| { echo "PostgreSQL with PostGIS could not be installed; install postgresql and postgresql-postgis, then run make engines again." >&2; exit 1; }
INSTALL_JAVA := ($(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends default-jre-headless >/dev/null) \
	|| { echo "Java could not be installed; put Java 17 or newer on the PATH, then run make engines again." >&2; exit 1; }

.PHONY: demo test browser engines ledger audit check docs bench figures explorer-figure leaflet coverage clean

demo: $(VENV)/.installed
	$(BIN)/spatialdp traffic --output out --force

# The tests, then how many lines and branches they ran: of privacy/ all, of the rest 95 % at least. What keeps a ledger in
# PostgreSQL needs a server: `make ledger` runs it.
test: $(VENV)/.tools
	$(ONE_THREAD) $(BIN)/python -m pytest $(IN_HALVES) -m "not browser and not audit and not engines" --cov --cov-report=
	@echo
	@$(BIN)/coverage report --include='spatialdp/privacy/*,spatialdp/privacy/noise/*,spatialdp/privacy/ledger/*,spatialdp/privacy/ledger/stores/*' --omit='spatialdp/privacy/ledger/stores/postgres.py' --fail-under=100
	@printf '\nCoverage of lines and branches, all of spatialdp: '
	@$(BIN)/coverage report --format=total --fail-under=95

browser: $(VENV)/.browser
	SPATIALDP_NEEDS_BROWSER=1 $(BIN)/python -m pytest -m browser tests/browser/test_browser.py

# Tables in PostgreSQL with PostGIS, on a server of its own in a temporary folder, and in Spark on this machine.
engines: $(VENV)/.engines
	SPATIALDP_NEEDS_ENGINES=1 $(ONE_THREAD) $(BIN)/python -m pytest -m "engines and not audit" tests/records/engines

# A ledger in PostgreSQL, on a server of its own.
ledger: $(VENV)/.engines
	SPATIALDP_NEEDS_ENGINES=1 $(ONE_THREAD) $(BIN)/python -m pytest -m "engines and not audit" tests/privacy/ledger

audit: $(VENV)/.tools
	$(ONE_THREAD) $(BIN)/python -m pytest $(IN_HALVES) -m audit
	$(ONE_THREAD) $(BIN)/python -m tests.audit

check: $(VENV)/.tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Warnings, such as a link that leads nowhere, are errors.
docs: $(VENV)/.docs
	$(BIN)/sphinx-build --builder html --fail-on-warning --keep-going --quiet docs out/docs
	@echo "out/docs/index.html"

bench: $(VENV)/.tools
	$(BIN)/python -m benchmarks

figures: $(VENV)/.installed explorer-figure
	$(BIN)/python scripts/traffic_histogram.py --output figures
	$(BIN)/python scripts/median_quality.py --output figures
	$(BIN)/python scripts/quadtree_variants.py --output figures --releases $(RELEASES)
	$(BIN)/python scripts/kd_variants.py --output figures --releases $(RELEASES)
	$(BIN)/python scripts/error_vs_height.py --output figures --releases $(RELEASES)
	$(BIN)/python scripts/decomposition_maps.py --output figures
	$(BIN)/python scripts/expected_error.py --output figures
	$(BIN)/python scripts/wavelet_coefficients.py --output figures
	$(BIN)/python scripts/fourier_smooth_and_clustered.py --output figures
	$(BIN)/python scripts/error_vs_epsilon.py --output figures --trials $(TRIALS)
	$(BIN)/python scripts/mechanism_pictures.py --output figures
	$(BIN)/python scripts/gallery.py --output figures
	$(BIN)/python scripts/zone_budgets.py --output figures
	$(BIN)/python scripts/hot_spots.py --output figures
	$(BIN)/python scripts/list_over_grid.py --output figures
	$(BIN)/python scripts/sparse_map.py --output figures
	$(BIN)/python scripts/county_map.py --output figures
	$(BIN)/python scripts/running_totals.py --output figures
	$(BIN)/python scripts/randomized_response.py --output figures
	$(BIN)/python scripts/count_sketch.py --output figures
	$(BIN)/python scripts/lloyd.py --output figures --trials $(TRIALS)
	$(BIN)/python scripts/pricing.py --output figures
	$(BIN)/python scripts/hot_zones.py --output figures
	$(BIN)/python scripts/reproductions.py --output figures --trials $(TRIALS)
	$(BIN)/python scripts/adaptive_errors.py --output figures --trials 12 --epsilons 0.01,0.03,0.1,0.3,1,3
	$(BIN)/python scripts/mwem.py --output figures
	$(BIN)/python scripts/privbayes.py --output figures

explorer-figure: $(VENV)/.browser
	$(BIN)/python scripts/explorer_picture.py --output figures

# Brings the map library of the explorer's page up to the version named in the script.
leaflet:
	$(PYTHON) scripts/vendor_leaflet.py

# Which lines and branches the last `make test` did not run.
coverage: $(VENV)/.tools
	$(BIN)/coverage report --show-missing --skip-covered

clean:
	rm -rf $(VENV) out .mypy_cache .pytest_cache .ruff_cache .coverage .coverage.*

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

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

# PostgreSQL with PostGIS and Java, from Debian if there are none yet, psycopg and pyspark.
$(VENV)/.engines: $(VENV)/.tools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[postgres,spark,ledger]'
	ls /usr/share/postgresql/*/extension/postgis.control >/dev/null 2>&1 || $(INSTALL_POSTGRESQL)
	command -v java >/dev/null || $(INSTALL_JAVA)
	touch $@

# A headless Chromium, from Debian if there is none yet.
$(VENV)/.browser: $(VENV)/.tools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[browser]'
	command -v chromium >/dev/null && command -v chromedriver >/dev/null || $(INSTALL_CHROMIUM)
	touch $@
