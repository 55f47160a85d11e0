#!/usr/bin/env bash
# Builds and runs every test: release (once as the processor allows, linear layers, operators and models once more at the AVX2 level), parsers,
# kernels and runtime under ASan and UBSan together with a short run of each fuzzer (one clang build), threads under TSan.
# Ends with one line of counts.
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
launcher=$(command -v ccache >/dev/null && echo -DCMAKE_CXX_COMPILER_LAUNCHER=ccache || true)
passed=0 failed=0 skipped=0
logs=build/test-logs
mkdir -p "$logs"

step() { # step NAME COMMAND…: output goes to a log, shown only on failure
  local name=$1; shift
  local start=$SECONDS
  if "$@" > "$logs/$name.log" 2>&1; then
    printf '%-28s ok      %4d s\n' "$name" $((SECONDS - start))
  else
    printf '%-28s FAILED  %4d s  (%s)\n' "$name" $((SECONDS - start)) "$logs/$name.log"
    tail -40 "$logs/$name.log"
    return 1
  fi
}

count() { # adds up what ctest said in a log
  local log=$logs/$1.log total bad none
  total=$(sed -n 's/.*tests failed out of \([0-9]*\).*/\1/p' "$log" | tail -1)
  bad=$(sed -n 's/.* \([0-9]*\) tests\{0,1\} failed out of .*/\1/p' "$log" | tail -1)
  none=$(grep -c '(Skipped)$' "$log")
  total=${total:-0} bad=${bad:-1} none=${none:-0}
  passed=$((passed + total - bad - none)) failed=$((failed + bad)) skipped=$((skipped + none))
}

build() { # build PRESET TARGETS…
  local preset=$1; shift
  step "$preset-configure" cmake --preset "$preset" $launcher && step "$preset-build" ninja -C "build/$preset" -j "$jobs" "$@"
}

run() { # run NAME PRESET CTEST-ARGUMENTS…
  local name=$1 preset=$2; shift 2
  step "$name" ctest --test-dir "build/$preset" --output-on-failure -j "$jobs" "$@"
  count "$name"
}

build release all || failed=$((failed + 1))
run release-tests release -LE slow
# ops_small.avx2 and what compiles for other processors have run.
TILEWRIGHT_ISA=avx2 run release-tests-avx2 release -L 'linear|ops|models|engine' -LE 'slow|ops_small' -E ForAarch64
build fuzz fuzzers sanitized_asan || failed=$((failed + 1))
run asan-tests fuzz -L sanitized_asan
run fuzz-tests fuzz -L fuzz
build tsan sanitized_tsan || failed=$((failed + 1))
run tsan-tests tsan -L sanitized_tsan

printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
