# make demo and make test do everything on a fresh Debian machine with python3 and root.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
DEB_TOOLS := git dh dpkg-buildpackage
DEB_PACKAGES := git debhelper dpkg-dev
LAB_TOOLS := mmdebstrap bwrap $(DEB_TOOLS)
LAB_PACKAGES := mmdebstrap bubblewrap uidmap $(DEB_PACKAGES)
TEST_TOOLS := luacheck lua5.3 promtool prometheus-alertmanager chromium
TEST_PACKAGES := lua-check lua5.3 prometheus prometheus-alertmanager chromium fonts-dejavu-core

PACKAGE_TOOLS := $(DEB_TOOLS) lintian rpmbuild rpmlint
PACKAGE_PACKAGES := $(DEB_PACKAGES) lintian rpm rpmlint

.PHONY: demo test claims sim replay replay-lab lint unit monitoring hook integration pythons mds mds-optimized bench-hook chaos bench bench-quick bench-observe bench-sim bench-schedule-cost bench-saturation bench-policy bench-churn bench-large bench-scheduler bench-headline bench-conditions bench-reference bench-cost deb rpm package-test deps test-deps clean

# Installs Debian packages $(2) unless every tool of $(1) is there.
define need
	@missing=; for tool in $(1); do command -v $$tool >/dev/null || missing=1; done; \
	if [ -n "$$missing" ]; then lab/install-debs $(2); fi
endef

demo: deps
	$(RUN) -m demo

test: test-deps
	$(VENV)/bin/tox run-parallel --parallel 2 --parallel-no-spinner

# Renders what README and docs claim out of docs/results. ARGS="--check", "--strict".
claims: deps
	$(RUN) -m docs.claims $(ARGS)

# The tables of docs/commands.md, from the module's declarations; a unit test compares.
.PHONY: docs
docs: deps
	PYTHONPATH=mgr:tests/fakes $(RUN) -m docs.reference

lint unit monitoring hook: test-deps
	$(VENV)/bin/tox run -e $@

integration: test-deps
	$(VENV)/bin/tox run -e integration-tentacle,integration-reef

# The module's unit tests with Debian's own Python and libraries, from bullseye's 3.9 to forky's 3.14; SUITES: some.
pythons: deps
	$(RUN) -m tests.pythons $(SUITES)

mds: deps
	$(RUN) -m mds.build

# Applies and compiles each patch for the MDS after those before it, of RELEASES or of both; writes logs to docs/results.
.PHONY: series
series: deps
	$(RUN) -m mds.series steps $(RELEASES:%=--release %)

# Optimized as Debian's own program is, to be compared with it.
mds-optimized: deps
	$(RUN) -m mds.build --flags=-O2

# Every scenario, every policy beside every other, what the lab measured beside the model, and every paper; pictures
# and reports go to out/sim.
sim: deps
	$(call need,lua5.3,lua5.3)
	$(RUN) -m sim run --draw
	$(RUN) -m sim compare
	$(RUN) -m sim calibrate
	$(RUN) -m sim paper

# HISTORIES from SEED on, on every core.
replay: deps
	PYTHONPATH=mgr:tests:tests/fakes $(RUN) -m replay --histories $(or $(HISTORIES),100000) --seed $(or $(SEED),0)

# Some of them on a lab, too, which must say what the model says.
replay-lab: deps
	PYTHONPATH=mgr:tests:tests/fakes $(RUN) -m replay.on_lab --release $(RELEASE) --histories $(or $(HISTORIES),50) --seed $(or $(SEED),0)

bench-hook: mds-optimized
	$(RUN) -m experiments.matrix --hook --ranks 4 --mds-cpu 15 --workloads scan --balancers builtin lunule-heat lunule-mindex --seconds 170 --out docs/results/hook
	$(RUN) -m experiments.matrix --hook --ranks 4 --mds-cpu 15 --workloads zipf --balancers builtin lunule-heat lunule-mindex --seconds 60 --out docs/results/hook

# Everything that may happen to a plan, at random, on a real cluster: DURATION in s, RELEASE, SEED.
DURATION ?= 900
RELEASE ?= tentacle
chaos: deps
	$(RUN) -m tests.chaos --duration $(DURATION) --release $(RELEASE) $(if $(SEED),--seed $(SEED))

# In every condition; cells are named by what they are of, so commands that share a folder share cells.
MAIN := builtin builtin-to-auth scheduler oracle
CONDITIONS := $(RUN) -m experiments.conditions
COLD := docs/results/cold
SETTLED := docs/results/settled

# One run of every cell, then two more of those that matter; what is finished is not run again.
bench: mds-optimized
	$(RUN) -m experiments.matrix --runs 1
	$(RUN) -m experiments.matrix --runs 3 --balancers builtin subvolume-pinning lunule lunule-mindex oracle
	$(RUN) -m experiments.adaptation
	$(RUN) -m experiments.matrix --runs 3 --report-only

# The order of the main five, settled for half a minute: a quarter of an hour.
bench-quick: deps
	$(CONDITIONS) --condition settled --before 30 --seconds 30 --workloads zipf cnn --balancers $(MAIN) subvolume-pinning --runs 1 --out out/bench-quick

# With 36 ranks and 3,000 subvolumes, in parts of a core.
bench-schedule-cost: deps
	PYTHONPATH=mgr:.:tests/fakes:tests/unit:tests/unit/module $(RUN) tests/bench/schedule.py

# CPU time and memory of the simulator with 256 ranks, and with 1,024.
bench-sim: deps
	$(call need,lua5.3,lua5.3)
	PYTHONPATH=mgr:. $(RUN) tests/bench/simulator.py

bench-observe: deps
	PYTHONPATH=mgr:tests/fakes $(RUN) tests/bench/observe.py

# Goes on where it was ended; a setting takes half a minute.
bench-saturation: deps
	$(RUN) -m experiments.saturation

bench-policy: deps
	$(RUN) tests/bench/policy.py

bench-churn: deps
	$(RUN) -m experiments.churn

# One full rank of ten, by the policy that ships and by the one before hot ranks gave by themselves, in turns; goes on
# where it was ended.
bench-large: deps
	mkdir -p out
	git show 92561ed:mantle/lunule.lua > out/lunule-old.lua
	$(RUN) -m experiments.large_cluster --old out/lunule-old.lua

# The scheduler from cold beside the built-in balancer and the oracle; goes on where it was ended. A cycle's fourth
# time is after seven minutes.
bench-scheduler: deps
	$(CONDITIONS) --workloads zipf mix cnn jumps churn --runs 3 --report scheduler --out $(COLD)
	$(CONDITIONS) --workloads nlp web md dbench leaving flash programs --runs 1 --report scheduler-once --out $(COLD)
	$(CONDITIONS) --workloads cycle --seconds 600 --runs 1 --report scheduler --out $(COLD)/cycle
	$(CONDITIONS) --workloads zipf12 --quotas 8 8 16 16 --runs 1 --report scheduler --out $(COLD)/quotas

# The main five, five blocks; each command goes on where it was ended. partition is placed before the clock, so it is
# in the second condition only. line has eight ranks, as its authors had, each with less of the machine.
HEADLINE := --runs 5 --report headline
bench-headline: deps
	$(CONDITIONS) --workloads zipf mix churn --balancers $(MAIN) $(HEADLINE) --out $(COLD)
	$(CONDITIONS) --workloads line --ranks 8 --mds-cpu 8 --balancers $(MAIN) $(HEADLINE) --out $(COLD)/line
	$(CONDITIONS) --condition settled --workloads zipf mix churn --balancers $(MAIN) subvolume-pinning $(HEADLINE) --out $(SETTLED)
	$(CONDITIONS) --condition settled --workloads line --ranks 8 --mds-cpu 8 --balancers $(MAIN) subvolume-pinning $(HEADLINE) --out $(SETTLED)/line

# Everybody, one block of each condition; what moves, from cold. One rank is half as quick as the others in the last.
DYNAMIC := none $(MAIN) greedyspill lunule lunule-to-auth lunule-mindex
FROM_COLD := --balancers $(DYNAMIC) dir-hash-cold --runs 1
AT_REST := --condition settled --balancers $(DYNAMIC) subvolume-pinning subvolume-pinning-replicas subvolume-pinning-mask dir-hash lunule-mindex-replicas --runs 1
EVEN := cnn nlp web zipf md mix dbench churn
bench-conditions: mds-optimized
	$(CONDITIONS) --workloads $(EVEN) jumps leaving flash programs $(FROM_COLD) --out $(COLD)
	$(CONDITIONS) --workloads cycle --seconds 600 $(FROM_COLD) --out $(COLD)/cycle
	$(CONDITIONS) --workloads line --ranks 8 --mds-cpu 8 $(FROM_COLD) --out $(COLD)/line
	$(CONDITIONS) --workloads $(EVEN) $(AT_REST) --out $(SETTLED)
	$(CONDITIONS) --workloads line --ranks 8 --mds-cpu 8 $(AT_REST) --out $(SETTLED)/line
	$(CONDITIONS) --workloads zipf12 --quotas 12 12 12 12 6 $(FROM_COLD) --out $(COLD)/slower

# Twenty equal cells: does the reference load take the machine out of a figure?
bench-reference: deps
	$(RUN) -m experiments.reference_load

bench-cost: deps
	$(RUN) -m demo.cost

# Of what is committed, into out/packages; packaging/build says more.
deb:
	$(call need,$(DEB_TOOLS),$(DEB_PACKAGES))
	packaging/build deb out/packages

rpm:
	$(call need,rpmbuild,rpm)
	packaging/build rpm out/packages

# Builds both twice, lints them, and installs, upgrades and removes the .deb in a root file system of its own.
package-test: deps
	$(call need,$(PACKAGE_TOOLS),$(PACKAGE_PACKAGES))
	$(RUN) -m pytest -o timeout=1800 tests/package

deps: $(VENV)/ready
	$(call need,$(LAB_TOOLS),$(LAB_PACKAGES))

test-deps: deps
	$(call need,$(TEST_TOOLS),$(TEST_PACKAGES))

$(VENV)/ready: requirements-dev.txt
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || lab/install-debs python3-venv
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install -q -r requirements-dev.txt
	touch $@

clean:
	rm -rf $(VENV) .tox out .mypy_cache .ruff_cache .import_linter_cache .pytest_cache .hypothesis
