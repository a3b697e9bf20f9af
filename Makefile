# Every target sets up what it needs first. ONLY=unit narrows `make test`,
# FLAGS=--all widens `make autobahn`.
PY = MODULAR_TELEMETRY_ENABLED=0 .venv/bin/python
.PHONY: run test check format test-asan fuzz autobahn bench bench-quick examples docs nightly clean setup
setup: ; @python3 tools/setup.py
run: setup ; @$(PY) tools/run.py examples/server.mojo
test: setup ; @$(PY) tools/test.py $(ONLY)
check: setup ; @$(PY) tools/test.py check
format: setup ; @.venv/bin/mblack -q --include '\.mojo$$' .
test-asan: setup ; @$(PY) tools/test.py asan
fuzz: setup ; @$(PY) tools/fuzz.py --seconds 60
autobahn: setup ; @$(PY) tools/autobahn.py $(FLAGS)
bench: setup ; @$(PY) bench/bench.py run
bench-quick: setup ; @$(PY) bench/bench.py run --quick
examples: setup ; @$(PY) tools/test.py examples
nightly: setup ; @$(PY) tools/test.py nightly
docs: setup ; @$(PY) tools/docs.py
clean: ; rm -rf build .venv .pytest_cache
