# Every target sets up what it needs first. ONLY=changed narrows `make test`,
# FLAGS=--all widens `make autobahn`, SEEDS=1000000 `make simulate`, MINUTES=30 `make soak`.
PY = MODULAR_TELEMETRY_ENABLED=0 .venv/bin/python
SETUP = python3 tools/setup.py
.PHONY: run test check format test-asan test-threads fuzz fuzz-guided coverage simulate autobahn h2spec connect-conformance protobuf-conformance grpc-interop lines walks bench bench-quick examples docs chat-proof soak differential nightly wheel release-check clean setup
setup: ; @$(SETUP) test
run: ; @$(SETUP) run && $(PY) tools/run.py examples/server.mojo
test: setup ; @$(PY) tools/test.py $(ONLY)
check: setup ; @$(PY) tools/test.py check
format: setup ; @.venv/bin/mblack -q --include '\.mojo$$' .
test-asan: setup ; @$(PY) tools/test.py asan
test-threads: setup ; @$(PY) tools/threads.py
fuzz: setup ; @$(PY) tools/fuzz.py --seconds 60
fuzz-guided: setup ; @$(PY) tools/fuzz.py --seconds 60 --guided
coverage: setup ; @$(PY) tools/cover.py $(FLAGS)
simulate: setup ; @$(PY) tools/simulate.py -n $(or $(SEEDS),100000) $(FLAGS)
autobahn: setup ; @$(PY) tools/autobahn.py $(FLAGS)
h2spec: setup ; @$(PY) tools/h2spec.py $(FLAGS)
connect-conformance: setup ; @$(PY) tools/connect_conformance.py $(FLAGS)
protobuf-conformance: setup ; @$(PY) tools/protobuf_conformance.py $(FLAGS)
grpc-interop: setup ; @$(PY) tools/grpc_interop.py $(FLAGS)
lines: ; @$(SETUP) run && $(PY) tools/count_lines.py $(FLAGS)
walks: ; @$(SETUP) run && $(PY) tools/walk.py $(FLAGS)
bench: ; @$(SETUP) bench && $(PY) bench/bench.py run
bench-quick: ; @$(SETUP) bench && $(PY) bench/bench.py run --quick
examples: setup ; @$(PY) tools/test.py examples
chat-proof: setup ; @$(PY) tests/wire/chat_proof.py $(FLAGS)
soak: setup ; @$(PY) tests/wire/soak.py --minutes $(or $(MINUTES),30) $(FLAGS)
differential: setup ; @$(PY) tests/differential/differential.py -n $(or $(N),10000) $(FLAGS)
nightly: ; @$(SETUP) nightly && $(PY) tools/test.py nightly
docs: ; @$(SETUP) docs && $(PY) tools/docs.py
wheel: ; @$(SETUP) run && $(PY) tools/package.py wheel
release-check: ; @$(SETUP) run && $(PY) tools/package.py check $(FLAGS)
clean: ; rm -rf build .venv .pytest_cache
