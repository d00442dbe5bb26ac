# make demo and make test do everything on a fresh Debian machine with python3 and root.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
PACKAGES := mmdebstrap bubblewrap uidmap prometheus prometheus-alertmanager chromium fonts-dejavu-core

.PHONY: demo test lint unit monitoring integration bench-planner bench-cost deps clean

demo: deps
	$(RUN) -m lab.demo

test: deps
	$(VENV)/bin/tox run

lint unit monitoring: deps
	$(VENV)/bin/tox run -e $@

integration: deps
	$(VENV)/bin/tox run -e integration-tentacle,integration-reef

bench-planner: deps
	$(RUN) -m lab.bench_planner --out docs/results/planner.json

bench-cost: deps
	$(RUN) -m lab.demo.cost

deps: $(VENV)/ready
	@missing=; for tool in mmdebstrap bwrap promtool prometheus-alertmanager chromium; do command -v $$tool >/dev/null || missing=1; done; \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" != 0 ]; then echo "something is missing: apt-get install $(PACKAGES)" >&2; exit 1; fi; \
	  apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $(PACKAGES); \
	fi

$(VENV)/ready: requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install -q -r requirements-dev.txt
	touch $@

clean:
	rm -rf $(VENV) .tox out .mypy_cache .ruff_cache .pytest_cache .hypothesis
