# `make` alone says what there is. Everything happens inside the checkout: the Python environment in
# .venv, compiled Rust in target, results in results.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# One interpreter for maturin and for a plain `cargo test`, or each would rebuild the bindings of the other.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

# Images of Python set this. Each command that the tests run would compile Polars and matplotlib anew.
unexport PYTHONDONTWRITEBYTECODE

# Stamps are touched when a step has succeeded, so that `make setup` with nothing to do runs nothing.
TOOLS     := $(VENV)/.stamp-tools
EXTENSION := $(VENV)/.stamp-extension
SITE      := $(VENV)/.stamp-site
ZIG       := $(VENV)/.stamp-wheels
RUST      := Cargo.toml Cargo.lock $(shell find crates -path crates/real/kernel -prune -o \( -name '*.rs' -o -name Cargo.toml \) -print)

# Modules that a macro names, which cargo fmt does not find.
LISTED          := $(wildcard crates/core/cc/src/*.rs crates/simulator/queue/src/*/*.rs \
	crates/simulator/scenario/src/topology/*.rs crates/simulator/scenario/src/traffic/*.rs)
KERNEL_PROGRAMS := $(wildcard crates/real/kernel/src/programs/*.rs)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup page demo test check check-rust test-rust test-python kernel wheels wheels-everywhere test-kernel test-kernels search fuzz miri bench bench-htsim bench-ns3 book docs audit fmt lock clean

help:  ## this list
	@echo 'make TARGET, where TARGET is one of'
	@sed -n 's/^\([a-z0-9-]*\):.*  ## /  \1 /p' $(MAKEFILE_LIST) | awk '{ n = $$1; $$1 = ""; printf "  %-18s%s\n", n, $$0 }'

setup: $(EXTENSION)  ## set everything up in .venv, or nothing when nothing has changed
	@echo 'Ready: $(BIN)/incast'

demo: setup  ## TIMELY against PFC alone, ten clients into one server: table, figures, Parquet
	$(BIN)/incast run scenarios/incast.toml --cc timely --cc line-rate --out results/demo

test: check  ## everything that must hold before a change lands; this is CI
	@# The tests in Rust leave a core idle at the end of each program, and those of the kernel take it.
	$(MAKE) --no-print-directory test-kernel & kernel=$$!; \
	$(MAKE) --no-print-directory test-rust; rust=$$?; \
	wait $$kernel && exit $$rust
	$(MAKE) --no-print-directory test-python

check: setup audit  ## formatting, lints, types, licences and documentation, of Rust and of Python
	@# The checks of Python beside those of Rust.
	{ $(BIN)/ruff check && $(BIN)/ruff format --check && $(BIN)/mypy python/incast \
	  && $(BIN)/stubtest --mypy-config-file pyproject.toml incast._core; } & python=$$!; \
	$(MAKE) --no-print-directory check-rust; rust=$$?; \
	wait $$python && exit $$rust

check-rust:
	@# With files: a macro declares the modules of the algorithms, where cargo fmt does not find them.
	cargo fmt --all --check -- $(LISTED)
	cargo fmt --check --manifest-path fuzz/Cargo.toml
	cargo fmt --check --manifest-path examples/own-algorithm/Cargo.toml
	@# An example has endpoints and TLS. That of s2n-quic compiles a library of C for a minute.
	cargo clippy --workspace --all-targets --features incast-quic/example-quinn --locked -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked
	@# The crate that others depend on, as crates.io would have it: without the workspace, or an allocator.
	cargo package -p incast-cc --no-default-features --locked --offline --allow-dirty --quiet

test-rust: setup  ## the Rust tests
	@# Without the examples, which `make check` has compiled. Random tests draw the same cases each
	@# time; `cargo test` alone draws others.
	PROPTEST_RNG_SEED=1 cargo test --workspace --locked --tests
	cargo test --workspace --locked --doc
	@# The same bytes in a release build: the golden tables again; and how many instructions they take,
	@# or a sentence on what that needs. With the bindings named, what they have compiled serves again.
	cargo test --release -p incast-sim -p incast-python --test golden --locked -- --nocapture

# Two at a time: the experiments, which keep all cores busy for minutes, and then half of the tests,
# beside the other half. Those that measure in network namespaces are all in the first half.
VERDICTS    := tests/python/test_verdicts.py
FIRST_HALF  := $(wildcard tests/python/test_[a-o]*.py)
SECOND_HALF := $(filter-out $(VERDICTS),$(wildcard tests/python/test_[p-z]*.py))

test-python: setup  ## the Python tests
	{ $(BIN)/pytest $(VERDICTS); verdicts=$$?; \
	  $(BIN)/pytest $(SECOND_HALF); second=$$?; \
	  exit $$((verdicts + second)); } & beside=$$!; \
	$(BIN)/pytest $(FIRST_HALF); first=$$?; \
	wait $$beside && exit $$first

# The tests of crates/front/wasm take the same module.
WASM    := wasm32-unknown-unknown
PAGE    := python/incast/page/index.html
MODULES := web/node_modules/.package-lock.json

page: $(PAGE)  ## the simulator in a page, for `incast ui`: one file, which works from disk, too

$(MODULES): web/package.json web/package-lock.json
	@command -v npm >/dev/null || { echo 'the page needs npm and Node.js 20 or newer, which are not installed' >&2; exit 1; }
	npm ci --prefix web --ignore-scripts --no-audit --no-fund
	@touch $@

$(PAGE): $(MODULES) $(RUST) $(wildcard web/src/*.ts web/guides/* web/*.html web/*.css web/*.mjs web/tsconfig.json scenarios/*.toml)
	@rustc --print target-libdir --target $(WASM) | xargs test -d || { echo 'the page needs the target $(WASM): rustup target add $(WASM)' >&2; exit 1; }
	cargo build --profile page --locked -p incast-wasm --lib --target $(WASM) --target-dir target/wasm
	cd web && npm run --silent check && node build.mjs ../target/wasm/$(WASM)/page/incast_wasm.wasm ../$(@D)

# A workspace of its own, in the folder of the other one: most crates below it are compiled for both.
KERNEL := --locked --manifest-path crates/real/kernel/Cargo.toml --target-dir target

kernel: setup  ## build incast-kernel, for `incast kernel`: congestion control for Linux TCP through BPF
	@$(require_kernel)
	cargo build --release $(KERNEL)
	install -m 755 target/release/incast-kernel $(BIN)/incast-kernel
	@# For bpftool, with the defaults in them.
	for algorithm in $(KERNEL_PROGRAMS:crates/real/kernel/src/programs/%.rs=%); do $(BIN)/incast-kernel object $$algorithm --out target/objects || exit 1; done

wheels: setup  ## wheels of incast, with the page where it can be built, and, where there is clang, of incast-kernel, in target/wheels
	@$(page_where_possible)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin build --release --locked --out target/wheels
	@if missing=$$($(kernel_missing)); [ -n "$$missing" ]; then \
		echo "skipped: no wheel of incast-kernel is built: $$missing is missing"; \
	else \
		cd packaging/kernel && $(CURDIR)/$(BIN)/maturin build --release --locked --out $(CURDIR)/target/wheels; \
	fi

define page_where_possible
if command -v npm >/dev/null && [ -d "$$(rustc --print target-libdir --target $(WASM))" ]; then \
	$(MAKE) --no-print-directory page; \
else \
	echo 'note: the page is not built without npm and the target $(WASM); the wheel has the one that is there, if any' >&2; \
fi
endef

# TARGETS=aarch64-apple-darwin and such are some of them. Each is compiled anew: minutes.
wheels-everywhere: $(ZIG)  ## wheels of incast for Linux, macOS and Windows, cross-compiled with Zig, in target/wheels
	@$(require_rust)
	@$(page_where_possible)
	PATH=$(CURDIR)/$(BIN):$$PATH $(VENV)/wheels/bin/python packaging/wheels/cross.py --out target/wheels $(TARGETS)

# On a kernel where this process may attach programs; what is missing is said by the tests, or here.
test-kernel: setup  ## the tests of the programs for Linux TCP, where this machine allows them
	@if missing=$$($(kernel_missing)); [ -n "$$missing" ]; then \
		echo "skipped: crates/real/kernel is not tested: $$missing is missing"; \
	else set -ex; \
		cargo fmt --check --manifest-path crates/real/kernel/Cargo.toml; \
		rustfmt --check --edition 2024 $(KERNEL_PROGRAMS); \
		cargo clippy --all-targets $(KERNEL) -- -D warnings; \
		cargo test $(KERNEL) -- --nocapture; \
		$(MAKE) --no-print-directory test-kernels; \
	fi

# 77: not one could be booted, and why was said.
test-kernels:  ## the same programs on Linux 6.1 and 6.12, which are downloaded once and booted in QEMU: a minute
	@$(require_kernel)
	crates/real/kernel/tests/kernels/run || [ $$? = 77 ]

fuzz: setup  ## coverage-guided fuzzing of scenarios, files of other simulators, datagrams and stored results: eight minutes
	fuzz/run
	INCAST_FUZZ_EXAMPLES=2000 $(BIN)/pytest tests/python/test_damaged.py

# Random tests have few cases there (`cfg!(miri)`): Miri takes a thousand times as long. They look for
# the files of cases that have failed, which an isolated program may not.
MIRI = MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --locked -p incast-udp

miri:  ## the window of numbers and what reads datagrams of strangers under Miri, which finds undefined behaviour: two minutes
	@cargo +nightly miri --version >/dev/null 2>&1 || { echo 'Miri is not installed: rustup toolchain install nightly --component miri --component rust-src' >&2; exit 1; }
	$(MIRI) --lib -- window:: wire:: message:: inbox:: control:: address:: stamps::
	$(MIRI) --test it -- wire:: --skip fuzz_wire::

# Another seed each time, which is printed; SEED=N draws the same cells, CELL=K with it runs one of them and prints
# its scenario, MINUTES=M says how long.
search:  ## networks drawn at random, 3 minutes of all cores: is there one in which a flow starves unwarned?
	@$(require_rust)
	$(EXAMPLE) search -- $(if $(SEED),--seed $(SEED)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(CELL),--cell $(CELL))

# SHORT=1 is the form for tests: the build that other tests have, without optimisation, and moments in
# place of seconds. Its figures mean nothing. No -p: the workspace's features would be built once more.
EXAMPLE = cargo run $(if $(SHORT),,--release) --locked --example

bench: setup  ## packet-hops per second, instructions and memory of whole runs, and benchmarks of the parts
	$(EXAMPLE) speed $(if $(SHORT),-- bench/star.toml run.duration=2ms run.warmup=1ms)
	cargo $(if $(SHORT),test,bench) --workspace --bench '*' --locked

# HTSIM=FOLDER is your checkout of csg-htsim (bench/htsim/README.md).
bench-htsim: setup  ## a star and a fat tree in htsim and here, in turn: needs your checkout of htsim, takes two minutes
	@$(BIN)/python bench/htsim/compare.py --htsim "$(HTSIM)" --into target/htsim$(if $(SHORT),-short --pairs 1 --percent 1 --debug)

bench-ns3: setup  ## the same star and leaf-spine in ns-3 and here, pair by pair: downloads ns-3, takes two minutes
	$(BIN)/python bench/ns3/compare.py --into target/ns3 $(if $(SHORT),--percent 1 --debug)

# What has run is kept in target/reproduction: the next call goes on from there. SHORT=1, for tests,
# is one experiment in its quick form, beside copies of the page and the README.
reproduction: setup  ## docs/reference/reproduction.md and the README's tables, from a run of all experiments: an hour of two cores
	$(BIN)/incast reproduce $(if $(SHORT),timely/rtt-queue --quick,--all) --out target/reproduction$(if $(SHORT),-short)
	$(BIN)/python packaging/site/reproduction.py target/reproduction$(if $(SHORT),-short) $(if $(SHORT),--into target/reproduction-short/pages)

book: setup  ## the book of all experiments in their quick form, in target/book, for the site: 6 minutes of a core
	$(BIN)/incast reproduce --all --quick --out target/book

docs: setup $(SITE)  ## the documentation site, in target/docs: all pages, figures, interfaces, and the page and the book of experiments if they are there
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked
	$(BIN)/python packaging/site/build.py --sphinx $(VENV)/site/bin/sphinx-build --out target/docs

# Licences and sources need no network. Advisories need a copy of their database, and npm's a
# registry that answers: what cannot be asked is said.
audit: $(TOOLS)  ## licences and sources of all crates; known faults of them and of the page's packages, where they can be asked for
	$(BIN)/cargo-deny check licenses bans sources
	$(BIN)/cargo-deny --manifest-path crates/real/kernel/Cargo.toml --config deny.toml check licenses bans sources
	@if timeout 60 $(BIN)/cargo-deny --log-level off fetch db >/dev/null 2>&1; then \
		$(BIN)/cargo-deny check --disable-fetch advisories; \
	else \
		echo 'note: no copy of the advisories on crates could be had; they are not checked'; \
	fi
	@if ! command -v npm >/dev/null; then \
		echo 'note: without npm the packages of the page are not checked for advisories'; \
	elif asked=$$(npm audit --prefix web --package-lock-only --audit-level=high 2>&1); then \
		echo "$$asked"; \
	elif echo "$$asked" | grep -q 'audit endpoint returned an error'; then \
		echo 'note: the registry of npm answers no questions for advisories; they are not checked'; \
	else \
		echo "$$asked"; exit 1; \
	fi

fmt: $(TOOLS)  ## format Rust and Python in place
	cargo fmt --all -- $(LISTED)
	cargo fmt --manifest-path fuzz/Cargo.toml
	cargo fmt --manifest-path examples/own-algorithm/Cargo.toml
	cargo fmt --manifest-path crates/real/kernel/Cargo.toml
	rustfmt --edition 2024 $(KERNEL_PROGRAMS)
	$(BIN)/ruff check --fix --select I
	$(BIN)/ruff format

# Universal: one file for Python 3.10 to 3.14. What `incast` needs comes from pyproject.toml, tools from dev.in.
lock: $(TOOLS)  ## renew the locks in requirements
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --python-version 3.10 --extra cluster --extra fluid --extra learn --extra reproduce --extra tune \
		--custom-compile-command 'make lock' \
		--output-file requirements/dev.lock pyproject.toml requirements/dev.in
	for tools in docs wheels; do \
		$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --python-version 3.10 \
			--custom-compile-command 'make lock' --output-file requirements/$$tools.lock requirements/$$tools.in || exit 1; \
	done

clean:  ## remove everything that was made, results included
	rm -rf $(VENV) target crates/real/kernel/target results .pytest_cache .mypy_cache .ruff_cache
	find python tests -name __pycache__ -prune -exec rm -rf {} +
	rm -f python/incast/*.so

INSTALL = $(BIN)/python -m pip --disable-pip-version-check install --quiet --require-hashes -r

$(TOOLS): requirements/dev.lock
	@$(require_python)
	$(PYTHON) -m venv --clear $(VENV)
	@# uv takes a quarter of pip's time. Where it cannot install, pip does.
	sed -n '/^uv==/,/[^\\]$$/p' $< > $(VENV)/uv.txt
	$(INSTALL) $(VENV)/uv.txt
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r $< || $(INSTALL) $<
	@touch $@

# What the site and the wheels take is in environments of their own, which `make docs` and `make
# wheels-everywhere` alone make: the site needs other versions, and Zig is large.
$(SITE): requirements/docs.lock $(TOOLS)
	$(call environment,$(VENV)/site)

$(ZIG): requirements/wheels.lock $(TOOLS)
	$(call environment,$(VENV)/wheels)

define environment
	$(BIN)/python -m venv --clear $(1)
	VIRTUAL_ENV=$(CURDIR)/$(1) $(BIN)/uv pip install --quiet --require-hashes -r $< || $(1)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r $<
	@touch $@
endef

# Importing them once compiles the packages that commands import, and lists the fonts of matplotlib.
IMPORTED = matplotlib.figure, matplotlib.backends.backend_agg, polars, pydantic.type_adapter, rich.progress, typer

# The dependencies are all there by now: nothing is to be fetched. pip would look at each for seconds.
$(EXTENSION): $(TOOLS) pyproject.toml $(RUST)
	@$(require_rust)
	@# The compiler of Rust ends on one core, and the other one compiles what Python imports.
	$(BIN)/python -c 'import $(IMPORTED)' & \
	VIRTUAL_ENV=$(CURDIR)/$(VENV) PIP_QUIET=1 PIP_NO_INDEX=1 UV_OFFLINE=1 $(BIN)/maturin develop \
		$$($(BIN)/uv --version >/dev/null 2>&1 && echo --uv) --release --locked; built=$$?; \
	wait; exit $$built
	@touch $@

define require_python
command -v $(PYTHON) >/dev/null || { \
	echo 'error: $(PYTHON) is missing; install Python 3.10 or newer (Debian, Ubuntu: apt install python3 python3-venv).' >&2; exit 1; }; \
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	echo "error: $(PYTHON) is $$($(PYTHON) --version 2>&1), but incast needs 3.10 or newer; name one with make PYTHON=python3.12." >&2; exit 1; }; \
$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	echo 'error: $(PYTHON) has no venv module; install it (Debian, Ubuntu: apt install python3-venv).' >&2; exit 1; }
endef

# Prints what crates/real/kernel needs and this machine lacks.
kernel_missing = for tool in clang pkg-config; do command -v $$tool >/dev/null || printf '%s ' $$tool; done; \
	[ "$$(uname -s)" = Linux ] || printf 'Linux '; \
	for header in libelf.h zlib.h linux/bpf.h; do [ -e /usr/include/$$header ] || printf '%s ' $$header; done

define require_kernel
missing=$$($(kernel_missing)); [ -z "$$missing" ] || { \
	echo "error: incast-kernel cannot be built without $$missing; install it (Debian, Ubuntu: apt install clang libelf-dev zlib1g-dev pkg-config linux-libc-dev)." >&2; exit 1; }
endef

define require_rust
command -v cargo >/dev/null || { \
	echo 'error: cargo is missing; install Rust with rustup, or from packages that are new enough.' >&2; exit 1; }; \
rust=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); \
have=$$(cargo --version | cut -d ' ' -f 2); \
printf '%s\n' "$$rust" "$$have" | sort -V -C || { \
	echo "error: cargo is $$have, but incast needs $$rust or newer; update Rust with rustup." >&2; exit 1; }; \
command -v cc >/dev/null || { \
	echo 'error: a C compiler is missing, which Rust links with; install one (Debian, Ubuntu: apt install gcc libc6-dev).' >&2; exit 1; }
endef
