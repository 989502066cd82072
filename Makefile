# Everything from a fresh checkout: `make demo`, `make test`. Each target sets up what it needs, once.
#
#   PYTHON=python3.12   the interpreter to build for      VENV=.venv   where its environment is made
#   DATA=folder         photographs for `make bench`      ARGS=...     more arguments for pytest, the demo, the benchmark
PYTHON ?= python3
VENV ?= .venv
DATA ?=
ARGS ?=
FUZZ_SECONDS ?= 20
PILLOW ?= 12.1 12.3 13

BIN := $(if $(filter /%,$(VENV)),$(VENV),$(CURDIR)/$(VENV))/bin
PIP := "$(BIN)/python" -m pip --disable-pip-version-check
CMAKE := "$(BIN)/cmake"
# Named anew each time: a build folder outlives the environment whose Ninja it remembers.
CONFIGURE = $(CMAKE) -DCMAKE_MAKE_PROGRAM="$(BIN)/ninja" --preset

# A folder's time changes when a file in it is added or removed, so folders count as sources too.
PACKAGE_SOURCES := pyproject.toml CMakeLists.txt $(shell find cmake csrc pyfastdl -name __pycache__ -prune -o -print)
CXX_SOURCES = find csrc tests/cpp benchmarks/cpp -name '*.h' -o -name '*.cpp'
CYTHON_SOURCES = find pyfastdl -name '*.pyx' -o -name '*.pxd'
# Native modules are those with a stub of their own name.
STUBBED := $(patsubst pyfastdl/%.pyi,pyfastdl.%,$(wildcard pyfastdl/_*.pyi))

.PHONY: help setup demo test test-cpp test-python lint format asan tsan fuzz test-pillow bench stages clean
.DELETE_ON_ERROR:

help:
	@echo 'make demo     train a small network with pyfastdl and with the stock loader, and compare'
	@echo 'make test     all tests: C++ (test-cpp) and Python (test-python)'
	@echo 'make lint     ruff, clang-format, cython-lint, mypy, stubtest; `make format` mends what can be mended'
	@echo 'make asan     the C++ tests under the address and undefined-behaviour sanitizers'
	@echo 'make tsan     the C++ tests under the thread sanitizer'
	@echo 'make bench    loaders side by side on the photographs in DATA (or on made ones)'
	@echo 'make stages   where the time of one image goes, on the photographs in DATA'
	@echo 'make fuzz     fuzzers under sanitizers, FUZZ_SECONDS=20 each (needs clang)'
	@echo 'make test-pillow  the exactness tests against other Pillows, PILLOW="12.1 12.3 13" (needs the network)'
	@echo 'make setup    only what the others need: system packages, $(VENV), the package in it'
	@echo 'make clean    remove $(VENV), build/ and caches'

setup: $(VENV)/.package

# In a conda environment its packages (torch above all) are used, not fetched again.
$(VENV)/.build: tools/setup-system
	PYTHON="$(PYTHON)" sh tools/setup-system
	$(PYTHON) -m venv $(if $(CONDA_PREFIX),--system-site-packages) "$(VENV)"
	$(PIP) install --upgrade 'pip>=25.1'
	$(PIP) install --group build
	@touch $@

$(VENV)/.group-%: pyproject.toml | $(VENV)/.build
	$(PIP) install --group $*
	@touch $@

# Installed, not linked into the checkout: the tests see what a user gets. build/wheel keeps what didn't change.
$(VENV)/.package: $(PACKAGE_SOURCES) | $(VENV)/.build
	$(PIP) install --no-build-isolation -Cbuild-dir=build/wheel .
	@touch $@

demo: $(VENV)/.group-demo $(VENV)/.package
	"$(BIN)/python" examples/demo.py $(ARGS)

test: test-cpp test-python

test-cpp: $(VENV)/.build
	$(CONFIGURE) release
	$(CMAKE) --build --preset release
	"$(BIN)/ctest" --preset release

test-python: $(VENV)/.group-test $(VENV)/.package
	"$(BIN)/pytest" -n auto --maxprocesses 8 --dist worksteal $(ARGS)

asan: $(VENV)/.build
	$(CONFIGURE) asan
	$(CMAKE) --build --preset asan
	UBSAN_OPTIONS=print_stacktrace=1 "$(BIN)/ctest" --preset asan

# The thread sanitizer needs its address ranges free, which a kernel with wide address randomisation doesn't promise.
tsan: $(VENV)/.build
	$(CONFIGURE) tsan
	$(CMAKE) --build --preset tsan
	$$(setarch -R true 2>/dev/null && echo setarch -R) "$(BIN)/ctest" --preset tsan

lint: $(VENV)/.group-lint $(VENV)/.package
	"$(BIN)/ruff" check
	"$(BIN)/ruff" format --check
	$(CXX_SOURCES) | xargs -r "$(BIN)/clang-format" --dry-run -Werror
	$(CYTHON_SOURCES) | PATH="$(BIN):$$PATH" xargs -r cython-lint
	"$(BIN)/mypy"
	$(if $(STUBBED),"$(BIN)/stubtest" --mypy-config-file pyproject.toml --allowlist tools/stubtest-allowlist.txt $(STUBBED))

format: $(VENV)/.group-lint
	"$(BIN)/ruff" check --fix
	"$(BIN)/ruff" format
	$(CXX_SOURCES) | xargs -r "$(BIN)/clang-format" -i

bench: $(VENV)/.group-bench $(VENV)/.package
	$(CONFIGURE) release -B build/bench -DPYFASTDL_TESTS=OFF -DPYFASTDL_BENCHMARKS=ON
	$(CMAKE) --build build/bench --target jpeg_turbo
	"$(BIN)/python" benchmarks/run.py $(if $(DATA),--data "$(DATA)") $(ARGS)

stages: $(VENV)/.group-bench $(VENV)/.package
	@test -n "$(DATA)" || { echo 'make stages: name a folder of photographs: make stages DATA=folder' >&2; exit 1; }
	$(CONFIGURE) release -B build/bench -DPYFASTDL_TESTS=OFF -DPYFASTDL_BENCHMARKS=ON
	$(CMAKE) --build build/bench --target stages
	"$(BIN)/python" benchmarks/stages.py --data "$(DATA)" $(ARGS)

# The corpus stays in build/, so that the next run starts where this one ended.
fuzz: $(VENV)/.build
	sh tools/need-clang
	$(CONFIGURE) fuzz
	$(CMAKE) --build --preset fuzz
	"$(BIN)/python" tests/fuzz/run.py build/fuzz/tests/fuzz build/fuzz/runs --seconds $(FUZZ_SECONDS) $(ARGS)

# Not a part of `make test`: it fetches other versions of Pillow.
test-pillow: $(VENV)/.group-test $(VENV)/.package
	sh tools/test-pillow "$(BIN)/python" $(PILLOW)

clean:
	rm -rf "$(VENV)" build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
